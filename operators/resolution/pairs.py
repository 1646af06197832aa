"""Scored pairs of records, cleaned: each pair once, its records numbered, what can't count left out and counted."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IndexArray

VERSION = "scored_pairs/2"

MAX_SUM = 1e300
"""Of absolute weights: what is computed of them, such as differences of their sums, stays finite."""


_PAIRS_OF_A_BLOCK = 2**17

_BITS = 64
"""Of a key."""


class ScoredPairs(NamedTuple):
    """Attributes:
    left, right: ``[pairs]`` int32, or int64 of more than 2^31 records, numbers of the records, left < right; sorted,
        each pair once.
    weights: ``[pairs]`` float64.
    num_self, num_repeated, num_contradicting, num_below: pairs that were left out, or merged into one with the mean
        of their weights (contradicting).
    """

    left: IndexArray
    right: IndexArray
    weights: FloatArray
    num_self: int
    num_repeated: int
    num_contradicting: int
    num_below: int


def blocks(num_pairs: int) -> Iterator[slice]:
    """Runs of pairs: what is computed of a run stays in the processor's cache, and of millions takes new memory.

    >>> list(blocks(200_000))
    [slice(0, 131072, None), slice(131072, 200000, None)]
    """
    return (slice(first, min(first + _PAIRS_OF_A_BLOCK, num_pairs)) for first in range(0, num_pairs, _PAIRS_OF_A_BLOCK))


def clean_pairs(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.floating], threshold: float | None
) -> ScoredPairs:
    """Pairs without direction, each once.

    A pair of a record with itself says nothing and is left out. A pair that comes several times, in either direction,
    is taken once; if its weights differ, with their mean. After that, pairs of less weight than ``threshold`` count as
    never scored.

    Args:
        left, right: ``[pairs]``, numbers of the records.
        weights: ``[pairs]``, finite.

    Raises:
        ValueError: if a weight is not finite, naming its row, or the absolute weights add up to more than ``MAX_SUM``.

    >>> left, right = np.array([1, 0, 2, 0]), np.array([0, 1, 2, 2])
    >>> pairs = clean_pairs(left, right, np.array([0.5, 0.25, 1.0, -0.5]), threshold=0.0)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.weights.tolist()
    ([0], [1], [0.375])
    >>> pairs.num_self, pairs.num_repeated, pairs.num_contradicting, pairs.num_below
    (1, 0, 1, 1)
    """
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"weight {weights[row]} in row {row + 1} of the pairs: must be a finite number")
    _check_sums(weights)
    apart = left != right
    left, right, weights = (_chosen(values, apart) for values in (left, right, weights))
    bits = int(max(left.max(initial=0), right.max(initial=0))).bit_length()
    keys, means = _sorted_by_keys(left, right, weights, bits)
    is_first = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    num_repeated, num_contradicting = _average(keys, means, is_first)
    kept = is_first if threshold is None else is_first & (means >= threshold)
    num_below = int(is_first.sum() - kept.sum())
    keys, means = _chosen(keys, kept), _chosen(means, kept)
    low, high = _ends(keys, bits)
    return ScoredPairs(low, high, means, apart.size - int(apart.sum()), num_repeated, num_contradicting, num_below)


def _sorted_by_keys(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.floating], bits: int
) -> tuple[NDArray[np.uint64], FloatArray]:
    """Pairs as keys, the smaller number above the larger one of so many bits, sorted; and their weights.

    Where there is room, a pair's place stands below its key: to sort numbers takes a fraction of the time and of the
    memory of finding their order.
    """
    place_bits = max(left.size - 1, 0).bit_length()
    has_room = 2 * bits + place_bits <= _BITS
    shift = np.uint64(place_bits if has_room else 0)
    keys, means = np.empty(left.size, dtype=np.uint64), np.empty(left.size)
    for block in blocks(left.size):
        low, high = (pick(left[block], right[block]).astype(np.uint64) for pick in (np.minimum, np.maximum))
        keys[block] = (low << np.uint64(bits) | high) << shift
    if not has_room:
        order = np.argsort(keys)
        return keys[order], weights[order].astype(np.float64, copy=False)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    for block in blocks(keys.size):
        means[block] = weights[keys[block] & ((np.uint64(1) << shift) - np.uint64(1))]
        keys[block] >>= shift
    return keys, means


def _ends(keys: NDArray[np.uint64], bits: int) -> tuple[IndexArray, IndexArray]:
    """The smaller and the larger number of each pair, in half of the memory where that is enough."""
    kind: type[np.signedinteger] = np.int32 if bits < 32 else np.int64
    low: IndexArray = np.empty(keys.size, dtype=kind)
    high: IndexArray = np.empty(keys.size, dtype=kind)
    for block in blocks(keys.size):
        low[block] = keys[block] >> np.uint64(bits)
        high[block] = keys[block] & np.uint64((1 << bits) - 1)
    return low, high


def _chosen(values: NDArray[Any], chosen: BoolArray) -> NDArray[Any]:
    """Of ten million pairs, all are chosen as a rule, and a copy takes as long as to tell that."""
    return values if chosen.all() else values[chosen]


def _average(keys: NDArray[np.uint64], weights: FloatArray, is_first: BoolArray) -> tuple[int, int]:
    """Gives the first of each run of equal keys the mean weight of all; how many of the others agree, and disagree.

    Weights are added in their own order: that of a file changes no mean.
    """
    again = ~is_first
    again[:-1] |= ~is_first[1:]
    places = np.flatnonzero(again)
    values = weights[places][np.lexsort((weights[places], keys[places]))]
    starts = np.flatnonzero(is_first[places])
    sizes = np.diff(starts, append=places.size)
    differ = values[starts] < values[starts + sizes - 1]
    means = np.add.reduceat(values, starts) / sizes if starts.size else values
    weights[places[starts]] = np.where(differ, means, values[starts])
    return int((sizes - 1)[~differ].sum()), int((sizes - 1)[differ].sum())


def _check_sums(weights: NDArray[np.floating]) -> None:
    with np.errstate(over="ignore"):
        total = sum(float(np.abs(weights[block], dtype=np.float64).sum()) for block in blocks(weights.size))
    if total > MAX_SUM:
        row = int(np.abs(weights).argmax())
        raise ValueError(
            f"weight {weights[row]} in row {row + 1} of the pairs: all weights, without their signs, must add up to "
            f"{MAX_SUM:g} or less; divide them by one number"
        )


def weights_of(probabilities: NDArray[np.floating]) -> FloatArray:
    """w = 2 p - 1: positive where two records are more likely one than not.

    Raises:
        ValueError: if a probability lies outside [0, 1], naming its row.

    >>> weights_of(np.array([0.0, 0.75]))
    array([-1. ,  0.5])
    """
    outside = np.flatnonzero(~((probabilities >= 0.0) & (probabilities <= 1.0)))
    if outside.size:
        row = int(outside[0])
        raise ValueError(f"match_probability {probabilities[row]} in row {row + 1} of the pairs: must lie in [0, 1]")
    return np.asarray(2.0 * probabilities.astype(np.float64) - 1.0)
