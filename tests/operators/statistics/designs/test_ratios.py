"""Ratios of totals over drawn units: intervals by formulas written out, and where there is nothing to spread."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.designs.ratios import Parts, ratio_difference, sampled_ratio
from tiltmeter.operators.statistics.intervals import LOG
from tiltmeter.operators.statistics.units import each, units_of

RNG = np.random.default_rng(2)
BELOW = RNG.integers(1, 6, 30).astype(float)
SAMPLE = Parts(np.minimum(RNG.integers(0, 6, 30), BELOW), BELOW)
OTHER = Parts(np.minimum(RNG.integers(0, 6, 30), BELOW), BELOW)
UNITS = units_of(RNG.integers(0, 15, 30), "entity")


def sums(parts):
    return [np.array([side[UNITS.codes == unit].sum() for unit in range(UNITS.num)]) for side in parts]


def left_out(parts):
    b, a = sums(parts)
    return np.array([np.delete(b, unit).sum() / np.delete(a, unit).sum() for unit in range(UNITS.num)])


@pytest.mark.parametrize("drawn", [0.0, 0.4])
def test_an_interval_is_students_on_the_logit_of_jackknifed_units(drawn):
    b, a = sums(SAMPLE)
    ratio, num, others = b.sum() / a.sum(), UNITS.num, left_out(SAMPLE)
    errors = b - ratio * a
    spread = np.sqrt((1 - drawn) * (num - 1) / num * ((others - others.mean()) ** 2).sum())
    nu = (errors**2).sum() ** 2 / (errors**4).sum() - 1
    reach = stats.t.ppf(0.95, nu) * spread / (ratio * (1 - ratio))
    ends = [1 / (1 + np.exp(-(np.log(ratio / (1 - ratio)) + side * reach))) for side in (-1, 1)]
    made = sampled_ratio(SAMPLE, UNITS, level=0.9, drawn=drawn)
    assert [made.low, made.high, made.df, made.num_units] == pytest.approx([*ends, nu, num])
    # Cochran 1977, equation 6.34: the bias of a ratio of means, to first order.
    bias = ratio * (np.var(a, ddof=1) / a.mean() ** 2 - np.cov(a, b)[0, 1] / (a.mean() * b.mean())) / num
    assert made.value == pytest.approx(ratio - (1 - drawn) * bias)
    size = sampled_ratio(Parts(SAMPLE.below, np.ones(30)), UNITS, level=0.9, scale=LOG)
    assert size.low * size.high == pytest.approx((SAMPLE.below.mean()) ** 2)


def test_where_no_unit_errs_the_interval_is_exact_for_as_many_as_would_spread_as_much():
    perfect = sampled_ratio(Parts(np.array([1.0, 1, 2]), np.array([1.0, 1, 2])), each(3, "entity"), level=0.95)
    assert (perfect.value, perfect.high, perfect.low) == pytest.approx((1.0, 1.0, 0.025 ** (6 / 16)))
    none = sampled_ratio(Parts(np.zeros(40), np.ones(40)), each(40, "entity"), level=0.95)
    assert (none.value, none.low, none.high) == pytest.approx((0.0, 0.0, 1 - 0.025 ** (1 / 40)))
    census = sampled_ratio(SAMPLE, UNITS, level=0.95, drawn=1.0)
    assert census.low == census.value == census.high == pytest.approx(SAMPLE.above.sum() / SAMPLE.below.sum())


def test_too_few_units_have_no_interval_and_a_reason():
    one = sampled_ratio(Parts(np.array([1.0, 0]), np.array([2.0, 0])), each(2, "entity"), level=0.95)
    assert (one.value, one.status) == (0.5, "too_few_units")
    assert one.reason == 'there is too little to go by: 1 of the unit "entity", and 2 are needed'
    nothing = sampled_ratio(Parts(np.zeros(2), np.zeros(2)), each(2, "entity"), level=0.95)
    assert np.isnan([nothing.value, nothing.low]).all()
    same = sampled_ratio(Parts(np.full(9, 2.0), np.ones(9)), each(9, "entity"), level=0.95, scale=LOG)
    assert (same.value, same.status) == (2.0, "too_few_units")
    few = ratio_difference(
        Parts(np.arange(5.0), np.full(5, 9.0)), Parts(np.ones(5), np.full(5, 9.0)), each(5, "entity"), level=0.95
    )
    assert few.reason == 'there is too little to go by: 4 of the unit "entity that differs", and 6 are needed'


def test_a_difference_leaves_each_unit_out_of_both():
    value = SAMPLE.above.sum() / SAMPLE.below.sum() - OTHER.above.sum() / OTHER.below.sum()
    others, num = left_out(SAMPLE) - left_out(OTHER), UNITS.num
    spread = np.sqrt((num - 1) / num * ((others - others.mean()) ** 2).sum())
    made = ratio_difference(SAMPLE, OTHER, UNITS, level=0.95)
    reach = stats.t.ppf(0.975, made.df) * spread
    assert [made.value, made.low, made.high] == pytest.approx([value, value - reach, value + reach])
    assert made.p == pytest.approx(2 * stats.t.sf(abs(value) / spread, made.df))
    turned = ratio_difference(OTHER, SAMPLE, UNITS, level=0.95)
    assert (turned.value, turned.p) == pytest.approx((-made.value, made.p))
    alike = ratio_difference(SAMPLE, SAMPLE, UNITS, level=0.95)
    assert (alike.value, alike.status) == (0.0, "too_few_units")
