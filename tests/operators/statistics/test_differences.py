"""The interval and the p-value of a difference, by hand, by brute force, and on draws whose truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.operators.statistics.differences import paired_difference, unpaired_difference

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
    error = (draws[1] - draws[0]).std(ddof=1)
    assert (one.low + one.high) / 2 == pytest.approx(0.3)
    assert one.p == pytest.approx(2 * stats.t.sf(0.3 / error, 49))


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
@given(before=NUMBERS, after=NUMBERS, shift=st.floats(-5, 5))
def test_zero_lies_outside_where_the_p_value_is_below_the_level(judge, before, after, shift):
    num = min(len(before), len(after))
    one = judge(shift, np.array(before[:num]), np.array(after[:num]), level=0.9)
    back = judge(-shift, np.array(after[:num]), np.array(before[:num]), level=0.9)
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
