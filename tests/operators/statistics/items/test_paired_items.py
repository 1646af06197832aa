"""Two systems on the same items: a published example, tasks together, repeats, and corrections over systems."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.flips import flip_p, flips_max_t
from tiltmeter.operators.statistics.items.paired_items import Tasks, paired_items, task_mean
from tiltmeter.operators.statistics.items.repeats import Noise, are_right_or_wrong, noise_of, sampled_anew
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import each, units_of


def test_the_example_of_a_harness_where_the_pairing_decides():
    """lm-evaluation-harness, pull request 3868: n = 220, unpaired p = .080, McNemar's p = .008.

    Its cells are not in its summary: these are reconstructed, as they give both p-values.
    """
    first = np.repeat([1.0, 1.0, 0.0, 0.0], [110, 30, 12, 68])
    second = np.repeat([1.0, 0.0, 1.0, 0.0], [110, 30, 12, 68])
    made = paired_items(first, second, each(220, "item"))
    assert (made.first_only, made.second_only) == (30, 12)
    assert made.mcnemar_p == pytest.approx(stats.binomtest(12, 42).pvalue)
    assert made.mcnemar_p == pytest.approx(0.0079, abs=5e-5)
    errors = [side.std(ddof=1) / np.sqrt(220) for side in (first, second)]
    z = (second.mean() - first.mean()) / np.hypot(*errors)
    assert 2 * stats.norm.sf(abs(z)) == pytest.approx(0.0800, abs=2e-4)
    assert made.difference.high < 0.0


@pytest.mark.parametrize(("first", "second"), [(12, 30), (5, 5), (0, 9), (7, 8)])
def test_mid_p_counts_half_of_what_is_as_far_out(first, second):
    sums = np.repeat([1, -1, 0], [first, second, 20])
    exact = stats.binomtest(min(first, second), first + second).pvalue
    middle = stats.binom.pmf(first, first + second, 0.5)
    assert flip_p(sums) == pytest.approx(exact)
    assert flip_p(sums, mid=True) == pytest.approx(exact - middle * (0.5 if first == second else 1.0))


def test_mid_p_of_clusters_is_between_what_is_reached_and_what_is_exceeded():
    sums = np.array([3, 2, 2, 1, -1, 4, -2])
    signs = 1 - 2 * (np.arange(2**7)[:, np.newaxis] >> np.arange(7) & 1)
    drawn = np.abs(signs @ sums)
    both = (drawn >= 9).mean(), (drawn > 9).mean()
    assert flip_p(sums, mid=True) == pytest.approx(np.mean(both))


def test_one_task_is_the_mean_of_its_items():
    rng = np.random.default_rng(0)
    values, units = rng.normal(size=30), units_of(np.arange(30) // 4, "template")
    usual = mean(values, units, level=0.9)
    result = task_mean(values, Tasks(np.zeros(30, dtype=int), np.ones(1)), units, level=0.9)
    assert result[:6] == pytest.approx(usual[:6])


def test_tasks_without_items_in_common_add_their_variances():
    rng = np.random.default_rng(1)
    codes, weights = np.repeat([0, 1, 2], [20, 50, 9]), np.array([0.5, 0.2, 0.3])
    values = rng.normal(size=79)
    parts = [mean(values[codes == task], each((codes == task).sum(), "item"), level=0.95) for task in range(3)]
    result = task_mean(values, Tasks(codes, weights), each(79, "item"), level=0.95)
    variances = weights**2 * [part.variance for part in parts]
    assert result.value == pytest.approx(weights @ [part.value for part in parts])
    assert result.variance == pytest.approx(variances.sum())
    df = variances.sum() ** 2 / (variances**2 / [part.df for part in parts]).sum()
    assert result.df == pytest.approx(df)
    half = stats.t.ppf(0.975, df) * np.sqrt(variances.sum())
    assert (result.low, result.high) == pytest.approx((result.value - half, result.value + half))


def test_items_of_several_tasks_vary_together():
    """The same numbers in both tasks: their mean varies as one task, not half as much."""
    values = np.random.default_rng(2).normal(size=40)
    twice, codes, weights = np.tile(values, 2), np.repeat([0, 1], 40), np.full(2, 0.5)
    result = task_mean(twice, Tasks(codes, weights), units_of(np.tile(np.arange(40), 2), "item"), level=0.95)
    apart = task_mean(twice, Tasks(codes, weights), each(80, "item"), level=0.95)
    usual = mean(values, each(40, "item"), level=0.95)
    assert (result.variance, result.df) == pytest.approx((usual.variance, usual.df))
    assert apart.variance == pytest.approx(usual.variance / 2)


def test_a_task_with_one_cluster_has_no_interval():
    codes, units = np.repeat([0, 1], [20, 5]), units_of(np.minimum(np.arange(25), 20), "template")
    result = task_mean(np.arange(25.0), Tasks(codes, np.array([0.8, 0.2])), units, level=0.95)
    assert np.isnan(result.low)
    assert result.too_few.kind == "template of a task"


def test_the_mean_of_tasks_has_the_signs_of_its_units():
    rng = np.random.default_rng(3)
    first, second, codes = np.zeros(11), rng.normal(0.5, 1, 11), np.repeat([0, 1], [4, 7])
    made = paired_items(first, second, each(11, "item"), tasks=Tasks(codes, np.array([0.5, 0.5])))
    signs = 1 - 2 * (np.arange(2**11)[:, np.newaxis] >> np.arange(11) & 1)
    moves = second / np.array([8, 14])[codes]
    assert made.difference.value == pytest.approx(moves.sum())
    assert made.difference.p == pytest.approx((np.abs(signs @ moves) >= moves.sum() - 1e-12).mean())
    assert made.mcnemar_p is None


def test_shares_of_repeats_have_an_exact_p():
    """Thirty items of four repeats: the chances of all signs, by convolution of quarters."""
    rng = np.random.default_rng(4)
    first, second = rng.binomial(4, 0.5, 30) / 4, rng.binomial(4, 0.7, 30) / 4
    made = paired_items(first, second, each(30, "item"), denominator=4)
    chances = {0: 1.0}
    for step in np.abs(4 * (second - first)).astype(int):
        pairs = [(total + sign * step, chance / 2) for total, chance in chances.items() for sign in (1, -1)]
        chances = {total: sum(c for t, c in pairs if t == total) for total, _ in pairs}
    reached = abs(round(4 * (second - first).sum()))
    assert made.difference.p == pytest.approx(sum(c for total, c in chances.items() if abs(total) >= reached))
    assert made.difference.high < 1.0
    assert (made.first_only, made.mcnemar_p) == (None, None)


# --- repeats --------------------------------------------------------------------------------------------------------


def test_noise_is_what_new_repeats_of_the_same_items_spread():
    rng = np.random.default_rng(5)
    chances, counts = rng.random(200), rng.integers(2, 6, 200)
    drawn = rng.binomial(counts, chances, (4000, 200)) / counts
    expected = drawn.mean(axis=1).var()
    variances = drawn * (1 - drawn) * counts / (counts - 1)
    made = [noise_of(row, counts, np.full(200, 1 / 200)) for row in variances]
    assert np.mean([one.variance for one in made]) == pytest.approx(expected, rel=0.06)
    assert made[0].df == (counts - 1).sum()
    assert np.mean([one.single for one in made]) == pytest.approx((chances * (1 - chances)).sum() / 200**2, rel=0.01)


def test_without_a_second_repeat_nothing_is_known_of_noise():
    none = noise_of(np.full(3, np.nan), np.ones(3, dtype=int), np.full(3, 1 / 3))
    assert (np.isnan(none.variance), none.df) == (True, 0.0)
    known = Noise(0.01, 0.02, 50.0)
    assert known.plus(none).df == none.plus(known).df == 0.0
    assert sampled_anew(0.1, known.plus(none), 0.95).too_few.kind == "item with two repeats of each system"
    assert sampled_anew(0.1, Noise(0.0, 0.0, 50.0), 0.95).too_few.kind == "item whose repeats differ"


def test_degrees_of_freedom_are_of_the_system_that_varies():
    assert Noise(1e-9, 0.0, 10.0).plus(Noise(0.01, 0.0, 30.0)).df == pytest.approx(30.0)
    assert Noise(0.0, 0.0, 10.0).plus(Noise(0.0, 0.0, 30.0)).df == 40.0


@pytest.mark.parametrize(
    ("scores", "are"), [([[0, 1, 1], [1, 1, 1]], True), ([[0, 1, 0.5], [1, 1, 1]], False), ([[2, -1, 1]], False)]
)
def test_right_and_wrong_are_known_by_their_means_and_variances(scores, are):
    rows = np.array(scores, dtype=float)
    assert are_right_or_wrong(rows.mean(axis=1), rows.var(axis=1, ddof=1), np.full(len(rows), 3)) is are


# --- several systems ------------------------------------------------------------------------------------------------


def test_units_beyond_what_is_drawn_flip_together_and_say_the_same():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(3, 10_000)) + np.array([[0.0], [0.02], [0.03]])
    corrected = flips_max_t(values, each(10_000, "item"))
    statistics = np.abs(values.sum(axis=1)) / np.sqrt(np.square(values).sum(axis=1))
    order = np.argsort(-statistics)
    # Series that are independent: the largest of those that are left.
    expected = [1 - (1 - 2 * stats.norm.sf(statistics[one])) ** (3 - place) for place, one in enumerate(order)]
    assert corrected[order] == pytest.approx(np.maximum.accumulate(expected), abs=0.02)
