"""p of a night against scipy, and alarms of years against loops."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.gates.e_detector import log_e_values
from tiltmeter.operators.statistics.gates.halves import halves, num_right, swapped
from tiltmeter.operators.statistics.gates.nightly import Nights, alarms, one_sided_p, p_limit, share_of_years
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import units_of

RNG = np.random.default_rng(5)


def test_p_of_items_is_that_of_students_test_of_one_sample():
    values = RNG.normal(-0.1, 0.5, (3, 40))
    ones = np.ones(40, int)
    for allowance in (0.0, 0.2):
        known = stats.ttest_1samp(values, -allowance, axis=1, alternative="less").pvalue
        assert one_sided_p(values, ones, allowance) == pytest.approx(known)


def test_p_of_clusters_is_half_of_that_of_their_mean():
    units = units_of(RNG.integers(0, 15, 90), "cluster")
    values = RNG.normal(-0.1, 0.4, 90) + RNG.normal(0, 0.3, 15)[units.codes]
    inferred = mean(values, units, level=0.95)
    tail = inferred.p / 2.0
    assert one_sided_p(units.sums(values), units.sizes) == pytest.approx(tail if inferred.value < 0.0 else 1.0 - tail)


def test_p_where_nothing_spreads():
    ones = np.ones(5, int)
    assert one_sided_p(np.zeros(5), ones) == 1.0
    assert one_sided_p(np.full(5, -1.0), ones) == 2.0**-5
    assert one_sided_p(np.full(5, 1.0), ones) == 1.0
    assert one_sided_p(np.array([-1.0, 0.0, 0.0, 0.0, 0.0]), ones) == 0.5  # one unit that differs says nothing


def test_alarms_of_each_rule_are_those_of_a_loop():
    nights = Nights(RNG.uniform(0.0, 0.3, (20, 30)), RNG.normal(0.1, 0.5, (20, 30)))
    level = 0.3
    expected = {rule: np.zeros((20, 30), bool) for rule in ("e_detector", "confirm", "spending", "single")}
    for year in range(20):
        total = 0.0
        for night in range(30):
            p, total = nights.p[year, night], np.exp(nights.log_e[year, night]) * (total + 1.0)
            limit = (level / 30) ** 0.5
            expected["e_detector"][year, night] = total >= 30 / level
            expected["confirm"][year, night] = night > 0 and p <= limit and nights.p[year, night - 1] <= limit
            expected["spending"][year, night] = p <= 6 * level / (np.pi * (night + 1)) ** 2
            expected["single"][year, night] = p <= level
    for rule, known in expected.items():
        assert known.any()
        assert (alarms(rule, level, nights) == known).all()


def test_limits_of_rules_spend_the_level():
    assert p_limit("spending", 0.05, 365, np.arange(1, 100_000)).sum() == pytest.approx(0.05, rel=1e-4)
    assert p_limit("confirm", 0.05, 365, 3) ** 2 * 365 == pytest.approx(0.05)


def swaps(rule, level, nights, sums, sizes, size=0.1, seed=1):
    def judge(values, sizes, counts):
        return Nights(one_sided_p(values, sizes, counts=counts), log_e_values(values, size, counts=counts))

    return share_of_years(rule, level, nights, sums, sizes, judge, np.random.default_rng(seed))


@pytest.mark.long
def test_years_of_swaps_are_those_that_are_counted():
    """Of three units that differ, all fall on one night in eight: p is 1/8 then, and more on others."""
    share, num = swaps("single", 0.125, 2, np.array([[1.0, -1.0, 1.0]]), np.ones(3, int))
    assert (num, share) == (1000, pytest.approx(1.0 - (7 / 8) ** 2, abs=0.04))
    assert swaps("single", 0.125, 2, np.array([[1.0, -1.0, 1.0]]), np.ones(3, int)) == (share, num)


def test_swaps_by_kind_of_unit_are_those_of_each_unit():
    """Sums of unlike sizes: nights judged by kinds of units are drawn as those judged unit by unit."""
    sums, sizes = np.array([0.5, -0.5, 0.5, 1.0, 0.0, 2.0]), np.array([1, 1, 1, 1, 2, 3])
    signs = np.array([[1 - 2 * (night >> unit & 1) for unit in range(6)] for night in range(64)])
    limit = np.quantile(one_sided_p(signs * sums, sizes), 0.3)
    known = (one_sided_p(signs * sums, sizes) <= limit).mean()
    share, _ = swaps("single", limit, 1, sums[None], sizes)
    assert share == pytest.approx(known, abs=0.045)


@pytest.mark.long
def test_a_year_of_swaps_keeps_the_level_of_the_e_detector_whatever_few_differences_are_drawn():
    """Ten differences of which each is one year in ten: drawn again and again, their e-values add up in most years."""
    sums = RNG.choice((-1.0, 0.0, 0.0, 1.0), (10, 300))
    assert swaps("e_detector", 0.05, 365, sums, np.ones(300, int))[0] <= 0.05


# --- runs that differ by chance alone -------------------------------------------------------------------------------


def test_repeats_are_told_by_their_variance_where_all_are_right_or_wrong():
    repeats = [np.array(item, float) for item in ([1, 1, 0, 0], [0, 0], [1, 1, 1], [1, 0])]
    means, variances, counts = (
        np.array([f(item) for item in repeats]) for f in (np.mean, lambda x: x.var(ddof=1), len)
    )
    assert num_right(means, variances, counts).tolist() == [2, 0, 3, 1]
    assert num_right(means, variances * 0.9, counts) is None  # such as scores between 0 and 1
    assert num_right(means, np.array([*variances[:3], np.nan]), np.array([4, 2, 3, 1])) is None


def test_halves_of_repeats_are_all_splits_alike():
    """Three right of five: the first two of a shuffle hold 0, 1 or 2 wrong ones."""
    drawn = halves(np.array([3, 0, 4]), np.array([5, 4, 4]), 20_000, np.random.default_rng(2))
    assert set(np.round(np.unique(drawn[:, 0]), 9)) == set(np.round([1 - 1 / 3, 1 / 2 - 2 / 3, 0 - 1], 9))
    shares = [(np.isclose(drawn[:, 0], value)).mean() for value in (2 / 3, -1 / 6, -1.0)]
    assert shares == pytest.approx([0.3, 0.6, 0.1], abs=0.015)
    assert (drawn[:, 1:] == 0.0).all()


def test_labels_are_swapped_by_unit():
    drawn = swapped(np.array([2.0, -1.0, 0.5]), 4000, np.random.default_rng(3))
    assert (np.abs(drawn) == [2.0, 1.0, 0.5]).all()
    assert np.abs((drawn > 0.0).mean(axis=0) - 0.5).max() < 0.04
