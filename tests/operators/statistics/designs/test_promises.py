"""Thresholds, controls, repeated splits, groups, families."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.operators.statistics.designs.controls import controls_needed, rank_p
from tiltmeter.operators.statistics.designs.groups import two_groups
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
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm, least_possible
from tiltmeter.operators.statistics.units import each, units_of


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
    scores, how = np.arange(float(needed)), {"alpha": alpha, "delta": 0.1, "joint": joint}
    assert (miss_threshold(scores, **how).allowed, miss_threshold(scores[1:], **how).threshold) == (0, -np.inf)


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


USUAL = {"level": 0.95, "seed": 0, "about": 0}


def test_all_deals_are_made_where_there_are_few():
    values = np.array([3.1, 2.2, 4.0, 3.3, 1.0, 1.4, 2.0, 0.7])
    sides = np.arange(8) < 4
    found = two_groups(values, each(8, "word"), sides, level=0.95, seed=0, about=0)
    welch = stats.ttest_ind(values[:4], values[4:], equal_var=False)
    assert [found.low, found.high] == pytest.approx(list(welch.confidence_interval()))

    def statistic(x, y, axis):
        return stats.ttest_ind(x, y, equal_var=False, axis=axis).statistic

    exact = stats.permutation_test((values[:4], values[4:]), statistic, vectorized=True, n_resamples=np.inf)
    assert found.p == pytest.approx(exact.pvalue)


def test_drawn_deals_agree_with_welch():
    rng = np.random.default_rng(0)
    values = rng.normal(size=40) + 0.6 * (np.arange(40) < 15)
    found = two_groups(values, each(40, "word"), np.arange(40) < 15, level=0.95, seed=0, about=3)
    welch = stats.ttest_ind(values[:15], values[15:], equal_var=False)
    assert found.p == pytest.approx(welch.pvalue, abs=0.02)
    given = values, each(40, "word"), np.arange(40) < 15
    keys = [{"seed": seed, "about": about} for seed, about in ((0, 3), (1, 3), (0, 4))]
    few = [two_groups(*given, level=0.8, num_draws=199, **key) for key in keys]
    assert [few[0].low, few[0].high] == pytest.approx(list(welch.confidence_interval(0.8)))
    assert len({other.p for other in few}) == 3
    assert all(200 * other.p == pytest.approx(round(200 * other.p)) for other in few)


def test_speakers_weigh_alike_and_are_counted_by_side():
    speakers = units_of(np.repeat(np.arange(8), [1, 9, 2, 3, 4, 5, 6, 7]), "speaker")
    values = np.arange(8.0)[speakers.codes]
    found = two_groups(values, speakers, np.arange(8) < 4, **USUAL)
    assert found.value == -4.0
    lacking = two_groups(values, speakers, np.arange(8) < 3, **USUAL)
    assert (lacking.value, lacking.status) == (1.0 - 5.0, "too_few_units")
    reason = 'there is too little to go by: 3 of the unit "speaker on the smaller side", and 4 are needed'
    assert lacking.reason == reason
    none = two_groups(values, speakers, np.zeros(8, dtype=bool), **USUAL)
    assert np.isnan(none.value)


def test_units_without_a_value_are_left_out_with_their_side():
    values = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 5.0, 6.5, 7.0, 9.0])
    sides = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    found = two_groups(values, each(9, "word"), sides, **USUAL)
    kept = ~np.isnan(values)
    assert found == two_groups(values[kept], each(8, "word"), sides[kept], **USUAL)


def test_sides_without_spread_that_differ_have_the_p_of_their_deals_and_no_interval_and_equal_ones_neither():
    found = two_groups(np.repeat([1.0, 0.0], 4), each(8, "word"), np.arange(8) < 4, **USUAL)
    assert found.p == pytest.approx(2 / 70)
    assert np.isnan(found.low)
    found = two_groups(np.ones(8), each(8, "word"), np.arange(8) < 4, **USUAL)
    assert np.isnan([found.p, found.low]).all()
    assert found.status == "too_few_units"


def holm_by_steps(p, alpha):
    """Rejections of the procedure as Holm gives it: step by step, until the first test that does not reject."""
    order = sorted(range(len(p)), key=p.__getitem__)
    kept = [step for step, test in enumerate(order) if p[test] > alpha / (len(p) - step)]
    return set(order[: min(kept, default=len(p))])


def benjamini_hochberg_by_steps(p, alpha):
    """Rejections of the procedure: up to the largest j with p_(j) <= j/m alpha."""
    order = sorted(range(len(p)), key=p.__getitem__)
    reached = [j for j, test in enumerate(order, 1) if p[test] <= j / len(p) * alpha]
    return set(order[: max(reached, default=0)])


def test_benjamini_and_hochbergs_own_example():
    # On a treatment of heart attacks: of fifteen tests theirs rejects four at 0.05, and Bonferroni's three.
    p = np.array([
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0,
    ])  # fmt: skip
    assert (benjamini_hochberg(p) <= 0.05).sum() == 4
    assert (holm(p) <= 0.05).sum() == 3
    assert benjamini_hochberg(p)[3] == pytest.approx(0.0095 * 15 / 4)


@pytest.mark.parametrize(
    ("adjust", "by_steps"), [(holm, holm_by_steps), (benjamini_hochberg, benjamini_hochberg_by_steps)]
)
@given(p=st.lists(st.integers(0, 1000), max_size=10), alpha=st.sampled_from([0.0503, 0.2007, 0.4001]))
def test_rejects_what_the_step_procedures_reject(adjust, by_steps, p, alpha):
    # No multiple of p = k / 1000 falls on such an alpha, where rounding would decide.
    p = np.array(p) / 1000
    assert set(np.flatnonzero(adjust(p) <= alpha).tolist()) == by_steps(p.tolist(), alpha)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_pairs_without_a_test_do_not_belong_to_the_family(adjust):
    with_gaps = adjust(np.array([np.nan, 0.01, np.nan, 0.2]))
    np.testing.assert_array_equal(with_gaps[[1, 3]], adjust(np.array([0.01, 0.2])))


@pytest.mark.parametrize(
    ("kind", "num", "least"), [("flips", 6, 2.0**-5), ("controls", 99, 1 / 100), ("flips", 1, 1.0)]
)
def test_the_least_p_is_that_of_holm_where_all_tests_have_it(kind, num, least):
    for num_tests in (1, 4, 200):
        assert least_possible(kind, num, num_tests) == pytest.approx(holm(np.full(num_tests, least))[0])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_what_is_no_p_value_is_refused(adjust, wrong):
    with pytest.raises(ValueError, match=rf"p_values hold {wrong}: must lie in \[0, 1\]"):
        adjust(np.array([0.5, wrong]))


@pytest.mark.parametrize("test_share", [0.0, 1.0])
def test_a_share_of_all_or_none_is_refused(test_share):
    with pytest.raises(ValueError, match=f"test_share={test_share}: must lie strictly between 0 and 1"):
        repeated(np.ones(3), test_share=test_share, tested_units=5, level=0.95, scale=LOGIT)
