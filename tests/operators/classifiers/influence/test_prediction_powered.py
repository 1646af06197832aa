"""Rates of a teacher from a student and a sample: by hand, by brute force, and by how often intervals hold."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from tiltmeter.operators.classifiers.influence.prediction_powered import (
    Stratum,
    powered_cluster_mean,
    powered_mean,
    powered_rate,
    true_bounds,
)
from tiltmeter.operators.statistics.intervals import LOGIT


def test_the_estimate_is_the_students_mean_corrected_by_the_sample():
    student = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    rows, teacher = np.array([0, 1, 2]), np.array([1.0, 0.0, 0.0])
    # cov = mean(y f) - mean(y) mean(f) = 1/3 - 2/9 = 1/9; var = 2/9; l = 1/2
    # estimate = 0.5 * 0.6 + mean(0.5, 0, -0.5) = 0.3; leverages 1/2, 1 (cut) and 1/2, so that the residuals without the
    # thing itself are 1, 0 and -1: variance = 0.4 * 2 / (3 * 2); t(2) = 4.302653
    powered = powered_mean(student, rows, teacher)
    assert powered.weight == pytest.approx(0.5)
    assert powered.estimate == pytest.approx(0.3)
    assert powered.high - powered.estimate == pytest.approx(4.302653 * np.sqrt(0.4 / 3), rel=1e-6)


def test_without_weight_it_is_the_mean_of_the_sample():
    powered = powered_mean(np.arange(10.0), np.array([1, 2, 5]), np.array([2.0, 4.0, 9.0]), weight=0.0)
    assert powered.estimate == pytest.approx(5.0)


def test_all_judged_leaves_nothing_open():
    teacher = np.array([1.0, 0.0, 1.0])
    powered = powered_mean(np.array([1.0, 1.0, 0.0]), np.arange(3), teacher)
    assert (powered.low, powered.high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def simulated(correlation, seed):
    """Ratios of 4,000 contexts as teacher and student see them."""
    rng = np.random.default_rng(seed)
    truth, noise = rng.normal(size=(2, 4000))
    return truth, correlation * truth + np.sqrt(1 - correlation**2) * noise


@pytest.mark.parametrize(("correlation", "widest"), [(0.98, 0.25), (0.87, 0.55)])
def test_intervals_hold_the_truth_and_are_as_much_narrower_as_the_correlation_says(correlation, widest):
    truth, student = simulated(correlation, 0)
    held, widths = [], []
    for sample in range(500):
        rows = np.random.default_rng(sample + 1).choice(4000, 200, replace=False)
        powered, alone = (powered_mean(student, rows, truth[rows], weight=weight) for weight in (None, 0.0))
        held.append(powered.low <= truth.mean() <= powered.high)
        widths.append((powered.high - powered.low) / (alone.high - alone.low))
    assert np.mean(held) >= 0.93
    assert np.mean(widths) == pytest.approx(np.sqrt(1 - correlation**2), rel=0.05)
    assert np.mean(widths) <= widest


def test_clusters_of_one_are_things():
    truth, student = simulated(0.9, 3)
    rows = np.arange(0, 4000, 40)
    by_things = powered_mean(student, rows, truth[rows])
    assert powered_cluster_mean(student, np.arange(4000), rows, truth[rows]) == pytest.approx(by_things, rel=1e-9)


def test_intervals_of_clusters_hold_where_those_of_single_things_do_not():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(400), 10)
    truth = rng.normal(size=400)[clusters] + 0.1 * rng.normal(size=4000)
    student = 0.7 * truth + 0.7 * rng.normal(size=400)[clusters]
    held = {True: 0, False: 0}
    for sample in range(300):
        chosen = np.random.default_rng(sample).choice(400, 40, replace=False)
        rows = np.flatnonzero(np.isin(clusters, chosen))
        for clustered in held:
            powered = (
                powered_cluster_mean(student, clusters, rows, truth[rows])
                if clustered
                else powered_mean(student, rows, truth[rows])
            )
            held[clustered] += powered.low <= truth.mean() <= powered.high
    assert held[True] / 300 >= 0.92
    assert held[False] / 300 < 0.7


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_intervals_of_rates_hold_them_however_small(share):
    rng = np.random.default_rng(7)
    truth = rng.random(6000) < share
    student = np.where(rng.random(6000) < 0.03, ~truth, truth)
    held = []
    for sample in range(500):
        rows = np.random.default_rng(sample).choice(6000, 300, replace=False)
        powered = powered_mean(student.astype(float), rows, truth[rows].astype(float), scale=LOGIT)
        assert 0.0 <= powered.low <= powered.estimate <= powered.high <= 1.0
        held.append(powered.low <= truth.mean() <= powered.high)
    assert np.mean(held) >= 0.92


def test_a_sample_in_which_both_agree_leaves_something_open():
    student = (np.arange(1000) < 300).astype(float)
    powered = powered_mean(student, np.arange(0, 1000, 10), student[::10], scale=LOGIT)
    # t(99)^2 / (100 / 0.9 + t(99)^2) of the way to both borders, with t = 1.984217
    way = 3.937117 / (1000 / 9 + 3.937117)
    assert (powered.low, powered.high) == pytest.approx((0.3 - way * 0.3, 0.3 + way * 0.7), rel=1e-6)


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
