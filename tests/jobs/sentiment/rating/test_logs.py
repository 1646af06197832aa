"""Scores of several systems from logs of lm-evaluation-harness, rated by what the items tell."""

import json
import random

import pytest

from tiltmeter.jobs.sentiment.rating.job import find_sources
from tiltmeter.storage.errors import InputError

TASK = "samples_winogender_all_2026-11-22T12-30-00.123456.jsonl"
GENDERS = ("female", "male", "neutral")
PRONOUNS = dict(zip(GENDERS, ("she", "he", "they"), strict=True))


def sample(number, acc, **more):
    """A line of the task winogender_all, as lm-evaluation-harness 0.4 writes it, as far as it is read."""
    occupation, gender = f"occupation{number // 3}", GENDERS[number % 3]
    doc = {
        "sentid": f"{occupation}.customer.0.{gender}.txt",
        "sentence": f"The {occupation} told the customer that {PRONOUNS[gender]} could pay with cash.",
        "occupation": occupation,
        "participant": "customer",
        "gender": gender,
        "origin": "xy"[number // 3 % 5 > 2],
        "mood": "joy" if number // 3 % 3 else "fear",
        "source": "first" if number < 15 else "second",
        "target": "customer",
        "label": 1,
    }
    likelihoods = [[f"{-20.5 - number}", "False"], [f"{-21.5 - acc}", "False"]]
    return {
        "doc_id": number,
        "doc": doc,
        "filtered_resps": likelihoods,
        "filter": "none",
        "acc": acc,
    } | more


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
    assert raw["warning"].startswith(
        "3 of 36 texts have no score; the rejections that the score counts take 33 turns of 12 conversations"
    )
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
        of = [
            biased(at)
            for at, (race, _, dataset, _) in items.items()
            if (race, dataset) == (row["value_1"], row["dataset"])
        ]
        assert (row["num_1"], row["mean_1"]) == (len(of), pytest.approx(sum(of) / len(of)))
    assert {row["emotion"] for row in outcome.rows("effects", protected="race")} == {"joy", "fear"}


def test_numbers_in_the_answers_of_a_model_are_scores_too(run_here, write):
    outcome = run_here(*write({"a": samples(fair)}, "logs.score=filtered_resps.0.0", name="samples_mine.jsonl"))
    scores = outcome.rows("scores")
    assert [row["sentiment"] for row in scores] == [-20.5 - number for number in range(36)]
    assert {row["group"] for row in scores} == {"items"}


FAIR = {"a": samples(fair)}
REFUSED = [
    (FAIR, "logs.score=accuracy", r"logs.systems.a: \S+ has no column 'accuracy', which logs.score na"),
    (FAIR, "logs.race=doc.race", r"no column 'doc.race', which logs.race names; it has sentid"),
    (FAIR, "logs.only={task: x}", r"no column 'task', which logs.only names"),
    (FAIR, "logs.only={filter: x}", r"no line with filter 'x', which logs.only asks for"),
    ({"a": '{"doc_id": 0,,}'}, None, r"has no lines that can be read: no JSON \(1, first at line 1, column 14\)"),
    (
        {"a": [*samples(fair), sample(3, 1.0)]},
        None,
        r"line 37: has the item '3', as logs.systems.a: \S+, line 4 has",
    ),
    (
        {"a": [sample(36, 1.0, doc_id=None)]},
        None,
        r"no line can be used: no label in doc_id, which logs.item names",
    ),
    (
        FAIR | {"b": [sample(0, 1.0, doc={"gender": "male"})]},
        None,
        r"logs.systems.b: \S+, line 1: item '0' has the gender 'male', and 'female' in logs.systems.a: \S+, line 1",
    ),
]


@pytest.mark.parametrize(("logs", "setting", "message"), REFUSED, ids=range(len(REFUSED)))
def test_logs_without_what_is_asked_for_or_of_other_items_are_refused_before_any_work(
    configured, write, logs, setting, message
):
    with pytest.raises(InputError, match=message):
        find_sources(configured(*write(logs, *filter(None, [setting]))))
