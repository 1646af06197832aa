"""Which slices of many have more errors than chance gives them: the step-down max-T of Westfall and Young.

A slice has n_c of the N_c texts of which the model predicts class c, K_c of them errors. Were errors drawn among the
texts of each class, those of the slice would have the mean and variance of hypergeometric draws,

    mu = sum_c n_c K_c / N_c,    v = sum_c n_c (N_c - n_c) K_c (N_c - K_c) / (N_c^2 (N_c - 1)),

and T = (errors - mu) / sqrt(v) says how far it lies off, given what the model has predicted. Without that condition
every slice is a shadow of the classes that it holds. With B draws of all errors, slices in falling order of T, and
T_j^b that of slice j in draw b (Westfall and Young 1993, *Resampling-based multiple testing*, algorithm 4.1),

    p_(j) = max_{i <= j} (1 + #{b: max_{l >= i} T_(l)^b >= T_(i)}) / (B + 1),

by which the probability of any false slice is at most alpha, however slices overlap.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.errors.slices.bits import Bits, common_counts, drawn_rows, packed
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.compute.generators import keyed_bits
from tiltmeter.operators.compute.philox import Stream

VERSION = "max_t/1"

PERMUTATION = 4
"""What is drawn; the second number of a key."""

_AT_ONCE = 100
"""Draws whose counts are held together."""


class Layout(NamedTuple):
    """Rows in the order of their strata, as draws need them.

    Attributes:
        order: ``[rows]``, the row at each place.
        starts, sizes: of each stratum.
        errors: of each stratum; their sums, of losses.
    """

    order: IntArray
    starts: IntArray
    sizes: IntArray
    errors: LossArray


def layout_of(strata: NDArray[np.integer], errors: LossArray) -> Layout:
    """How rows are ordered.

    >>> layout_of(np.array([1, 0, 1]), np.array([True, False, False]))
    Layout(order=array([1, 0, 2]), starts=array([0, 1]), sizes=array([1, 2]), errors=array([0, 1]))
    """
    order = np.argsort(strata, kind="stable")
    _, starts, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    counted = errors[order].astype(np.int64 if errors.dtype == np.bool_ else np.float64)
    return Layout(order, starts, sizes, np.add.reduceat(counted, starts))


class Statistics(NamedTuple):
    """Of each conjunction.

    Attributes:
        size, errors: its texts, and how many of them are errors, or the sum of their losses.
        expected: mu.
        scale: sqrt(v); 0 where the predicted classes fix its errors.
        value: T; NaN there.
    """

    size: IntArray
    errors: LossArray
    expected: FloatArray
    scale: FloatArray
    value: FloatArray


def statistics_of(predicates: Bits, conjunctions: IntArray, layout: Layout, errors: BoolArray) -> Statistics:
    """T of each conjunction.

    Args:
        predicates: ``[predicates, words]``, of rows in the order of the layout.
        errors: ``[rows]``, in their own order.
    """
    places = np.arange(len(errors))
    ends = layout.starts + layout.sizes
    strata = [(places >= start) & (places < end) for start, end in zip(layout.starts, ends, strict=True)]
    counts = common_counts(predicates, conjunctions, packed(np.array([errors[layout.order], *strata])))
    wrong, parts = counts[:, 0].astype(np.int64), counts[:, 1:].astype(np.float64)
    sizes, rate = layout.sizes, layout.errors / layout.sizes
    spread = np.where(sizes > 1, rate * (1 - rate) / np.maximum(sizes - 1, 1), 0.0)
    expected, scale = parts @ rate, np.sqrt((parts * (sizes - parts)) @ spread)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(scale > 0.0, (wrong - expected) / scale, np.nan)
    return Statistics(parts.sum(axis=1).astype(np.int64), wrong, expected, scale, value)


def falling(value: FloatArray) -> IntArray:
    """Numbers of the conjunctions with a T, the largest first, earlier ones first among equals."""
    order = np.argsort(-value, kind="stable")
    return order[: np.count_nonzero(~np.isnan(value))]


def exceedances(
    predicates: Bits, conjunctions: IntArray, layout: Layout, statistics: Statistics, seed: int, draws: range
) -> IntArray:
    """In how many draws the largest T of each slice and those behind it reaches its own, ``[conjunctions]``.

    Counts of parts of the draws add up to those of all of them. A draw depends on the seed and its number alone.
    """
    hits = np.zeros(len(conjunctions), dtype=np.int64)
    for start in range(draws.start, draws.stop, _AT_ONCE):
        block = range(start, min(start + _AT_ONCE, draws.stop))
        errors = np.stack([drawn_errors(layout, seed, draw) for draw in block])
        hits += reached(predicates, conjunctions, statistics, errors)
    return hits


def reached(predicates: Bits, conjunctions: IntArray, statistics: Statistics, drawn: Bits) -> IntArray:
    """The same for draws that are at hand, ``[draws, words]``."""
    order = falling(statistics.value)
    counts = common_counts(predicates, np.ascontiguousarray(conjunctions[order]), drawn)
    hits = np.zeros(len(conjunctions), dtype=np.int64)
    hits[order] = _reached(counts, statistics.errors[order], statistics.expected[order], statistics.scale[order])
    return hits


def drawn_errors(layout: Layout, seed: int, draw: int) -> Bits:
    """As many rows of every stratum as it has errors, as bits of the layout's order."""
    bits = keyed_bits(seed, Stream.ERROR_CHARACTERISATION, (0, PERMUTATION, draw, 0))
    num_rows = len(layout.order)
    words = np.asarray(bits.random_raw((num_rows + 1) // 2)).view(np.uint32)[:num_rows]
    return np.asarray(drawn_rows(words, layout.starts, layout.sizes, layout.errors))


@numba.njit(cache=True)
def _reached(counts: NDArray[np.int32], errors: IntArray, expected: FloatArray, scale: FloatArray) -> IntArray:
    """Of slices in falling order of T. Equal counts have equal T, to the last bit."""
    hits = np.zeros(errors.size, dtype=np.int64)
    largest = np.full(counts.shape[1], -np.inf)
    for place in range(errors.size - 1, -1, -1):
        value = (errors[place] - expected[place]) / scale[place]
        for draw in range(counts.shape[1]):
            largest[draw] = max(largest[draw], (counts[place, draw] - expected[place]) / scale[place])
            hits[place] += largest[draw] >= value
    return hits


def adjusted(hits: IntArray, value: FloatArray, num_draws: int) -> FloatArray:
    """Adjusted p-values of the counts of all draws, as above; NaN where there is no T.

    >>> adjusted(np.array([0, 4, 1]), np.array([3.0, 1.0, 2.0]), 9)
    array([0.1, 0.5, 0.2])
    """
    order = falling(value)
    p_values = np.full(len(value), np.nan)
    p_values[order] = np.maximum.accumulate((1 + hits[order]) / (1 + num_draws))
    return p_values
