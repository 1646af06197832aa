"""The interval and the p-value of a difference, by hand, by brute force, and on draws whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.operators.statistics.differences import (
    noncentrality,
    paired_difference,
    paired_means,
    smallest_paired,
    smallest_unpaired,
    unpaired_difference,
)

BOTH = pytest.mark.parametrize("judge", [paired_difference, unpaired_difference])
NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


def test_replicas_that_both_share_are_judged_by_the_mean_of_their_differences():
    before, after = np.array([1.0, 5.0, 9.0]), np.array([2.0, 6.0, 10.5])
    one = paired_difference(1.0, before, after)
    # Differences 1, 1 and 1.5 have mean 7/6 and variance 1/12; t has 2 degrees of freedom.
    error = np.sqrt(1 / 12 * (1 + 1 / 3))
    assert one.low == pytest.approx(7 / 6 - stats.t.ppf(0.975, 2) * error)
    assert one.high == pytest.approx(7 / 6 + stats.t.ppf(0.975, 2) * error)
    assert one.p == pytest.approx(2 * stats.t.sf(7 / 6 / error, 2))
    assert one.num == 3


def test_a_mean_of_texts_lies_in_the_middle_of_its_interval():
    draws = np.random.default_rng(0).normal(size=(2, 50))
    one = paired_difference(0.3, *draws, centre="centred")
    own = draws[1] - draws[0]
    assert abs(stats.skew(own)) < np.sqrt(6 / 50)
    assert (one.low + one.high) / 2 == pytest.approx(0.3)
    assert one.p == pytest.approx(2 * stats.t.sf(0.3 / own.std(ddof=1), 49))


@pytest.mark.parametrize(("num_worse", "p"), [(1, 1.0), (2, 0.5), (4, 0.125), (16, 3.1e-5)])
def test_few_texts_that_differ_are_as_few_numbers(num_worse, p):
    """McNemar's exact test beside it, whose p is 2 to the power of 1 - k where k texts are wrong now."""
    resamples = np.random.default_rng(4).multinomial(400, np.full(400, 1 / 400), size=2000)
    draws = -resamples[:, :num_worse].sum(axis=1) / 400
    judged = paired_difference(-num_worse / 400, np.zeros(2000), draws, centre="centred")
    assert judged.p == pytest.approx(2 * stats.t.sf(np.sqrt(num_worse), max(1, num_worse - 1)), rel=0.4, abs=2e-3)
    assert (judged.p <= 0.05) == (p <= 0.05)


def test_the_degrees_of_freedom_of_texts_are_those_of_the_skewness_of_finite_draws():
    draws = np.random.default_rng(5).poisson(4.0, size=(3, 600)) / 100
    known = 1 / (stats.skew(draws, axis=1) - np.sqrt(6 / 600)) ** 2 - 1
    assert (known > 2).all()
    assert (known < 30).all()
    judged = paired_difference(np.full(3, 0.1), np.zeros((3, 600)), draws, centre="centred")
    assert judged.p == pytest.approx(2 * stats.t.sf(0.1 / draws.std(axis=1, ddof=1), known))
    # Of two runs, one may have more resamples than the other: those have no partner.
    padded = np.append(draws, np.full((3, 1800), np.nan), axis=1)
    alike = paired_difference(np.full(3, 0.1), np.zeros((3, 2400)), padded, centre="centred")
    assert alike.p == pytest.approx(judged.p)


@pytest.mark.parametrize(("num", "p"), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125), (10, 2.0**-9)])
def test_few_pairs_that_all_change_alike_tell_what_their_signs_do(num, p):
    """In every resample, whose draws do not spread: p is that of the sign test."""
    judged = paired_difference(-1.0, np.ones(200), np.zeros(200), centre="centred", num_items=num)
    assert judged.p == p
    assert (judged.low, judged.high) == ((-1.0, 0.0) if p > 0.05 else (-1.0, -1.0))
    if num > 1:
        assert p == stats.binomtest(num, num).pvalue


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (6, 6)])
def test_few_texts_all_above_few_others_tell_what_their_order_does(sizes):
    judged = unpaired_difference(1.0, np.zeros(200), np.ones(200), centre="centred", num_items=sizes)
    known = stats.mannwhitneyu(np.arange(sizes[0]), 9.0 + np.arange(sizes[1]), method="exact").pvalue
    assert judged.p == pytest.approx(known)
    assert judged.low == (0.0 if known > 0.05 else 1.0)


def test_resamples_of_few_texts_have_as_many_degrees_of_freedom_as_there_are_texts():
    draws = np.random.default_rng(6).normal(size=(2, 200))
    spread, num = (draws[1] - draws[0]).std(ddof=1), np.array([9.0, 9000.0])
    judged = paired_difference(np.full(2, 2.5), *np.stack([draws, draws], axis=1), centre="centred", num_items=num)
    assert judged.p == pytest.approx(2 * stats.t.sf(2.5 / spread, [8, 199]), rel=1e-6)
    apart = unpaired_difference(2.5, *draws, centre="centred", num_items=(5, 9))
    parts = draws.var(axis=1, ddof=1)
    df = parts.sum() ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 8)
    assert apart.p == pytest.approx(2 * stats.t.sf(2.5 / np.sqrt(parts.sum()), df))


@pytest.mark.parametrize("num", [4, 8, 12])
def test_of_few_texts_that_change_by_chance_few_are_a_move(num):
    """By brute force: all signs of n changes of one size, resampled. No exact test has a smaller p than that of all."""
    signs = 1.0 - 2.0 * (np.arange(2**num)[:, np.newaxis] >> np.arange(num) & 1)
    counts = np.random.default_rng(7).multinomial(num, np.full(num, 1 / num), size=200)
    means = signs.mean(axis=1)
    draws = means[:, np.newaxis] + np.sqrt(num / (num - 1)) * (signs @ counts.T / num - means[:, np.newaxis])
    known, blind = (
        paired_difference(means, np.zeros_like(draws), draws, centre="centred", num_items=items).p
        for items in (num, np.inf)
    )
    for alpha in (0.001, 0.01, 0.05):
        assert (known <= alpha).mean() <= 1.3 * alpha
    assert known.min() == 2.0 ** (1 - num)
    assert blind.min() == 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draws", [np.full(9, np.nan), np.full(9, 0.1), 0.1 + 1e-17 * np.arange(9), np.empty(0)])
def test_draws_without_any_spread_are_judged_without_a_warning(draws):
    judged = paired_difference(0.1, np.zeros(draws.size), draws, centre="centred")
    assert judged.num == np.isfinite(draws).sum()
    assert judged.p < 1e-12 if judged.num else np.isnan(judged.p)


def test_draws_that_are_not_shared_have_the_variance_of_both_and_the_degrees_of_freedom_of_welch():
    before, after = np.array([1.0, 2.0, 4.0]), np.array([6.0, 9.0, 7.5, 8.0])
    one = unpaired_difference(5.0, before, after, centre="centred")
    parts = [before.var(ddof=1), after.var(ddof=1)]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3)
    assert one.p == pytest.approx(2 * stats.t.sf(5.0 / np.sqrt(sum(parts)), df))
    assert one.num == 3


def test_what_both_share_does_not_count():
    common = 100.0 * np.arange(16.0)
    own = np.random.default_rng(1).normal(size=(2, 16))
    shared = paired_difference(3.0, common + own[0], common + own[1] + 3.0)
    apart = unpaired_difference(3.0, common + own[0], common + own[1] + 3.0)
    assert shared.high - shared.low < 0.02 * (apart.high - apart.low)
    assert shared.p < 0.1 < apart.p


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (0.125, 0.0)])
def test_draws_that_all_differ_by_one_number_leave_no_doubt(shift, p):
    before = np.array([0.25, 0.5, 0.75])
    one = paired_difference(shift, before, before + shift)
    assert one.p == p


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=3, max_size=9))
def test_the_means_of_these_texts_differ_by_the_t_test_of_pairs(pairs):
    before, after = np.array(pairs).T
    mean = float((after - before).mean())
    if np.ptp(after - before) < 1e-6 or abs(mean) < 1e-6:
        return
    known = stats.ttest_rel(after, before).pvalue
    assert paired_means(mean, before, after) == pytest.approx(known, rel=1e-6, abs=1e-12)
    assert paired_means(-mean, before, after) == 1.0


def test_what_differs_in_no_draw_is_the_same_in_these_texts():
    draws = np.array([[0.25, 0.5, 0.75], [0.25, np.nan, np.nan]])
    assert paired_means(np.zeros(2), draws, draws)[0] == 1.0
    assert np.isnan(paired_means(np.zeros(2), draws, draws)[1])


@BOTH
def test_an_interval_that_is_extended_beyond_zero_names_no_side(judge):
    before, after = np.zeros(4), np.array([1.0, 1.01, 1.02, 1.0])
    one = judge(-0.5, before, after)
    assert (one.low, one.p) == (-0.5, 1.0)


@BOTH
def test_fewer_than_two_draws_judge_nothing(judge):
    nothing = judge(np.array([1.0, np.nan]), np.array([[1.0, np.nan], [1.0, 2.0]]), np.array([[2.0, 3.0], [3.0, 4.5]]))
    assert np.isnan([nothing.p, nothing.low, nothing.high]).all()


@BOTH
@given(before=NUMBERS, after=NUMBERS, shift=st.floats(-5, 5), items=st.sampled_from([1, 3, 5, 40, math.inf]))
def test_zero_lies_outside_where_the_p_value_is_below_the_level(judge, before, after, shift, items):
    num, num_items = min(len(before), len(after)), items if judge is paired_difference else (items, items)
    one = judge(shift, np.array(before[:num]), np.array(after[:num]), level=0.9, num_items=num_items)
    back = judge(-shift, np.array(after[:num]), np.array(before[:num]), level=0.9, num_items=num_items)
    assert 0.0 <= one.p <= 1.0
    assert one.low <= shift <= one.high
    if abs(one.p - 0.1) > 1e-6:
        assert (one.p < 0.1) == bool(one.low > 0.0 or one.high < 0.0)
    assert [*map(float, back[:3])] == pytest.approx([-float(one.high), -float(one.low), float(one.p)], abs=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_documents_exchanged_for_others_like_them_are_rarely_a_move(share):
    """Means of documents, bootstrapped with the draws of those that stayed: p is below 0.05 in one case of twenty."""
    rng = np.random.default_rng(2)
    cases, size, draws = 1000, 400, 16
    num = round(share * size)
    values = rng.exponential(size=(cases, size + num))
    weights = rng.poisson(1.0, size=(cases, size + num, draws))
    sides = [slice(0, size), slice(num, size + num)]
    means = [values[:, side].mean(axis=1) for side in sides]
    sums = [np.einsum("cs,csd->cd", values[:, side], weights[:, side]) for side in sides]
    replicas = [total / weights[:, side].sum(axis=1) for total, side in zip(sums, sides, strict=True)]
    p = paired_difference(means[1] - means[0], *replicas).p
    assert 0.02 < (p <= 0.05).mean() < 0.07


def test_a_level_outside_of_its_range_is_refused():
    with pytest.raises(ValueError, match=r"level=1.0: must lie strictly between 0 and 1"):
        paired_difference(0.0, np.zeros(3), np.zeros(3), level=1.0)


# --- the smallest difference that can be found ----------------------------------------------------------------------


def test_the_smallest_difference_has_the_power_of_the_published_example():
    """G*Power 3 (Faul et al. 2007): 34 pairs, d = 0.5, 5 % two-sided: power 0.8077775, noncentrality 2.9154759."""
    assert noncentrality(33, power=0.8077775) == pytest.approx(0.5 * math.sqrt(34), abs=1e-5)
    assert smallest_paired(1.0, 34, power=0.8077775, centre="centred") == pytest.approx(2.91548, abs=1e-5)


def test_the_smallest_difference_by_hand():
    """Of many draws nu is 1.95996 + 0.84162; 32 pairs have 31 degrees of freedom, unpaired ones 62."""
    assert noncentrality(1e7) == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    assert smallest_paired(0.2, 32) == pytest.approx(0.2 * 2.892205 * math.sqrt(33 / 32), abs=1e-6)
    assert smallest_unpaired(0.2, 32) == pytest.approx(0.2 * math.sqrt(2) * 2.845923 * math.sqrt(33 / 32), abs=1e-6)
    assert math.isnan(smallest_paired(1.0, 1))


@pytest.mark.parametrize("num", [4, 8, 32])
def test_a_difference_of_that_size_is_found_in_four_of_five_cases(num):
    """By brute force: replicas lie around the truth of their data, which lies around that of the language."""
    rng, cases = np.random.default_rng(num), 20_000
    for smallest, is_paired in ((smallest_paired(1.0, num), True), (smallest_unpaired(1.0, num), False)):
        sides = 1 if is_paired else 2
        # The draws' middle misses the truth by what the data miss it by, one standard deviation.
        middle = smallest + rng.standard_normal((cases, sides)).sum(axis=1)
        draws = rng.standard_normal((cases, sides, num))
        if is_paired:
            judged = paired_difference(middle, np.zeros((cases, num)), middle[:, np.newaxis] + draws[:, 0])
        else:
            judged = unpaired_difference(middle, draws[:, 0], middle[:, np.newaxis] + draws[:, 1])
        # Of unpaired draws Welch counts fewer degrees of freedom where the two spreads happen to differ.
        lost = 0.0 if is_paired else 0.16 / num
        assert np.mean(judged.p < 0.05) == pytest.approx(0.8 - lost, abs=0.012)
        # What extending the interval to the data themselves adds.
        assert np.mean(judged.low > 0.0) == pytest.approx(0.8 - lost, abs=0.012)


@given(num=st.integers(2, 500), sd=st.floats(1e-6, 1e6))
def test_more_draws_show_smaller_differences_in_the_unit_of_the_draws(num, sd):
    assert smallest_paired(sd, num) == pytest.approx(sd * smallest_paired(1.0, num))
    assert smallest_paired(sd, num + 1) < smallest_paired(sd, num)
    # Sides of their own have twice the variance and twice the degrees of freedom.
    assert smallest_unpaired(sd, num) < math.sqrt(2) * smallest_paired(sd, num)


@pytest.mark.parametrize("power", [0.02, 1.0])
def test_a_power_that_no_difference_has_is_refused(power):
    with pytest.raises(ValueError, match=r"power=.*: must lie strictly between 0.025 and 1"):
        noncentrality(10, power=power)
