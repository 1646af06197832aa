"""Rates and their excess, over texts drawn again and embeddings in turn."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.adversary.controls import two_sided
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, share_of
from tiltmeter.operators.statistics.intervals import LOGIT, IntervalSettings, fisher
from tiltmeter.operators.statistics.resampling import resampled_counts

SETTINGS = IntervalSettings()
COUNTS = np.concatenate(list(resampled_counts(np.zeros(50, np.int64), 0, 1, 200))).astype(np.float64)


def drawn(shape, chance, seed=0):
    return (np.random.default_rng(seed).random(shape) < chance).astype(np.float64)


def test_rates_and_excess_are_means_over_texts_and_controls():
    flips, controls = drawn((1, 50), 0.4), drawn((19, 50), 0.2, 1)
    rates = flip_rates(flips, controls, COUNTS, SETTINGS)
    assert rates.rate.value == flips[0].mean()
    assert rates.excess.value == pytest.approx(flips.mean() - controls.mean())
    assert rates.p_value == (1 + (controls.mean(axis=1) >= flips.mean()).sum()) / 20
    resampled = np.array([np.average(flips[0], weights=row) for row in COUNTS])
    interval = SETTINGS.around(flips.mean(), resampled, LOGIT)
    assert (rates.rate.low, rates.rate.high) == pytest.approx((float(interval.low), float(interval.high)))
    differences = resampled - np.array([np.average(controls.mean(axis=0), weights=row) for row in COUNTS])
    interval = SETTINGS.around(rates.excess.value, differences, fisher(1.0))
    assert (rates.excess.low, rates.excess.high) == pytest.approx((float(interval.low), float(interval.high)))


def test_replicas_take_turns_so_that_what_depends_on_one_widens_the_interval():
    same = np.repeat(drawn((1, 50), 0.4), 5, axis=0)
    other = same.copy()
    other[1] = 0.0
    widths = [
        rates.rate.high - rates.rate.low
        for rates in (flip_rates(flips, np.zeros((0, 50)), COUNTS, SETTINGS) for flips in (same[:1], same, other))
    ]
    assert widths[0] == pytest.approx(widths[1])
    assert widths[2] > 1.2 * widths[1]


def test_without_texts_or_controls_there_is_nothing_to_say():
    none = flip_rates(np.zeros((3, 0)), np.zeros((2, 0)), np.zeros((9, 0)), SETTINGS)
    assert np.isnan([*none.rate, *none.excess, none.p_value]).all()
    bare = flip_rates(drawn((1, 50), 0.5), np.zeros((0, 50)), COUNTS, SETTINGS)
    assert np.isnan([*bare.excess, bare.p_value]).all()
    assert np.isnan(share_of(np.zeros(0), np.zeros(0, bool)))


def test_two_sided_p_values_count_sizes():
    assert two_sided(-0.2, np.array([0.1, -0.3, 0.2, 0.0])) == 3 / 5
