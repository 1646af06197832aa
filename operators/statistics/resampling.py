"""Bootstrap resamples of texts, or of whole conversations (Efron 1979; Davison and Hinkley 1997, sections 3.2 and 3.8).

A resample is told by how often it has each text. It keeps the size of every stratum, so strata are what an experiment
fixes and does not draw: so many texts about women and so many about men, or, where every person feels every emotion, so
many about each gender with each emotion. Coarser ones would make emotion and gender depend on each other by chance.
Texts of one conversation are not independent: there, whole conversations are drawn.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream, philox

VERSION = "resampling/1"

_MAX_COUNTS = 6_000_000
"""Counts in a block; numbers of 8 bytes for each are 48 MB."""

_LEAST_DEPTH = 16
"""Cells in a row of a table that has a row for each unit: of 10^14 rows, one has more units than that."""


def resampled_counts(
    strata: NDArray[np.integer],
    seed: int,
    about: int,
    num_replicates: int,
    clusters: NDArray[np.integer] | None = None,
    keys: NDArray[np.uint64] | None = None,
) -> Iterator[NDArray[np.int32]]:
    """How often each replicate has each text: units drawn with replacement, as many of every stratum as it has.

    A replicate is keyed by (seed, about, its number) and nothing else. The same strata in the same order are drawn
    alike for every system and variant, so that their differences are paired. With ``keys``, other units in other places
    are drawn alike as far as they are the same, so that two runs are paired that share most of them.

    Args:
        strata: ``[units]``, which stratum each is in; the same for all where only their whole number is given.
        seed: the run's seed, 0 <= seed < 2^64.
        about: what is resampled, such as a data set, as a 64-bit key, 0 <= about < 2^64.
        num_replicates: how many, the data themselves not counted.
        clusters: ``[texts]``, which unit each text belongs to, such as its conversation; None if texts are the units.
        keys: ``[units]``, what tells each unit from all others, wherever it stands; None: its place does.

    Yields:
        ``[replicates, texts]`` blocks of at most 6 million counts, or one replicate, in the order of the replicates.

    >>> [counts] = resampled_counts(np.array([0, 0, 0, 7, 7]), seed=0, about=1, num_replicates=3)
    >>> counts[:, :3].sum(axis=1), counts[:, 3:].sum(axis=1)
    (array([3, 3, 3]), array([2, 2, 2]))
    """
    drawn = partial(_drawn, _layout(strata)) if keys is None else _KeyedTable(keys, strata).counts
    texts = slice(None) if clusters is None else clusters
    size = max(1, _MAX_COUNTS // max(1, len(strata if clusters is None else clusters)))
    for start in range(0, num_replicates, size):
        replicates = range(start, min(start + size, num_replicates))
        yield np.stack([drawn(seed, about, replicate)[texts] for replicate in replicates])


class Estimate(NamedTuple):
    """A number of the data with what resamples make of it, or an array of numbers.

    Attributes:
        value: of the data as they are, ``[...]``.
        resamples: ``[..., resamples]``, in its unit.
        num_texts: that it rests on, or other units that are drawn; of texts that weigh differently, how many of one
            weight would spread as much, by :func:`effective_number`; None where nobody knows.
    """

    value: FloatArray | float
    resamples: FloatArray
    num_texts: float | None = None


def effective_number(weights: NDArray[np.floating]) -> float:
    """How many texts of one weight have a mean that spreads as much (Kish 1965, *Survey sampling*, section 11.7).

    (sum_i w_i)^2 / sum_i w_i^2.

    >>> effective_number(np.array([1.0, 1.0, 0.5, 0.5])), effective_number(np.zeros(0))
    (3.6, 0.0)
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def resampled_mean(
    values: NDArray[np.floating], counts: NDArray[np.integer], num_texts: float | None = None
) -> Estimate:
    """Mean over the texts that have a value.

    Args:
        values: ``[texts]``; NaN where a text has none.
        counts: ``[resamples, texts]``, how often each resample has each text.
        num_texts: that the mean counts for; None: those that have a value.

    Returns:
        All NaN where no text has a value, and NaN in a resample that draws none that has.

    >>> resampled_mean(np.array([1.0, np.nan, 4.0]), np.array([[2, 0, 1], [0, 3, 0]]))
    Estimate(value=2.5, resamples=array([ 2., nan]), num_texts=2)
    """
    known = ~np.isnan(values)
    num = int(known.sum()) if num_texts is None else num_texts
    if not known.any():
        return Estimate(np.nan, np.full(len(counts), np.nan), num)
    drawn = counts[:, known]
    with np.errstate(invalid="ignore"):
        return Estimate(float(values[known].mean()), (drawn @ values[known]) / drawn.sum(axis=1), num)


def resampled_cluster_mean(
    values: NDArray[np.floating] | NDArray[np.integer] | NDArray[np.bool_],
    clusters: NDArray[np.integer],
    counts: NDArray[np.integer],
) -> Estimate:
    """Mean over texts where whole clusters are drawn, such as the phrases of a sentence: a ratio of two sums.

    Args:
        values: ``[texts]``.
        clusters: ``[texts]``, the number of each one's cluster.
        counts: ``[resamples, clusters]``, how often each resample has each cluster.

    Returns:
        It counts for as many clusters as would spread as much if all were of one size; NaN in a resample that has no
        text.

    >>> resampled_cluster_mean(np.array([1, 1, 4]), np.array([0, 0, 1]), np.array([[1, 1], [0, 2], [2, 0]]))
    Estimate(value=2.0, resamples=array([2., 4., 1.]), num_texts=1.8)
    """
    num = counts.shape[1]
    sums = np.bincount(clusters, weights=values, minlength=num)
    sizes = np.bincount(clusters, minlength=num).astype(np.float64)
    with np.errstate(invalid="ignore"):
        value = float(np.mean(values)) if values.size else np.nan
        return Estimate(value, (counts @ sums) / (counts @ sizes), effective_number(sizes))


class _Layout(NamedTuple):
    """Attributes:
    order: ``[units]``, the units stratum by stratum.
    starts, sizes: ``[units]``, where in that order the stratum of each of its places begins, and how large it is.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


def _layout(strata: NDArray[np.integer]) -> _Layout:
    order = np.argsort(strata, kind="stable")
    ordered = strata[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    return _Layout(order, starts, np.searchsorted(ordered, ordered, side="right") - starts)


def _drawn(layout: _Layout, seed: int, about: int, replicate: int) -> NDArray[np.int32]:
    """How often each unit is drawn, ``[units]``."""
    uniform = keyed_generator(seed, Stream.RATING, 0, replicate, about).random(layout.order.size)
    places = layout.starts + (uniform * layout.sizes).astype(np.int64)
    return np.bincount(layout.order[places], minlength=layout.order.size).astype(np.int32)


class _KeyedTable:
    """Units in cells by their keys, stratum by stratum, of which there are more than units.

    Each unit has a draw, which goes from cell to cell of its stratum as random numbers keyed by the unit say, until it
    finds one with a unit: any is as likely as any other. If there is one more, its own draw comes to the others, of
    which only those change that come to its cell; unless the rows of cells are twice as many now, as where the units
    are one more than a power of two.

    Args:
        keys: ``[units]`` uint64, different ones.
        strata: ``[units]``, from which as many are drawn as each has.

    Raises:
        ValueError: if two units have one key, naming it.
    """

    def __init__(self, keys: NDArray[np.uint64], strata: NDArray[np.integer]) -> None:
        sorted_keys = np.sort(keys)
        if (again := np.flatnonzero(sorted_keys[1:] == sorted_keys[:-1])).size:
            raise ValueError(f"key {sorted_keys[again[0]]} is that of two units: each must have one of its own")
        _, stratum, sizes = np.unique(strata, return_inverse=True, return_counts=True)
        row_bits = np.array([max(int(size) - 1, 0).bit_length() for size in sizes], dtype=np.uint64)
        first_rows = np.cumsum(np.append(0, 1 << row_bits.astype(np.int64)))
        # The highest bits: numpy shifts by all 64 as by none.
        rows = np.where(row_bits[stratum] > 0, keys >> (np.uint64(64) - np.maximum(row_bits[stratum], np.uint64(1))), 0)
        cell_rows = first_rows[stratum] + rows.astype(np.int64)
        self._order = np.lexsort((keys, cell_rows))
        self._row_starts = np.searchsorted(cell_rows[self._order], np.arange(first_rows[-1] + 1))
        deepest = int(np.diff(self._row_starts).max(initial=0))
        self._depth = np.uint64(max(_LEAST_DEPTH, 1 << max(deepest - 1, 0).bit_length()))
        self._keys, self._sizes, self._first_rows, self._row_bits = keys[self._order], sizes, first_rows, row_bits

    def counts(self, seed: int, about: int, replicate: int) -> NDArray[np.int32]:
        """``[units]`` int32, how often a replicate has each; keyed by the arguments and the keys of the units."""
        key = np.uint64(seed), np.uint64(Stream.KEYED_TEXTS), np.uint64(about), np.uint64(replicate)
        table = self._sizes, self._first_rows, self._row_bits, self._row_starts, self._depth
        places = _taken(key, self._keys, *table)
        counts = np.zeros(self._order.size, dtype=np.int32)
        counts[self._order] = np.bincount(places, minlength=self._order.size)
        return counts


@numba.njit(cache=True)
def _taken(
    key: tuple[np.uint64, np.uint64, np.uint64, np.uint64],
    units: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    first_rows: NDArray[np.int64],
    row_bits: NDArray[np.uint64],
    row_starts: NDArray[np.int64],
    depth: np.uint64,
) -> NDArray[np.int64]:
    """``[units]``, the place of what the draw of each takes; all in the order of the cells."""
    seed, stream, about, replicate = key
    places = np.empty(units.size, dtype=np.int64)
    draw = 0
    for stratum in range(sizes.size):
        mask = (np.uint64(1) << row_bits[stratum]) - np.uint64(1)
        for _ in range(sizes[stratum]):
            attempt = np.uint64(0)
            place = np.int64(-1)
            while place < 0:
                for word in philox(seed, stream, about, units[draw], replicate, attempt):
                    row = first_rows[stratum] + np.int64(word & mask)
                    cell = row_starts[row] + np.int64((word >> np.uint64(32)) & (depth - np.uint64(1)))
                    if cell < row_starts[row + 1]:
                        place = cell
                        break
                attempt += np.uint64(1)
            places[draw] = place
            draw += 1
    return places
