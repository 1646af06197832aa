"""What flagged texts promise, by the definition of each test and by drawing many calibrations."""

import numpy as np
import pytest
from scipy.stats import binom

from tiltmeter.operators.classifiers.errors.guarantees import (
    flagged,
    holds_most_errors,
    leaves_few_errors,
    most_unflagged,
)
from tiltmeter.operators.statistics.units import each, units_of


def held(scores, errors, alpha, delta, joint=1, units=None):
    texts = each(len(scores), "text") if units is None else units
    return holds_most_errors(scores, errors, texts, alpha=alpha, delta=delta, joint=joint, seed=0)


def left(scores, errors, rate, delta, joint=1, units=None):
    texts = each(len(scores), "text") if units is None else units
    return leaves_few_errors(scores, errors, texts, rate=rate, delta=delta, joint=joint, seed=0)


def test_the_threshold_is_the_last_that_passes():
    scores = np.random.default_rng(0).random(500)
    errors = np.random.default_rng(1).random(500) < scores
    promise = held(scores, errors, alpha=0.2, delta=0.05)
    num, below = errors.sum(), (errors & (scores < promise.threshold)).sum()
    assert binom.cdf(below, num, 0.2) <= 0.05 < binom.cdf(below + 1, num, 0.2)
    assert promise.achieved_delta == pytest.approx(binom.cdf(below, num, 0.2))
    made = flagged(promise.threshold, scores, errors)
    assert (made.flags, made.missed) == ("some", below / num)
    assert made.share == (scores >= promise.threshold).mean()


def test_promises_made_together_share_delta():
    scores = np.random.default_rng(0).random(500)
    errors = np.random.default_rng(1).random(500) < scores
    alone, together = (held(scores, errors, 0.2, 0.1, joint) for joint in (1, 5))
    assert together.achieved_delta <= 0.02 < alone.achieved_delta <= 0.1
    assert together.threshold == held(scores, errors, 0.2, 0.02).threshold < alone.threshold
    assert left(scores, errors, 0.3, 0.1, 5) == left(scores, errors, 0.3, 0.02) <= left(scores, errors, 0.3, 0.1)


def test_few_errors_promise_nothing_but_all_texts():
    scores = np.arange(10) / 10
    promise = held(scores, scores > 0.7, alpha=0.1, delta=0.1)
    assert (promise.threshold, promise.num, promise.allowed) == (-np.inf, 2, -1)
    made = flagged(promise.threshold, scores, scores > 0.7)
    assert (made.flags, made.share, made.missed) == ("all", 1.0, 0.0)
    assert np.isnan(made.unflagged_rate)
    assert left(scores, scores > 0.7, rate=0.1, delta=0.1) == -np.inf


def test_all_and_none_are_told_apart():
    scores = np.random.default_rng(0).random(2000)
    errors = np.random.default_rng(1).random(2000) < 0.02
    assert flagged(left(scores, errors, rate=0.1, delta=0.1), scores, errors).flags == "none"
    assert flagged(left(scores, errors, rate=0.001, delta=0.1), scores, errors).flags == "all"


def test_one_text_of_each_group_is_counted():
    """Thirty texts of each of 40 groups say what 40 texts do."""
    rng = np.random.default_rng(0)
    groups = units_of(np.repeat(np.arange(40), 30), "group")
    scores = np.repeat(rng.random(40), 30)
    errors = np.ones(1200, dtype=bool)
    promise = held(scores, errors, alpha=0.2, delta=0.1, units=groups)
    assert promise == held(np.unique(scores), np.ones(40, dtype=bool), alpha=0.2, delta=0.1)
    assert held(scores, errors, alpha=0.2, delta=0.1).threshold > promise.threshold
    few, mixed = rng.random(1200) < 0.01, rng.random(1200)
    settings = {"delta": 0.1, "joint": 1}
    made = [holds_most_errors(mixed, errors, groups, alpha=0.2, seed=seed, **settings).threshold for seed in (0, 1)]
    made += [leaves_few_errors(mixed, mixed > 0.7, groups, rate=0.2, seed=seed, **settings) for seed in (0, 1)]
    made += [most_unflagged(0.5, mixed, mixed < 0.2, groups, level=0.9, seed=seed) for seed in (0, 1)]
    assert len({*made}) == 6, "another seed draws other texts"
    assert left(scores, few, rate=0.05, delta=0.1) > left(scores, few, rate=0.05, delta=0.1, units=groups)
    most = most_unflagged(2.0, scores, errors & False, groups, level=0.9, seed=0)
    assert most == pytest.approx(1 - 0.1 ** (1 / 40))


@pytest.mark.parametrize("kind", ["errors", "others"])
def test_promises_are_kept_as_often_as_they_say(kind):
    rng, broken = np.random.default_rng(2), 0
    for _ in range(400):
        scores = rng.random(600)
        errors = rng.random(600) < scores**2
        if kind == "errors":  # P(score < x | error) = x^3
            broken += max(held(scores, errors, 0.15, 0.1).threshold, 0.0) ** 3 > 0.15
        else:  # P(error | score < x) = x^2 / 3
            broken += min(max(left(scores, errors, 0.1, 0.1), 0.0), 1.0) ** 2 / 3 > 0.1
    assert broken <= 400 * 0.1 + 3 * np.sqrt(400 * 0.09)
