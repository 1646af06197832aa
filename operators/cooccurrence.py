"""Word pair counts of the original corpus and of all its bootstrap replicas, in one pass.

A pair at distance d <= window adds 1/d, as in GloVe (Pennington et al. 2014, section 3). 1/d is a whole number of
1/2520 for d <= 10, so counts are integers: sums are exact in any order, and no sharding changes a bit.

Pairs are dealt out to row blocks by their first word (``first % num_blocks``), so that shards can be counted, exchanged
and merged block by block, and memory follows the block and not the corpus.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

VERSION = "cooccurrence/1"

UNITS_PER_PAIR = 2520
"""A pair of neighbours counts this many units: the least common multiple of 1, ..., 10."""

_WORD_BITS = 28
_WORD_MASK = (1 << _WORD_BITS) - 1
_ROWS_PER_FLUSH = 64


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CooccurrenceConfig:
    """How pairs are counted.

    Attributes:
        window: largest distance of a pair in words; at most 10, where 1/d is a whole number of 1/2520.
        num_blocks: row blocks in which pairs are exchanged and merged; more blocks, less memory; no effect on counts.
    """

    window: Annotated[int, Field(ge=1, le=10)] = 10
    num_blocks: Annotated[int, Field(ge=1, le=128)] = 16


class PairCounts(NamedTuple):
    """Counts of unordered pairs, sorted by (first, second), each pair once.

    Attributes:
        first, second: ``[pairs]`` vocabulary indices, first <= second.
        counts: for each replica ``[pairs]`` in units of 1/2520; a word beside itself counts in both directions.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    counts: Sequence[NDArray[np.int64]]


@numba.njit(cache=True)
def _num_occurrences(offsets: NDArray[np.int64], window: int) -> int:
    total = 0
    for line in range(offsets.size - 1):
        length = offsets[line + 1] - offsets[line]
        for distance in range(1, min(window, length - 1) + 1):
            total += length - distance
    return total


@numba.njit(cache=True)
def _list_occurrences(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    window: int,
    num_blocks: int,
    keys: NDArray[np.int64],
    lines: NDArray[np.int32],
    units: NDArray[np.int32],
) -> None:
    at = 0
    for line in range(offsets.size - 1):
        for position in range(offsets[line], offsets[line + 1]):
            for other in range(max(offsets[line], position - window), position):
                a, b = tokens[other], tokens[position]
                first, second = np.int64(min(a, b)), np.int64(max(a, b))
                keys[at] = ((first % num_blocks) << 2 * _WORD_BITS) | (first << _WORD_BITS) | second
                lines[at] = line
                units[at] = UNITS_PER_PAIR // (position - other) * (2 if a == b else 1)
                at += 1


@numba.njit(cache=True)
def _sum_runs(
    keys: NDArray[np.int64],
    lines: NDArray[np.int32],
    units: NDArray[np.int32],
    multiplicities: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """Sum sorted occurrences into one column per pair; rows pass through a small buffer that stays in cache."""
    num_replicas = multiplicities.shape[1]
    buffer = np.zeros((_ROWS_PER_FLUSH, num_replicas), dtype=np.int64)
    row, flushed, previous = -1, 0, np.int64(-1)
    for at in range(keys.size):
        if keys[at] != previous:
            previous = keys[at]
            row += 1
            if row == _ROWS_PER_FLUSH:
                counts[:, flushed : flushed + row] = buffer.T
                buffer[:] = 0
                flushed, row = flushed + row, 0
        for replica in range(num_replicas):
            buffer[row, replica] += np.int64(np.int32(units[at] * np.int32(multiplicities[lines[at], replica])))
    counts[:, flushed : flushed + row + 1] = buffer[: row + 1].T


def count_pairs(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    multiplicities: NDArray[np.uint8],
    config: CooccurrenceConfig,
) -> Iterator[PairCounts]:
    """Weighted co-occurrences within lines, for every replica at once, one block after the other.

    Args:
        tokens: ``[tokens]`` vocabulary indices of all lines, one after the other; words outside the vocabulary are
            left out beforehand and do not widen a window, as in GloVe's own program.
        offsets: ``[lines + 1]`` where each line starts in ``tokens``.
        multiplicities: ``[lines, 1 + replicas]`` from :func:`operators.bootstrap.line_multiplicities`.

    Raises:
        ValueError: for a vocabulary of more than 2^28 words.

    Yields:
        ``num_blocks`` parts, some of them perhaps empty; block b holds the pairs with ``first % num_blocks == b``.

    >>> tokens, offsets = np.array([0, 1, 0], np.int32), np.array([0, 3])
    >>> config = CooccurrenceConfig(window=2, num_blocks=1)
    >>> [counted] = count_pairs(tokens, offsets, np.array([[1, 2]], np.uint8), config)
    >>> counted.first.tolist(), counted.second.tolist(), [(count / UNITS_PER_PAIR).tolist() for count in counted.counts]
    ([0, 0], [0, 1], [[1.0, 2.0], [2.0, 4.0]])
    """
    if tokens.size and tokens.max() > _WORD_MASK:
        raise ValueError(f"word index {tokens.max()}: at most {_WORD_MASK} fits; raise embedding.min_count")
    size = _num_occurrences(offsets, config.window)
    keys, lines, units = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32)
    _list_occurrences(tokens, offsets, config.window, config.num_blocks, keys, lines, units)
    order = np.argsort(keys)
    keys, lines, units = keys[order], lines[order], units[order]
    starts = np.searchsorted(keys, np.arange(config.num_blocks, dtype=np.int64) << 2 * _WORD_BITS)
    borders = np.append(starts, size)
    for start, stop in pairwise(borders):
        unique = _unique_sorted(keys[start:stop])
        counts = np.empty((multiplicities.shape[1], unique.size), dtype=np.int64)
        _sum_runs(keys[start:stop], lines[start:stop], units[start:stop], multiplicities, counts)
        yield PairCounts(*_unpack(unique), list(counts))


def merge_pairs(parts: list[PairCounts]) -> PairCounts:
    """The sum of several counts over the union of their pairs; the parts may overlap and come in any order."""
    keys = np.concatenate([(part.first.astype(np.int64) << _WORD_BITS) | part.second for part in parts])
    order = np.argsort(keys)
    keys = keys[order]
    unique = _unique_sorted(keys)
    starts = np.searchsorted(keys, unique)
    counts = np.empty((len(parts[0].counts), unique.size), dtype=np.int64)
    if unique.size:
        for replica, row in enumerate(counts):
            np.add.reduceat(np.concatenate([part.counts[replica] for part in parts])[order], starts, out=row)
    return PairCounts(*_unpack(unique), list(counts))


def _unique_sorted(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return keys[np.flatnonzero(np.diff(keys, prepend=-1))]


def _unpack(keys: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return ((keys >> _WORD_BITS) & _WORD_MASK).astype(np.int32), (keys & _WORD_MASK).astype(np.int32)
