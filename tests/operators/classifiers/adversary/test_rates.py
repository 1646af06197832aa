"""Rates and their excess, over texts drawn again and embeddings in turn."""

import numpy as np
import pytest
from scipy.stats import kstest

from tiltmeter.operators.classifiers.adversary.controls import two_sided
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, share_of, sized_excess
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
    assert rates.rate.resamples == pytest.approx(resampled)
    assert (rates.rate.low, rates.rate.high) == pytest.approx((float(interval.low), float(interval.high)))
    differences = resampled - np.array([np.average(controls.mean(axis=0), weights=row) for row in COUNTS])
    interval = SETTINGS.around(rates.excess.value, differences, fisher(1.0))
    assert rates.excess.resamples == pytest.approx(differences)
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


def test_each_resample_is_of_the_next_replica():
    flips = drawn((4, 50), 0.4)
    resamples = flip_rates(flips, np.zeros((0, 50)), COUNTS, SETTINGS).rate.resamples
    expected = [np.average(flips[1 + number % 3], weights=row) for number, row in enumerate(COUNTS)]
    assert resamples == pytest.approx(expected)


def test_without_texts_or_controls_there_is_nothing_to_say():
    none = flip_rates(np.zeros((3, 0)), np.zeros((2, 0)), np.zeros((9, 0)), SETTINGS)
    assert np.isnan([*none.rate[:3], *none.excess[:3], none.p_value]).all()
    assert none.rate.resamples.size == none.excess.resamples.size == 0
    bare = flip_rates(drawn((1, 50), 0.5), np.zeros((0, 50)), COUNTS, SETTINGS)
    assert np.isnan([*bare.excess[:3], bare.p_value]).all()
    assert np.isnan(share_of(np.zeros(0), np.zeros(0, bool)))


def test_two_sided_p_values_count_sizes():
    assert two_sided(-0.2, np.array([0.1, -0.3, 0.2, 0.0])) == 3 / 5


def test_rates_that_follow_their_sizes_have_no_excess_at_equal_size():
    """A = 0.1 + 0.2 size for controls and direction alike, but for a jump of 0.05."""
    sizes = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
    for jump in (0.0, 0.05):
        result = sized_excess(0.1 + 0.2 * 3.5 + jump, 3.5, 0.1 + 0.2 * sizes, sizes)
        line = np.polyfit([3.5, *sizes], [0.8 + jump, *(0.1 + 0.2 * sizes)], 1)
        rest = np.array([0.8 + jump, *(0.1 + 0.2 * sizes)]) - np.polyval(line, [3.5, *sizes])
        assert result.slope == pytest.approx(line[0])
        assert result.excess == pytest.approx(rest[0] - rest[1:].mean(), abs=1e-12)
    assert result.p_value == 1 / 6


def test_p_values_at_equal_size_are_uniform_where_the_direction_is_one_of_its_controls():
    draws = np.random.default_rng(3)
    sizes = draws.normal(2.0, 0.4, size=(400, 100))
    rates = 0.1 + 0.2 * sizes + draws.normal(0.0, 0.02, size=sizes.shape)
    pairs = zip(rates, sizes, strict=True)
    p_values = np.array([sized_excess(row[0], size[0], row[1:], size[1:]).p_value for row, size in pairs])
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert (p_values <= 0.05).mean() <= 0.07
