"""A run of `privacy_metrics` on made-up dialogues, and what its tables and its page say."""

import json
from collections import Counter

import numpy as np
import pytest

from tests.fixtures.dialogues import SMALL, TELLS
from tests.jobs.classifiers.privacy.by_hand import CLASSES, check_samples, ep
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.privacy import models
from tiltmeter.jobs.classifiers.privacy.explanations import Explained, MeasureModel
from tiltmeter.jobs.classifiers.privacy.tables import EXPLAINED, MEASURES, RANDOM_LISTS, RESEEDED
from tiltmeter.jobs.classifiers.tables import Attributed
from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.privacy.attacker import weighted_recalls
from tiltmeter.operators.classifiers.privacy.bins import BinnedLexicon
from tiltmeter.operators.classifiers.privacy.metrics import UNBINNED, MetricConfig
from tiltmeter.operators.classifiers.privacy.noise import with_noise
from tiltmeter.operators.classifiers.privacy.random_lists import random_list, random_lists
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.resampling import resampled_counts, resampled_mean
from tiltmeter.operators.statistics.text_intervals import below, spread_out
from tiltmeter.operators.statistics.units import kish, units_of
from tiltmeter.operators.text.listed_words import WordList

SEEDED = [*SMALL, "seed=2", "intervals.level=0.9"]


@pytest.fixture(scope="module")
def outcome(run_here, dialogues, tmp_path_factory):
    place = tmp_path_factory.mktemp("privacy")
    watched = [(training, "train"), (models, "_penalty"), (models, "attack")]
    return run_here(*dialogues, *SEEDED, f"store={place}/store", f"run_dir={place}/run", watched=watched)


def test_models_learn_valence_and_those_that_are_trained_for_ep_leave_listed_words_of_general(outcome):
    means = {row["model"]: row for row in outcome.rows("models", seed=None, corpus="within")}
    assert means["General"]["valence_uar"] > 0.9 < means["ArtNoise"]["valence_uar"]
    assert means["PrivAdvEP"]["ep"] > max(means[RESEEDED]["ep"] + 0.2, 0.3)
    orderings = {(row["against"], row["measure"]): row for row in outcome.rows("orderings", corpus="within")}
    kept = orderings["General", "ep"]
    assert (kept["expected"], kept["found"]) == ("higher", kept["difference_low"] > 0)
    assert {against for against, measure in orderings if measure == "ep"} == {"General", RESEEDED, "random lists"}


def mean_of_known(values):
    """Of each text over seeds."""
    return np.array([np.mean([value for value in of if value == value] or [np.nan]) for of in values.T])


def by_text(rows, name, sentences):
    """``[seeds, texts]`` of rows of texts; NaN where there is none."""
    values = {(row["seed"], row["sentence"]): row[name] for row in rows}
    return np.array([[values.get((seed, number)) for number in sentences] for seed in (0, 1)], float)


@pytest.fixture(scope="module")
def speakers(outcome):
    """Who says each sentence, as units; copies are by whoever said the original."""
    said = {row["sentence"]: row["group"] for row in outcome.rows("texts")}
    said |= {row["sentence"]: said[row["original"]] for row in outcome.rows("noisy_texts")}
    return lambda sentences: units_of([said[number] for number in sentences], "speaker")


@pytest.fixture(scope="module")
def check(outcome):
    """Holds a number, its interval and its draws against what its texts and their speakers make of them."""
    kept = {}
    for draw in outcome.rows("draws"):
        kept.setdefault((draw["table"], draw["column"]), []).append(draw)

    def checked(table, row, name, spoken, scale, about):
        found = spoken.inferred(0.9, scale)
        known = [None if np.isnan(number) else pytest.approx(number) for number in found[:3]]
        assert [row[name], row[f"{name}_low"], row[f"{name}_high"]] == known
        draws = [draw for draw in kept.get((table, name), ()) if json.loads(draw["key"]).items() <= row.items()]
        assert len(draws) == (found.low == found.low)
        for draw in draws:
            units, values = spoken.units, spoken.influence + found.value
            [counts] = resampled_counts(np.zeros(units.num, int), 2, document_key(about), 100, units.codes)
            is_known = ~np.isnan(values)
            num = kish(units.part(is_known).sizes if spoken.weights is None else units.sums(spoken.weights))
            expected = spread_out(resampled_mean(values, counts, num)._replace(value=found.value))
            assert draw["values"] == pytest.approx(list(expected))
            assert json.loads(draw["scheme"])["num_items"] == pytest.approx(num)
        return found

    return checked


def numbers_of(outcome, speakers, model, corpus):
    """What texts have of each measure, by seed and of all."""
    rows = outcome.rows("samples", model=model, corpus=corpus)
    sentences = sorted({row["sentence"] for row in rows})
    made = {name: Spoken(by_text(rows, name, sentences), None, speakers(sentences)) for name in EXPLAINED}
    tested = [row for part in outcome.made("privacy_outcomes", "outcomes") for row in part]
    tested = [row for row in tested if (row["model"], row["corpus"]) == (model, corpus)]
    sentences = list(dict.fromkeys(row["sentence"] for row in tested))
    gold = {row["sentence"]: row for table in ("texts", "noisy_texts") for row in outcome.rows(table)}
    for kind in ("valence", "gender") if tested else ():
        right = [row | {"right": row[f"found_{kind}"] == gold[row["sentence"]][kind]} for row in tested]
        classes = np.unique([gold[number][kind] for number in sentences], return_inverse=True)[1]
        shares = [weighted_recalls(part, classes) for part in by_text(right, "right", sentences) > 0]
        whole = weighted_recalls(np.ones(len(classes), bool), classes)
        made[f"{kind}_uar"] = Spoken(np.stack(shares), None, speakers(sentences), classes, kind == "gender", whole)

    def of_seeds(one, part):
        return one._replace(by_seed=one.by_seed[part], values=mean_of_known(one.by_seed[part]))

    parts = {None: slice(None), 0: slice(1), 1: slice(1, 2)}
    return {seed: {name: of_seeds(one, part) for name, one in made.items()} for seed, part in parts.items()}


SCALES = {"ep": LINEAR, "ep_random": LINEAR, "eg": below(1.0)}


def test_numbers_of_models_are_means_over_texts_and_differences_are_between_these(outcome, speakers, check):
    """Of each seed and of all, by speaker; of recalls each class weighs alike."""
    pairs = {(row["model"], row["corpus"]) for row in outcome.rows("models")}
    numbers = {pair: numbers_of(outcome, speakers, *pair) for pair in pairs}
    for row in outcome.rows("models"):
        of = numbers[row["model"], row["corpus"]][row["seed"]]
        for name, spoken in of.items():
            about = row["corpus"] if name.endswith("_uar") else f"{row['corpus']} explained"
            check("models", row, name, spoken, SCALES.get(name, LOGIT), about)
        assert all(row[name] is None for name in MEASURES if name not in of)
        assert [row[f"num_{name}"] for name in ("ep", "eg")] == [of[name].known.sum() for name in ("ep", "eg")]
        assert row["num_units"] == np.unique(of["listed_share"].units.codes).size
    for row in outcome.rows("orderings"):
        of, measure = numbers[row["model"], row["corpus"]][None], row["measure"]
        if row["against"] == RANDOM_LISTS:
            spoken = of["ep"] - of["ep_random"]
        elif (row["against"], measure) == ("General", "ep"):
            spoken = of["ep"]
        else:
            spoken = of[measure] - numbers[row["against"], row["corpus"]][None][measure]
        about = row["corpus"] if measure.endswith("_uar") else f"{row['corpus']} explained"
        found = check("orderings", row, "difference", spoken, LINEAR if measure in SCALES else FISHER, about)
        p, _ = spoken.p_of_none(found)
        assert row["p"] == (None if np.isnan(p) else pytest.approx(p))
        assert row["sd_training"] == pytest.approx(spoken.seeds.std(ddof=1))
    samples = outcome.rows("samples")
    assert all((row[name] is None) == bool(row[f"{name}_reason"]) for name in ("ep", "eg") for row in samples)


@pytest.mark.once("privacy_metrics")
@pytest.mark.parametrize("corpus", ["within", "across"])
@pytest.mark.parametrize(("model", "seed", "shown"), [("PrivAdvEP", 0, 0), ("PrivAdvEP", 1, 1), (RESEEDED, 1, 0)])
def test_ep_and_eg_are_equations_1_and_2_of_the_published_attributions(outcome, corpus, model, seed, shown):
    """Against General of the same seed; what is reseeded is General of the other one."""
    listed = {row["word"] for row in outcome.rows("ep_words", model="General", corpus=corpus)}
    assert {"sorry", "damn", "he", "it"} <= listed
    lexicon = {word: (number, number - 1.0) for number, words in enumerate(TELLS.values()) for word in words}
    about = (f"General, seed {seed}", f"{'General' if model == RESEEDED else model}, seed {shown}", listed, lexicon)
    samples = check_samples(outcome, {"model": model, "corpus": corpus, "seed": seed}, *about, MetricConfig())
    part = outcome.rows("texts", part="test" if corpus == "within" else "across", status="ok")
    part.sort(key=lambda row: (document_key(f"2\nexplained\n{row['text']}"), row["sentence"]))
    assert {row["sentence"] for row in samples} == {row["sentence"] for row in part[:40]}


def work(name, classes):
    """Of a model, with the usual settings."""
    refs = dict.fromkeys(("attributions", "general", "lexicon", "corpora"), ())
    settings = {"seed": 0, "explained": "predicted", "num_random_lists": 0, "least": 0.25, "random_seed": 0}
    return MeasureModel(name=name, classes=classes, lists={}, metrics=MetricConfig(), **refs, **settings)


def explanation(words, values, predicted="low", gold=None):
    pairs = enumerate(zip(words, values, strict=True))
    about = {"model": "General", "sentence": 0, "predicted": predicted, "gold": gold}
    return [Attributed(position=at, word=word, attribution=value, **about) for at, (word, value) in pairs]


KEYS = {"model": "PrivEP", "seed": 0, "corpus": "within", "sentence": 0}


@pytest.mark.parametrize(("general", "own", "status"), [("high", "low", "general_wrong"), ("low", "high", "ok")])
def test_eg_is_of_sentences_that_general_gets_right_whatever_the_model_says(general, own, status):
    lines = (explanation(["sad"], [1.0], says, "low") for says in (own, general))
    lexicon = BinnedLexicon({"sad": -1.0}, {"sad": 0})
    row = Explained(*lines, {"none": WordList(())}, lexicon, work("PrivEP", ("low", "high"))).sample([], KEYS)
    assert row.eg_status == status
    assert row.eg == (1.0 if status == "ok" else None), "a sad word is right of the gold class, which is low"


def test_a_lexicon_has_words_however_they_are_written():
    lexicon = BinnedLexicon({"sad": -0.5, "plain": 0.1}, {"sad": 0, "plain": 1})
    assert lexicon.bins_of(["Sad", "SAD", "Plain", "x"]).tolist() == [0, 0, 1, UNBINNED]
    assert np.isnan(lexicon.valences_of(["Sad", "Plain", "x"], 0.5)).tolist() == [False, True, True]


def test_a_phrase_is_one_use_of_its_words_and_has_the_shares_of_all_of_them():
    words = ["you", "know", "it", "is", "so", "you", "know", "he", "said", "you", "know"]
    lines = explanation(words, [float(at) for at in range(len(words))])
    lists = {"fillers": WordList(("you know", "so"))}
    rows = [*Explained(lines, None, lists, None, work("General", ("low",))).word_rows(KEYS)]
    assert [(row.word, row.num) for row in rows] == [("so", 1), ("you know", 3)]
    assert [row.share for row in rows] == pytest.approx([4 / 55, (0 + 1 + 5 + 6 + 9 + 10) / 55])


def lists_of(texts, listed, corpus, seed, num):
    """Random lists by words of texts: how many texts a word is in, not how often it is."""
    counts = Counter(word for words in texts for word in {*words} if word.isalnum())
    key = document_key(f"{corpus} random lists")
    draws = [keyed_generator(seed, Stream.RANDOM_WORDS, 0, number, key) for number in range(num)]
    return [random_list(counts, frozenset(listed), drawn) for drawn in draws]


def test_random_lists_are_of_words_that_are_in_as_many_texts():
    texts = ["sorry w1 w1 w1 w1 w2 w3", "sorry w4 w5 w5 w5 w6", "sorry w1 w7 w8 , w9", "w1 wa wb wb wc wd we wf"]
    words = [text.split() for text in texts]
    made = random_lists([(some, np.array(some) == "sorry") for some in words], 6, 5, "within")
    assert made == lists_of(map(str.split, texts), {"sorry"}, "within", 5, 6)
    assert len({*made}) > 2


@pytest.mark.parametrize("corpus", ["within", "across"])
def test_ep_of_words_that_nobody_listed_is_the_mean_over_random_lists(outcome, corpus):
    samples = outcome.rows("samples", model="PrivAdvEP", corpus=corpus, seed=1)
    general, other = (
        outcome.grouped("attributions", "sentence", model=f"{name}, seed 1") for name in ("General", "PrivAdvEP")
    )
    words = {sample["sentence"]: [row["word"].lower() for row in other[sample["sentence"]]] for sample in samples}
    listed = {row["word"] for row in outcome.rows("ep_words", model="General", corpus=corpus)}
    drawn = lists_of(words.values(), listed, corpus, 2, 20)
    for sample in samples:
        values = [[row["attribution"] for row in part[sample["sentence"]]] for part in (general, other)]
        places = [{at for at, word in enumerate(words[sample["sentence"]]) if word in some} for some in drawn]
        eps = [one for at in places if (one := ep(*values, at, MetricConfig())[0]) is not None]
        assert sample["ep_random"] == (pytest.approx(np.mean(eps)) if eps else None)
    assert any(sample["ep_random"] for sample in samples)


def noise_of(rows):
    """The artificial word of each text, by its class and who speaks."""
    words = {"female": "zx", "male": "zq"}
    return [f"{words[row['gender']]}{CLASSES.index(row['valence'])}" for row in rows]


def test_models_learn_from_the_training_part_and_stop_by_the_development_part(outcome):
    """Each seed by itself; artificial words are for ArtNoise, the speaker's gender for an adversary alone."""
    texts = {part: outcome.rows("texts", part=part, status="ok") for part in ("training", "development")}
    units = [unit for unit, _ in outcome.units("privacy_model")]
    calls = outcome.calls["train"]
    names = [f"{name}, seed {seed}" for name in ("General", "ArtNoise", "PrivAdvEP") for seed in (0, 1)]
    assert [unit.name for unit in units] == names
    for unit, call in zip(units, calls, strict=True):
        name, _, seed = unit.name.partition(", seed ")
        assert call["seed"] == 2 + int(seed)
        assert (call["penalty"] is not None, {*call["heads"]}) == (
            (True, {"valence", "gender"}) if name == "PrivAdvEP" else (False, {"valence"})
        )
        for part, rows in texts.items():
            for name, head in call["heads"].items():
                labels = [head.classes[number] for number in call[part].labels[name]]
                assert labels == [row[name] for row in rows]
            written = [row["text"] for row in rows]
            if unit.name.startswith("ArtNoise"):
                written = with_noise(written, noise_of(rows), seed=call["seed"])
            assert [" ".join(text.words) for text in call[part].texts] == written
    generals = {call["seed"]: call["network"] for call in calls[:2]}
    for call, penalty in zip(calls[4:], outcome.calls["_penalty"], strict=True):
        learnt, shown = (network.state_dict() for network in (generals[call["seed"]], penalty["general"].network))
        assert all(bool((learnt[name] == shown[name]).all()) for name in learnt)
        assert penalty["texts"] == [row["text"] for row in texts["training"]]


def test_outcomes_are_what_models_and_attacker_answer(outcome):
    """The attacker has learnt from the training part."""
    training = outcome.rows("texts", part="training", status="ok")
    for call in outcome.calls["attack"]:
        genders = [("female", "male")[number] for number in call["classes"]]
        assert genders == [row["gender"] for row in training]
        assert len(call["test"]) > len(call["training"]) == len(training)
    others = [row for row in outcome.rows("texts", status="ok") if row["part"] in ("training", "test", "across")]
    trained = {unit.name: done.tables["model"] for unit, done in outcome.units("privacy_model")}
    for (unit, done), call in zip(outcome.units("privacy_outcomes"), outcome.calls["attack"], strict=True):
        name = unit.name.partition(", seed ")[0]
        rows = outcome.read(done.tables["outcomes"])
        answered = [*others, *(outcome.rows("noisy_texts") if name in ("General", "ArtNoise") else [])]
        genders = [("female", "male")[number] for number in call["result"]]
        model = TextModel(TrainedSource(), on_gpu=False, made=trained[unit.name]).load(outcome.pool.store).network
        valences = [model.classes[at] for at in predict(model, [row["text"] for row in answered]).argmax(axis=1)]
        said = zip(answered, valences, genders, strict=True)
        assert [(row["sentence"], row["found_valence"], row["found_gender"]) for row in rows] == [
            (row["sentence"], valence, gender) for row, valence, gender in said if row.get("part") != "training"
        ]


def test_the_mean_over_the_samples_is_the_sum_over_words_on_one_list(outcome):
    for model, name, part in (("General", "listed_share", "share"), ("PrivAdvEP", "ep", "part")):
        [mean] = outcome.rows("models", model=model, corpus="within", seed=None)
        words = {(row["word"], row["list"]): row for row in outcome.rows("ep_words", model=model, corpus="within")}
        once = {word: row[part] for (word, _), row in words.items()}
        assert sum(once.values()) == pytest.approx(mean[name])
    avoided = {row["word"]: row["num_avoided"] for row in outcome.rows("ep_words", model="PrivAdvEP", corpus="within")}
    assert avoided["sorry"] + avoided["damn"] > 5


@pytest.mark.parametrize("corpus", ["within", "across"])
def test_words_are_held_against_what_general_makes_of_them(outcome, speakers, check, corpus):
    rows = outcome.rows("ep_words", model="General", corpus=corpus)
    general = {(row["word"], row["list"]): row["share"] for row in rows}
    samples = outcome.rows("samples", model="PrivAdvEP", corpus=corpus, seed=0)
    texts = {row["sentence"]: row["text"].split() for row in outcome.rows("texts")}
    sentences = sorted(sample["sentence"] for sample in samples)
    of_words = [row for part in outcome.made("privacy_samples", "words") for row in part if row["corpus"] == corpus]
    for row in outcome.rows("ep_words", model="PrivAdvEP", corpus=corpus):
        word = row["word"], row["list"]
        of_models = [
            [one for one in of_words if (one["model"], one["word"], one["list"]) == (name, *word)]
            for name in ("PrivAdvEP", "General")
        ]
        own, other = (np.nan_to_num(by_text(rows, "share", sentences)) for rows in of_models)
        change = Spoken(own - other, mean_of_known(own - other), speakers(sentences))
        check("ep_words", row, "change", change, FISHER, f"{corpus} explained")
        assert row["stopped"] == (row["change_high"] < 0 and own.mean() <= other.mean() / 2)
        assert row["share_general"] == pytest.approx(general[word])
        assert row["change"] == pytest.approx(row["share"] - row["share_general"])
        uses = [texts[number].count(row["word"]) for number in sentences]
        used = sum(num > 0 for num in uses)
        assert (row["num_sentences"], row["num_occurrences"]) == (used, sum(uses))
        assert row["share_where_used"] == pytest.approx(row["share"] * len(samples) / used)
    words = {row["word"]: row for row in outcome.rows("ep_words", model="PrivAdvEP", corpus=corpus)}
    for name in ("num_avoided", "num_added"):
        of_samples = [row[name] for row in outcome.rows("samples", model="PrivAdvEP", corpus=corpus)]
        assert sum(row[name] for row in words.values()) == sum(of_samples), "on one list each"
    tested = outcome.rows("texts", status="ok", part="test" if corpus == "within" else corpus)
    for row in outcome.rows("models", corpus=corpus):
        assert row["num_rows"] in (len(tested), None)
        assert (row["num_rows"] is None) == (row["model"] == RESEEDED)
        some = [one for one in outcome.rows("samples", model=row["model"], corpus=corpus) if one["status"] == "ok"]
        numbers = {one["sentence"] for one in some if row["seed"] in (None, one["seed"])}
        assert row["num_explained"] == len(numbers)


def share_of_noise(lines, word):
    sizes = [(line["word"], abs(line["attribution"] or 0.0)) for line in lines]
    return sum(size for name, size in sizes if name == word) / sum(size for _, size in sizes)


def test_artificial_words_weigh_more_with_the_model_that_learnt_them(outcome, speakers, check):
    rows = {(row["model"], row["word"]): row for row in outcome.rows("noise", seed=None)}
    words = {None, "zx0", "zx1", "zx2", "zq0", "zq1", "zq2"}
    words &= {word for model, word in rows if model == "ArtNoise"}
    assert len(words) > 3
    learnt, unknown = rows["ArtNoise", None], rows["General", None]
    assert (learnt["num_texts"], learnt["even_share"]) == (unknown["num_texts"], unknown["even_share"])
    [first, other] = outcome.rows("noise", seed=0, word=None)
    by_model = {row["model"]: row for row in (first, other)}
    assert by_model["ArtNoise"]["share_low"] > by_model["General"]["share_high"]
    for row in rows.values():
        is_told = row["share_low"] is not None
        assert row["highlighted"] == (row["share_low"] > row["even_share"] if is_told else None)
        assert row["status"] == ("ok" if is_told else "too_few_units")
    assert learnt["num_texts"] == sum(rows["ArtNoise", word]["num_texts"] for word in words - {None})
    copies = {row["sentence"]: row for row in outcome.rows("noisy_texts")}
    originals = outcome.rows("texts", part="test", status="ok")
    assert [row["original"] for row in copies.values()] == [row["sentence"] for row in originals]
    made = with_noise([row["text"] for row in originals], noise_of(originals), seed=2)
    assert [row["text"] for row in copies.values()] == made
    assert min(copies) == len(outcome.rows("texts"))
    explained = {row["sentence"] for row in outcome.rows("samples", model="ArtNoise", corpus="noisy")}
    assert {copies[sentence]["noise"] for sentence in explained} == words - {None}
    by_seed = [outcome.grouped("attributions", "sentence", model=f"ArtNoise, seed {seed}") for seed in (0, 1)]
    for row in (learnt, rows["ArtNoise", "zx0"]):
        of = sorted(one for one in explained if row["word"] in (None, copies[one]["noise"]))
        shares = np.array([[share_of_noise(lines[one], copies[one]["noise"]) for one in of] for lines in by_seed])
        spoken = Spoken(shares, mean_of_known(shares), speakers(of))
        check("noise", row, "share", spoken, LOGIT, f"noisy {row['word'] or ''} explained")


def test_nights_on_the_same_texts_are_paired_whatever_their_level(run_here, outcome, dialogues):
    place = outcome.path.parent
    again = run_here(*dialogues, *SEEDED, "intervals.level=0.8", f"store={place}/store", f"run_dir={place}/narrower")
    rows = Comparison(past_run(outcome.path), past_run(again.path)).differences().to_pylist()
    rows = [row for row in rows if row["paired_by"] != "none"]
    assert len(rows) == len(outcome.rows("draws"))  # numbers without an interval leave no draws
    assert {(row["paired_by"], row["difference"], row["p"]) for row in rows} == {("items", 0.0, 1.0)}


@pytest.mark.slow
def test_tables_are_the_same_on_two_workers(run_job, outcome, dialogues, tmp_path):
    again = run_job(*dialogues, *SEEDED, "cluster.num_cpus=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert again.digests == outcome.digests
