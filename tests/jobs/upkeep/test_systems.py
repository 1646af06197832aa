"""The table of systems on the same items, and its page, from pairs that are made here."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tiltmeter.jobs.upkeep.compare.logs_page import page_of_systems
from tiltmeter.jobs.upkeep.compare.pairs import ITEMS, Pair
from tiltmeter.jobs.upkeep.compare.systems import Inference, systems_table
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.storage.errors import InputError

NUM = 60


def pair_of(first, second, task="items", names=("first", "second"), items=None, clusters=None, unscored=({}, {})):
    """Of scores ``[items, repeats]`` of each system."""
    sides = [np.asarray(side, dtype=float).reshape(len(side), -1) for side in (first, second)]
    num = len(sides[0])
    means, counts = [side.mean(axis=1) for side in sides], [np.full(num, side.shape[1]) for side in sides]
    variances = [side.var(axis=1, ddof=1) if side.shape[1] > 1 else [None] * num for side in sides]
    named = items or [f"question {place}" for place in range(num)]
    columns = [named, clusters or [None] * num, *means, *variances, *counts]
    frame = pl.DataFrame(dict(zip(ITEMS, columns, strict=True)), schema=ITEMS)
    return Pair(task, "acc", *names, frame, unscored)


def rows_of(pairs, **settings):
    return systems_table(pairs, Inference(**settings)).to_pylist()


def page_of(pairs, **settings):
    inference = Inference(**settings)
    return page_of_systems(inference, pl.DataFrame(systems_table(pairs, inference)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def repeated(rng):
    """Five repeats of two systems, of which now one and now the other is far ahead."""
    chances, leads = rng.random(NUM) * 0.4 + 0.3, rng.choice([-0.25, 0.3], NUM)
    return [rng.binomial(1, (chances + lead)[:, np.newaxis], (NUM, 5)).astype(float) for lead in (0.0 * leads, leads)]


def test_repeats_are_inside_their_items(repeated):
    [row] = rows_of([pair_of(*repeated)])
    differences = repeated[1].mean(axis=1) - repeated[0].mean(axis=1)
    assert (row["num_items"], row["num_clusters"], row["first_repeats"], row["second_repeats"]) == (NUM, NUM, 5.0, 5.0)
    assert row["difference"] == pytest.approx(differences.mean())
    sd = differences.std(ddof=1) / np.sqrt(NUM)
    reach = stats.t.ppf(0.975, NUM - 1) + stats.t.ppf(0.8, NUM - 1)
    assert row["smallest_detectable"] == pytest.approx(reach * sd)
    within = sum(side.var(axis=1, ddof=1).sum() for side in repeated) / 5 / NUM**2
    assert row["noise_share"] == pytest.approx(within / sd**2)
    assert row["first"] == pytest.approx(repeated[0].mean())
    assert row["first_low"] < row["first"] < row["first_high"]
    assert (row["first_only"], row["mcnemar_p"]) == (None, None)


def test_of_so_few_items_no_difference_of_shares_could_be_shown():
    first, second = [1, 0, 1, 0, 0, 1], [0, 1, 1, 1, 0, 1]
    [shares], [points] = (rows_of([pair_of(np.array(first) * size, np.array(second) * size)]) for size in (1, 10))
    assert (shares["smallest_detectable"], points["smallest_detectable"] > 10.0) == (None, True)


def test_new_samples_of_these_items_vary_by_their_repeats_alone(repeated):
    [row] = rows_of([pair_of(*repeated)], question="samples", level=0.9)
    variances = [side.var(axis=1, ddof=1).sum() / 5 / NUM**2 for side in repeated]
    df = sum(variances) ** 2 / sum(one**2 / (4 * NUM) for one in variances)
    half = stats.t.ppf(0.95, df) * np.sqrt(sum(variances))
    ends = [row["difference"] - half, row["difference"] + half]
    assert [row["difference_low"], row["difference_high"]] == pytest.approx(ends)
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(row["difference"]) / np.sqrt(sum(variances)), df))
    assert (row["question"], row["noise_share"]) == ("samples", None)
    half = stats.t.ppf(0.95, 4 * NUM) * np.sqrt(variances[0])
    assert row["first_high"] == pytest.approx(row["first"] + half)


def test_new_samples_need_repeats(repeated):
    [row] = rows_of([pair_of(*(side[:, :1] for side in repeated))], question="samples")
    assert (row["status"], row["p"], row["difference_low"], row["noise_share"]) == ("single_repeats", None, None, None)
    assert "set logs.question=items" in row["reason"]


def test_mid_p_is_asked_for(rng):
    first, second = np.repeat([1.0, 0.0, 1.0], [12, 4, 30]), np.repeat([0.0, 1.0, 1.0], [12, 4, 30])
    [exact], [mid] = (rows_of([pair_of(first, second)], mid_p=mid_p) for mid_p in (False, True))
    assert exact["p"] == pytest.approx(stats.binomtest(4, 16).pvalue)
    assert mid["p"] == pytest.approx(exact["p"] - stats.binom.pmf(4, 16, 0.5))
    [doubts] = page_of([pair_of(first, second)], mid_p=True).lead.doubts
    assert "counts half" in doubts.text


# --- tasks ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tasks(rng):
    """Three tasks of unlike sizes, whose items are numbered alike and are not the same."""
    sizes = {"algebra": 30, "biology": 60, "civics": 90}
    leads = zip(sizes.items(), (0.0, 0.1, 0.2), strict=True)
    return {
        task: (rng.binomial(1, 0.5, num), rng.binomial(1, 0.5 + lead, num), [str(place) for place in range(num)])
        for (task, num), lead in leads
    }


def pairs_of(tasks):
    return [pair_of(first, second, task, items=items) for task, (first, second, items) in tasks.items()]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [("equal", [1, 1, 1]), ("items", [30, 60, 90]), ({"civics": 3.0, "algebra": 1.0}, [1, 0, 3])],
)
def test_the_mean_of_tasks_is_a_row_with_the_weights_that_are_said(tasks, weights, expected):
    *rows, mean = rows_of(pairs_of(tasks), weights=weights)
    differences = np.array([row["difference"] for row in rows])
    assert [row["task"] for row in rows] == [*tasks]
    assert mean["task"] == f"mean of {np.count_nonzero(expected)} tasks"
    assert mean["difference"] == pytest.approx(np.average(differences, weights=expected))
    # Numbers as names say which line of a task it is, and no more: no item is in two tasks.
    assert mean["num_clusters"] == mean["num_items"] == sum(30 * place for place in (1, 2, 3) if expected[place - 1])
    shares = np.array(expected) / sum(expected)
    spreads = [np.var(second - first, ddof=1) / len(first) for first, second, _ in tasks.values()]
    sd = np.sqrt((shares**2 * spreads).sum())
    assert mean["smallest_detectable"] == pytest.approx(2.8 * sd, rel=0.03)
    assert [row["q"] for row in rows] == pytest.approx(benjamini_hochberg(np.array([row["p"] for row in rows])))
    assert mean["q"] == mean["p"]
    caption = page_of(pairs_of(tasks), weights=weights).sections[0].blocks[0].caption
    said = {"equal": "every task counts alike", "items": "every task counts by its items"}
    assert (said[weights] if isinstance(weights, str) else "civics counts 3, algebra counts 1") in caption


def test_items_of_one_name_in_several_tasks_are_one_unit(tasks):
    first, second, _ = tasks["biology"]
    *_, mean = rows_of([pair_of(first, second, task) for task in ("one", "two")])
    [alone] = rows_of([pair_of(first, second)])
    assert (mean["num_items"], mean["num_clusters"]) == (120, 60)
    assert mean["smallest_detectable"] == pytest.approx(alone["smallest_detectable"])
    assert mean["p"] == pytest.approx(alone["p"], abs=0.01)


def test_a_task_that_no_log_has_cannot_be_weighted(tasks):
    with pytest.raises(InputError, match=r"logs.weights.algebar: the logs have no such task; did you mean algebra\?"):
        rows_of(pairs_of(tasks), weights={"algebar": 1.0})


def test_the_command_takes_questions_weights_and_mid_p(run_here, tasks, tmp_path):
    for side in (0, 1):
        (tmp_path / f"system{side}").mkdir()
        for task, made in tasks.items():
            lines = [json.dumps({"doc_id": number, "acc": int(right)}) for number, right in enumerate(made[side])]
            path = tmp_path / f"system{side}/samples_{task}_2026-11-22T10-00-00.000000.jsonl"
            path.write_text("\n".join(lines))
    logs = [f"logs.{name}='{tmp_path}/system{side}'" for side, name in enumerate(("first", "second"))]
    weights = {"algebra": 2.0, "civics": 1.0}
    each = (
        ["logs.weights=items", "logs.mid_p=true"],
        ["logs.question=samples"],
        ["logs.weights={algebra: 2.0, civics: 1.0}"],
    )
    rows, samples, weighted = (
        run_here("job=compare", *logs, *more, f"run_dir={tmp_path}/run{number}", f"store={tmp_path}/store").rows(
            "systems"
        )
        for number, more in enumerate(each)
    )
    known = rows_of(pairs_of(tasks), weights="items", mid_p=True)
    assert [row["task"] for row in rows] == [*tasks, "mean of 3 tasks"]
    for name in ("difference", "p", "smallest_detectable"):
        assert [row[name] for row in rows] == pytest.approx([row[name] for row in known])
    assert {row["status"] for row in samples} == {"single_repeats"}
    [*_, mean], [*_, known_mean] = weighted, rows_of(pairs_of(tasks), weights=weights)
    assert mean["difference"] == pytest.approx(known_mean["difference"])
    assert mean["difference"] != pytest.approx(rows[-1]["difference"])


# --- several systems ------------------------------------------------------------------------------------------------


def test_several_systems_are_corrected_by_the_same_signs_for_all(rng):
    base = rng.normal(size=9)
    others = {name: base + rng.normal(lead, 1.0, 9) for name, lead in (("a", 0.6), ("b", 0.9), ("c", 0.1))}
    rows = rows_of([pair_of(base, scores, names=("base", name)) for name, scores in others.items()])
    sums = np.stack([scores - base for scores in others.values()])
    signs = 1 - 2 * (np.arange(2**9)[:, np.newaxis] >> np.arange(9) & 1)
    scaled = sums / np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
    drawn, reached = np.abs(signs @ scaled.T), np.abs(scaled.sum(axis=1)) - 1e-12
    order, expected, largest = np.argsort(-reached), np.zeros(3), 0.0
    for place, one in enumerate(order):
        largest = max(largest, (drawn[:, order[place:]].max(axis=1) >= reached[one]).mean())
        expected[one] = largest
    assert [row["p_family"] for row in rows] == pytest.approx(expected)
    assert [row["first_system"] for row in rows] == ["base"] * 3
    findings = page_of([pair_of(base, others[name], names=("base", name)) for name in "ab"]).lead.findings[0].items
    assert "than base" in findings[0]
    assert "over the pairs of systems" in findings[0]


def test_systems_that_answered_other_items_are_corrected_on_what_there_is(rng):
    base, names = rng.normal(size=20), [f"question {place}" for place in range(20)]
    whole = pair_of(base, base + rng.normal(0.5, 1, 20), names=("base", "a"))
    part = pair_of(base[::-2], base[::-2] + rng.normal(1, 1, 10), names=("base", "b"), items=names[::-2])
    rows = rows_of([whole, part])
    assert all(row["p"] <= row["p_family"] <= 2 * row["p"] + 0.02 for row in rows)


def test_new_samples_of_several_systems_are_corrected_by_holm(repeated):
    pairs = [pair_of(repeated[0], side, names=("base", name)) for name, side in zip("ab", repeated[::-1], strict=True)]
    pairs[1] = pair_of(repeated[0], repeated[1][:, ::-1] * 0.5, names=("base", "b"))
    rows = rows_of(pairs, question="samples")
    assert [row["p_family"] for row in rows] == pytest.approx(holm(np.array([row["p"] for row in rows])))


def test_two_systems_are_no_family(repeated):
    assert [row["p_family"] for row in rows_of([pair_of(*repeated)])] == [None]


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_says_what_a_row_could_have_shown_what_is_noise_and_what_has_no_score(repeated):
    pair = pair_of(repeated[0], repeated[0][:, ::-1] + 0.0, unscored=({"error": 3}, {"refusal": 1}))
    page = page_of([pair])
    [row] = rows_of([pair])
    [finding] = page.lead.findings[0].items
    assert row["num_unscored"] == 4
    assert "neither clearly higher nor lower" in finding
    more = page_of([pair_of(*repeated)])
    assert "of the variance goes away with more repeats" in more.lead.findings[0].items[0]
    assert page.sections[0].blocks[0].headings[-1] == "unscored"
    assert "unscored" not in more.sections[0].blocks[0].headings


def test_of_many_rows_the_first_have_a_sentence_and_the_others_are_counted(rng):
    pairs = [pair_of(rng.binomial(1, 0.5, 20), rng.binomial(1, 0.5, 20), f"task {place}") for place in range(14)]
    findings = page_of(pairs).lead.findings[0].items
    assert len(findings) == 13
    assert findings[0].startswith("mean of 14 tasks")
    assert findings[-1] == "3 other rows below: 0 with a system that is higher or lower."
    blocks = page_of(pairs).sections[0].blocks
    assert [block.kind for block in blocks] == ["grid", "chart"]
