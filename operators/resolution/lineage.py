"""Clusters that keep their ids from one partition to the next, and what became of those that do not.

An id goes to the later cluster that holds most of its records: overlaps are looked at from the largest, and each
gives the id to its later cluster if neither has been given before (of equal ones, the earlier id first, then the
cluster with the earlier first record). So clusters with the same records keep their id, and so does each cluster that
is the largest part of an earlier one of which it is the largest part. Ids are never used twice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, IntArray

VERSION = "cluster_lineage/1"

NOWHERE = -1
"""In place of an id or a cluster, of records that are in one of the partitions only."""


class Flows(NamedTuple):
    """How many records went from which id to which: those that both have, that are new, and that are gone.

    Attributes:
        before, after: ``[flows]`` int64, ids; ``NOWHERE`` of records that were, or are, in no cluster.
        num_records: ``[flows]`` int64.
        num_before, num_after: ``[flows]`` int64, all records of either; 0 for ``NOWHERE``.
        events: ``[flows]``: ``kept``, the same id; ``merged``, of an id that ended; ``split``, of an id that lives on
            elsewhere; ``new``, records that were nowhere; ``vanished``, records that are nowhere.
    """

    before: IntArray
    after: IntArray
    num_records: IntArray
    num_before: IntArray
    num_after: IntArray
    events: NDArray[np.str_]

    def counts(self) -> dict[str, int]:
        """Clusters by what became of them; ``num_unchanged`` are those of ``num_kept`` with the same records."""
        before, after, num_records, num_before, num_after, events = self
        kept = events == "kept"
        anew = set(after[events == "new"].tolist()) - set(after[before != NOWHERE].tolist())
        return {
            "num_kept": int(kept.sum()),
            "num_unchanged": int((kept & (num_records == num_before) & (num_records == num_after)).sum()),
            "num_merged": np.unique(before[events == "merged"]).size,
            "num_split": np.unique(before[events == "split"]).size,
            "num_new": len(anew),
            "num_vanished": int(((events == "vanished") & (num_records == num_before)).sum()),
        }


class Contents(NamedTuple):
    """Components, by what stands for them.

    Attributes:
        numbers: ``[components]`` int64, of each.
        contents: ``[components]`` int64, equal for those of the same pairs, constraints and solver.
        sizes: ``[components]`` int64, records.
    """

    numbers: IntArray
    contents: IntArray
    sizes: IntArray


def inherited_ids(before: IntArray, after: IntArray, next_id: int) -> IntArray:
    """``[clusters]`` int64, the id of each later cluster.

    Args:
        before: ``[records]``, the earlier id of each, or ``NOWHERE``.
        after: ``[records]``, the later cluster of each, numbered from 0 in the order of first records, or ``NOWHERE``.
        next_id: the first id that was never given; clusters without one are given it and those that follow.

    >>> inherited_ids(np.array([4, 4, 4, 7, -1]), np.array([0, 1, 1, 1, 2]), 9)
    array([ 9,  4, 10])
    """
    ids = np.full(int(after.max(initial=-1)) + 1, NOWHERE, dtype=np.int64)
    both = (before != NOWHERE) & (after != NOWHERE)
    edges, counts = _edges(before[both], after[both])
    num_ids = int(before.max(initial=-1)) + 1
    degrees = [np.bincount(end, minlength=num)[end] for end, num in zip(edges, (num_ids, ids.size), strict=True)]
    alone = (degrees[0] == 1) & (degrees[1] == 1)
    ids[edges[1, alone]] = edges[0, alone]
    others, num = edges[:, ~alone], counts[~alone]
    free = np.ones(num_ids, dtype=np.bool_)
    for place in np.lexsort((others[1], others[0], -num)).tolist():
        one, other = others[:, place]
        if free[one] and ids[other] == NOWHERE:
            ids[other], free[one] = one, False
    unnamed = np.flatnonzero(ids == NOWHERE)
    ids[unnamed] = next_id + np.arange(unnamed.size)
    return ids


def flows(before: IntArray, after: IntArray) -> Flows:
    """What went where.

    Args:
        before, after: ``[records]``, ids, or ``NOWHERE``.

    >>> flows(np.array([4, 4, 4, 7, -1]), np.array([9, 4, 4, 4, 10]))[-1].tolist()
    ['new', 'kept', 'split', 'merged']
    """
    (one, other), num_records = _edges(before, after)
    events = np.select(
        [one == NOWHERE, other == NOWHERE, one == other, ~np.isin(one, after)],
        ["new", "vanished", "kept", "merged"],
        "split",
    )
    return Flows(one, other, num_records, _totals(one, num_records), _totals(other, num_records), events)


class Moves(NamedTuple):
    """How far one partition is from another.

    Attributes:
        num_merges: later clusters with records of several earlier ones.
        num_splits: earlier clusters with records in several later ones.
        num_pairs_moved: pairs of records that are together in one of both.
        f1: pairwise, 2 / (1 / precision + 1 / recall) of the one against the other; NaN if nothing is together.
    """

    num_merges: int
    num_splits: int
    num_pairs_moved: int
    f1: float


def moves(before: IntArray, after: IntArray) -> Moves:
    """Of two partitions of the same records, whose clusters are numbered from 0.

    >>> moves(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 2]))
    Moves(num_merges=1, num_splits=2, num_pairs_moved=4, f1=0.3333333333333333)
    """
    edges, sizes = _edges(before, after)
    num_splits, num_merges = (int((np.bincount(end) > 1).sum()) for end in edges)
    both, *each = (int((nums * (nums - 1) // 2).sum()) for nums in (sizes, np.bincount(before), np.bincount(after)))
    num_moved = sum(each) - 2 * both
    return Moves(num_merges, num_splits, num_moved, 2 * both / sum(each) if sum(each) else float("nan"))


def unchanged(before: IntArray, earlier: Contents, component: IntArray, contents: IntArray) -> IntArray:
    """``[components]`` int64, the earlier number of each that has not changed; ``NOWHERE`` for the others.

    It has the same records, and pairs, constraints and solver of the same content.

    Args:
        before: ``[records]``, the earlier component of each, or ``NOWHERE``.
        earlier: all earlier components.
        component: ``[records]``, of each, now.
        contents: ``[components]``, what stands for each, now.

    >>> before, earlier = np.array([0, 0, 1, 1]), Contents(np.array([0, 1]), np.array([70, 80]), np.array([2, 2]))
    >>> unchanged(before, earlier, np.array([1, 1, 0, 0]), np.array([81, 70]))
    array([-1,  0])
    """
    sizes = np.bincount(component)
    old_contents, old_sizes = (np.full(int(earlier.numbers.max(initial=0)) + 2, NOWHERE) for _ in range(2))
    old_contents[earlier.numbers], old_sizes[earlier.numbers] = earlier.contents, earlier.sizes
    candidates = np.full(sizes.size, NOWHERE)
    candidates[component] = before
    agreeing = np.bincount(component[before == candidates[component]], minlength=sizes.size)
    same: BoolArray = (
        (candidates != NOWHERE)
        & (agreeing == sizes)
        & (old_sizes[candidates] == sizes)
        & (old_contents[candidates] == contents)
    )
    return np.where(same, candidates, NOWHERE)


def _edges(before: IntArray, after: IntArray) -> tuple[IntArray, IntArray]:
    """``[2, edges]``, each pair of labels once, in order, and how often it comes; labels are ``NOWHERE`` or more."""
    span = int(after.max(initial=NOWHERE)) + 2
    codes, counts = np.unique((before + 1) * span + after + 1, return_counts=True)
    return np.stack(np.divmod(codes, span)) - 1, counts


def _totals(labels: IntArray, num_records: IntArray) -> IntArray:
    """``[edges]``, all records of the label of each; 0 of ``NOWHERE``."""
    _, places = np.unique(labels, return_inverse=True)
    totals = np.bincount(places, num_records).astype(np.int64)[places]
    return np.where(labels == NOWHERE, 0, totals)
