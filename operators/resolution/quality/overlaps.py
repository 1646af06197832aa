"""The sparse contingency table of clusters and true ones: how many records each two share that share any."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, IntArray


class Overlaps(NamedTuple):
    """Attributes:
    cluster, gold, num: ``[cells]``, the two, numbered from 0 in the order of their labels, and records in both.
    cluster_sizes, gold_sizes: ``[clusters]`` and ``[gold clusters]``, records of each; of clusters with those whose
        true cluster is not known.
    cells: ``[records of known truth]``, the cell of each.
    """

    cluster: IntArray
    gold: IntArray
    num: IntArray
    cluster_sizes: IntArray
    gold_sizes: IntArray
    cells: IntArray


def overlaps(
    clusters: NDArray[np.integer], gold: NDArray[np.integer], known: BoolArray | slice = slice(None)
) -> Overlaps:
    """Of two partitions of the same records, in time n log n.

    Args:
        clusters, gold: ``[records]``, called by any whole numbers.
        known: ``[records]``, whose true cluster is known; ``gold`` of others does not count.

    >>> overlaps(np.array([7, 7, 9]), np.array([1, 2, 2]))[:3]
    (array([0, 0, 1]), array([0, 1, 1]), array([1, 1, 1]))
    """
    cluster, true = (np.unique(labels, return_inverse=True)[1] for labels in (clusters, gold[known]))
    width = int(true.max(initial=0)) + 1
    names, cells, num = np.unique(cluster[known] * width + true, return_inverse=True, return_counts=True)
    return Overlaps(*np.divmod(names, width), num, np.bincount(cluster), np.bincount(true), cells)


def pairs_of(sizes: NDArray[np.integer]) -> IntArray:
    """Pairs within sets of so many records, m (m - 1) / 2."""
    return np.asarray(sizes.astype(np.int64) * (sizes.astype(np.int64) - 1) // 2)


def num_pairs(sizes: NDArray[np.integer]) -> int:
    """All of them."""
    return int(pairs_of(sizes).sum())
