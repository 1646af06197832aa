"""Probes: against scipy's binomial test, brute force over signs, and by how often noise is called a finding."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.probes import (
    clustered_mcnemar,
    filtered,
    probe,
    unusual,
)
from tiltmeter.operators.statistics.text_intervals import ResampleSettings


def sampled(num):
    return SampledClusters(num, ResampleSettings(num_resamples=400), 0, 1)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_without_clusters_it_is_the_exact_test_of_mcnemar(forward, backward, neither):
    num = forward + backward + neither
    flags = np.arange(num)
    p = clustered_mcnemar(flags < forward, (flags >= forward) & (flags < forward + backward), flags)
    discordant = forward + backward
    assert p == pytest.approx(binomtest(forward, discordant).pvalue if discordant else 1.0, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_with_clusters_it_counts_all_signs(counts):
    forward, backward, clusters = [], [], []
    for number, (one, other) in enumerate(counts):
        forward += [True] * one + [False] * other
        backward += [False] * one + [True] * other
        clusters += [number] * (one + other)
    sums = np.array([one - other for one, other in counts])
    signed = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))]
    expected = np.mean([value >= abs(sums.sum()) for value in signed])
    arrays = [np.array(values, dtype=kind) for values, kind in ((forward, bool), (backward, bool), (clusters, int))]
    assert clustered_mcnemar(*arrays) == pytest.approx(expected)


def test_many_contexts_are_no_trouble():
    flags = np.arange(20_000)
    p = clustered_mcnemar(flags < 10_200, flags >= 10_200, flags // 2)
    assert 0.0 < p < 0.2


def test_noise_in_clusters_is_called_a_finding_no_more_often_than_it_should():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(60), 12)
    clustered, single = [], []
    for _ in range(300):
        side = rng.choice([-1, 1], 60)[clusters] * (rng.random(720) < 0.4)
        clustered.append(clustered_mcnemar(side > 0, side < 0, clusters) <= 0.05)
        single.append(clustered_mcnemar(side > 0, side < 0, np.arange(720)) <= 0.05)
    assert np.mean(clustered) <= 0.08
    assert np.mean(single) > 0.3


def test_a_probe_by_hand():
    control = np.array([True, True, True, False, True])
    probed = np.array([False, False, True, True, True])
    result = probe(control, probed, np.arange(5), sampled(5))
    assert (result.rate, result.rate_reversed, result.difference) == pytest.approx((0.4, 0.2, 0.2))
    assert result.p_value == 1.0
    # the score of 2 of 5 with t(4)^2 = 7.7086: middle (0.4 + w / 2) / (1 + w), w = 7.7086 / 5 * 5 / 4 * 4 / 5
    weight = 7.7086 / 5
    half = np.sqrt(weight * 0.24 + weight**2 / 4)
    ends = (0.4 + weight / 2 - half) / (1 + weight), (0.4 + weight / 2 + half) / (1 + weight)
    assert (result.low, result.high) == pytest.approx(ends, abs=0.06)


def test_both_ways_round_are_one_finding():
    rng = np.random.default_rng(1)
    control, probed, clusters = rng.random(200) < 0.7, rng.random(200) < 0.4, rng.integers(0, 50, 200)
    there, back = (probe(*pair, clusters, sampled(50)) for pair in ((control, probed), (probed, control)))
    assert (there.rate, there.rate_reversed, there.p_value) == (back.rate_reversed, back.rate, back.p_value)
    assert there.difference == pytest.approx(-back.difference)


def test_copies_of_contexts_add_nothing():
    rng = np.random.default_rng(2)
    control, probed, clusters = rng.random(80) < 0.7, rng.random(80) < 0.5, np.arange(80)
    once = probe(control, probed, clusters, sampled(80))
    thrice = probe(*(np.tile(values, 3) for values in (control, probed, clusters)), sampled(80))
    assert thrice.p_value == pytest.approx(once.p_value)
    assert thrice.resamples == pytest.approx(once.resamples)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))


def test_nothing_and_one_cluster_have_no_interval():
    nothing, alone = (
        sampled(3).rate(np.zeros(0, bool), np.zeros(0, int)),
        sampled(1).rate(np.ones(3, bool), np.zeros(3, int)),
    )
    assert np.isnan(nothing[:3]).all()
    assert np.isnan(alone[1:3]).all()
    assert nothing.resamples.size == alone.resamples.size == 0


def test_rates_of_clusters_hold_what_sentences_are_drawn_from_and_stay_between_borders():
    held = []
    for number in range(200):
        rng = np.random.default_rng(number)
        clusters = np.repeat(np.arange(40), rng.integers(1, 12, 40))
        chances = rng.beta(0.2, 1.8, 40)
        rate = sampled(40).rate(rng.random(clusters.size) < chances[clusters], clusters)
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
        held.append(rate.low <= 0.1 <= rate.high)
    assert np.mean(held) >= 0.91


def test_where_all_agree_others_might_not():
    rate = sampled(20).rate(np.zeros(60, bool), np.repeat(np.arange(20), 3))
    # t(19)^2 / (20 + t(19)^2), with t = 2.093024
    assert (rate.low, rate.high) == (0.0, pytest.approx(4.380750 / 24.380750, rel=1e-5))


def test_a_pair_is_ranked_among_pairs_of_other_words():
    shares = np.linspace(0.4, 0.6, 101)
    draws = np.random.default_rng(0).random((2, 5000))
    assert unusual(0.5, shares, 5000, draws) == 1 / 5001
    assert unusual(0.0, shares, 5000, draws) == 1.0
    # of two different numbers of 0..100, the chance of a distance of 50 or more is 2 * sum(1..51) / (101 * 100)
    assert unusual(0.1, shares, 5000, draws) == pytest.approx(2 * 51 * 52 / 2 / 10100, abs=0.02)
    assert np.isnan(unusual(0.1, shares[:1], 10, draws[:, :10]))


def test_the_filter_is_a_conjunction_and_its_steps_are_counted():
    is_positive = np.array([True, True, True, False, True])
    with_positive = np.array([[True, True], [True, False], [True, False], [True, True], [True, True]])
    with_negative = np.array([[True], [False], [True], [False], [False]])
    changeable = np.array([True, True, True, True, False])
    kept = filtered(is_positive, with_positive, with_negative, changeable)
    assert kept.rows.tolist() == [0, 1]  # the third is negative with a positive word and positive with a negative one
    assert kept.counts == {"all": 5, "positive": 4, "not_reversed": 3, "changeable": 2}
