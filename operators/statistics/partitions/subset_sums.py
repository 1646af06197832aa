"""How many subsets of one size have a sum of at most a limit, for whole numbers.

The numbers are split into two halves, a table of each half's subset sums is made, and pairs that stay within the limit
are counted (Horowitz and Sahni 1974, *Computing partitions with applications to the knapsack problem*). :func:`count`
keeps every sum, which takes about 2^(n/2) places. :func:`bounds` keeps how often each sum occurs after rounding the
numbers to a grid, which takes as many places as one gives it; what rounding can have moved bounds the count.

Sums and limits are int64, so comparing them loses nothing.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import IntArray

_EPSILON = float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """A count lies in low..high."""

    low: int
    high: int


class _Table(NamedTuple):
    """How many subsets of one half have which size and sum.

    Attributes:
        counts: int64 or float64; those of size j lie from ``starts[j]`` to ``starts[j + 1]``, one for each whole number
            from the smallest sum on.
        starts: ``[sizes + 1]``.
        smallest: ``[sizes]`` the smallest sum of each size.
    """

    counts: NDArray[Any]
    starts: IntArray
    smallest: IntArray


def num_sums(num_values: int, size: int) -> int:
    """How many sums :func:`count` keeps, 8 bytes each.

    >>> num_sums(40, 20)
    2097152
    """
    halves = num_values // 2, num_values - num_values // 2
    return sum(math.comb(half, taken) for half in halves for taken in range(min(half, size) + 1))


def count(values: IntArray, size: int, limit: int) -> int:
    """The number of subsets of ``size`` values with a sum of at most ``limit``.

    Args:
        values: ``[values]`` in rising order, 0 or more, with a sum below 2^62.
        size: how many values a subset takes, 0..values.
        limit: the largest sum that counts.

    Of 1, 2, 3, 5 the pairs 1 + 2, 1 + 3 and 2 + 3 stay within 5:

    >>> count(np.array([1, 2, 3, 5]), 2, 5)
    3
    """
    lower, upper = (_sorted_sums(half, size) for half in _halves(values))
    return int(_count_sums(*lower, *upper, size, limit))


def num_counts(values: IntArray, size: int, limit: int) -> float:
    """How many counts :func:`bounds` keeps with step 1, 8 bytes each; with step h about a share 1/h of them.

    >>> num_counts(np.array([1, 2, 3, 5]), 2, 5)
    9.0
    """
    excess = limit - int(values[:size].sum())
    return sum(float(_lengths(half, size, excess).sum(dtype=np.float64)) for half in _halves(values))


def bounds(values: IntArray, observed: IntArray, limit: int, step: int) -> Bounds:
    """Bounds of the number of subsets as large as the observed one with a sum of at most ``limit``.

    The values v_i are rounded to multiples r_i of a step h. A subset S has the sum h R_S + E_S, with R_S = sum r_i and
    E_S = sum (v_i - h r_i). E_S lies between the sums E_min and E_max of as many of the smallest and the largest
    residuals, so S surely counts if h R_S <= limit - E_max, or if it is the observed subset, and can count only if
    h R_S <= limit - E_min. With step 1 all residuals are 0 and both bounds are the count.

    Subsets are counted in int64, or in float64 where there are 2^63 or more. A float count is a sum of positive terms
    none of which goes through more than d additions and products, so it is off by less than a share d eps. The bounds
    are widened by that share, then, as the count is a whole number, rounded towards it.

    Args:
        values: ``[values]`` in rising order, 0 or more, with a sum below 2^62; at most 1000 of them.
        observed: those of one subset, which is known to count if its sum does not exceed the limit.
        limit: the largest sum that counts.
        step: h, at least 1.

    >>> values, observed = np.array([10, 21, 34, 57]), np.array([10, 34])
    >>> bounds(values, observed, 44, step=1), bounds(values, observed, 44, step=20)
    (Bounds(low=2, high=2), Bounds(low=2, high=3))
    """
    size, total = observed.size, math.comb(values.size, observed.size)
    whole = total < 2**63
    rounded = _rounded(values, step)
    residuals = np.sort(values - step * rounded)
    surely = (limit - int(residuals[values.size - size :].sum())) // step
    possibly = (limit - int(residuals[:size].sum())) // step
    excess = possibly - int(rounded[:size].sum())
    lower, upper = (_sum_counts(half, size, excess, np.int64 if whole else np.float64) for half in _halves(rounded))
    _accumulate(upper.counts, upper.starts)
    low, high = (_count_rounded(*lower, *upper, size, most) for most in (surely, possibly))
    if not whole:
        share = (values.size + lower.counts.size + upper.counts.size) * _EPSILON
        low, high = math.ceil(low * (1.0 - share)), min(math.floor(high * (1.0 + share)), total)
    undecided = int(observed.sum()) <= limit and int(_rounded(observed, step).sum()) > surely
    return Bounds(int(low) + undecided, int(high))


def _rounded(values: IntArray, step: int) -> IntArray:
    return (values + step // 2) // step


def _halves(values: IntArray) -> tuple[IntArray, IntArray]:
    # With neighbours in one half, the sums of either half range as little as can be.
    return values[: values.size // 2], values[values.size // 2 :]


def _smallest(values: IntArray, size: int) -> IntArray:
    """The smallest sums of 0, 1, ..., ``size`` values."""
    return np.concatenate([[0], np.cumsum(values[:size])])


def _lengths(values: IntArray, size: int, excess: int) -> IntArray:
    """How many sums there are of 0, 1, ..., ``size`` values that exceed the smallest by no more than ``excess``."""
    largest = np.concatenate([[0], np.cumsum(values[::-1][:size])])
    return np.minimum(largest - _smallest(values, size), excess) + 1


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)])


def _sorted_sums(values: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """All sums of 0, 1, ..., ``size`` values, each row in rising order, and where the rows start."""
    starts = _starts(np.array([math.comb(values.size, taken) for taken in range(min(values.size, size) + 1)]))
    sums = np.zeros(starts[-1], dtype=np.int64)
    _merge_sums(sums, starts, values)
    return sums, starts


def _sum_counts(values: IntArray, size: int, excess: int, dtype: type[np.int64] | type[np.float64]) -> _Table:
    starts = _starts(_lengths(values, size, excess))
    counts = np.zeros(starts[-1], dtype=dtype)
    _add_counts(counts, starts, values)
    return _Table(counts, starts, _smallest(values, size))


@numba.njit(cache=True)
def _merge_sums(sums: IntArray, starts: IntArray, values: IntArray) -> None:
    """With each value, row j is merged with row j - 1 plus the value: in place, from the back."""
    num_rows = starts.size - 1
    filled = np.zeros(num_rows, dtype=np.int64)
    filled[0] = 1
    for num_before, value in enumerate(values):
        for row in range(min(num_before + 1, num_rows - 1), 0, -1):
            target, source = sums[starts[row] : starts[row + 1]], sums[starts[row - 1] : starts[row]]
            without, added = filled[row] - 1, filled[row - 1] - 1
            filled[row] += filled[row - 1]
            for place in range(filled[row] - 1, -1, -1):
                if added < 0:
                    break
                if without >= 0 and target[without] > source[added] + value:
                    target[place] = target[without]
                    without -= 1
                else:
                    target[place] = source[added] + value
                    added -= 1


@numba.njit(cache=True)
def _count_sums(
    lower: IntArray, lower_starts: IntArray, upper: IntArray, upper_starts: IntArray, size: int, limit: int
) -> int:
    hits = 0
    for taken in range(max(0, size - upper_starts.size + 2), min(size, lower_starts.size - 2) + 1):
        row = upper[upper_starts[size - taken] : upper_starts[size - taken + 1]]
        within = row.size
        # As the lower sum rises, fewer and fewer of the upper ones stay within the limit.
        for place in range(lower_starts[taken], lower_starts[taken + 1]):
            while within > 0 and lower[place] + row[within - 1] > limit:
                within -= 1
            hits += within
    return hits


@numba.njit(cache=True)
def _add_counts(counts: NDArray[Any], starts: IntArray, values: IntArray) -> None:
    """With each value, row j - 1 is added to row j, shifted by what the value has more than the j-th smallest one."""
    num_rows = starts.size - 1
    filled = np.zeros(num_rows, dtype=np.int64)
    filled[0] = counts[0] = 1
    for num_before, value in enumerate(values):
        for row in range(min(num_before + 1, num_rows - 1), 0, -1):
            shift = value - values[row - 1]
            target = counts[starts[row] + shift : starts[row + 1]]
            source = counts[starts[row - 1] : starts[row - 1] + filled[row - 1]]
            for place in range(min(source.size, target.size)):
                target[place] += source[place]
            filled[row] = max(filled[row], min(shift + source.size, starts[row + 1] - starts[row]))


@numba.njit(cache=True)
def _accumulate(counts: NDArray[Any], starts: IntArray) -> None:
    """Turns how often each sum occurs into how many sums do not exceed it, row by row."""
    for row in range(starts.size - 1):
        for place in range(starts[row] + 1, starts[row + 1]):
            counts[place] += counts[place - 1]


@numba.njit(cache=True)
def _count_rounded(
    counts: NDArray[Any],
    starts: IntArray,
    smallest: IntArray,
    within: NDArray[Any],
    within_starts: IntArray,
    within_smallest: IntArray,
    size: int,
    limit: int,
) -> Any:
    hits = counts[0] * 0
    for taken in range(max(0, size - within_starts.size + 2), min(size, starts.size - 2) + 1):
        row = counts[starts[taken] : starts[taken + 1]]
        others = within[within_starts[size - taken] : within_starts[size - taken + 1]]
        excess = limit - smallest[taken] - within_smallest[size - taken]
        for place in range(min(row.size, excess + 1)):
            hits += row[place] * others[min(excess - place, others.size - 1)]
    return hits
