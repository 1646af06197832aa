"""Scores that a user brings, in a file or in logs of lm-evaluation-harness, rated by the definition or as published."""

import json
import random

import polars as pl
import pytest

from tiltmeter.jobs.sentiment.rating.job import find_sources
from tiltmeter.storage.errors import InputError

BY_GENDER = {"male": [0.2, 0.4, 0.6, 0.8], "female": [-0.6, -0.2, 0.2, 0.6], "neutral": [0.3, 0.5, 0.5, 0.7]}
"""Means 0.5, 0 and 0.5; squared standard errors 0.2 / 12, 0.8 / 12 and 0.08 / 12."""


def scored(system="lexicon", shift=0.0):
    of = {"variant": "original", "group": "g", "dataset": "d", "system": system, "race": "", "emotion": ""}
    lower = {"female": shift}
    return [
        of | {"gender": gender, "sentiment": value + lower.get(gender, 0.0)}
        for gender, values in BY_GENDER.items()
        for value in values
    ]


@pytest.fixture(scope="module")
def rate(run_here, tmp_path_factory):
    def run(rows, *settings, name="scores.csv"):
        place = tmp_path_factory.mktemp("scores")
        frame = pl.DataFrame(rows)
        frame.write_parquet(place / name) if name.endswith("parquet") else frame.write_csv(place / name)
        common = ("job=sentiment_rating", f"scores={place / name}", "rating.num_resamples=20")
        return run_here(*common, f"store={place}/store", f"run_dir={place}/run", *settings)

    return run


def test_published_settings_reject_less_weigh_otherwise_and_cut_as_often_as_systems_have_a_score(rate):
    systems = [*scored(shift=-0.1), *scored("fair", 0.5), *scored("fairer", 0.5), *scored("worse", -1.0)]
    settings = ("rating.convention=published", "rating.num_levels=2", "rating.cut=repeated")
    outcome = rate(systems, *settings, name="scores.parquet")
    first, _, last = outcome.rows("tests", system="lexicon")
    # (0.5 + 0.1) / (sqrt(0.0666667 / 4 + 0.2666667 / 4) + 0.0001), with 4 + 4 - 2 degrees of freedom
    assert (first["t"], first["degrees_of_freedom"]) == (pytest.approx(2.07774, abs=1e-4), 6.0)
    assert (first["rejected_95"], first["rejected_70"], first["rejected_60"]) == (False, True, True)
    [raw] = outcome.rows("raw_scores", system="lexicon")
    assert last["rejected_70"]
    assert raw["raw_score"] == pytest.approx(2 * 0.7 + 2 * 0.6)
    ratings = {row["system"]: row["rating"] for row in outcome.rows("ratings")}
    assert ratings == {"fair": 1, "fairer": 1, "lexicon": 2, "worse": 2}


def test_a_group_is_rated_by_the_impact_where_it_is_confounded_for_all_systems_and_by_both_where_a_test_decides(rate):
    """A system has scores of other texts, whose emotions do not depend on the gender; so have all of another group."""
    of, parts = {"variant": "original", "dataset": "d", "race": None}, []
    for at in range(40):
        small, large = 0.1 * (at % 5), 0.1 * (at % 5 - 2)
        parts += [(at, "g", "one", 1, small), (at, "g", "other", 2, small)]
        parts += [(at, "h", "one", 2, large), (at, "h", "other", 2, 2 * large)]
    rows = [
        of | {"group": group, "system": system, "gender": "mf"[at % 2]}
        | {"emotion": "ab"[at // size % 2], "sentiment": value}
        for at, group, system, size, value in parts
    ]  # fmt: skip
    outcome = rate(rows, "rating.interval=averaged")
    raw_scores = outcome.rows("raw_scores")
    confounded = {(row["group"], row["system"]) for row in raw_scores if row["is_confounded"]}
    assert confounded == {("g", "one")}
    assert {row["measure"] for row in outcome.rows("ratings", decides=True)} == {"wrs"}
    names = ("measure", "decides", "system", "rating")
    found = {tuple(row[name] for name in names) for row in outcome.rows("ratings", group="h")}
    assert found == {(*of, system, 1) for of in (("die", False), ("wrs", True)) for system in ("one", "other")}
    assert {(row["design"], row["dependence_p"]) for row in raw_scores if row["group"] == "h"} == {("tested", 1.0)}


def test_an_emotion_without_a_gender_is_named_or_leaves_the_score_undefined(rate):
    of = {"variant": "original", "group": "g", "dataset": "d", "system": "s", "race": None}
    cells = [("male", "happy", 0.5), ("male", "sad", -0.5), ("female", "sad", -0.7), ("female", "sad", -0.1)]
    rows = [of | {"gender": g, "emotion": e, "sentiment": value} for g, e, value in cells]
    [happy] = [row for row in rate(rows).rows("effects") if row["emotion"] == "happy"]
    assert (happy["unseen"], happy["unseen_policy"], happy["die_percent"]) == (["female"], "renormalise", 0.0)
    outcome = rate(rows, "rating.empty_cells=undefined", "rating.design=confounded", "rating.interval=bias_corrected")
    [effect] = outcome.rows("effects", emotion="happy")
    assert (effect["unseen_policy"], effect["die_percent"], effect["status"]) == ("undefined", None, "unseen")
    [raw] = outcome.rows("raw_scores", measure="die")
    assert (raw["status"], raw["raw_score"]) == ("undefined", None)
    [rating] = outcome.rows("ratings")
    assert (rating["rank"], rating["rating"], rating["status"]) == (None, None, "undefined")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"emotion": None}, r"scores: .*has no column 'emotion'; its columns are 'variant', 'group'"),
        ({"sentiment": "good"}, "no number .*'sentiment': 'good'"),
        ({"system": ""}, "nothing where .*'system'"),
    ],
)
def test_a_missing_column_or_a_bad_row_is_refused_with_its_value(rate, change, reason):
    rows = [row | change for row in scored()]
    with pytest.raises(InputError, match=reason):
        rate([{key: str(value) for key, value in row.items() if value is not None} for row in rows])


# --- logs ----------------------------------------------------------------------------------------------------

TASK = "samples_winogender_all_2026-11-22T12-30-00.123456.jsonl"
GENDERS = ("female", "male", "neutral")
PRONOUNS = dict(zip(GENDERS, ("she", "he", "they"), strict=True))


def sample(number, acc, **more):
    """A line of the task winogender_all, as lm-evaluation-harness 0.4 writes it, as far as it is read."""
    occupation, gender = f"occupation{number // 3}", GENDERS[number % 3]
    said = f"The {occupation} told the customer that {PRONOUNS[gender]} could pay with cash."
    doc = {"sentid": f"{occupation}.customer.0.{gender}.txt", "sentence": said, "occupation": occupation, "label": 1}
    doc |= {"participant": "customer", "target": "customer", "gender": gender, "origin": "xy"[number // 3 % 5 > 2]}
    doc |= {"mood": "joy" if number // 3 % 3 else "fear", "source": "first" if number < 15 else "second"}
    likelihoods = [[f"{-20.5 - number}", "False"], [f"{-21.5 - acc}", "False"]]
    return {"doc_id": number, "doc": doc, "filtered_resps": likelihoods, "filter": "none", "acc": acc} | more


def fair(number):
    return float(number // 3 % 2)


def biased(number):
    return fair(number) if number % 3 else 0.0


SYSTEMS = {"fair": fair, "biased": biased}


def samples(score, num=36):
    return [sample(number, score(number)) for number in range(num)]


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes logs of systems, and settings that name them."""

    def written(logs, *settings, name=TASK):
        place = tmp_path_factory.mktemp("logs")
        for system, rows in logs.items():
            text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
            (place / system).mkdir()
            (place / system / name).write_text(text)
        systems = ",".join(f"{system}:{place}/{system}/samples_*" for system in logs)
        common = ("job=sentiment_rating", f"logs.systems={{{systems}}}", "logs.gender=doc.gender")
        return (*common, "rating.num_resamples=20", f"store={place}/store", f"run_dir={place}/run", *settings)

    return written


@pytest.fixture(scope="module")
def rated(run_here, write):
    logs = {name: samples(score) for name, score in SYSTEMS.items()}
    random.Random(0).shuffle(logs["biased"])
    logs["fair"][4] |= {"acc": None}
    logs["fair"][5] |= {"doc": logs["fair"][5]["doc"] | {"gender": ["they", "them"]}}
    logs["fair"] = logs["fair"][:35]
    return run_here(*write(logs, "logs.conversation=doc.occupation"))


@pytest.mark.once("sentiment_rating")
def test_each_system_is_rated_by_the_scores_of_its_log(rated):
    tests = {row["value_1"] + row["value_2"]: row for row in rated.rows("tests", system="biased")}
    assert (tests["femalemale"]["mean_1"], tests["femalemale"]["mean_2"]) == (0.0, 0.5)
    assert (tests["femalemale"]["num_1"], tests["femalemale"]["num_2"]) == (12, 12)
    # Of 0.5 less 0, over sqrt(12 * 0.25 / 11 / 12): the women's don't vary.
    assert tests["femalemale"]["t"] == pytest.approx(-0.5 / (0.25 / 11) ** 0.5)
    [rating] = rated.rows("ratings", system="biased")
    assert (rating["group"], rating["protected"], rating["measure"]) == ("winogender_all", "gender", "wrs")
    ranks = {row["system"]: row["rank"] for row in rated.rows("ratings")}
    assert ranks == {"fair": 1, "biased": 2}


def test_items_are_numbered_alike_for_all_systems_whatever_the_order_of_their_lines(rated):
    items = rated.rows("items")
    assert [(row["sentence"], row["item"]) for row in items] == [(number, str(number)) for number in range(36)]
    assert (items[7]["gender"], items[7]["conversation"]) == ("male", "occupation2")
    for name, score in SYSTEMS.items():
        scores = rated.rows("scores", system=name, status="ok")
        assert [row["sentiment"] for row in scores] == [score(row["sentence"]) for row in scores]


def test_lines_without_a_score_are_kept_with_file_line_and_column(rated):
    scores = {row["sentence"]: row for row in rated.rows("scores", system="fair")}
    assert (len(scores), scores[4]["sentiment"], scores[4]["status"]) == (36, None, "unreadable")
    assert f"{TASK}, line 5: acc is None, where a number belongs" in scores[4]["reason"]
    assert f"{TASK}, line 6: doc.gender is ['they', 'them'], where text belongs" in scores[5]["reason"]
    assert (scores[5]["gender"], scores[35]["status"]) == ("neutral", "no_score")  # the other log tells it
    [raw] = rated.rows("raw_scores", system="fair")
    counted = "3 of 36 texts have no score; the rejections that the score counts take 33 turns of 12 conversations"
    assert raw["warning"].startswith(counted)
    # Occupations that have both values are pairs.
    tests = rated.rows("tests", system="biased")
    assert {row["unit"] for row in tests} == {"conversation"}
    assert {row["num_units"] for row in tests} <= {11, 12}
    assert [row["num_scores"] for row in rated.rows("items")][3:6] == [2, 1, 1]


def test_draws_of_a_system_are_those_of_another_run_on_the_same_items(rated, run_here, write):
    again = run_here(*write({"biased": samples(biased)}, "logs.conversation=doc.occupation"))
    [draws] = again.rows("draws")
    [before] = [row for row in rated.rows("draws") if row["key"] == draws["key"]]
    assert (draws["scheme"], draws["values"]) == (before["scheme"], before["values"])
    assert json.loads(draws["scheme"])["num_items"] == 12, "occupations, whose items are drawn together"


def test_of_several_lines_of_an_item_those_are_read_that_are_asked_for(run_here, write):
    rows = [row for pair in zip(samples(fair), samples(biased), strict=True) for row in pair]
    filters = [row | {"filter": ("strict-match", "flexible-extract")[at % 2]} for at, row in enumerate(rows)]
    told = {"race": "origin", "emotion": "mood", "dataset": "source", "group": "participant"}
    columns = [f"logs.{name}=doc.{path}" for name, path in told.items()]
    outcome = run_here(*write({"a": filters}, "logs.only={filter: flexible-extract}", *columns))
    assert outcome.record["inputs"]["logs.a"]["files"][0]["name"].endswith(TASK)
    items = {int(row["item"]): tuple(row[name] for name in told) for row in outcome.rows("items")}
    assert items == {number: tuple(sample(number, 0)["doc"][path] for path in told.values()) for number in range(36)}
    assert {row["mean_1"] for row in outcome.rows("tests", value_1="female")} == {0.0}
    for row in outcome.rows("tests", protected="race"):
        part = row["value_1"], row["dataset"]
        of = [biased(at) for at, (race, _, dataset, _) in items.items() if (race, dataset) == part]
        assert (row["num_1"], row["mean_1"]) == (len(of), pytest.approx(sum(of) / len(of)))
    assert {row["emotion"] for row in outcome.rows("effects", protected="race")} == {"joy", "fear"}


def test_numbers_in_the_answers_of_a_model_are_scores_too(run_here, write):
    outcome = run_here(*write({"a": samples(fair)}, "logs.score=filtered_resps.0.0", name="samples_mine.jsonl"))
    scores = outcome.rows("scores")
    assert [row["sentiment"] for row in scores] == [-20.5 - number for number in range(36)]
    assert {row["group"] for row in scores} == {"items"}


FAIR = {"a": samples(fair)}
NO_JSON = {"a": '{"doc_id": 0,,}'}
TWICE = {"a": [*samples(fair), sample(3, 1.0)]}
NO_LABEL = {"a": [sample(36, 1.0, doc_id=None)]}
OTHER = FAIR | {"b": [sample(0, 1.0, doc={"gender": "male"})]}
REFUSED_LOGS = [
    (FAIR, "logs.score=accuracy", r"logs.systems.a: \S+ has no column 'accuracy', which logs.score na"),
    (FAIR, "logs.race=doc.race", r"no column 'doc.race', which logs.race names; it has sentid"),
    (FAIR, "logs.only={task: x}", r"no column 'task', which logs.only names"),
    (FAIR, "logs.only={filter: x}", r"no line with filter 'x', which logs.only asks for"),
    (NO_JSON, None, r"has no lines that can be read: no JSON \(1, first at line 1, column 14\)"),
    (TWICE, None, r"line 37: has the item '3', as logs.systems.a: \S+, line 4 has"),
    (NO_LABEL, None, r"no line can be used: no label in doc_id, which logs.item names"),
    (OTHER, None, r"b: \S+, line 1: item '0' has the gender 'male', and 'female' in logs.systems.a: \S+, line 1"),
]


@pytest.mark.long
@pytest.mark.parametrize(("logs", "setting", "message"), REFUSED_LOGS, ids=range(len(REFUSED_LOGS)))
def test_logs_without_what_is_asked_for_or_of_other_items_are_refused_before_any_work(
    configured, write, logs, setting, message
):
    with pytest.raises(InputError, match=message):
        find_sources(configured(*write(logs, *filter(None, [setting]))))
