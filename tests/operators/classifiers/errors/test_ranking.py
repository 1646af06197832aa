"""Precision at K, AUROC and risk-coverage, by hand and by brute force over orders."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.errors.ranking import at_prevalence, aurc, auroc, first_weights, risk_coverage

SCORED = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def orders(scores):
    """All orders that the scores allow, as rows."""
    rows = range(len(scores))
    return [order for order in permutations(rows) if all(scores[a] >= scores[b] for a, b in pairwise(order))]


@given(SCORED, st.integers(1, 6))
def test_precision_is_the_mean_over_all_orders_of_equal_scores(scored, size):
    scores, errors = np.array([score for score, _ in scored]), np.array([error for _, error in scored])
    precision = first_weights(scores, size) @ errors / size
    if size <= len(scored):
        expected = np.mean([errors[list(order[:size])].mean() for order in orders(scores)])
        assert precision == pytest.approx(expected)


@given(SCORED)
def test_auroc_and_risk_are_those_of_pairs_and_orders(scored):
    scores, errors = np.array([score for score, _ in scored]), np.array([error for _, error in scored])
    pairs = [(a > b) + (a == b) / 2 for a in scores[errors] for b in scores[~errors]]
    assert auroc(scores, errors) == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)
    by_order = [
        [errors[list(order[::-1][: size + 1])].mean() for size in range(len(scored))] for order in orders(scores)
    ]
    assert risk_coverage(scores, errors) == pytest.approx(np.mean(by_order, axis=0))
    assert aurc(scores, errors) == pytest.approx(np.mean(by_order))


def test_what_is_no_score_is_refused():
    with pytest.raises(ValueError, match="scores hold NaN"):
        first_weights(np.array([np.nan]), 1)


def test_precision_at_another_prevalence_by_counts():
    # Balanced: of 100 errors 80 are among the first, of 100 others 20. With 50 errors, 40 and 20.
    assert at_prevalence(80 / 100, 0.5, 50 / 150) == pytest.approx(40 / 60)
    assert at_prevalence(1.0, 0.5, 0.1) == 1.0
