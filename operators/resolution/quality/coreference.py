"""Measures of clusters, as scorers of coreference define them, with precision, recall and F1 of each.

With gold clusters k, found clusters r and n records (precision; recall is the same with k and r exchanged):

    cluster             share of r that are some k
    b_cubed             mean over records of |k & r| / |r|           (Bagga and Baldwin 1998)
    b_cubed_by_cluster  mean over k of the mean over its records     (weight 1 for each gold cluster)
    ceaf_mention        max over one-to-one maps of sum |k & r|, of n                         (Luo 2005)
    ceaf_entity         the same of 2 |k & r| / (|k| + |r|), of the number of r
    muc                 sum (|r| - pieces of r in k) / sum (|r| - 1)                    (Vilain et al. 1995)
    blanc               mean over pairs in one cluster and pairs that are not; F1: mean of both F1 (Recasens and Hovy
                        2011; Luo et al. 2014): only non-links count of gold without links, only links of one cluster
    conll_f1            mean of the F1 of muc, b_cubed and ceaf_entity          (Pradhan et al. 2012)
"""

import math

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution.quality.overlaps import Overlaps, num_pairs

_MOST_CELLS = 4_000_000
"""Of a dense matrix of a block; larger ones are mapped as they are, sparse."""


def cluster_metrics(table: Overlaps, undefined: float = math.nan) -> dict[str, float]:
    """The measures above, from 0 to 1.

    Args:
        table: of records that all have a true cluster.
        undefined: MUC where no record shares a cluster, of which then CoNLL is made; BLANC of one record is NaN.

    >>> from tiltmeter.operators.resolution.quality.overlaps import overlaps
    >>> made = cluster_metrics(overlaps(np.array([0, 0, 1, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 2, 3])))
    >>> [round(made[name], 4) for name in ("b_cubed_f1", "ceaf_entity_f1", "muc_f1", "blanc_f1", "conll_f1")]
    [0.7312, 0.6476, 0.5714, 0.6465, 0.6501]
    """
    sizes, gold_sizes, num = table.cluster_sizes, table.gold_sizes, table.num
    of_cluster, of_gold, total = sizes[table.cluster], gold_sizes[table.gold], int(num.sum())
    equal, joined = int(((num == of_cluster) & (num == of_gold)).sum()), total - num.size
    shares = num / of_cluster, num / of_gold
    mention, entity = aligned(table, num), aligned(table, 2.0 * num / (of_cluster + of_gold))
    both = {
        "cluster": (equal / sizes.size, equal / gold_sizes.size),
        "b_cubed": tuple(float(num @ share) / total for share in shares),
        "b_cubed_by_cluster": tuple(float((num / of_gold) @ share) / gold_sizes.size for share in shares),
        "ceaf_mention": (mention / total, mention / total),
        "ceaf_entity": (entity / sizes.size, entity / gold_sizes.size),
        "muc": tuple(_share(joined, total - side.size, undefined) for side in (sizes, gold_sizes)),
    }
    measures = {name: (*values, harmonic(*values)) for name, values in both.items()} | {"blanc": _blanc(table)}
    named = {
        f"{name}_{kind}": value
        for name, values in measures.items()
        for kind, value in zip(("precision", "recall", "f1"), values, strict=True)
    }
    return named | {"conll_f1": (named["muc_f1"] + named["b_cubed_f1"] + named["ceaf_entity_f1"]) / 3.0}


def lowest_precision(table: Overlaps) -> float:
    """Pairwise precision if gold's clusters are whole: a pair of one record with truth and one without is false.

    Args:
        table: with clusters of all records, some of which have a true cluster; NaN without a pair of such a one.
    """
    inside = np.bincount(table.cluster, table.num, table.cluster_sizes.size).astype(np.int64)
    outside = int((inside * (table.cluster_sizes - inside)).sum())
    return _share(num_pairs(table.num), num_pairs(inside) + outside)


def harmonic(precision: float, recall: float) -> float:
    """Harmonic mean: 0 of 0 and 0, or where one of them is undefined, and NaN where both are."""
    if math.isnan(precision) or math.isnan(recall):
        return 0.0 if not (math.isnan(precision) and math.isnan(recall)) else math.nan
    return _share(2.0 * precision * recall, precision + recall, 0.0)


def aligned(table: Overlaps, similarity: NDArray[np.generic]) -> float:
    """The largest sum of similarities over one-to-one maps of clusters to gold clusters (Kuhn 1955).

    What overlaps with one other alone, which is nobody's more, is its best partner, and both are done with; of the
    rest, each connected block of the table is mapped by itself.

    Args:
        similarity: ``[cells]``, at least 0.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends, values, total = (table.cluster, table.gold), np.asarray(similarity, dtype=np.float64), 0.0
    nums, before = (table.cluster_sizes.size, table.gold_sizes.size), -1
    while values.size != before:
        before = values.size
        for one, other in ((0, 1), (1, 0)):
            most = np.zeros(nums[other])
            np.maximum.at(most, ends[other], values)
            is_alone = np.bincount(ends[one], minlength=nums[one])[ends[one]] == 1
            pairs = np.flatnonzero(is_alone & (values == most[ends[other]]))
            partners, first = np.unique(ends[other][pairs], return_index=True)
            total += float(values[pairs[first]].sum())
            kept = ~np.isin(ends[other], partners)
            ends, values = (ends[0][kept], ends[1][kept]), values[kept]
    size = sum(nums)
    links = coo_array((np.ones(values.size), (ends[0], nums[0] + ends[1])), shape=(size, size))
    blocks = connected_components(links, directed=False)[1][ends[0]]
    order = np.argsort(blocks, kind="stable")
    for cells in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1):
        total += _mapped(ends[0][cells], ends[1][cells], values[cells]) if cells.size else 0.0
    return total


def _mapped(cluster: IntArray, gold: IntArray, values: FloatArray) -> float:
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    rows, columns = (np.unique(side, return_inverse=True)[1] for side in (cluster, gold))
    height, width = rows.max() + 1, columns.max() + 1
    if height * width <= _MOST_CELLS:
        dense = np.zeros((height, width))
        dense[rows, columns] = values
        return float(dense[linear_sum_assignment(dense, maximize=True)].sum())
    # Every row may stay alone, at a column of its own; costs have to differ from 0.
    most, alone = values.max() + 1.0, np.arange(height)
    costs, ends = (
        np.append(most - values, np.full(height, most)),
        (np.append(rows, alone), np.append(columns, width + alone)),
    )
    square = coo_array((costs, ends), shape=(height, width + height)).tocsr()
    return float(height * most - square[min_weight_full_bipartite_matching(square)].sum())


def _blanc(table: Overlaps) -> tuple[float, float, float]:
    total = int(table.num.sum())
    both, linked, gold = map(num_pairs, (table.num, table.cluster_sizes, table.gold_sizes))
    every = total * (total - 1) // 2
    halves = [(both, linked, gold), (every - linked - gold + both, every - linked, every - gold)]
    counting = [half for half in halves if half[2]]
    if not counting:
        return math.nan, math.nan, math.nan
    values = [(_share(hits, made, 0.0), hits / true, 2.0 * hits / (made + true)) for hits, made, true in counting]
    precision, recall, f1 = np.mean(values, axis=0).tolist()
    return precision, recall, f1


def _share(part: float, whole: float, otherwise: float = math.nan) -> float:
    return part / whole if whole else otherwise
