"""Thresholds, controls, repeated splits, families."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.designs.controls import controls_needed, rank_p
from tiltmeter.operators.statistics.designs.one_sided import positive_p
from tiltmeter.operators.statistics.designs.splits import num_tested, repeated
from tiltmeter.operators.statistics.designs.thresholds import (
    Promise,
    errors_needed,
    exchangeable_p,
    miss_threshold,
    most_share,
    one_per_unit,
)
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import units_of


def test_the_chance_of_a_broken_promise_is_the_binomial_tail():
    promise = miss_threshold(np.arange(200.0), alpha=0.1, delta=0.1, joint=1)
    assert stats.binom.cdf(promise.allowed, 200, 0.1) == promise.achieved_delta <= 0.1
    assert stats.binom.cdf(promise.allowed + 1, 200, 0.1) > 0.1
    assert promise.threshold == promise.allowed


def test_joint_promises_share_delta():
    scores = np.arange(300) / 300
    single, joint = (miss_threshold(scores, alpha=0.1, delta=0.1, joint=joint) for joint in (1, 3))
    assert joint.threshold < single.threshold
    assert joint.achieved_delta <= 0.1 / 3


@pytest.mark.parametrize(("alpha", "joint"), [(0.1, 1), (0.05, 1), (0.1, 3), (0.2, 2)])
def test_fewer_errors_than_needed_flag_all(alpha, joint):
    needed = errors_needed(alpha, 0.1, joint)
    enough, few = (
        miss_threshold(np.arange(float(num)), alpha=alpha, delta=0.1, joint=joint) for num in (needed, needed - 1)
    )
    assert (enough.allowed, few.threshold) == (0, -np.inf)


def test_the_other_half_is_beta_binomial():
    assert exchangeable_p(Promise(-np.inf, -1, 9, 0.0), np.zeros(80)) == 1.0
    # Two of thirty lay below the threshold that they chose, and four of twenty others do.
    known = sum(stats.betabinom.pmf(missed, 20, 3, 28) for missed in range(4, 21))
    assert exchangeable_p(Promise(0.5, 2, 30, 0.1), np.repeat([0.4, 0.5], [4, 16])) == pytest.approx(known)


def test_one_sided_clopper_pearson():
    assert most_share(3, 60, 0.95) == pytest.approx(stats.binomtest(3, 60).proportion_ci(0.9).high)


def test_one_item_of_every_unit_is_drawn_by_key():
    units = units_of(np.array([2, 0, 2, 1, 0, 2]), "speaker")
    rows = one_per_unit(units, seed=0, about=1)
    assert units.codes[rows].tolist() == [0, 1, 2]
    assert rows.tolist() == one_per_unit(units, seed=0, about=1).tolist()
    for name in ("seed", "about"):
        drawn = {tuple(one_per_unit(units, **{"seed": 0, "about": 0, name: key})) for key in range(40)}
        assert len(drawn) == 6, name


def test_the_rank_among_controls_counts_ties_and_no_missing_ones():
    controls = np.array([0.1, -0.4, np.nan, 0.4])
    assert rank_p(0.4, controls, sides=1) == 0.5
    assert rank_p(-0.4, controls, sides=2) == 0.75
    assert np.isnan(rank_p(np.nan, controls, sides=1))
    assert np.isnan(rank_p(1.0, np.array([np.nan]), sides=1))


@pytest.mark.parametrize("num_tests", [1, 2, 3, 6, 14])
def test_controls_are_as_many_as_holm_needs(num_tests):
    needed = controls_needed(num_tests)
    least = [holm(np.full(num_tests, 1 / (num + 1)))[0] for num in (needed, needed - 1)]
    assert least[0] <= 0.05 + 1e-12 < least[1]


def test_scores_above_0_have_students_t_of_as_many_units_as_weigh_alike():
    scores, weights = np.array([1.0, -0.5, 2.0, 0.3, 1.5, 0.8, -0.2]), np.array([5, 1, 2, 1, 4, 1, 3])
    p, too_few = positive_p(scores, weights, "group")
    df = weights.sum() ** 2 / (weights**2).sum() - 1
    t = scores.sum() / np.sqrt(7 * scores.var(ddof=1))
    assert (p, too_few) == (pytest.approx(stats.t.sf(t, df)), None)
    assert positive_p(-scores, weights, "group")[0] == pytest.approx(stats.t.cdf(t, df))
    assert positive_p(np.full(5, 0.5), np.ones(5), "group")[0] == 2.0**-5
    assert positive_p(np.full(5, -0.5), np.ones(5), "group")[0] == 1.0


def test_splits_have_nadeau_and_bengios_variance():
    values = np.array([0.6, 0.7, 0.65, 0.75, 0.7])
    found = repeated(values, test_share=0.2, tested_units=1e9, level=0.8, scale=LINEAR)
    error = np.sqrt((1 / 5 + 0.2 / 0.8) * values.var(ddof=1))
    reach = stats.t.ppf(0.9, 4) * error
    assert (found.low, found.high) == pytest.approx((0.68 - reach, 0.68 + reach))
    assert found.p == pytest.approx(2 * stats.t.sf(0.68 / error, 4))


def test_splits_that_agree_are_as_wide_as_the_units_they_tested():
    agreed = repeated(np.ones(5), test_share=0.2, tested_units=num_tested(100, 0.2, 5), level=0.95, scale=LOGIT)
    t = stats.t.ppf(0.975, 4)
    assert (agreed.low, agreed.high) == (pytest.approx(67.232 / (67.232 + t**2)), 1.0)
    same = repeated(np.zeros(5), test_share=0.2, tested_units=50, level=0.95, scale=FISHER)
    assert same.low == pytest.approx(-same.high)
    assert same.high == pytest.approx(2 * (np.sqrt(0.25 * 50 * t**2 + t**4 / 4) + 25 + t**2 / 2) / (50 + t**2) - 1)
    single = repeated(np.array([0.5, np.nan]), test_share=0.2, tested_units=50, level=0.95, scale=LOGIT)
    assert (single.mean, single.num) == (0.5, 1)
    assert np.isnan([single.low, single.p]).all()


@pytest.mark.parametrize("test_share", [0.0, 1.0])
def test_a_share_of_all_or_none_is_refused(test_share):
    with pytest.raises(ValueError, match=f"test_share={test_share}: must lie strictly between 0 and 1"):
        repeated(np.ones(3), test_share=test_share, tested_units=5, level=0.95, scale=LOGIT)
