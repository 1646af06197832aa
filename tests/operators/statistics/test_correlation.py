from functools import cache
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import average, leaves_list
from scipy.stats import pearsonr, rankdata, spearmanr

from tiltmeter.operators.statistics.correlation import (
    Correlation,
    cluster_order,
    correlation,
    correlation_matrix,
    dispersion,
    replicated,
)

pytestmark = pytest.mark.filterwarnings("error")

ANSCOMBE_X = np.array([10.0, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5])
ANSCOMBE_Y = {
    1: np.array([8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68]),
    2: np.array([9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74]),
    3: np.array([7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73]),
}
"""Anscombe 1973, *Graphs in statistical analysis*, The American Statistician 27: three of the four share their x."""


def _with_holes(seed, shape, share=0.2):
    """Values with ties, some of them missing or infinite."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape) + rng.choice([0.0, 0.25], shape)
    holes = rng.choice([np.nan, np.inf, -np.inf], shape)
    return np.where(rng.random(shape) < share, holes, values)


def _scipy(x, y):
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(np.nan, np.nan, np.nan, np.nan, x.size)
    r, rho = pearsonr(x, y), spearmanr(x, y)
    if x.size >= 10:
        return Correlation(float(r.statistic), float(r.pvalue), float(rho.statistic), float(rho.pvalue), x.size)
    ps = [_share_of_orders(*columns) for columns in ((x, y), (rankdata(x), rankdata(y)))]
    return Correlation(float(r.statistic), ps[0], float(rho.statistic), ps[1], x.size)


@cache
def _orders(num):
    return np.array(list(permutations(range(num))))


def _share_of_orders(x, y):
    """Of all orders of y, those whose correlation with x is as far from 0."""
    dx, dy = x - x.mean(), y - y.mean()
    return float((np.abs(dy[_orders(x.size)] @ dx) >= abs(dx @ dy) - 1e-9).mean())


def _matrix(size, entries, other):
    matrix = np.full((size, size), other)
    for (i, j), r in entries.items():
        matrix[i, j] = matrix[j, i] = r
    np.fill_diagonal(matrix, 1.0)
    return matrix


@pytest.mark.parametrize(("quartet", "r", "p"), [(1, 0.81642, 0.00217), (2, 0.81624, 0.00218), (3, 0.81629, 0.00218)])
def test_anscombes_quartet(quartet, r, p):
    found = correlation(ANSCOMBE_X, ANSCOMBE_Y[quartet])
    assert found.pearson == pytest.approx(r, abs=5e-6)
    assert found.pearson_p == pytest.approx(p, abs=5e-6)
    assert found.num == 11


def test_columns_of_one_value_but_for_a_few_take_orders_that_are_drawn():
    # One item of 40 differs in each column, and they meet: of the 40 places of the one, one is as good.
    x, y = np.zeros(40), np.zeros(40)
    x[3] = y[3] = 1.0
    assert pearsonr(x, y).pvalue < 1e-12
    assert correlation(x, y).pearson_p == pytest.approx(1 / 40, abs=0.005)
    # So where one column alone has a value that differs, at the largest of the other.
    skewed = np.exp(np.arange(40.0) % 37)
    assert correlation(np.where(skewed == skewed.max(), 1.0, 0.0), skewed).pearson_p == pytest.approx(0.025, abs=0.005)
    x[[4, 5, 6, 7]] = y[[8, 9, 10, 11]] = 1.0
    assert correlation(x, y).pearson_p == pytest.approx(pearsonr(x, y).pvalue), "five that differ are enough"


def test_no_p_value_is_less_than_orders_can_show():
    x = np.arange(12.0)
    assert correlation(x, x)[1] == pytest.approx(2 / 479_001_600)
    assert correlation(np.arange(400.0), np.arange(400.0)).pearson_p > 0


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30) | st.integers(0, 4))
def test_agrees_with_scipy_over_the_items_both_have(seed, items):
    x, y = _with_holes(seed, (2, items))
    np.testing.assert_allclose(correlation(x, y), _scipy(x, y), rtol=1e-9, atol=1e-12)


def test_columns_may_be_nearly_constant_large_or_small():
    x, y = np.array([0.7, 0.7, np.nextafter(0.7, 1), 0.7]), np.array([1.0, 2.0, 4.0, 1.0])
    expected = correlation(np.array([0.0, 0.0, 1.0, 0.0]), y)
    for column in (x, x - 0.7, 1e-300 * (x > 0.7), 1e300 * (x > 0.7)):
        np.testing.assert_allclose(correlation(column, y), expected)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("replicas_of_y", [True, False])
def test_replicas_are_correlated_one_by_one(kind, replicas_of_y):
    x, y = _with_holes(1, (2, 40, 8), share=0.4)
    y = y if replicas_of_y else y[0]
    found = replicated(x, y, kind)
    assert np.isnan(found).any()
    expected = [getattr(_scipy(*columns), kind) for columns in zip(x, np.broadcast_to(y, x.shape), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_no_replicas_and_no_items():
    assert replicated(np.empty((0, 5)), np.ones(5), "pearson").shape == (0,)
    assert np.isnan(replicated(np.empty((4, 0)), np.empty(0), "spearman")).tolist() == [True] * 4
    assert correlation_matrix(np.empty((2, 0, 5))).shape == (2, 0, 0)
    assert np.isnan(correlation_matrix(np.empty((2, 3, 0)))).all()


@pytest.mark.parametrize("min_items", [3, 5])
def test_matrix_correlates_every_two_languages_over_shared_items(min_items):
    values = 0.7 * _with_holes(2, (6, 5, 9), share=0.4)
    values[:, 3] = np.where(np.isfinite(values[:, 3]), 0.1, np.nan)
    found = correlation_matrix(values, min_items)
    for replica, i, j in np.ndindex(found.shape):
        expected = _scipy(values[replica, i], values[replica, j])
        r = expected.pearson if expected.num >= min_items else np.nan
        np.testing.assert_allclose(found[replica, i, j], r, rtol=1e-9, atol=1e-12)
    assert np.isnan(found[:, [0, 1, 2, 4]]).any()
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1), "to the last bit")
    diagonal = np.diagonal(found, axis1=1, axis2=2)
    np.testing.assert_array_equal(diagonal, np.where(np.isnan(diagonal), np.nan, 1.0))


def test_unknown_correlations_count_as_none():
    known = _matrix(4, {(0, 2): 0.9, (1, 3): 0.8, (1, 2): 0.5}, 0.0)
    unknown = np.where(known == 0, np.nan, known)
    np.fill_diagonal(unknown, np.nan)
    found, expected = cluster_order(unknown), cluster_order(known)
    assert found.order == expected.order
    np.testing.assert_array_equal(found.linkage, expected.linkage)


def _correlated(seed, languages):
    return np.asarray(np.corrcoef(np.random.default_rng(seed).normal(size=(languages, 6))))


@given(st.integers(0, 2**32 - 1), st.integers(2, 6) | st.integers(7, 30))
def test_the_tree_is_scipys_and_no_turn_of_its_branches_brings_neighbours_nearer(seed, languages):
    matrix = _correlated(seed, languages)
    order, linkage = cluster_order(matrix)
    merges = average(1 - matrix[np.triu_indices(languages, 1)])
    np.testing.assert_allclose(linkage[:, 2:], merges[:, 2:])
    np.testing.assert_array_equal(np.sort(linkage[:, :2]), merges[:, :2])
    assert leaves_list(linkage).tolist() == order
    assert order[0] < order[-1]
    if languages > 6:
        return
    clusters = [{language} for language in range(languages)]
    for first, second in linkage[:, :2].astype(int):
        clusters.append(clusters[first] | clusters[second])

    def is_order_of_the_tree(leaves):
        places = [[leaves.index(language) for language in cluster] for cluster in clusters]
        return all(max(place) - min(place) == len(place) - 1 for place in places)

    def length(leaves):
        return float(sum(1 - matrix[i, j] for i, j in pairwise(leaves)))

    assert is_order_of_the_tree(tuple(order))
    shortest = min(length(leaves) for leaves in permutations(range(languages)) if is_order_of_the_tree(leaves))
    assert length(tuple(order)) == pytest.approx(shortest)


def test_work_grows_no_faster_than_the_cube_of_the_languages(num_lines):
    assert num_lines(lambda: cluster_order(_correlated(4, 60))) < 60**3, "it was 67,000 lines of Python"


def test_few_languages_and_correlations_a_rounding_step_beyond_one():
    found = [cluster_order(np.ones((size, size))) for size in (0, 1)]
    assert [(one.order, one.linkage.shape) for one in found] == [([], (0, 4)), ([0], (0, 4))]
    np.testing.assert_allclose(cluster_order(_matrix(2, {}, -0.5)).linkage, [[0, 1, 1.5, 2]])
    assert cluster_order(_matrix(3, {(0, 1): 1 + 1e-15}, 0.2)).linkage[0, 2] == 0


def test_dispersion_is_the_standard_deviation_of_the_people():
    people = np.array([1.0] * 3 + [0.0] * 7)
    assert dispersion(np.array(0.3)) == pytest.approx(people.std())
    shares = dispersion(np.array([[0.0, 1.0], [0.5, np.nan]], dtype=np.float32))
    np.testing.assert_array_equal(shares, [[0.0, 0.0], [0.5, np.nan]])
    assert shares.dtype == np.float64


FOUR, THREE = np.zeros(4), np.eye(3)
NOT_REPLICAS = r"must be \[replicas, items\], and y that or \[items\]"


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (correlation, (FOUR, FOUR[:3]), r"x \(4,\) and y \(3,\): must both be \[items\]"),
        (correlation, (FOUR[None], FOUR[None]), r"x \(1, 4\) and y \(1, 4\): must both be \[items\]"),
        (replicated, (FOUR[None], FOUR, "kendall"), "kind='kendall': must be one of pearson, spearman"),
        (replicated, (FOUR, FOUR, "pearson"), NOT_REPLICAS),
        (replicated, (np.zeros((2, 4)), FOUR[:3], "pearson"), NOT_REPLICAS),
        (replicated, (np.zeros((2, 4)), np.zeros((3, 4)), "pearson"), NOT_REPLICAS),
        (correlation_matrix, (THREE,), r"values has shape \(3, 3\): must be \[replicas, languages, items\]"),
        (correlation_matrix, (THREE[None], 2), "min_items=2: must be 3 or more"),
        (cluster_order, (THREE[:2],), r"correlations has shape \(2, 3\)"),
        (cluster_order, (np.triu(np.ones((3, 3))),), "correlations must be symmetric"),
        (cluster_order, (_matrix(3, {(0, 1): 1.5}, 0.0),), r"correlations holds 1\.5: must lie in \[-1, 1\]"),
        (dispersion, (np.array([0.5, np.nan, -0.1]),), r"share=-0.1: must lie in \[0, 1\]"),
        (dispersion, (np.array([62.0]),), r"share=62.0: must lie in \[0, 1\]"),
    ],
)
def test_refusals(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)
