"""All conjunctions of a few predicates that enough rows have (Agrawal and Srikant 1994), and which have the same."""

import hashlib
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from tiltmeter.operators.classifiers.errors.slices.bits import NONE, Bits, common_counts, members_of
from tiltmeter.operators.compute.arrays import IntArray

VERSION = "slice_conjunctions/1"

_BYTES = 2**26
"""Of memberships that are looked at together."""


def conjunctions_of(predicates: Bits, features: Sequence[str], most: int, min_size: int) -> IntArray:
    """Numbers of the predicates of each conjunction, the shortest first, ``[conjunctions, most]``.

    A conjunction has no two predicates about one feature, and its parts without one predicate all have enough rows,
    since they have at least its own.

    Args:
        features: ``[predicates]`` that they are about.
        most: predicates of a conjunction.
        min_size: rows of a conjunction at least.

    >>> from tiltmeter.operators.classifiers.errors.slices.bits import packed
    >>> rows = packed(np.array([[1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1]], dtype=bool))
    >>> conjunctions_of(rows, ["a", "b", "c"], most=2, min_size=2).tolist()
    [[0, -1], [1, -1], [2, -1], [0, 1]]
    """
    level: list[tuple[int, ...]] = [(number,) for number in range(len(features))]
    kept: list[tuple[int, ...]] = []
    for size in range(1, most + 1):
        level = _large_enough(predicates, level, min_size)
        kept += level
        level = _joined(level, features) if size < most else []
    padded = [[*conjunction, *[NONE] * (most - len(conjunction))] for conjunction in kept]
    return np.array(padded, dtype=np.int64).reshape(len(kept), most)


def _large_enough(predicates: Bits, level: list[tuple[int, ...]], min_size: int) -> list[tuple[int, ...]]:
    if not level:
        return []
    all_rows = np.full((1, predicates.shape[1]), ~np.uint64(0))
    sizes = common_counts(predicates, np.array(level, dtype=np.int64), all_rows)[:, 0]
    return [conjunction for conjunction, size in zip(level, sizes.tolist(), strict=True) if size >= min_size]


def _joined(level: list[tuple[int, ...]], features: Sequence[str]) -> list[tuple[int, ...]]:
    """Pairs that differ in their last predicate alone, if all their parts are among the level."""
    known, joined = set(level), []
    by_start: dict[tuple[int, ...], list[int]] = {}
    for conjunction in level:
        by_start.setdefault(conjunction[:-1], []).append(conjunction[-1])
    for start, lasts in by_start.items():
        for first, second in combinations(lasts, 2):
            joint = (*start, first, second)
            parts = combinations(joint, len(joint) - 1)
            if features[first] != features[second] and all(part in known for part in parts):
                joined.append(joint)
    return joined


def folded(predicates: Bits, conjunctions: IntArray) -> tuple[IntArray, IntArray]:
    """Conjunctions without those that have the rows of an earlier one, and how many each stands for.

    Args:
        conjunctions: the shortest first, so that these are kept.

    Returns:
        Numbers of those that are kept, and how many others have the rows of each.
    """
    first: dict[bytes, int] = {}
    others: dict[int, int] = {}
    step = max(1, _BYTES // (8 * predicates.shape[1]))
    for start in range(0, len(conjunctions), step):
        for place, rows in enumerate(members_of(predicates, conjunctions[start : start + step]), start=start):
            kept = first.setdefault(hashlib.blake2b(rows.tobytes(), digest_size=16).digest(), place)
            others[kept] = others.get(kept, -1) + 1
    return np.array(list(others), dtype=np.int64), np.array(list(others.values()), dtype=np.int64)
