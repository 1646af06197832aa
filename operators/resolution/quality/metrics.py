"""How well a partition agrees with the true one: precision, recall, and Table 5 of Vadrevu et al. 2021 (xER)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.resolution.quality.overlaps import num_pairs, overlaps

VERSION = "partition_metrics/2"


class PartitionMetrics(NamedTuple):
    """All without unit and at most 1, where 1 is perfect.

    Attributes:
        precision: of pairs of records that were put together, the share that belong together; NaN if there are none.
        recall: of pairs that belong together, the share that were put together; NaN if there are none.
        f1: harmonic mean of both, 2 TP / (2 TP + FP + FN); NaN if no pair is together in either partition.
        homogeneity: 1 - H(gold | clusters) / H(gold), Rosenberg and Hirschberg 2007, *V-measure*.
        completeness: 1 - H(clusters | gold) / H(clusters).
        v_measure: harmonic mean of both.
        adjusted_rand: Hubert and Arabie 1985, *Comparing partitions*: agreement of pairs, 0 on average by chance.
        fowlkes_mallows: Fowlkes and Mallows 1983: geometric mean of precision and recall; 0 if no pair is right.
    """

    precision: float
    recall: float
    f1: float
    homogeneity: float
    completeness: float
    v_measure: float
    adjusted_rand: float
    fowlkes_mallows: float


def partition_metrics(clusters: NDArray[np.integer], gold: NDArray[np.integer]) -> PartitionMetrics:
    """Compares two partitions of the same records, in time n log n.

    Args:
        clusters, gold: ``[records]``, the part of each record, called by any whole numbers.

    Raises:
        ValueError: if they do not have the same records, or none.

    Of three pairs found together only the first belongs together, as one other does that was not found:

    >>> metrics = partition_metrics(np.array([0, 0, 0, 1]), np.array([5, 5, 2, 2]))
    >>> [round(float(value), 3) for value in metrics]
    [0.333, 0.5, 0.4, 0.311, 0.384, 0.344, 0.0, 0.408]
    """
    from sklearn.metrics import adjusted_rand_score, fowlkes_mallows_score, homogeneity_completeness_v_measure

    if clusters.ndim != 1 or clusters.shape != gold.shape or not clusters.size:
        raise ValueError(
            f"clusters of shape {clusters.shape} and gold of shape {gold.shape}: must be [records], of the same "
            "records, at least one; leave out records without a gold cluster"
        )
    entropies = (float(score) for score in homogeneity_completeness_v_measure(gold, clusters))
    chances = float(adjusted_rand_score(gold, clusters)), float(fowlkes_mallows_score(gold, clusters))
    return PartitionMetrics._make((*_pair_scores(clusters, gold), *entropies, *chances))


def _pair_scores(clusters: NDArray[np.integer], gold: NDArray[np.integer]) -> tuple[float, float, float]:
    """Precision, recall and F1, from the contingency table of both."""
    table = overlaps(clusters, gold)
    num_both, num_found, num_gold = map(num_pairs, (table.num, table.cluster_sizes, table.gold_sizes))
    return _share(num_both, num_found), _share(num_both, num_gold), _share(2 * num_both, num_found + num_gold)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
