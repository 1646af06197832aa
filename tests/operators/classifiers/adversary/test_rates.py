"""Rates and their excess, by texts or groups of them, and over embeddings."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.adversary.controls import two_sided
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, resampled_rates, share_of, sized_excess
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean, share
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import each, units_of

TEXTS = each(50, "text")
AUTHORS = units_of(np.arange(50) // 5, "author")
NONE = np.zeros((0, 50))


def drawn(shape, chance, seed=0):
    return (np.random.default_rng(seed).random(shape) < chance).astype(np.float64)


@pytest.mark.parametrize("units", [TEXTS, AUTHORS])
def test_rates_and_excess_are_means_over_texts_and_controls(units):
    flips, controls = drawn((1, 50), 0.4), drawn((19, 50), 0.2, 1)
    rates = flip_rates(flips, controls, units, level=0.9)
    assert rates.rate.value == flips[0].mean()
    assert rates.excess.value == pytest.approx(flips.mean() - controls.mean())
    assert rates.p_value == (1 + (controls.mean(axis=1) >= flips.mean()).sum()) / 20
    assert rates.rate == share(flips[0], units, level=0.9)
    assert rates.excess == mean(flips[0] - controls.mean(axis=0), units, level=0.9, scale=FISHER)


def test_replicas_add_their_variance_and_leave_the_number():
    """The original is one embedding of those that could have been, so that it has the whole variance of one."""
    flips = np.concatenate([drawn((1, 50), 0.4), drawn((4, 50), 0.4, 1)])
    found, alone = (flip_rates(values, NONE, TEXTS, level=0.95).rate for values in (flips, flips[:1]))
    spread = flips[1:].mean(axis=1).var(ddof=1)
    assert found.value == alone.value == flips[0].mean()
    assert found.variance == pytest.approx(flips[0].var(ddof=1) / 50 + spread)
    assert found.df == pytest.approx(found.variance**2 / ((flips[0].var(ddof=1) / 50) ** 2 / 49 + spread**2 / 3))
    same = flip_rates(np.repeat(flips[:1], 4, axis=0), NONE, TEXTS, level=0.95).rate
    assert same.variance == pytest.approx(flips[0].var(ddof=1) / 50)
    controls, seeds = drawn((19, 50), 0.2, 1), 2.0 * flips[1:].mean(axis=1)
    assert found == mean(flips[0], TEXTS, level=0.95, scale=LOGIT, seeds=seeds)
    expected = mean(flips[0] - controls.mean(axis=0), TEXTS, level=0.95, scale=FISHER, seeds=seeds)
    assert flip_rates(flips, controls, TEXTS, level=0.95).excess == expected


def test_each_resample_is_of_the_next_replica():
    flips, controls = drawn((4, 50), 0.4), drawn((19, 50), 0.2, 1)
    counts = np.concatenate(list(resampled_counts(np.zeros(50, np.int64), 0, 1, 200))).astype(np.float64)
    rates, beyond = resampled_rates(flips, controls, counts)
    expected = [np.average(flips[1 + number % 3], weights=row) for number, row in enumerate(counts)]
    beside = [np.average(controls.mean(axis=0), weights=row) for row in counts]
    assert rates == pytest.approx(expected)
    assert beyond == pytest.approx(np.array(expected) - beside)
    single, nothing = resampled_rates(flips[:1], NONE, counts)
    assert single == pytest.approx([np.average(flips[0], weights=row) for row in counts])
    assert np.isnan(nothing).all()


def test_without_controls_there_is_no_excess_and_too_few_groups_have_no_interval():
    bare = flip_rates(drawn((1, 50), 0.5), NONE, TEXTS, level=0.95)
    assert bare.excess is None
    assert np.isnan(bare.p_value)
    assert np.isnan(share_of(np.zeros(0), np.zeros(0, bool)))
    halves = units_of(np.arange(50) // 25, "author")
    few = flip_rates(drawn((1, 50), 0.5), drawn((19, 50), 0.2), halves, level=0.95)
    assert np.isnan([few.excess.low, few.excess.high]).all()
    assert few.excess.too_few == (2.0, 4, "author")
    assert few.p_value > 0.0


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
