"""Intervals of raw scores of populations that are known: what they hold, of the scores of other samples."""

import numpy as np
import pytest

from tiltmeter.operators.sentiment.rejection import largest_score, weighted_rejections
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import cut, resampled_interval
from tiltmeter.operators.statistics.two_samples import DEFINITION, moments, pairwise_tests

_CELLS = np.repeat([0, 1, 2], 60)
_NUM_SETS, _NUM_TESTS = 4, 12


def p_values(generator, num_resamples):
    """Of three values that do not differ, in four data sets: ``[tests]``, and ``[resamples, tests]``."""
    parts = []
    for number in range(_NUM_SETS):
        scores = np.clip(generator.normal(0.0, 0.4, _CELLS.size), -1.0, 1.0)
        about = int(generator.integers(2**63))
        counts = np.concatenate(list(resampled_counts(_CELLS, number, about, num_resamples)))
        tests = [pairwise_tests(moments(scores, _CELLS, 3, drawn), DEFINITION).p for drawn in (None, counts)]
        parts.append(tests)
    return (np.concatenate(these, axis=-1) for these in zip(*parts, strict=True))


@pytest.mark.slow
def test_the_default_holds_the_expected_score_and_its_own_where_nothing_differs():
    generator = np.random.default_rng(1)
    estimates = []
    for _ in range(120):
        scores = [weighted_rejections(p, DEFINITION).score for p in p_values(generator, 200)]
        estimates.append(Estimate(float(scores[0]), scores[1]))
    expected = np.mean([estimate.value for estimate in estimates])
    scale = cut(0.0, largest_score(_NUM_TESTS, DEFINITION.weights))
    held, own = {}, {}
    for method in ("centred", "percentile"):
        intervals = [resampled_interval(estimate, 0.95, method, scale) for estimate in estimates]
        held[method] = np.mean([low <= expected <= high for low, high, _ in intervals])
        own[method] = np.mean([low <= e.value <= high for (low, high, _), e in zip(intervals, estimates, strict=True)])
    assert held["centred"] >= 0.92
    assert held["percentile"] < held["centred"]
    assert own["percentile"] < own["centred"] == 1.0
