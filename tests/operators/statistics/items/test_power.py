"""Smallest differences and power, against published tables, and power that is said before against simulation."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.items.paired_items import paired_items
from tiltmeter.operators.statistics.items.power import (
    Error,
    Spread,
    cluster_correlation,
    items_for,
    pass_rate,
    power_of,
    smallest_detectable,
    spread_of,
)
from tiltmeter.operators.statistics.items.repeats import Noise, noise_of
from tiltmeter.operators.statistics.units import Inferred, units_of

LEVEL = 0.95


def answers(rng, num_items, num_repeats, size, correlation, shift):
    """Shares of right answers of two systems, variances of the repeats, clusters; difficulties are logit-normal."""
    codes = np.arange(num_items) // size
    shared, own = rng.normal(size=codes[-1] + 1)[codes], rng.normal(size=num_items)
    gap = shift + np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own
    ease = rng.normal(0.5, 1.5, num_items)
    shares = rng.binomial(num_repeats, 1.0 / (1.0 + np.exp(-np.stack([ease - gap / 2, ease + gap / 2])))) / num_repeats
    variances = shares * (1.0 - shares) * num_repeats / (num_repeats - 1) if num_repeats > 1 else shares * np.nan
    return shares[0], shares[1], variances, units_of(codes, "template")


def planned_spread(rng, size, correlation, num=40_000, repeats=4):
    """From earlier logs of two systems that are equally good."""
    first, second, variances, units = answers(rng, num, repeats, size, correlation, 0.0)
    one, other = (noise_of(side, np.full(num, repeats), np.full(num, 1.0 / num)) for side in variances)
    difference = paired_items(first, second, units, denominator=repeats).difference
    return spread_of(difference, one.plus(other), num)


# Items, repeats, items of a cluster, their correlation, the second system's lead in logits.
SETTINGS = [
    (500, 4, 1, 0.0, 0.25),
    (400, 2, 10, 0.5, 0.4),
    (200, 1, 1, 0.0, 0.5),
    (500, 1, 1, 0.0, 0.25),
    (1000, 1, 1, 0.0, 0.2),
    (1000, 8, 1, 0.0, 0.12),
    (1000, 2, 20, 0.5, 0.25),
    (200, 8, 1, 0.0, 0.3),
    (2000, 1, 1, 0.0, 0.15),
    (100, 4, 1, 0.0, 0.5),
    (600, 4, 6, 0.3, 0.25),
    (3000, 2, 1, 0.0, 0.1),
]
SLOW = [pytest.param(*setting, 3000, marks=pytest.mark.slow) for setting in SETTINGS[3:]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("num_items", "repeats", "size", "correlation", "shift", "num"),
    [*((*setting, 1200) for setting in SETTINGS[:3]), *SLOW],
)
def test_power_that_is_said_before_is_the_share_that_is_found(num_items, repeats, size, correlation, shift, num):
    rng = np.random.default_rng([num_items, repeats, size])
    spread = planned_spread(rng, size, correlation)
    first, second, *_ = answers(rng, 400_000, 16, size, correlation, shift)
    said = power_of(float((second - first).mean()), spread.error(num_items, repeats), LEVEL)
    found = 0
    for _ in range(num):
        first, second, _, units = answers(rng, num_items, repeats, size, correlation, shift)
        difference = paired_items(first, second, units, LEVEL, denominator=repeats).difference
        found += difference.low > 0.0 or difference.high < 0.0
    assert found / num == pytest.approx(said, abs=0.03 + (0.015 if num < 3000 else 0.0))


def test_two_points_on_a_thousand_items_need_eight_repeats():
    """Miller's formula, by hand: within-item variance .18 of each system, .01 between items."""
    spread = Spread(0.01, 0.36, 1.0)
    assert smallest_detectable(spread.error(1000, 1), LEVEL) == pytest.approx(2.8024 * np.sqrt(0.37 / 1000), rel=2e-3)
    assert smallest_detectable(spread.error(1000, 8), LEVEL) == pytest.approx(0.0208, abs=1e-4)
    assert spread.of_two(0.9) == pytest.approx((0.002, 0.72, 1.0))


def test_clusters_of_fixed_correlation_are_a_design_effect():
    alone, clustered = Spread(0.2, 0.1, 1.0), Spread(0.2 * (1 + 9 * 0.3), 0.1, 0.1)
    assert cluster_correlation(clustered, alone) == pytest.approx(0.3)
    assert np.isnan(cluster_correlation(alone, alone))
    assert clustered.error(400, 2) == pytest.approx((np.sqrt((0.2 * 3.7 + 0.05) / 400), 39.0))


def test_without_repeats_all_of_the_spread_is_of_items():
    spread = spread_of(Inferred(0.0, 0.0, 0.0, 0.001, 99.0, 100), Noise(np.nan, np.nan, 0.0), 100)
    assert spread.error(200, 1).sd == pytest.approx(np.sqrt(0.1 / 200))
    assert spread_of(Inferred(0.0, 0.0, 0.0, 0.001, 99.0, 100), Noise(0.002, 0.004, 50.0), 100).items == 0.0


@pytest.mark.parametrize("df", [5.0, 19.0, 999.0])
def test_power_is_that_of_the_noncentral_t(df):
    error = Error(0.5, df)
    rng = np.random.default_rng(int(df))
    drawn = (rng.normal(1.2, 0.5, 200_000)) / (0.5 * np.sqrt(rng.chisquare(df, 200_000) / df))
    share = (np.abs(drawn) > stats.t.ppf(0.975, df)).mean()
    assert power_of(1.2, error, LEVEL) == pytest.approx(share, abs=0.005)
    assert power_of(smallest_detectable(error, LEVEL), error, LEVEL) == pytest.approx(0.8, abs=0.02)


def test_as_many_items_as_a_difference_needs_and_no_fewer():
    spread = Spread(0.05, 0.3, 0.1)
    num = items_for(0.03, spread, 2, LEVEL)
    assert [smallest_detectable(spread.error(n, 2), LEVEL) <= 0.03 for n in (num - 1, num)] == [False, True]
    assert items_for(5.0, Spread(0.01, 0.0, 1.0), 1, LEVEL) == 2


@pytest.mark.parametrize(("num", "rate"), [(1000, 0.17), (12_400, 0.8)])
def test_non_inferiority_fails_equal_systems_by_default(num, rate):
    """Discordance .2 and a margin of one point, of whose 12,400 items (1.645 + .842)^2 .2 / .01^2 are made."""
    assert pass_rate(0.01, Spread(0.2, 0.0, 1.0).error(num, 1), LEVEL) == pytest.approx(rate, abs=0.005)
