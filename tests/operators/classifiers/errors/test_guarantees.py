"""What flagged texts promise, by the definition of each test and by drawing many calibrations."""

import numpy as np
import pytest
from scipy.stats import binom

from tiltmeter.operators.classifiers.errors.guarantees import holds_most_errors, leaves_few_errors


def test_the_threshold_is_the_last_that_passes():
    scores = np.random.default_rng(0).random(500)
    errors = np.random.default_rng(1).random(500) < scores
    threshold = holds_most_errors(scores, errors, alpha=0.2, delta=0.05)
    num, below = errors.sum(), (errors & (scores < threshold.value)).sum()
    assert binom.cdf(below, num, 0.2) <= 0.05 < binom.cdf(below + 1, num, 0.2)
    assert threshold.missed == below / num < 0.2
    assert threshold.flagged_share == (scores >= threshold.value).mean()


def test_few_errors_promise_nothing_but_all_texts():
    scores = np.arange(10) / 10
    threshold = holds_most_errors(scores, scores > 0.7, alpha=0.1, delta=0.1)
    assert (threshold.value, threshold.flagged_share, threshold.missed) == (-np.inf, 1.0, 0.0)
    assert np.isnan(threshold.unflagged_rate)
    assert leaves_few_errors(scores, scores > 0.7, rate=0.1, delta=0.1).value == -np.inf


@pytest.mark.parametrize("kind", ["errors", "others"])
def test_promises_are_kept_as_often_as_they_say(kind):
    rng, broken = np.random.default_rng(2), 0
    for _ in range(400):
        scores = rng.random(600)
        errors = rng.random(600) < scores**2
        if kind == "errors":  # P(score < x | error) = x^3
            broken += max(holds_most_errors(scores, errors, 0.15, 0.1).value, 0.0) ** 3 > 0.15
        else:  # P(error | score < x) = x^2 / 3
            broken += min(max(leaves_few_errors(scores, errors, 0.1, 0.1).value, 0.0), 1.0) ** 2 / 3 > 0.1
    assert broken <= 400 * 0.1 + 3 * np.sqrt(400 * 0.09)


def test_a_promise_is_not_wider_than_it_must_be():
    rng = np.random.default_rng(3)
    missed = []
    for _ in range(100):
        scores = rng.random(600)
        missed.append(holds_most_errors(scores, rng.random(600) < scores**2, 0.15, 0.1).value ** 3)
    assert 0.10 < np.mean(missed) < 0.15
