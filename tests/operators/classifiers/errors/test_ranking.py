"""Precision at K, AUROC and risk-coverage, by hand and by brute force over orders."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

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


def test_what_is_no_score_is_refused():
    with pytest.raises(ValueError, match="scores hold NaN"):
        first_weights(np.array([np.nan]), 1)


def test_a_random_score_is_chance_and_a_perfect_one_is_perfect():
    rng = np.random.default_rng(0)
    errors = rng.random(4000) < 0.3
    assert auroc(rng.random(4000), errors) == pytest.approx(0.5, abs=0.03)
    assert aurc(rng.random(4000), errors) == pytest.approx(0.3, abs=0.03)
    assert auroc(errors + 0.0, errors) == 1.0
    assert first_weights(errors + 0.0, 50) @ errors == pytest.approx(50)


def test_differences_that_the_paper_prints_are_of_one_to_three_texts():
    """Table 4: counts at K = 10 .. 50, and the p-values of Fisher's test between them."""
    sizes, uncertain, characterised = (10, 20, 30, 40, 50), (8, 15, 23, 30, 37), (7, 16, 25, 33, 38)
    printed = {"uncertainty": (0.8, 0.75, 0.77, 0.75, 0.74), "AEC": (0.7, 0.8, 0.83, 0.83, 0.76)}
    for counts, values in zip((uncertain, characterised), printed.values(), strict=True):
        # 33 of 40 are 0.825, which rounds to either.
        assert [count / size for count, size in zip(counts, sizes, strict=True)] == pytest.approx(values, abs=0.0051)
    p_values = [
        fisher_exact([[a, size - a], [b, size - b]]).pvalue
        for size, a, b in zip(sizes, uncertain, characterised, strict=True)
    ]
    assert np.round(p_values, 2).tolist() == [1.0, 1.0, 0.75, 0.59, 1.0]


def test_precision_at_another_prevalence_by_counts():
    # Balanced: of 100 errors 80 are among the first, of 100 others 20. With 50 errors, 40 and 20.
    assert at_prevalence(80 / 100, 0.5, 50 / 150) == pytest.approx(40 / 60)
    assert at_prevalence(1.0, 0.5, 0.1) == 1.0
