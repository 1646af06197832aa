"""Memberships of rows as bits, 64 to a word, and how many rows conjunctions of them have in common with other sets."""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, IntArray

Bits = NDArray[np.uint64]
"""``[sets, words]``: bit r of a set says whether it has row r; bits behind the last row are 0."""

NONE = -1
"""In place of a predicate, where a conjunction has fewer than others."""

_WORDS = 256
"""That are looked at together: 2 KB of each set, so that those of a block of sets stay in the cache."""

_ROWS = 4
"""Conjunctions that are held against each word of another set while it is at hand."""


def packed(members: BoolArray) -> Bits:
    """``[sets, rows]`` as bits.

    >>> packed(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    octets = np.packbits(members, axis=-1, bitorder="little")
    padding = [(0, 0)] * (members.ndim - 1) + [(0, -octets.shape[-1] % 8)]
    return np.ascontiguousarray(np.pad(octets, padding)).view("<u8")


def members_of(predicates: Bits, conjunctions: IntArray) -> Bits:
    """``[conjunctions, words]``: the rows that have all predicates of each."""
    bits = np.full((len(conjunctions), predicates.shape[1]), ~np.uint64(0))
    for column in conjunctions.T:
        bits &= np.where((column == NONE)[:, np.newaxis], ~np.uint64(0), predicates[column])
    return bits


@intrinsic
def _popcount(context: Any, word: Any) -> Any:  # noqa: ARG001
    """How many bits of a word are set, as one instruction of the processor."""
    return types.uint64(types.uint64), lambda _, builder, __, arguments: builder.ctpop(arguments[0])


@numba.njit(cache=True)
def intersect(predicates: Bits, conjunction: IntArray, start: int, joint: Bits) -> None:
    """The rows that have all predicates of a conjunction, from word ``start`` on."""
    joint[:] = predicates[conjunction[0], start : start + joint.size]
    for place in range(1, conjunction.size):
        if conjunction[place] >= 0:
            for word in range(joint.size):
                joint[word] &= predicates[conjunction[place], start + word]


@numba.njit(cache=True)
def common_counts(predicates: Bits, conjunctions: IntArray, others: Bits) -> NDArray[np.int32]:
    """How many rows each conjunction has in common with each of other sets, ``[conjunctions, others]``.

    Args:
        predicates: ``[predicates, words]``.
        conjunctions: ``[conjunctions, most]``, numbers of predicates, ``NONE`` behind them.
        others: ``[others, words]``.
    """
    num_words = predicates.shape[1]
    num_rows = conjunctions.shape[0]
    counts = np.zeros((num_rows + -num_rows % _ROWS, others.shape[0]), dtype=np.int32)
    joint = np.zeros((_ROWS, _WORDS), dtype=np.uint64)
    for start in range(0, num_words, _WORDS):
        size = min(_WORDS, num_words - start)
        for first in range(0, num_rows, _ROWS):
            for place in range(min(_ROWS, num_rows - first)):
                intersect(predicates, conjunctions[first + place], start, joint[place, :size])
            for other in range(others.shape[0]):
                a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
                for word in range(size):
                    bits = others[other, start + word]
                    a += _popcount(joint[0, word] & bits)  # type: ignore[call-arg]
                    b += _popcount(joint[1, word] & bits)
                    c += _popcount(joint[2, word] & bits)
                    d += _popcount(joint[3, word] & bits)
                counts[first, other] += np.int32(a)
                counts[first + 1, other] += np.int32(b)
                counts[first + 2, other] += np.int32(c)
                counts[first + 3, other] += np.int32(d)
    return counts[:num_rows]


@numba.njit(cache=True)
def drawn_rows(words: NDArray[np.uint32], starts: IntArray, sizes: IntArray, taken: IntArray) -> Bits:
    """So many rows of every stratum, each subset as likely as any other, as the bits of one set.

    Rows are taken one after the other, each with the share of those still wanted among those still left (Knuth,
    *Seminumerical Algorithms*, 3.4.2, algorithm S), by 32 random bits; that moves a probability by at most 2^-32 of the
    stratum's size.

    Args:
        words: ``[rows]`` random numbers.
        starts, sizes: where each stratum begins and how many rows it has; it has them one after the other.
        taken: how many are drawn of each.
    """
    bits = np.zeros((words.size + 63) // 64, dtype=np.uint64)
    for stratum in range(starts.size):
        wanted = np.uint64(taken[stratum])
        for place in range(sizes[stratum]):
            row = starts[stratum] + place
            left = np.uint64(sizes[stratum] - place)
            is_taken = np.uint64(((np.uint64(words[row]) * left) >> np.uint64(32)) < wanted)
            wanted -= is_taken
            bits[row >> 6] |= is_taken << np.uint64(row & 63)
    return bits
