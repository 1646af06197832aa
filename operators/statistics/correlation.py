"""Correlation of measured leanings with each other and with the world, and the order of languages that it gives.

Pearson's r (1895) measures how near two columns lie to a straight line, Spearman's rho (1904) is the r of their ranks,
equal values sharing the mean of theirs. Both are taken over the items that both columns have: a value that is not
finite leaves its item out, for that pair of columns alone. Neither is defined, and both are NaN, with fewer than 3
items, of which 2 would always lie on a line, or where a column is constant.
"""

from functools import cache
from itertools import permutations, product
from math import factorial
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "correlation/2"

Kind = Literal["pearson", "spearman"]

_Paths = dict[int, dict[int, tuple[float, list[int]]]]
"""The shortest order of a cluster's leaves between every two ends: its length and the leaves."""

_MIN_ITEMS = 3
_MIN_STUDENT = 10
"""Fewer items take all their orders."""

_FEW_DIFFERENT = 5
_NUM_DRAWN = 9_999
_ROUNDING = 1e-9
"""Means of correlations may leave [-1, 1], or differ from their mirror images, by this much."""


class Correlation(NamedTuple):
    """Both correlations of two columns.

    Attributes:
        pearson, spearman: in [-1, 1].
        pearson_p, spearman_p: two-sided p-values.
        num: items that both columns have.
    """

    pearson: float
    pearson_p: float
    spearman: float
    spearman_p: float
    num: int


class ClusterTree(NamedTuple):
    """A hierarchical clustering of languages.

    Attributes:
        order: the languages as the tree's leaves from left to right, by their row in the matrix.
        linkage: ``[languages - 1, 4]`` float64, one merge a row, as in ``scipy.cluster.hierarchy.linkage``: the two
            clusters, their distance, the number of languages in the new one.
    """

    order: list[int]
    linkage: FloatArray


def correlation(x: NDArray[np.floating], y: NDArray[np.floating]) -> Correlation:
    """Pearson's r and Spearman's rho with two-sided p-values.

    Null: each of the n! orders of one column beside the other is as likely. From 10 items on, r is tested by
    T = r sqrt((n - 2) / (1 - r^2)) on Student's t with n - 2 degrees of freedom, which ``scipy.stats.pearsonr`` and
    ``spearmanr`` do by default: exact for r of normal columns, and near for others. With fewer items all orders are
    taken; where fewer than 5 items of a column differ from its commonest value, 9,999 that are drawn. No p is less than
    2 / n!, so that 3 or 4 items show nothing at 5 %. Items that resemble each other, such as words with like vectors,
    are fewer than they look, and no order of them tells.

    Args:
        x, y: ``[items]``.

    Returns:
        All NaN but ``num`` where the correlation is undefined, as the module says.

    Raises:
        ValueError: if the columns are not one-dimensional of one length.

    >>> result = correlation(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), np.array([1.0, 4.0, 9.0, 16.0, 25.0]))
    >>> round(result.pearson, 4), round(result.pearson_p, 4), result.spearman, result.num
    (0.9844, 0.0833, 1.0, 4)
    """
    if np.ndim(x) != 1 or np.shape(x) != np.shape(y):
        raise ValueError(f"x {np.shape(x)} and y {np.shape(y)}: must both be [items], one value for each item")
    num = int((np.isfinite(x) & np.isfinite(y)).sum())
    both = np.isfinite(x) & np.isfinite(y)
    columns = x[both], y[both]
    pearson, spearman = (float(_correlate(x, y, kind)) for kind in get_args(Kind))
    ranks = [_ranks(column, np.isfinite(column)) for column in columns]
    return Correlation(pearson, _p_value(pearson, *columns), spearman, _p_value(spearman, *ranks), num)


def replicated(x: NDArray[np.floating], y: NDArray[np.floating], kind: Kind) -> FloatArray:
    """The correlation in each replica, from which :func:`.intervals.percentile_interval` makes an interval.

    Args:
        x: ``[replicas, items]``.
        y: ``[items]``, the same in every replica, such as a census, or ``[replicas, items]``.
        kind: ``pearson`` or ``spearman``.

    Returns:
        ``[replicas]`` float64 in [-1, 1]; NaN in replicas where it is undefined, as the module says.

    Raises:
        ValueError: if the shapes do not fit, or the kind is unknown.

    >>> replicated(np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 1.0]]), np.array([1.0, 2.0, 3.0]), "spearman")
    array([ 1., -1.])
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind={kind!r}: must be one of {', '.join(get_args(Kind))}; set the correlation's kind")
    if np.ndim(x) != 2 or np.shape(y) not in (np.shape(x), np.shape(x)[1:]):
        raise ValueError(f"x {np.shape(x)} and y {np.shape(y)}: must be [replicas, items], and y that or [items]")
    return _correlate(x, y, kind)


def correlation_matrix(values: NDArray[np.floating], min_items: int = _MIN_ITEMS) -> FloatArray:
    """Pearson's r of every two languages over the items that both have, in each replica.

    Args:
        values: ``[replicas, languages, items]``, such as the leanings of the same professions; NaN where a language
            lacks the item.
        min_items: fewest shared items, at least 3.

    Returns:
        ``[replicas, languages, languages]`` float64 in [-1, 1], symmetric, 1 on the diagonal; NaN where two languages
        share fewer items or one is constant over the shared ones. Pairs rest on different items, so a matrix need not
        be positive semidefinite.

    Raises:
        ValueError: if ``values`` is not three-dimensional, or ``min_items`` is below 3.

    >>> correlation_matrix(np.array([[[1.0, 2.0, 3.0, 9.0], [6.0, 4.0, 2.0, np.nan]]]))
    array([[[ 1., -1.],
            [-1.,  1.]]])
    """
    if np.ndim(values) != 3:
        raise ValueError(f"values has shape {np.shape(values)}: must be [replicas, languages, items]")
    if min_items < _MIN_ITEMS:
        raise ValueError(f"min_items={min_items}: must be {_MIN_ITEMS} or more; set the correlation's min_items")
    columns = np.empty((*values.shape[:2], values.shape[1]))
    # One language against all at a time: all against all would hold every pair's items at once.
    for language in range(values.shape[1]):
        columns[:, :, language] = _pearson(values, values[:, language, np.newaxis], min_items)
    return columns


def cluster_order(correlations: NDArray[np.floating]) -> ClusterTree:
    """Languages with like leanings side by side: average linkage on the distance 1 - r, leaves in their optimal order.

    The distance of two clusters is the mean over their pairs of languages (Sokal and Michener 1958). Of all ways to
    turn the tree's branches, the order has the smallest sum of distances between neighbours (Bar-Joseph, Gifford and
    Jaakkola 2001, *Fast optimal leaf ordering for hierarchical clustering*), and begins with the lower of its ends.

    Args:
        correlations: ``[languages, languages]``, symmetric; the diagonal is not read. NaN counts as r = 0: languages of
            which nothing is known are neither near nor far.

    Returns:
        The order, and the merges with their branches turned to it; of 1 language ``[0]`` and no merge.

    Raises:
        ValueError: if the matrix is not square and symmetric, or holds a value outside [-1, 1].

    >>> cluster_order(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.3], [0.9, 0.3, 1.0]])).order
    [0, 2, 1]
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    _check_matrix(correlations)
    size = len(correlations)
    if size < 2:
        return ClusterTree(list(range(size)), np.empty((0, 4)))
    known = np.nan_to_num(correlations[np.triu_indices(size, 1)], nan=0.0)
    distances = np.maximum(1.0 - known, 0.0)
    merges = linkage(distances, method="average")
    order = _optimal_order(merges, squareform(distances))
    return ClusterTree(order, _turned(merges, order))


def dispersion(share: NDArray[np.floating]) -> FloatArray:
    """sqrt(p (1 - p)), the standard deviation of a draw that is 1 with probability p: how mixed an occupation is.

    Liang and Acuna 2020 compare JND with the standard deviation of the share of men in an occupation (section 5.1).

    Args:
        share: ``[...]``, for example the share of women, in [0, 1]; NaN where it is unknown.

    Returns:
        ``[...]`` float64 in [0, 1/2]; largest where both halves are equal, NaN where the share is.

    Raises:
        ValueError: if a share lies outside [0, 1].

    >>> dispersion(np.array([0.0, 0.5, 0.9])).round(4)
    array([0. , 0.5, 0.3])
    """
    shares = np.asarray(share, dtype=np.float64)
    outside = shares[(shares < 0.0) | (shares > 1.0)]
    if outside.size:
        raise ValueError(f"share={outside[0]}: must lie in [0, 1]; give percentages divided by 100")
    return np.sqrt(shares * (1.0 - shares))


def _correlate(x: NDArray[np.floating], y: NDArray[np.floating], kind: Kind) -> FloatArray:
    if kind == "pearson":
        return _pearson(x, y, _MIN_ITEMS)
    both = np.isfinite(x) & np.isfinite(y)
    return _pearson(_ranks(x, both), _ranks(y, both), _MIN_ITEMS)


def _ranks(values: NDArray[np.floating], kept: NDArray[np.bool_]) -> FloatArray:
    # The others rank last, where they change no rank, before they are left out.
    masked = np.where(kept, values, np.inf)
    if not masked.size:
        return np.empty(masked.shape)
    columns = pl.DataFrame(masked.reshape(-1, masked.shape[-1]).T)
    ranks = columns.select(pl.all().rank("average")).to_numpy().T
    return np.where(kept, ranks.reshape(masked.shape), np.nan)


def _pearson(x: NDArray[np.floating], y: NDArray[np.floating], min_items: int) -> FloatArray:
    """r over the last axis, the others broadcast against each other."""
    both = np.isfinite(x) & np.isfinite(y)
    dx, dy = _deviations(x, both), _deviations(y, both)
    scale = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    defined = (scale > 0) & (both.sum(axis=-1) >= min_items)
    return np.asarray(np.clip((dx * dy).sum(axis=-1) / np.where(defined, scale, np.nan), -1.0, 1.0))


def _deviations(values: NDArray[np.floating], kept: NDArray[np.bool_]) -> FloatArray:
    """Differences from the mean of the values kept, in units of the largest; 0 for the others and in a constant."""
    doubles = np.where(kept, np.asarray(values, dtype=np.float64), np.nan)
    # Measured from the smallest, a constant is exactly 0.
    offsets = doubles - np.fmin.reduce(doubles, axis=-1, keepdims=True, initial=np.nan)
    num = np.maximum(kept.sum(axis=-1, keepdims=True), 1)
    offsets = np.where(kept, offsets, 0.0)
    deviations = np.where(kept, offsets - offsets.sum(axis=-1, keepdims=True) / num, 0.0)
    largest = np.abs(deviations).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(deviations / np.where(largest > 0, largest, 1.0))


def _p_value(r: float, x: NDArray[np.floating], y: NDArray[np.floating]) -> float:
    """Of a correlation of items that both columns have."""
    from scipy.special import betaincc

    if np.isnan(r):
        return np.nan
    num = x.size
    if num < _MIN_STUDENT:
        return float((_of_orders(x, y, _orders(num)) >= abs(r) - _ROUNDING).mean())
    if min(_off_commonest(x), _off_commonest(y)) < _FEW_DIFFERENT:
        generator = keyed_generator(0, Stream.GROUP_LABEL, num)
        orders = generator.permuted(np.tile(np.arange(num), (_NUM_DRAWN, 1)), axis=1)
        return float((1 + (_of_orders(x, y, orders) >= abs(r) - _ROUNDING).sum()) / (1 + _NUM_DRAWN))
    # r^2 of independent normal columns has a beta distribution, which is Student's t of T and takes r = 1 as it is.
    return max(float(2.0 * betaincc(num / 2 - 1, num / 2 - 1, (1.0 + abs(r)) / 2.0)), 2.0 / factorial(min(num, 170)))


def _of_orders(x: NDArray[np.floating], y: NDArray[np.floating], orders: NDArray[np.integer]) -> FloatArray:
    """The size of r with y in each order."""
    dx, dy = (_deviations(column, np.ones(column.shape, dtype=np.bool_)) for column in (x, y))
    return np.asarray(np.abs(dy[orders] @ dx) / np.sqrt((dx**2).sum() * (dy**2).sum()))


@cache
def _orders(num: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(num))), dtype=np.int8)


def _off_commonest(values: NDArray[np.floating]) -> int:
    """Items whose value is not the commonest."""
    return int(values.size - np.unique(values, return_counts=True)[1].max())


def _check_matrix(correlations: NDArray[np.floating]) -> None:
    shape = correlations.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"correlations has shape {shape}: must be [languages, languages]")
    if not np.allclose(correlations, correlations.T, rtol=0.0, atol=_ROUNDING, equal_nan=True):
        raise ValueError("correlations must be symmetric: r of languages i and j is r of j and i")
    outside = correlations[np.abs(correlations) > 1.0 + _ROUNDING]
    if outside.size:
        raise ValueError(f"correlations holds {outside[0]}: must lie in [-1, 1]; give correlations, not distances")


def _optimal_order(merges: FloatArray, distances: FloatArray) -> list[int]:
    # scipy's own optimal_ordering misses the optimum in many small trees already (scipy issue 11227, open in 1.17).
    clusters: list[_Paths] = [{leaf: {leaf: (0.0, [leaf])}} for leaf in range(len(distances))]
    for left, right in merges[:, :2].astype(int):
        clusters.append(_joined(clusters[left], clusters[right], distances))
    _, order = min(path for paths in clusters[-1].values() for path in paths.values())
    return min(order, order[::-1])


def _joined(left: _Paths, right: _Paths, distances: FloatArray) -> _Paths:
    joined: _Paths = {first: {} for first in (*left, *right)}
    for first, start in product(left, right):
        length, leaves = min((length + distances[end, start], leaves) for end, (length, leaves) in left[first].items())
        for last, (rest, others) in right[start].items():
            if last not in joined[first] or length + rest < joined[first][last][0]:
                joined[first][last] = length + rest, leaves + others
                joined[last][first] = length + rest, (leaves + others)[::-1]
    return joined


def _turned(merges: FloatArray, order: list[int]) -> FloatArray:
    """The merges with the cluster that comes first in the order on the left."""
    turned, starts = merges.copy(), np.argsort(order).tolist()
    for merge in turned:
        left, right = sorted(merge[:2].astype(int), key=starts.__getitem__)
        merge[:2] = left, right
        starts.append(starts[left])
    return turned
