"""Rates of a teacher from a student and a sample of words: by brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from tiltmeter.operators.classifiers.influence.prediction_powered import Stratum, powered_rate, true_bounds


@given(st.integers(1, 12), st.data())
def test_bounds_hold_all_numbers_that_the_sample_leaves_possible(num, data):
    checked = data.draw(st.integers(0, num))
    true = data.draw(st.integers(0, checked))
    low, high = true_bounds(Stratum(num, checked, true), 0.9)
    plausible = [
        total
        for total in range(true, num - checked + true + 1)
        if min(hypergeom.sf(true - 1, num, total, checked), hypergeom.cdf(true, num, total, checked)) > 0.05
        or checked == num
    ]
    assert (low, high) == (plausible[0], plausible[-1])


def test_exact_rates_hold_by_brute_force():
    """Of all true numbers in strata of 6 and 9, of which 3 and 4 are judged: the chance that the interval holds."""
    for first, second in product(range(7), range(10)):
        chance = 0.0
        for one, two in product(range(4), range(5)):
            weight = hypergeom.pmf(one, 6, first, 3) * hypergeom.pmf(two, 9, second, 4)
            if weight > 0:
                powered = powered_rate(Stratum(6, 3, one), Stratum(9, 4, two), level=0.9)
                chance += weight * (powered.low - 1e-12 <= (first + second) / 15 <= powered.high + 1e-12)
        assert chance >= 0.9


def test_a_stratum_that_nobody_judged_may_hold_anything():
    powered = powered_rate(Stratum(5, 5, 5), Stratum(5, 0, 0))
    assert np.isnan(powered.estimate)
    assert (powered.low, powered.high) == (0.5, 1.0)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_outside_is_refused(level):
    with pytest.raises(ValueError, match="level="):
        powered_rate(Stratum(1, 1, 1), level=level)
