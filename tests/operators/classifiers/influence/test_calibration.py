"""Calibration: by hand, on teachers that err as students are taken to, and on resamples of sentences."""

import numpy as np
import pytest
from scipy.special import expit

from tiltmeter.operators.classifiers.influence.calibration import (
    calibrated_confidence,
    calibrated_odds,
    confidence_bins,
    published_confidence,
)
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.statistics.text_intervals import ResampleSettings


def sampled(num):
    return SampledClusters(num, ResampleSettings(num_resamples=200), 0, 1, "sentence")


def test_gaps_of_a_bin_cancel_and_those_of_two_do_not():
    gaps, alone = np.array([0.5, -0.3, 0.2]), np.arange(3)
    assert sampled(3).binned_gap(gaps, np.array([0, 0, 0]), alone).value == pytest.approx(0.4 / 3)
    assert sampled(3).binned_gap(gaps, np.array([0, 1, 1]), alone).value == pytest.approx((0.5 + 0.1) / 3)


def test_intervals_are_wider_over_sentences_than_over_their_phrases():
    gaps, bins = np.tile([0.9, -0.1], 40).repeat(5), np.zeros(400, int)
    alone = sampled(400).binned_gap(gaps, bins, np.arange(400))
    together = sampled(80).binned_gap(gaps, bins, np.arange(80).repeat(5))
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    assert 0.0 <= together.low <= together.value <= together.high <= 1.0


def test_no_gaps_have_no_error():
    assert np.isnan(sampled(2).binned_gap(np.zeros(0), np.zeros(0, int), np.zeros(0, int)).value)


def test_a_student_that_errs_as_it_says_is_calibrated_and_its_probabilities_are_not():
    rng, error = np.random.default_rng(0), 0.2
    teacher = rng.normal(scale=2.0, size=20_000)
    student = teacher + rng.normal(scale=error, size=teacher.size)
    logits = np.stack([np.zeros(student.size), student], axis=1)
    is_right = (student > 0) == (teacher > 0)
    errors = [
        sampled(student.size).binned_gap(confidence - is_right, confidence_bins(confidence), np.arange(student.size))
        for confidence in (calibrated_confidence(logits, error), published_confidence(logits))
    ]
    assert errors[0].value < 0.01
    assert errors[1].value > 0.15


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
