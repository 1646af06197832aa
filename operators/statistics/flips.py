"""Tests by the signs of units: two things on the same units, and many slices of units at once.

d_k is what unit k says for the first thing less what it says for the second. Where the two are interchangeable within
each unit, d_k and -d_k are as likely, and p = P(|sum_k e_k d_k| >= |sum_k d_k|) over signs e_k = +-1. With units of one
item and d_k in {-1, 0, 1} it is McNemar's exact test (1947); with clusters its sizes are 1 to 6 % where those of
Eliasziw and Donner 1991 and of McNemar over items are 6 to 11 % and 32 to 39 % (``benchmarks.calibration``).

No p-value lies below 2^(1 - K) with K units that differ, and below six of these none is given: it could not be 0.05.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.units import TooFew, Units

VERSION = "flips/1"

MIN_UNITS = 6
"""That must differ, for a p-value of 0.05 to be possible: 2^(1 - 6) = 0.03."""

_MOST_ENUMERATED = 12
_NUM_DRAWN = 9_999
_MOST_DRAWN = 4_096
"""Units up to which signs are drawn, where their sums are no whole numbers; with more, the sum is normal."""

_DIRECT = 100_000_000
"""Products up to which a convolution is done as it is written: by FFT, chances below 1e-16 are rounding."""

_AT_ONCE = 256
_ROUNDING = 1e-9


def flip_p(sums: NDArray[np.generic]) -> float:
    """The two-sided p-value of sums by unit, as above: exact for whole numbers and for up to 12 units.

    Args:
        sums: ``[units]``, d_k. Numbers that are not whole are given 9,999 draws of signs, p = (b + 1) / (9,999 + 1),
            and of more than 4,096 units the normal tail of sum d / sqrt(sum d^2), the limit of both.

    Returns:
        1 where no unit differs.

    >>> flip_p(np.ones(6)), flip_p(np.array([2, 2])), flip_p(np.array([4, 2, -1])), flip_p(np.zeros(4))
    (0.03125, 0.5, 0.5, 1.0)
    """
    differing = np.asarray(sums, dtype=np.float64)
    differing = differing[np.abs(differing) > _ROUNDING * max(1.0, float(np.abs(differing).max(initial=0.0)))]
    if not differing.size or abs(differing.sum()) <= _ROUNDING:
        return 1.0
    floor = 2.0 ** (1 - differing.size)
    whole = np.rint(differing)
    if np.abs(differing - whole).max() < _ROUNDING:
        return max(_whole_p(whole.astype(np.int64)), floor)
    return max(_drawn_p(differing), floor)


def flips(values: NDArray[np.generic], units: Units) -> tuple[float, TooFew | None]:
    """:func:`flip_p` of differences by item, first less second; NaN and why where fewer than six units differ.

    >>> from tiltmeter.operators.statistics.units import each
    >>> flips(np.array([1, 1, 1, 1, 1, 1, 0]), each(7, "text"))
    (0.03125, None)
    """
    sums = units.sums(values)
    differing = int(np.count_nonzero(np.abs(sums) > _ROUNDING))
    if differing < MIN_UNITS:
        return float("nan"), TooFew(differing, MIN_UNITS, f"{units.kind} that differs")
    return flip_p(sums), None


def mcnemar(first_alone: BoolArray, second_alone: BoolArray, units: Units) -> tuple[float, TooFew | None]:
    """:func:`flips` of two things that each item says yes or no of, ``[items]`` of which one alone says yes."""
    return flips(first_alone.astype(np.int64) - second_alone.astype(np.int64), units)


class MaxT(NamedTuple):
    """Of each test, ``[tests]``.

    Attributes:
        statistic: T; NaN without a test.
        p_values: adjusted for all tests; NaN without one.
        num_units: units that say something of it.
    """

    statistic: FloatArray
    p_values: FloatArray
    num_units: IntArray


def flip_max_t(
    scores: NDArray[np.floating], *, num_draws: int, seed: int, about: int, min_units: int, sides: Literal[1, 2] = 1
) -> MaxT:
    """Many tests of the same units at once: step-down max-T (Westfall and Young 1993, algorithm 4.1) over signs.

    T_j = sum_k U_kj / sqrt(sum_k U_kj^2). A draw gives every unit one sign for all tests, and leaves the denominator
    as it is (Hemerik, Goeman and Finos 2020, *Robust testing in generalized linear models by sign flipping score
    contributions*). p = (b + 1) / (draws + 1), by which the probability of any false rejection is at most alpha.

    Args:
        scores: ``[units, tests]``, U.
        num_draws: how many; 999 or more.
        seed, about: key of the draws.
        min_units: that must say something (U != 0) of a test for there to be one.
        sides: 1 for large T alone, 2 for |T|.

    >>> strong = np.tile([[1.0, 0.0], [1.0, 1.0]], (6, 1))
    >>> flip_max_t(strong, num_draws=999, seed=0, about=0, min_units=8).p_values < 0.01
    array([ True, False])
    """
    signal = np.asarray(scores, dtype=np.float64)
    num_units = np.count_nonzero(signal, axis=0)
    scale = np.sqrt(np.square(signal).sum(axis=0))
    tested = (num_units >= min_units) & (scale > 0.0)
    statistic = np.full(scale.shape, np.nan)
    statistic[tested] = signal[:, tested].sum(axis=0) / scale[tested]
    sized = np.abs(statistic) if sides == 2 else statistic
    order = np.argsort(-sized, kind="stable")[: int(tested.sum())]
    hits = np.zeros(order.size, dtype=np.int64)
    standardised = signal[:, order] / scale[order]
    for signs in _signs(len(signal), seed, about, num_draws):
        drawn = signs @ standardised
        largest = np.maximum.accumulate((np.abs(drawn) if sides == 2 else drawn)[:, ::-1], axis=1)[:, ::-1]
        hits += (largest >= sized[order] - _ROUNDING).sum(axis=0)
    p_values = np.full(scale.shape, np.nan)
    p_values[order] = np.maximum.accumulate((1 + hits) / (1 + num_draws))
    return MaxT(statistic, p_values, num_units)


def _signs(num_units: int, seed: int, about: int, num_draws: int) -> Iterator[FloatArray]:
    """Blocks of ``[draws, units]``."""
    generator = keyed_generator(seed, Stream.SIGN_FLIP, about)
    for start in range(0, num_draws, _AT_ONCE):
        bits = generator.integers(0, 2, (min(_AT_ONCE, num_draws - start), num_units), dtype=np.int8)
        yield np.asarray(2.0 * bits - 1.0)


def _whole_p(sums: IntArray) -> float:
    from scipy.special import bdtr

    unit = int(np.gcd.reduce(sums))
    sizes, counts = np.unique(np.abs(sums) // unit, return_counts=True)
    observed = abs(int(sums.sum())) // unit
    if sizes.size == 1:
        num, size = int(counts[0]), int(sizes[0])
        return min(1.0, 2.0 * float(bdtr((num - observed // size) // 2, num, 0.5)))
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        chances = _convolved(chances, _binomial_steps(size, count))
    reach = (chances.size - 1) // 2
    return min(1.0, 2.0 * float(chances[reach + observed :].sum()))


def _binomial_steps(size: int, count: int) -> FloatArray:
    """Chances of every sum of so many signs of one size, from the smallest to the largest."""
    from scipy.stats import binom

    part = np.zeros(2 * size * count + 1)
    part[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
    return part


def _convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    from scipy.signal import fftconvolve

    if first.size * second.size <= _DIRECT:
        return np.convolve(first, second)
    return np.asarray(np.maximum(fftconvolve(first, second), 0.0))


def _drawn_p(sums: FloatArray) -> float:
    from scipy.special import ndtr

    num, observed = sums.size, abs(float(sums.sum()))
    reached = observed - _ROUNDING * float(np.abs(sums).sum())
    if num <= _MOST_ENUMERATED:
        signs = 1.0 - 2.0 * (np.arange(2 ** (num - 1))[:, np.newaxis] >> np.arange(num) & 1)
        return float((np.abs(signs @ sums) >= reached).mean())
    if num > _MOST_DRAWN:
        return float(2.0 * ndtr(-observed / np.sqrt(np.square(sums).sum())))
    drawn = (np.abs(signs @ sums) >= reached for signs in _signs(num, 0, num, _NUM_DRAWN))
    return (sum(int(block.sum()) for block in drawn) + 1) / (_NUM_DRAWN + 1)
