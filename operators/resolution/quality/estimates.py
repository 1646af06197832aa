"""How good clusters are, from a sample of true entities.

Binette et al. 2023, *Estimating the performance of entity resolution algorithms*.

Of a true cluster c of s records, found in the clusters r of all records, let TP = sum_r m (m - 1) / 2 with m = |c & r|,
X = sum_r m (|r| - m) the false pairs with one end in c, I = sum_r m / |r|, and E = 1 if c is some r. Every target is a
ratio of totals over all true clusters, sum B / sum A:

    precision            TP                  TP + X / 2 (a false pair is met from two clusters)
    recall               TP                  s (s - 1) / 2
    f1                   2 TP                TP + X / 2 + s (s - 1) / 2
    cluster_precision    E                   I (which sums to the number of clusters found)
    cluster_recall       E                   1
    b_cubed_precision    sum_r m^2 / |r|     s
    b_cubed_recall       sum_r m^2 / s       s
    matching_rate        s, if s > 1         s
    mean_size            s                   1
    name_variation       several names       has a name
    homonymy             shares a name       has a name

From a sample, totals weigh clusters by 1 over their chance: 1 / s where records were drawn, 1 where clusters were.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.quality.overlaps import Overlaps, pairs_of
from tiltmeter.operators.statistics.designs.ratios import Parts, ratio_difference, sampled_ratio
from tiltmeter.operators.statistics.intervals import LOG, LOGIT
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import Inferred, each

VERSION = "cluster_estimates/1"

Design = Literal["by_record", "by_cluster"]


def entity_parts(table: Overlaps, members: BoolArray | None = None) -> dict[str, Parts]:
    """B and A above of every true cluster, ``[gold clusters]`` each; or of a group of records what is its own.

    Of a group, pairs count with an end in it at least, records that are in it, and clusters with one of its records.

    Args:
        table: of all records, of which some have a true cluster.
        members: ``[records of known truth]``, whether each is in the group; false pairs are then those of known truth.
    """
    num, gold_num = table.num, table.gold_sizes.size

    def sums(values: NDArray[np.number]) -> FloatArray:
        return np.asarray(np.bincount(table.gold, values, gold_num), dtype=np.float64)

    sizes = table.cluster_sizes if members is None else np.bincount(table.cluster, num)
    of_cluster, of_gold = sizes[table.cluster].astype(np.int64), table.gold_sizes[table.gold]
    inside = num if members is None else np.bincount(table.cells, members, num.size).astype(np.int64)
    inside_sizes = np.bincount(table.cluster, inside)[table.cluster]
    inside_gold = sums(inside)
    hits = sums(pairs_of(num) - pairs_of(num - inside))
    false = sums(inside * (of_cluster - num) + (num - inside) * (inside_sizes - inside)) / 2.0
    pairs = pairs_of(table.gold_sizes) - pairs_of(table.gold_sizes - inside_gold.astype(np.int64))
    has, equal = (inside_gold > 0).astype(np.float64), sums((num == of_cluster) & (num == of_gold))
    parts = {
        "precision": Parts(hits, hits + false),
        "recall": Parts(hits, pairs),
        "cluster_recall": Parts(equal * has, has),
        "b_cubed_precision": Parts(sums(inside * num / of_cluster), inside_gold),
        "b_cubed_recall": Parts(sums(inside * num / of_gold), inside_gold),
    }
    if members is not None:
        return parts
    return parts | {
        "f1": Parts(2.0 * hits, hits + false + pairs),
        "cluster_precision": Parts(equal, sums(num / of_cluster)),
        "matching_rate": Parts(inside_gold * (inside_gold > 1), inside_gold),
        "mean_size": Parts(inside_gold, has),
    }


def name_parts(gold: IntArray, names: IntArray) -> dict[str, Parts]:
    """How many true clusters have several names, and how many share one with other records; null is no name.

    Args:
        gold: ``[records]``, numbers of true clusters from 0 without gaps; -1 where they are not known.
        names: ``[records]``, numbers from 0; -1 without a name.

    Returns:
        0 and 1 of every true cluster; of one without a name, which does not count, 0 above and below.
    """
    is_counted, width = (gold >= 0) & (names >= 0), int(names.max(initial=0)) + 1
    cells, within = np.unique(gold[is_counted] * width + names[is_counted], return_counts=True)
    cluster, name = np.divmod(cells, width)
    total = np.bincount(names[names >= 0], minlength=width)
    num = np.bincount(cluster, minlength=int(gold.max()) + 1)
    num_shared = np.bincount(cluster, total[name] > within, num.size)
    variation, homonymy, has = (
        (values > least).astype(np.float64) for values, least in ((num, 1), (num_shared, 0), (num, 0))
    )
    return {"name_variation": Parts(variation, has), "homonymy": Parts(homonymy, has)}


def estimates(
    parts: Mapping[str, Parts],
    sizes: IntArray,
    design: Design,
    num_draws: IntArray | None,
    num_records: int,
    *,
    level: float = 0.95,
) -> Iterator[tuple[str, Inferred]]:
    """The targets, each with its interval by :mod:`.designs.ratios`, over draws: a cluster drawn twice counts twice.

    Args:
        parts: by target, ``[drawn clusters]``.
        sizes: ``[drawn clusters]``, records of each.
        design: what was drawn uniformly.
        num_draws: ``[drawn clusters]``, how often each was; None: once each, none again, which leaves the less to be
            uncertain about the more of the records (drawn ones ``by_record``, those of drawn clusters ``by_cluster``)
            of all there are.
        num_records: that there are.
    """
    drawn = np.repeat(np.arange(sizes.size), 1 if num_draws is None else num_draws)
    weights = 1.0 / sizes[drawn] if design == "by_record" else np.ones(drawn.size)
    share = (drawn.size if design == "by_record" else int(sizes.sum())) / num_records if num_draws is None else 0.0
    units = each(drawn.size, "drawn entity")
    for target, (above, below) in parts.items():
        scale = LOG if target == "mean_size" else LOGIT
        weighted = Parts(weights * above[drawn], weights * below[drawn])
        yield target, sampled_ratio(weighted, units, level=level, scale=scale, drawn=min(share, 1.0))


def compared_groups(
    table: Overlaps, groups: IntArray, num_groups: int, *, level: float
) -> Iterator[tuple[str, int, Inferred, Inferred, float]]:
    """Each measure of each group: it, the group, its value, how far it is from that of all others, and p by Holm.

    Args:
        table: as for :func:`entity_parts`.
        groups: ``[records of known truth]``, numbers from 0; -1 of records that are in none.
        level: nominal coverage.
    """
    units = each(table.gold_sizes.size, "true cluster")
    sides = [
        [entity_parts(table, members) for members in (groups == group, (groups >= 0) & (groups != group))]
        for group in range(num_groups)
    ]
    for metric in sides[0][0] if sides else ():
        apart = [
            ratio_difference(group_parts[metric], other_parts[metric], units, level=level)
            for group_parts, other_parts in sides
        ]
        adjusted = holm(np.array([one.p for one in apart]))
        for group, (group_parts, _) in enumerate(sides):
            value = sampled_ratio(group_parts[metric], units, level=level)
            yield metric, group, value, apart[group], float(adjusted[group])


def draw_pairs(clusters: IntArray, num: int, seed: int) -> tuple[IntArray, IntArray]:
    """Pairs of records within clusters, each as likely as any other: a cluster by its pairs, then one of them.

    Args:
        clusters: ``[records]``.
        num: of pairs, none twice; fewer where there are not so many.

    >>> [side.tolist() for side in draw_pairs(np.array([4, 1, 4, 2, 4]), 9, seed=0)]
    [[0, 0, 2], [2, 4, 4]]
    """
    order = np.argsort(clusters, kind="stable")
    sizes = np.unique(clusters, return_counts=True)[1]
    ends, starts = np.cumsum(pairs_of(sizes)), np.cumsum(sizes) - sizes
    chosen = draw(int(ends[-1]), num, seed, 0)
    cluster = np.searchsorted(ends, chosen, side="right")
    place = chosen - (ends - pairs_of(sizes))[cluster]
    # Of pairs (0, 1), (0, 2), (1, 2), (0, 3) ... the second end is the largest j with j (j - 1) / 2 <= place.
    second = (np.sqrt(8.0 * place + 1.0).astype(np.int64) + 1) // 2
    second += (pairs_of(second + 1) <= place).astype(np.int64) - (pairs_of(second) > place)
    left, right = (order[starts[cluster] + side] for side in (place - pairs_of(second), second))
    rows = np.lexsort((right, left))
    return left[rows], right[rows]


def draw(num_all: int, num: int, seed: int, purpose: int) -> IntArray:
    """Some of the numbers from 0, each as likely as any other and none twice, sorted."""
    generator = keyed_generator(seed, Stream.TO_LABEL, purpose)
    return np.sort(generator.choice(num_all, min(num, num_all), replace=False))
