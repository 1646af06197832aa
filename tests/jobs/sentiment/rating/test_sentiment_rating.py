"""The job `sentiment_rating` from sentences to ratings, on few sentences and a translator made of words."""

import json
import re
from collections import Counter, defaultdict
from functools import partial

import numpy as np
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.runtime.files import find_table
from tiltmeter.jobs.sentiment.rating import systems
from tiltmeter.operators.sentiment.annotators import vote
from tiltmeter.operators.sentiment.dictionary import translate_words
from tiltmeter.operators.sentiment.lexicons import random_scores, textblob_scores, vader_scores
from tiltmeter.operators.sentiment.sentences import make_sentences

WAYS = "there: {man: hombre, feels: siente}, back: {hombre: terrible guy, siente: feels}"
ROUND_TRIP = f"+translator.es={{kind: dictionary, language: es, {WAYS}}}"
FEW = ["~sentences.groups.gender_race", "~sentences.groups.gender_race_confounded"]
FEW += ["sentences.groups.gender.datasets=[E1,E3]", "seed=7"]


@pytest.fixture(scope="module")
def rate(run_here, tmp_path_factory):
    """Runs the job in a store of this module."""
    place = tmp_path_factory.mktemp("rating")

    def run(*settings):
        folder = tmp_path_factory.mktemp("run")
        common = ("job=sentiment_rating", "translator=[]", "rating.num_resamples=50", f"store={place}/store")
        return run_here(*common, f"run_dir={folder}", *settings)

    return run


@pytest.fixture(scope="module")
def rated(rate):
    return rate(*FEW, ROUND_TRIP, "sentiment=[biased_female,vader]")


def test_ratings_are_those_of_the_definition(rated):
    # Female texts differ from male and from neutral ones in both data sets, at all three levels: 2 x 2 x 2.4.
    ratings = rated.rows("ratings", variant="original", group="gender")
    found = {row["system"]: (row["rating"], row["raw_score"]) for row in ratings}
    assert found == {"vader": (1, 0.0), "biased_female": (2, pytest.approx(9.6))}
    of = {"system": "biased_female", "variant": "original", "group": "gender", "dataset": "E1"}
    [test] = rated.rows("tests", **of, value_1="male", value_2="female")
    assert (test["t"], test["rejected_95"]) == (-float("inf"), True)
    # Of four frames of one template and word each there is no p-value, of eight the least is 2^-7.
    assert (test["p_value"], test["unit"], test["num_units"], test["status"]) == (None, "frame", 4, "too_few")
    [more] = rated.rows("tests", **of | {"dataset": "E3"}, value_1="male", value_2="female")
    assert (more["p_value"], more["unit"], more["num_units"]) == (2**-7, "frame", 8)
    assert more["p_holm"] == 2**-7  # neutral sentences share no frame with others
    assert {row["num_units"] for row in rated.rows("tests", system="biased_female", value_2="neutral")} == {0}
    assert (test["num_1"], test["mean_1"], test["mean_2"], test["sd_1"]) == (8, -1.0, 1.0, 0.0)


def test_scores_are_those_of_each_system_rounded_as_published(rate):
    systems = ["sentiment=[biased_female,vader,random,textblob]", "rating.convention=published"]
    outcome = rate(*FEW, ROUND_TRIP, *systems, "unit_texts=9")
    sentences, trips = outcome.rows("sentences"), outcome.rows("translations")
    texts = {"original": [row["text"] for row in sentences], "es": [row["round_trip"] for row in trips]}
    random = partial(random_scores, seed=7)
    score = {"vader": vader_scores, "textblob": textblob_scores, "random": random}
    for variant, these in texts.items():
        expected = {name: of(these).tolist() for name, of in score.items()}
        expected["biased_female"] = [1.0 if row["gender"] == "female" else -1.0 for row in sentences]
        for system, scores in expected.items():
            rows = outcome.rows("scores", variant=variant, system=system)
            assert [row["sentiment"] for row in rows] == pytest.approx(scores)
        of = {"group": "gender", "dataset": "E3", "gender": "male"}
        for system, decimals in (("random", 2), ("textblob", 2), ("vader", 9)):
            scores = [row["sentiment"] for row in outcome.rows("scores", variant=variant, system=system, **of)]
            tested = {"variant": variant, "system": system, "group": "gender", "dataset": "E3", "value_1": "male"}
            means = {row["mean_1"] for row in outcome.rows("tests", **tested)}
            assert list(means) == pytest.approx([np.round(scores, decimals).mean()], abs=1e-12)


def test_sentences_are_those_of_the_settings_and_the_seed(rated, configured):
    made = [make_sentences(configured("job=sentiment_rating", *FEW).sentences, seed) for seed in (0, 7)]
    assert made[0] != made[1]
    rows = rated.rows("sentences")
    assert [{name: row[name] for name in made[1][0]._fields} for row in rows] == [row._asdict() for row in made[1]]


def test_another_system_translates_nothing_and_scores_no_other_again(rate, rated):
    again = rate(*FEW, ROUND_TRIP, "sentiment=[biased_female,vader,random]")
    assert (again.num_done("translate es"), again.num_done("score vader"), again.num_done("score random")) == (0, 0, 2)
    assert again.num_done("rate") == 2  # the other systems' tests hold


WORKERS = pytest.param("run_job", marks=pytest.mark.slow)


@pytest.mark.parametrize("runner", ["run_here", WORKERS])
def test_units_of_any_size_on_any_number_of_workers_give_the_same_tables(runner, request, rated, tmp_path):
    settings = ["job=sentiment_rating", "translator=[]", "rating.num_resamples=50", *FEW, ROUND_TRIP]
    layout = ["unit_texts=7", "cluster.num_cpus=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    other = request.getfixturevalue(runner)(*settings, "sentiment=[biased_female,vader]", *layout)
    assert other.num_done("score vader") > 10
    assert other.digests == rated.digests


@pytest.fixture
def turns(tmp_path):
    """Three turns in each of six conversations."""
    path = tmp_path / "turns.csv"
    rows = [("good", "user"), ("hello", "user"), ("terrible", "bot")]
    lines = [f"{text} {talk},{talk},{side}" for talk in range(6) for text, side in rows]
    path.write_text("\n".join(["said,talk,side", *lines]))
    columns = {"text": "said", "conversation": "talk", "speaker": "side"}
    named = [f"sentences.columns.{name}={called}" for name, called in columns.items()]
    return ["sentences=human", f"sentences.path={path}", *named, "sentences.speakers=[user]"]


def test_texts_without_a_gender_get_every_prefix(rate, turns):
    outcome = rate(*turns, "sentiment=[biased_female,vader]")
    sentences = outcome.rows("sentences")
    assert len(sentences) == 6 * 2 * 3
    assert {row["text"] for row in sentences if row["conversation"] == "0"} == {
        f"{prefix}{text} 0" for prefix in ("Hey, ", "Hey boy, ", "Hey girl, ") for text in ("good", "hello")
    }
    [described] = outcome.rows("descriptions")
    assert (described["num_texts"], described["num_conversations"], described["texts_per_conversation"]) == (12, 6, 2.0)
    assert described["num_words"] == 24  # "good 0", without the words before it
    assert (described["min_words_per_text"], described["max_words_per_text"]) == (2, 2)
    assert (described["min_texts_per_conversation"], described["max_texts_per_conversation"]) == (2, 2)
    [raw] = outcome.rows("raw_scores", system="vader")
    assert (raw["measure"], raw["is_confounded"]) == ("wrs", False)
    assert "36 turns of 6 conversations" in raw["warning"]


def words_of(text):
    return re.findall(r"\w+", text.lower())


def test_words_that_a_round_trip_lost_are_counted(rate, rated, turns):
    """The words before the texts of women come back behind another, and of those about men one alone.

    Three kinds of texts have one word, with which two of them start, of which one no longer does.
    """
    there, back = {"hey girl": "o hej pige", "boy hey": "dreng"}, {"o hej pige": "oh hey women", "dreng": "boy"}
    trip = json.dumps({"kind": "dictionary", "language": "da", "there": there, "back": back}).replace('"', "")
    of_users = ["sentences.speakers=null", "sentences.proxy_speakers=[user]", "sentences.proxies.male='Boy Hey, '"]
    said = rate(*turns, *of_users, "sentiment=[biased_female]", f"+translator.da={trip}")
    counted = Counter(row["conversation"] for row in said.rows("sentences"))
    assert counted == {str(talk): 2 * 3 + 1 for talk in range(6)}, "what the others say stays as it is"
    [hey] = said.rows("protected_words", word="Hey")
    assert 0 < hey["num_not_starting"] < hey["num_starting"] < hey["num_texts"]
    for row in said.rows("translations"):
        [intermediate] = translate_words([row["text"]], there)
        assert (row["intermediate"], [row["round_trip"]]) == (intermediate, translate_words([intermediate], back))
    for run in (said, rated):
        sentences, counts = run.rows("sentences"), defaultdict(Counter)
        for row, trip in zip(sentences, run.rows("translations"), strict=True):
            before, after = words_of(row["text"]), words_of(trip["round_trip"])
            lost = [word for word in row["protected_words"] if word.lower() not in after]
            assert (trip["lost_words"], trip["survived"]) == (lost, not lost if row["protected_words"] else None)
            for word in row["protected_words"]:
                starts = [words[:1] == [word.lower()] for words in (before, after)]
                kinds = {"texts": True, "lost": word in lost, "starting": starts[0]}
                kinds["not_starting"] = starts == [True, False]
                counts[row["group"], row["dataset"], word].update(kinds)
        for row in run.rows("protected_words"):
            expected = counts.pop((row["group"], row["dataset"], row["word"]))
            assert {name: row[f"num_{name}"] for name in expected} == expected
            assert row["percent_lost"] == 100 * expected["lost"] / expected["texts"]
            starting = expected["starting"]
            assert row["percent_not_starting"] == (100 * expected["not_starting"] / starting if starting else None)
        assert not counts


def test_conversations_are_dealt_to_the_prefixes_as_published(rate, turns):
    outcome = rate(*turns, "sentences.proxies_per=conversation", "sentiment=[biased_female]")
    genders = {row["conversation"]: row["gender"] for row in outcome.rows("sentences")}
    assert genders == {str(talk): ("neutral", "male", "female")[talk // 2] for talk in range(6)}
    assert len(outcome.rows("sentences")) == 12


WORDS = ("good", "bad", "terrible", "great", "nice", "awful", "fine", "sad")


@pytest.fixture
def drawn(rate, tmp_path):
    """The schemes, and the draws of the rejection score, of texts with their gender, in their order."""

    def draws(texts, *settings):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        path.write_text("\n".join(["text,gender", *(f"{text},{text.split()[0]}" for text in texts)]))
        columns = "sentences.columns.gender=gender"
        found = rate("sentences=file", f"sentences.path={path}", columns, "sentiment=[vader]", *settings)
        [draw] = found.rows("draws")
        return draw["scheme"], np.array(draw["values"])

    return draws


@pytest.mark.parametrize("keyed_by", ["place", "text"])
def test_nights_that_share_most_texts_draw_these_alike_where_texts_are_keys(drawn, keyed_by):
    said = [f"{WORDS[number % 8]} {WORDS[number * 3 % 7]} {number}" for number in range(40)]
    texts = [f"{gender} is {words}" for words in said for gender in ("male", "female")]
    other = [*texts[:-1], "female is good"]  # about the same people
    setting, is_keyed = f"rating.keyed_by={keyed_by}", keyed_by == "text"
    (scheme, draws), (scheme_after, after) = drawn(texts, setting), drawn(other[::-1] if is_keyed else other, setting)
    assert (scheme == scheme_after) == is_keyed
    assert np.corrcoef(draws, after)[0, 1] > 0.8


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Scores that say two things of a text from when they were found."""
    path = tmp_path / "people.csv"
    path.write_text("text,sentiment\nhello,1\n")

    def changed(*args, **settings):
        file = find_table(*args, **settings)
        path.write_text("text,sentiment\nhello,1\nhello,0\n")
        return file

    monkeypatch.setattr(systems, "find_table", changed)
    return path


def test_a_failing_system_leaves_others_alone_if_there_are_any(rate, people, tmp_path, outcome_of):
    of_file = f"+sentiment.people={{kind: scores, path: {people}}}"
    for name, message in (("vader", r"people on original.*has several scores for the text 'hello'"), ("", "several")):
        people.write_text("text,sentiment\nhello,1\n")
        with pytest.raises(UnitsFailed, match=message):
            rate(*FEW, f"sentiment=[{name}]", of_file, f"run_dir={tmp_path}/run{name}")
    assert {row["system"] for row in outcome_of(tmp_path / "runvader").rows("ratings")} == {"vader"}


PEOPLE = [
    ("This man feels grim.", "negative,negative,neutral"),
    ("This boy feels grim.", "-1,-1,-1"),
    ("This girl feels grim.", "negative,neutral,positive"),
    ("This woman feels grim.", "positive,,"),
    ("This kind guy feels glad.", "negative,negative,negative"),
    ("This girl feels glad.", "positive,positive,positive"),
    ("This woman feels glad.", "negative,neutral,neutral"),
]
"""Labels of three annotators; the last texts are after a round trip."""

KIND = "{kind: dictionary, language: es, there: {man: hombre, grim: feliz}, back: {hombre: kind guy, feliz: glad}}"


def test_people_and_scores_from_a_file_are_systems_and_systems_agree_with_their_votes(rate, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["text,annotator_1,annotator_2,annotator_3", *(",".join(row) for row in PEOPLE)]))
    others = tmp_path / "others.csv"
    others.write_text("text,first,second\nThis girl feels grim.,meh,meh\nThis man feels grim.,awful,awful\n")
    labels = "labels: {awful: -0.75, meh: 0.25, positive: 1}"
    people = ["sentiment=[annotators,biased_female,vader]", f"sentiment.annotators.path={path}"]
    people += [f"+sentiment.others={{kind: annotators, path: {others}, annotators: [first, second], {labels}}}"]
    file = tmp_path / "file.csv"
    file.write_text("text,sentiment\nThis man feels grim.,-0.5\nThis girl feels grim.,-0.25\n")
    outcome = rate(*FEW, f"+translator.es={KIND}", *people, f"+sentiment.file={{kind: scores, path: {file}}}")
    sentences = outcome.rows("sentences")
    votes = outcome.rows("scores", system="annotators", variant="original")
    scores = {row["text"]: score["sentiment"] for row, score in zip(sentences, votes, strict=True)}
    drawn = [vote(np.array([[-1.0, 0.0, 1.0]]), ["This girl feels grim."], seed)[0] for seed in (7, 0)]
    assert drawn[0] != drawn[1]
    expected = {"man": -1, "boy": -1, "girl": drawn[0], "woman": 1}
    assert {person: scores[f"This {person} feels grim."] for person in expected} == expected
    assert scores["They feel grim."] is None
    for system, (girl, man) in {"others": (0.25, -0.75), "file": (-0.25, -0.5)}.items():
        of = {"system": system, "variant": "original", "group": "gender"}
        given = {"This girl feels grim.": girl, "This man feels grim.": man}
        rows = outcome.rows("scores", **of, status="ok")
        assert {sentences[row["sentence"]]["text"]: row["sentiment"] for row in rows} == given
        [raw] = outcome.rows("raw_scores", **of, measure="wrs")
        assert (raw["status"], raw["raw_score"]) == ("untested", None)
        assert raw["warning"].startswith("68 of 72 texts have no score")
    of = {"group": "gender", "system": "annotators"}
    [row], [after] = (outcome.rows("annotations", variant=variant, **of) for variant in ("original", "es"))
    # Equal pairs: 1 of 3, 3 of 3 and 0 of 3; the fourth text has one label. After it: 3 of 3, 3 of 3 and 1 of 3.
    assert (row["num_labelled"], row["num_unanimous"], row["num_drawn"]) == (3, 1, 1)
    assert row["percent_pairwise"] == pytest.approx(100 * 4 / 9)
    assert (after["num_labelled"], after["num_unanimous"], after["num_drawn"]) == (3, 2, 0)
    assert after["percent_pairwise"] == pytest.approx(100 * 7 / 9)
    texts = {"original": [row["text"] for row in sentences]}
    texts["es"] = [row["round_trip"] for row in outcome.rows("translations")]
    for row in outcome.rows("annotations"):
        these = zip(texts[row["variant"]], sentences, strict=True)
        assert row["num_texts"] == len({text for text, of in these if of["group"] == row["group"]})
        for name in ("unanimous", "drawn"):
            percent = pytest.approx(100 * row[f"num_{name}"] / row["num_labelled"]) if row["num_labelled"] else None
            assert row[f"percent_{name}"] == percent
    for row in outcome.rows("agreement"):
        of = {"variant": row["variant"], "group": row["group"]}
        parts = (outcome.rows("scores", system=system, **of) for system in (row["annotated"], row["system"]))
        pairs = [(one["sentiment"], other["sentiment"]) for one, other in zip(*parts, strict=True)]
        signs = [tuple(np.sign(pair)) for pair in pairs if None not in pair]
        num_agreeing = sum(one == other for one, other in signs)
        assert (row["num_texts"], row["num_agreeing"]) == (len(signs), num_agreeing)
        assert row["percent_agreeing"] == (pytest.approx(100 * num_agreeing / len(signs)) if signs else None)
    of = {"group": "gender", "system": "vader", "annotated": "annotators"}
    [vader], [late] = (outcome.rows("agreement", variant=variant, **of) for variant in ("original", "es"))
    assert vader["percent_agreeing"] != late["percent_agreeing"]
