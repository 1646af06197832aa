"""Calibration: by hand, and on resamples of sentences."""

import numpy as np
import pytest
from scipy.special import expit

from tiltmeter.operators.classifiers.influence.calibration import calibrated_confidence, calibrated_odds
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import ResampleSettings, cut, resampled_interval, spread_out


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


def test_calibrated_odds_are_those_of_the_calibrated_confidence():
    odds = np.array([-1.2, -0.1, 0.4, 5.0])
    logits = np.stack([np.zeros(4), odds], axis=1)
    confidence = expit(calibrated_odds(odds, 0.3))
    np.testing.assert_allclose(np.maximum(confidence, 1 - confidence), calibrated_confidence(logits, 0.3))
    assert np.isfinite(calibrated_odds(np.array([-9.0, 9.0]), 0.01)).all()


def test_of_three_classes_the_second_best_decides():
    logits = np.array([[0.0, 1.0, 0.9], [0.0, 1.0, -5.0]])
    confidence = calibrated_confidence(logits, 0.1)
    assert confidence[0] == pytest.approx(0.8413, abs=1e-4)
    assert confidence[1] == pytest.approx(1.0)
