"""Two systems on the same items: McNemar's test by brute force, and both tests on systems that do not differ."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.intervals import FISHER, LINEAR
from tiltmeter.operators.statistics.means import paired
from tiltmeter.operators.statistics.paired_items import paired_items
from tiltmeter.operators.statistics.units import each, units_of


@pytest.mark.parametrize(("only", "other"), [(6, 0), (3, 3), (7, 2), (1, 9)])
def test_mcnemar_counts_all_ways_in_which_coins_could_have_fallen(only, other):
    first = np.array([1.0] * only + [0.0] * other + [1.0, 0.0])
    second = np.array([0.0] * only + [1.0] * other + [1.0, 0.0])
    found = paired_items(first, second, each(first.size, "item"))
    assert (found.first_only, found.second_only) == (only, other)
    ways = [abs(2 * sum(way) - (only + other)) for way in product((0, 1), repeat=only + other)]
    assert found.mcnemar_p == pytest.approx(np.mean([way >= abs(only - other) for way in ways]))


def test_the_difference_of_clusters_of_one_size_is_that_of_their_means():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), 5)
    first, second = rng.normal(size=(2, 150)) + np.stack([np.zeros(150), rng.normal(size=30)[clusters]])
    found = paired_items(first, second, units_of(clusters, "template"))
    means = (second - first).reshape(30, 5).mean(axis=1)
    expected = stats.ttest_1samp(means, 0.0)
    assert (found.mcnemar_p, found.first_only) == (None, None)
    assert found.difference.p == pytest.approx(expected.pvalue, abs=0.02)
    assert found.difference[1:3] == pytest.approx(tuple(expected.confidence_interval()))


@pytest.mark.parametrize(("factor", "scale"), [(1.0, FISHER), (0.5, LINEAR)])
def test_shares_lie_between_borders_and_other_scores_anywhere(factor, scale):
    first, second = factor * (np.arange(24) % 3 < 1), factor * (np.arange(24) % 8 > 0)
    templates = units_of(np.arange(24) // 3, "template")
    found = paired_items(first, second, templates, 0.8)
    assert found.difference == paired(second, first, templates, level=0.8, scale=scale)
    assert found.mcnemar_p == (found.difference.p if factor == 1.0 else None)
