"""McNemar's test and the clustered bootstrap of paired items, by brute force and against what theory says."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.paired_items import clustered_p, mcnemar, paired_bootstrap


@pytest.mark.parametrize(("only", "other"), [(0, 0), (5, 0), (3, 3), (7, 2), (1, 9)])
def test_mcnemar_counts_all_ways_in_which_coins_could_have_fallen(only, other):
    first = np.array([True] * only + [False] * other + [True, False])
    second = np.array([False] * only + [True] * other + [True, False])
    test = mcnemar(first, second)
    assert (test.first_only, test.second_only) == (only, other)
    ways = [abs(2 * sum(way) - (only + other)) for way in product((0, 1), repeat=only + other)]
    assert test.p == pytest.approx(np.mean([way >= abs(only - other) for way in ways]))


def test_resamples_spread_as_the_mean_of_clusters_does():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(300), 5)
    shared = rng.normal(size=300)[clusters]
    first, second = rng.normal(size=(2, 1500)) + np.stack([np.zeros(1500), shared])
    apart = paired_bootstrap(first, second, None, 0, 1, 2000)
    together = paired_bootstrap(first, second, clusters, 0, 1, 2000)
    difference = second - first
    means = difference.reshape(300, 5).mean(axis=1)
    assert apart.value == together.value == pytest.approx(difference.mean())
    assert apart.resamples.std() == pytest.approx(difference.std() / 1500**0.5, rel=0.08)
    assert together.resamples.std() == pytest.approx(means.std() / 300**0.5, rel=0.08)
    assert (apart.num_texts, together.num_texts) == pytest.approx((1500.0, 300.0))


def test_a_resample_has_whole_clusters_and_the_mean_of_all_of_their_items():
    first, second = np.zeros(6), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    clusters = np.array([0, 0, 0, 0, 0, 1])
    resamples = paired_bootstrap(first, second, clusters, 0, 0, 200).resamples
    assert set(resamples.round(12)) == {0.0, round(5 / 6, 12), 1.0}


def test_the_same_items_are_drawn_alike_for_all_systems_and_by_nothing_but_the_key():
    first, second, third = np.random.default_rng(1).random((3, 50))
    draws = [paired_bootstrap(first, other, None, 3, 5, 20).resamples for other in (second, third)]
    both = paired_bootstrap(second, third, None, 3, 5, 20).resamples
    assert draws[1] - draws[0] == pytest.approx(both)
    assert not np.array_equal(paired_bootstrap(first, second, None, 4, 5, 20).resamples, draws[0])
    assert np.array_equal(paired_bootstrap(first, second, None, 3, 5, 8).resamples, draws[0][:8])


def test_p_values_of_systems_that_do_not_differ_are_uniform_enough():
    rng = np.random.default_rng(2)
    p = [clustered_p(paired_bootstrap(*(rng.random((2, 60)) < 0.7), None, 0, case, 200)) for case in range(400)]
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09
    one = paired_bootstrap(np.zeros(9), np.ones(9), None, 0, 0, 10)
    assert (clustered_p(one), stats.binomtest(0, 9).pvalue < 0.01) == (0.0, True)


def test_nothing_can_be_compared_without_items():
    with pytest.raises(ValueError, match="there are no items to compare"):
        paired_bootstrap(np.zeros(0), np.zeros(0), None, 0, 0, 10)
