import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.designs.groups import two_groups
from tiltmeter.operators.statistics.units import each, units_of


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
    few = [
        two_groups(values, each(40, "word"), np.arange(40) < 15, level=0.8, seed=seed, about=about, num_draws=199)
        for seed, about in ((0, 3), (1, 3), (0, 4))
    ]
    assert [few[0].low, few[0].high] == pytest.approx(list(welch.confidence_interval(0.8)))
    assert len({other.p for other in few}) == 3
    assert all(200 * other.p == pytest.approx(round(200 * other.p)) for other in few)


def test_speakers_weigh_alike_and_are_counted_by_side():
    speakers = units_of(np.repeat(np.arange(8), [1, 9, 2, 3, 4, 5, 6, 7]), "speaker")
    values = np.arange(8.0)[speakers.codes]
    found = two_groups(values, speakers, np.arange(8) < 4, level=0.95, seed=0, about=0)
    assert found.value == -4.0
    lacking = two_groups(values, speakers, np.arange(8) < 3, level=0.95, seed=0, about=0)
    assert (lacking.value, lacking.status) == (1.0 - 5.0, "too_few_units")
    assert lacking.reason == (
        'there is too little to go by: 3 of the unit "speaker on the smaller side", and 4 are needed'
    )
    none = two_groups(values, speakers, np.zeros(8, dtype=bool), level=0.95, seed=0, about=0)
    assert np.isnan(none.value)


def test_units_without_a_value_are_left_out_with_their_side():
    values = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 5.0, 6.5, 7.0, 9.0])
    sides = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0], dtype=bool)
    found = two_groups(values, each(9, "word"), sides, level=0.95, seed=0, about=0)
    kept = ~np.isnan(values)
    assert found == two_groups(values[kept], each(8, "word"), sides[kept], level=0.95, seed=0, about=0)


def test_sides_without_spread_that_differ_have_the_p_of_their_deals_and_no_interval_and_equal_ones_neither():
    found = two_groups(np.repeat([1.0, 0.0], 4), each(8, "word"), np.arange(8) < 4, level=0.95, seed=0, about=0)
    assert found.p == pytest.approx(2 / 70)
    assert np.isnan(found.low)
    found = two_groups(np.ones(8), each(8, "word"), np.arange(8) < 4, level=0.95, seed=0, about=0)
    assert np.isnan([found.p, found.low]).all()
    assert found.status == "too_few_units"
