from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from tiltmeter.operators.statistics.two_samples import (
    DEFINITION,
    PUBLISHED,
    ROUNDING,
    Moments,
    moments,
    pairwise_tests,
    two_sample_t,
)

pytestmark = pytest.mark.filterwarnings("error")


def compared(*samples, convention=DEFINITION):
    """All pairs of samples of scores."""
    cells = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    return pairwise_tests(moments(np.concatenate(samples).astype(float), cells, len(samples)), convention)


def test_moments_of_replicates_are_those_of_repeated_texts():
    rng = np.random.default_rng(1)
    scores, cells = rng.uniform(-1, 1, 12), np.repeat([0, 1, 2], [3, 4, 5])
    counts = np.concatenate([np.ones((1, 12), np.int32), 2 + rng.integers(-1, 2, (20, 12), np.int32)])
    found, whole = moments(scores, cells, 3, counts), moments(scores, cells, 3)
    for replicate, multiplicities in enumerate(counts):
        for cell in range(3):
            repeated = np.repeat(scores, multiplicities * (cells == cell))
            expected = repeated.size, repeated.mean(), repeated.var(ddof=1)
            assert [part[replicate, cell] for part in found] == pytest.approx(expected)
    np.testing.assert_array_equal([part[0] for part in found], whole)


def test_cells_with_few_scores():
    found = moments(np.array([0.25]), np.array([1]), 2)
    np.testing.assert_array_equal(found, [[0, 1], [np.nan, 0.25], [np.nan, np.nan]])


@pytest.mark.parametrize("score", [0.1, -0.7, 1 / 3, 1.0, 0.0])
@pytest.mark.parametrize("num", [3, 7, 24])
def test_scores_that_are_equal_do_not_vary(score, num):
    found = moments(np.full(num, score), np.zeros(num, int), 1)
    assert (found.mean[0], found.variance[0]) == (score, 0)  # though 0.1 + 0.1 + 0.1 > 0.3


def test_scores_that_differ_by_rounding_do_not_vary_and_small_variances_are_not_taken_for_it():
    scores = np.array([1 / 3, 1 - 2 / 3, 0.3 + 0.1 / 3, -0.1, 0.7, 1.0])
    assert moments(scores[:3], np.zeros(3, int), 1).variance == 0
    found = moments(scores, np.zeros(6, int), 1, np.diag([2, 3, 7, 24, 97, 10**6]))
    assert (found.variance == 0).all()
    np.testing.assert_allclose(found.mean[:, 0], scores, rtol=0, atol=ROUNDING / 100)
    small = 0.9 + 1e-10 * np.array([-1.0, 0.0, 1.0])
    assert moments(small, np.zeros(3, int), 1).variance[0] == pytest.approx(1e-20, rel=1e-5)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_same_scores_in_another_order_are_equal(thirds, random):
    shuffled = random.sample(thirds, len(thirds))
    found = compared(np.array(thirds) / 3, np.array(shuffled) / 3)
    assert (found.t[0], found.p[0]) == (0, 1)


@pytest.mark.parametrize("convention", [DEFINITION, PUBLISHED._replace(offset=0.0)], ids=["welch", "pooled"])
def test_agrees_with_scipy_in_every_replicate(convention):
    """The program pools degrees of freedom alone: as scipy does where both sides have as many scores."""
    rng, num = np.random.default_rng(2), 5 if convention.df == "welch" else 8
    first, second = rng.normal(0.2, 0.1, (30, 8)), rng.normal(0.1, 0.3, (30, num))
    parts = [Moments(np.full(30, x.shape[1]), x.mean(axis=1), x.var(axis=1, ddof=1)) for x in (first, second)]
    found = two_sample_t(*parts, convention)
    expected = ttest_ind(first, second, axis=1, equal_var=convention.df == "pooled")
    np.testing.assert_allclose(found.t, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(found.df, expected.df, rtol=1e-12)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-9)


def test_published_t_values():
    # AI4Society's causal-sas-rating, TextBlob on E1 of the first group after the round trip through Spanish.
    neutral, male = np.zeros(8), np.array([-0.5, -0.5, 0, 0, 0, 0, 0, 0])
    found = compared(neutral, male, male, convention=PUBLISHED)
    np.testing.assert_allclose(found.t, [1.525661, 1.525661, 0.0], atol=5e-7)
    np.testing.assert_array_equal(found.df, 14)


def test_conventions_are_those_of_the_paper_and_of_its_program():
    # The paper's two-sided levels; what the program calls so are half as large.
    assert DEFINITION == ((1.0, 0.8, 0.6), (0.05, 0.30, 0.40), "welch", 0.0, None)
    assert PUBLISHED == ((1.0, 0.7, 0.6), (0.025, 0.15, 0.20), "pooled", 1e-4, None)


def test_pairs_are_in_the_order_of_combinations():
    means = [0.0, 0.1, 0.4, 0.9]
    found = compared(*(mean + np.array([-0.1, 0.1]) for mean in means))
    np.testing.assert_allclose(found.t, [(a - b) / 0.1 / np.sqrt(2) for a, b in combinations(means, 2)])


def test_sides_that_do_not_vary():
    found = compared([0.1] * 3, [0.1] * 7, [0.2] * 2)
    np.testing.assert_array_equal(found.t, [0, -np.inf, -np.inf])
    np.testing.assert_array_equal(found.p, [1, 0, 0])
    np.testing.assert_array_equal(found.df, [8, 3, 7])


def test_the_published_offset_keeps_t_finite():
    found = compared([1.0] * 8, [-1.0] * 8, [-1.0] * 8, convention=PUBLISHED)
    np.testing.assert_allclose(found.t, [20000, 20000, 0])
    assert (found.p[:2] < 1e-50).all()
    assert found.p[2] == 1


def test_tiny_variances_do_not_underflow():
    tiny = Moments(np.array(4), np.array(0.5), np.array(1e-200))
    assert two_sample_t(tiny, tiny).df == pytest.approx(6)


@pytest.mark.parametrize("convention", [DEFINITION, PUBLISHED])
def test_nothing_is_tested_with_fewer_than_two_scores(convention):
    assert np.isnan(compared([0.5, 0.5], [0.5], [], convention=convention)).all()


@pytest.mark.parametrize(
    ("scores", "cells", "num_cells", "message"),
    [
        ([0.5, np.nan], [0, 0], 1, "scores hold nan: leave out"),
        ([0.5, 0.5], [0], 1, r"scores \(2,\), cells \(1,\)"),
        ([0.5, 0.5], [0, 2], 2, r"cells hold \[2\] of 2.*0\.\.1;"),
        ([0.5, 0.5], [0, -1], 2, r"cells hold \[-1\].*leave out texts without a value"),
        ([], [], 0, "of 0: there must be a cell"),
        ([0.0, 0.0], [0, 0], 1, r"counts \(4, 3\)"),
    ],
)
def test_what_cannot_be_tested_is_refused(scores, cells, num_cells, message):
    counts = np.ones((4, 3), int) if "counts" in message else None
    with pytest.raises(ValueError, match=message):
        moments(np.array(scores), np.array(cells, int), num_cells, counts)
