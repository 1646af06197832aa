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
from tiltmeter.operators.statistics.sides import Estimate, compared, side

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


def test_the_degrees_of_freedom_of_texts_are_those_of_the_skewness_of_finite_draws():
    """Of one number of a few texts, a third of them and none, whose skewness is 1, below 1 and none."""
    rng = np.random.default_rng(5)
    draws = np.stack([*rng.poisson([[0.3], [4.0]], size=(2, 600)) / 100, rng.normal(scale=0.02, size=600)])
    skewness = np.abs(stats.skew(draws, axis=1))
    known = np.clip(1 / np.maximum(skewness - np.sqrt(6 / 600), 1e-9) ** 2 - 1, 1, 599)
    assert (known[0], 2 < known[1] < 30, known[2]) == (1, True, 599)
    judged = paired_difference(np.full(3, 0.1), np.zeros((3, 600)), draws, centre="centred")
    assert judged.p == pytest.approx(2 * stats.t.sf(0.1 / draws.std(axis=1, ddof=1), known))
    assert (judged.low + judged.high) / 2 == pytest.approx(np.full(3, 0.1))
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


@pytest.mark.long
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


def test_levels_and_powers_that_nothing_has_are_refused():
    with pytest.raises(ValueError, match=r"level=1.0: must lie strictly between 0 and 1"):
        paired_difference(0.0, np.zeros(3), np.zeros(3), level=1.0)
    for power in (0.02, 1.0):
        with pytest.raises(ValueError, match=rf"power={power}: must lie strictly between 0.025 and 1"):
            noncentrality(10, power=power)


# --- when an estimate may be said to lean to a side -------------------------------------------------------------------

NAN = math.nan


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0.5, 0.1, 0.9), "above"),
        ((0.9, 0.1, 0.9), "above"),
        ((1.2, 0.1, 0.9), "outside"),
        ((0.05, 0.1, 0.9), "outside"),
        ((0.36, -1.08, -0.37), "opposite"),
        ((0.0, 0.37, 1.08), "opposite"),
        ((0.5, -0.1, 0.9), "neither"),
        ((0.5, 0.0, 0.9), "neither"),
        ((0.0, 0.0, 0.0), "neither"),
        ((0.5, NAN, NAN), "unknown"),
        ((0.5, NAN, 0.9), "unknown"),
        ((NAN, 0.1, 0.9), "unknown"),
        ((math.inf, 0.1, math.inf), "above"),
        ((math.inf, 0.1, 0.9), "outside"),
    ],
)
@pytest.mark.parametrize("neutral", [0.0, 0.5])
def test_a_side_is_named_where_estimate_and_interval_agree(numbers, expected, neutral):
    assert side(Estimate(*(number + neutral for number in numbers)), neutral) == expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [((0.2,), "above"), ((-0.08,), "disputed"), ((0.0,), "disputed"), ((NAN,), "above"), ((0.2, -1.0), "disputed")],
)
@pytest.mark.parametrize("neutral", [0.0, 0.5])
def test_another_statistic_must_not_contradict(others, expected, neutral):
    def side_of(*numbers):
        estimate, more = ([number + neutral for number in part] for part in (numbers, others))
        return side(Estimate(*estimate), neutral, *more)

    assert side_of(0.5, 0.1, 0.9) == expected
    assert side_of(0.5, -0.1, 0.9) == "neither", "where nothing is named, nothing is disputed"
    assert side_of(-0.5, 0.1, 0.9) == "opposite"


def test_an_estimate_that_rounding_puts_beside_its_interval_lies_in_it():
    values = np.full(3, 0.1)
    assert values.sum() / 3 != 0.1
    assert side(Estimate(float(values.sum() / 3), 0.1, 0.1)) == "above"


def test_mirrored_numbers_lie_on_the_mirrored_side():
    mirrored = {"above": "below", "below": "above"}
    for value, *ends, other in np.random.default_rng(0).normal(size=(500, 4)).round(1).tolist():
        low, high = sorted(ends)
        found = side(Estimate(value, low, high), 0.0, other)
        assert side(Estimate(-value, -high, -low), 0.0, -other) == mirrored.get(found, found)
        assert (found in mirrored) == (low * high > 0 and low <= value <= high and other * value > 0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.5, 0.4, 0.6), (0.1, 0.0, 0.2), "above"),
        ((0.1, 0.0, 0.2), (0.5, 0.4, 0.6), "below"),
        ((0.5, 0.2, 0.6), (0.1, 0.0, 0.2), "neither"),
        ((0.7, 0.4, 0.6), (0.1, 0.0, 0.2), "outside"),
        ((0.5, 0.4, 0.6), (0.3, 0.0, 0.2), "outside"),
        ((0.1, 0.4, 0.6), (0.3, 0.0, 0.2), "opposite"),
        ((0.5, 0.4, 0.6), (0.1, NAN, NAN), "unknown"),
        ((NAN, 0.4, 0.6), (0.1, 0.0, 0.2), "unknown"),
    ],
)
def test_two_estimates_are_ordered_where_their_intervals_lie_apart_and_hold_them(first, second, expected):
    assert compared(Estimate(*first), Estimate(*second)) == expected
