"""Word pair counts of the original corpus and of all its bootstrap replicas, in one pass.

A pair at distance d <= window adds 1/d, as in GloVe (Pennington et al. 2014, section 4.2). 1/d is a whole number of
1/2520 for d <= 10, so counts are integers: sums are exact in any order, and no sharding changes a bit.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Annotated, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.embedding.tiles import MAX_WORDS, Tiling, name_pair

VERSION = "cooccurrence/4"

UNITS_PER_PAIR = 2520
"""A pair of neighbours counts this many units: the least common multiple of 1, ..., 10."""

_ROWS_PER_FLUSH = 64
_BYTES_PER_OCCURRENCE = 48
"""Key, line and weight of an occurrence, before and after sorting, and its place in the order."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CooccurrenceConfig:
    """How pairs are counted.

    Attributes:
        window: largest distance of a pair in words; at most 10, where 1/d is a whole number of 1/2520.
        tile_words: words in each of the two blocks of a tile; the vectors of a tile should fit the cache of a core. A
            merge holds at least one tile, which has up to tile_words^2 pairs; no effect on counts, but on the order of
            training.
    """

    window: Annotated[int, Field(ge=1, le=10)] = 10
    tile_words: Annotated[int, Field(ge=2)] = 2048


class PairCounts(NamedTuple):
    """Counts of unordered pairs, each pair once.

    Attributes:
        names: ``[pairs]`` ascending, from :func:`.tiles.name_pair`.
        counts: for each replica ``[pairs]`` in units of 1/2520, or of this part of a line's multiplicity; a word beside
            itself counts in both directions.
    """

    names: NDArray[np.int64]
    counts: Sequence[NDArray[np.int64]]


def bytes_per_pair(num_columns: int) -> int:
    """Memory that a row of :class:`PairCounts` takes."""
    return 8 * (1 + num_columns)


def divide_counts(counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Divide the counts of each pair, in place, by the greatest number that divides them all; returns these numbers.

    A pair of one line has its weight times the line's multiplicities, and most of the others something near it: what is
    left are small numbers, and a file of them is half as large.

    Args:
        counts: for each replica ``[pairs]``.

    >>> counts = [np.array([2520, 840]), np.array([5040, 1260])]
    >>> divide_counts(counts).tolist(), [column.tolist() for column in counts]
    ([2520, 420], [[1, 2], [2, 3]])
    """
    divisors = np.maximum(reduce(np.gcd, counts), 1)
    for column in counts:
        np.floor_divide(column, divisors, out=column)
    return divisors


def num_occurrences(offsets: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """``[lines]`` pairs within the window in each line, by the lines' offsets.

    >>> num_occurrences(np.array([0, 1, 4]), window=2)
    array([0, 3])
    """
    lengths = np.diff(offsets)
    reach = np.minimum(window, np.maximum(lengths - 1, 0))
    pairs: NDArray[np.int64] = reach * lengths - reach * (reach + 1) // 2
    return pairs


def line_chunks(offsets: NDArray[np.int64], num_columns: int, window: int, num_bytes: int) -> list[tuple[int, int]]:
    """Runs of lines, each of which :func:`count_pairs` counts within so much memory; one line may need more."""
    per_occurrence = _BYTES_PER_OCCURRENCE + bytes_per_pair(num_columns)
    cumulative = np.append(0, np.cumsum(num_occurrences(offsets, window)))
    chunks, start, num_lines = [], 0, offsets.size - 1
    while start < num_lines:
        limit = cumulative[start] + num_bytes // per_occurrence
        stop = max(start + 1, int(np.searchsorted(cumulative, limit, side="right")) - 1)
        chunks.append((start, stop))
        start = stop
    return chunks


@numba.njit(cache=True)
def _list_occurrences(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    window: int,
    num_blocks: int,
    tile_words: int,
    names: NDArray[np.int64],
    lines: NDArray[np.int32],
    units: NDArray[np.int32],
) -> None:
    blocks, places = tokens.astype(np.int64) % num_blocks, tokens.astype(np.int64) // num_blocks
    place = 0
    for line in range(offsets.size - 1):
        for right in range(offsets[line], offsets[line + 1]):
            for left in range(max(offsets[line], right - window), right):
                names[place] = name_pair(
                    blocks[left], places[left], blocks[right], places[right], num_blocks, tile_words
                )
                lines[place] = line
                units[place] = UNITS_PER_PAIR // (right - left) * (2 if tokens[left] == tokens[right] else 1)
                place += 1


@numba.njit(cache=True)
def _sum_runs(
    names: NDArray[np.int64],
    lines: NDArray[np.int32],
    units: NDArray[np.int32],
    multiplicities: NDArray[np.unsignedinteger],
    counts: NDArray[np.int64],
) -> None:
    """Sum sorted occurrences into one column per pair; rows pass through a small buffer that stays in cache."""
    num_replicas = multiplicities.shape[1]
    buffer = np.zeros((_ROWS_PER_FLUSH, num_replicas), dtype=np.int64)
    row, flushed, previous = -1, 0, np.int64(-1)
    for place in range(names.size):
        if names[place] != previous:
            previous = names[place]
            row += 1
            if row == _ROWS_PER_FLUSH:
                _flush(buffer, row, counts, flushed)
                buffer[:] = 0
                flushed, row = flushed + row, 0
        for replica in range(num_replicas):
            buffer[row, replica] += np.int64(np.int32(units[place] * np.int32(multiplicities[lines[place], replica])))
    _flush(buffer, row + 1, counts, flushed)


@numba.njit(cache=True)
def _flush(buffer: NDArray[np.int64], num_rows: int, counts: NDArray[np.int64], start: int) -> None:
    """As slices, whose message for shapes that differ would take longer to compile than all that is computed here."""
    for replica in range(buffer.shape[1]):
        for row in range(num_rows):
            counts[replica, start + row] = buffer[row, replica]


def count_pairs(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    multiplicities: NDArray[np.unsignedinteger],
    tiling: Tiling,
    window: int,
) -> PairCounts:
    """Weighted co-occurrences within lines, for every replica at once.

    Args:
        tokens: ``[tokens]`` vocabulary indices of all lines, one after the other; words outside the vocabulary are
            left out beforehand and do not widen a window, as in GloVe's own program.
        offsets: ``[lines + 1]`` where each line starts in ``tokens``.
        multiplicities: ``[lines, 1 + replicas]`` from :func:`.bootstrap.line_multiplicities`.
        tiling: how the vocabulary is cut, which decides the order of pairs.
        window: largest distance of a pair.

    Raises:
        ValueError: for a vocabulary of more than :data:`.tiles.MAX_WORDS` words.

    >>> tokens, offsets = np.array([0, 1, 0], np.int32), np.array([0, 3])
    >>> counted = count_pairs(tokens, offsets, np.array([[1, 2]], np.uint8), Tiling(2, 2), window=2)
    >>> counted.names.tolist(), [(count / UNITS_PER_PAIR).tolist() for count in counted.counts]
    ([0, 1], [[1.0, 2.0], [2.0, 4.0]])
    """
    if tiling.num_words > MAX_WORDS:
        raise ValueError(f"{tiling.num_words} words: at most {MAX_WORDS} can be counted; raise embedding.min_count")
    size = int(num_occurrences(offsets, window).sum())
    names, lines, units = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32)
    _list_occurrences(tokens, offsets, window, tiling.num_blocks, tiling.tile_words, names, lines, units)
    order = np.argsort(names)
    names, lines, units = names[order], lines[order], units[order]
    unique = _unique_sorted(names)
    counts = np.empty((multiplicities.shape[1], unique.size), dtype=np.int64)
    _sum_runs(names, lines, units, multiplicities, counts)
    return PairCounts(unique, list(counts))


class Merger:
    """Adds up counts of several parts over the union of their pairs, column by column.

    Args:
        names: of each part, ascending; the parts may overlap and come in any order.

    Attributes:
        names: ``[pairs]`` of all parts, ascending, each once.

    >>> merger = Merger([np.array([3, 5]), np.array([1, 3])])
    >>> merger.names.tolist(), merger.sum([np.array([10, 20]), np.array([1, 2])]).tolist()
    ([1, 3, 5], [1, 12, 20])
    """

    def __init__(self, names: Sequence[NDArray[np.int64]]) -> None:
        joined = np.concatenate(names)
        # Runs that are sorted already are what a stable sort merges fast.
        self._order = np.argsort(joined, kind="stable")
        joined = joined[self._order]
        self.names = _unique_sorted(joined)
        self._starts = np.searchsorted(joined, self.names)

    def sum(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """``[pairs]`` the sums of one column of each part."""
        if not self.names.size:
            return np.empty(0, np.int64)
        return np.add.reduceat(np.concatenate(columns)[self._order], self._starts)


def _unique_sorted(names: NDArray[np.int64]) -> NDArray[np.int64]:
    return names[np.flatnonzero(np.diff(names, prepend=-1))]
