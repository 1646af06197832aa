"""Probes, calibration, rates of a judged sample: by hand, by brute force, on resamples, by means of two phases."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import hypergeom

from tiltmeter.operators.classifiers.influence.calibration import calibrated_confidence, calibrated_odds
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.prediction_powered import Stratum, powered_rate, true_bounds
from tiltmeter.operators.classifiers.influence.probes import Answers, filtered, probe, sampled_probe, unusual
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import judged_sample, mean, share
from tiltmeter.operators.statistics.resampling import Estimate, resampled_cluster_mean, resampled_counts
from tiltmeter.operators.statistics.text_intervals import ResampleSettings, cut, resampled_interval, spread_out
from tiltmeter.operators.statistics.units import each, units_of


def sampled(num):
    return SampledClusters(num, ResampleSettings(num_resamples=400), 0, 1, "sentence")


def answers(differences):
    """Of words that differ so; where they do not, both are positive."""
    return Answers(np.asarray(differences) >= 0, np.asarray(differences) <= 0)


def sentences(codes):
    return units_of(np.asarray(codes, np.int64), "sentence")


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_p_counts_all_signs_of_sentences_from_six_that_differ(counts):
    differences = [step for one, other in counts for step in [1] * one + [-1] * other]
    codes = [number for number, (one, other) in enumerate(counts) for _ in range(one + other)]
    sums = np.array([one - other for one, other in counts])
    signed = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))]
    found = probe(answers(differences), sentences(codes), level=0.95)
    assert found.num_differing == np.count_nonzero(sums)
    if found.num_differing < 6:
        assert np.isnan(found.difference.p)
        assert found.difference.too_few.need in (4, 6)
    else:
        assert found.difference.p == pytest.approx(np.mean([value >= abs(sums.sum()) for value in signed]))


def test_a_sample_of_sentences_is_judged_in_two_phases():
    """A teacher to whom a coin per sentence says which word is which, and a student who is right in 80 %."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    sides = np.where(rng.random(40) < 0.6, 1, -1)[codes] * (rng.random(codes.size) < 0.6)
    guesses = np.where(rng.random(codes.size) < 0.8, sides, rng.integers(-1, 2, codes.size))
    units, rows = sentences(codes), np.flatnonzero(codes < 15)
    found = sampled_probe(answers(guesses), rows, answers(sides[rows]), units, level=0.8)
    forward, backward = (
        judged_sample(guesses == way, rows, sides[rows] == way, units, level=0.8, scale=LOGIT) for way in (1, -1)
    )
    assert (found.rate, found.rate_reversed) == (forward, backward.value)
    assert found.difference == judged_sample(guesses, rows, sides[rows], units, level=0.8, scale=FISHER)
    assert found.num_differing == np.count_nonzero(np.bincount(codes[rows], sides[rows]))
    every, whole = np.arange(codes.size), answers(sides)
    assert sampled_probe(answers(guesses), every, whole, units, level=0.8) == probe(whole, units, level=0.8)


def test_a_probe_by_hand():
    control = np.array([True, True, True, False, True])
    probed = np.array([False, False, True, True, True])
    result = probe(Answers(control, probed), each(5, "sentence"), level=0.95)
    assert (result.rate.value, result.rate_reversed, result.difference.value) == pytest.approx((0.4, 0.2, 0.2))
    # Clopper and Pearson 1934 of 2 of 5
    assert (result.rate.low, result.rate.high) == pytest.approx((0.0527, 0.8534), abs=1e-4)
    assert result.num_differing == 3


def test_nothing_and_one_cluster_have_no_interval():
    nothing, alone = (
        sampled(3).rate(np.zeros(0, bool), np.zeros(0, int)),
        sampled(1).rate(np.ones(3, bool), np.zeros(3, int)),
    )
    assert np.isnan(nothing[:3]).all()
    assert np.isnan(alone[1:3]).all()
    assert nothing.resamples.size == alone.resamples.size == 0


def test_rates_of_clusters_are_those_of_units_and_resamples_spread_as_they_do():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(20), rng.integers(1, 12, 20))
    values = rng.random(clusters.size) < 0.3 + 0.4 * (clusters % 2)
    rate, units = sampled(20).rate(values, clusters), units_of(clusters, "sentence")
    [counts] = resampled_counts(np.zeros(20, np.int64), 0, 1, 400)
    estimate = resampled_cluster_mean(values, clusters, counts)
    assert rate[:3] == share(values, units, level=0.95)[:3]
    np.testing.assert_array_equal(rate.resamples, spread_out(estimate))
    assert sampled(20).rate(values, clusters, FISHER)[:3] == mean(values, units, level=0.95, scale=FISHER)[:3]
    settings = ResampleSettings(0.8, "percentile", 400)
    by_resamples = SampledClusters(20, settings, 0, 1, "sentence").rate(values, clusters)
    assert by_resamples[:3] == (estimate.value, *settings.over(estimate, LOGIT)[:2])
    np.testing.assert_array_equal(by_resamples.resamples, rate.resamples)


def test_a_pair_is_ranked_among_all_pairs_of_other_words():
    shares = np.linspace(0.4, 0.6, 101)
    assert unusual(0.5, shares) == 1 / 5051
    assert unusual(0.0, shares) == 1.0
    # of two different numbers of 0..100, 51 + 50 + ... + 1 pairs have a distance of 50 or more
    assert unusual(0.1, shares) == pytest.approx((1 + 51 * 52 / 2) / 5051)
    assert unusual(-0.1, shares[::-1]) == unusual(0.1, shares)
    assert np.isnan(unusual(0.1, shares[:49]))


def test_the_filter_is_a_conjunction_and_its_steps_are_counted():
    is_positive = np.array([True, True, True, False, True])
    with_positive = np.array([[True, True], [True, False], [True, False], [True, True], [True, True]])
    with_negative = np.array([[True], [False], [True], [False], [False]])
    changeable = np.array([True, True, True, True, False])
    kept = filtered(is_positive, with_positive, with_negative, changeable)
    assert kept.rows.tolist() == [0, 1]  # the third is negative with a positive word and positive with a negative one
    assert kept.counts == {"all": 5, "positive": 4, "not_reversed": 3, "changeable": 2}


def test_gaps_of_a_bin_cancel_and_those_of_two_do_not_in_resamples_of_whole_sentences_too():
    gaps, bins, sentences = np.array([0.9, -0.8, 0.2, 1.0, -0.6]), np.array([0, 1, 1, 0, 2]), np.array([0, 0, 1, 2, 2])
    found = SampledClusters(3, ResampleSettings(0.8, num_resamples=200), 0, 1, "sentence")
    gap = found.binned_gap(gaps, bins, sentences)
    [counts] = resampled_counts(np.zeros(3, np.int64), 0, 1, 200)
    times = counts[:, sentences]
    drawn = sum(abs((times * gaps)[:, bins == number].sum(axis=1)) for number in range(3)) / times.sum(axis=1)
    estimate = Estimate((1.9 + 0.6 + 0.6) / 5, drawn, 25 / 9)
    assert gap.value == pytest.approx(estimate.value)
    low, high, _ = resampled_interval(estimate, 0.8, scale=cut(0.0, 1.0))
    assert (gap.low, gap.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    np.testing.assert_allclose(gap.resamples, spread_out(estimate))
    assert np.isnan(found.binned_gap(np.zeros(0), np.zeros(0, int), np.zeros(0, int)).value)


def test_calibrated_odds_are_those_of_the_confidence_which_the_second_best_of_three_classes_decides():
    odds = np.array([-1.2, -0.1, 0.4, 5.0])
    logits = np.stack([np.zeros(4), odds], axis=1)
    confidence = expit(calibrated_odds(odds, 0.3))
    np.testing.assert_allclose(np.maximum(confidence, 1 - confidence), calibrated_confidence(logits, 0.3))
    assert np.isfinite(calibrated_odds(np.array([-9.0, 9.0]), 0.01)).all()
    second_best = calibrated_confidence(np.array([[0.0, 1.0, 0.9], [0.0, 1.0, -5.0]]), 0.1)
    assert second_best == pytest.approx([0.8413, 1.0], abs=1e-4)


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
    with pytest.raises(ValueError, match="level="):
        powered_rate(Stratum(1, 1, 1), level=1.0)
