"""Tests by the signs of units: two things on the same units.

d_k is what unit k says for the first thing less what it says for the second. Where the two are interchangeable within
each unit, d_k and -d_k are as likely, and p = P(|sum_k e_k d_k| >= |sum_k d_k|) over signs e_k = +-1. With units of one
item and d_k in {-1, 0, 1} it is McNemar's exact test (1947); with clusters its sizes are 1 to 6 % where those of
Eliasziw and Donner 1991 and of McNemar over items are 6 to 11 % and 32 to 39 % (``benchmarks.calibration``).

No p-value lies below 2^(1 - K) with K units that differ, and below six of these none is given: it could not be 0.05.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
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


def flip_p(sums: NDArray[np.generic], *, mid: bool = False) -> float:
    """The two-sided p-value of sums by unit, as above: exact for whole numbers and for up to 12 units.

    Args:
        sums: ``[units]``, d_k. Numbers that are not whole are given 9,999 draws of signs, p = (b + 1) / (9,999 + 1),
            and of more than 4,096 units the normal tail of sum d / sqrt(sum d^2), the limit of both.
        mid: whether of whole numbers what is as far out as the data counts half, P(>) + P(=) / 2: Lancaster's mid-p
            (1961, *Significance tests in discrete distributions*), whose size is near its level and may exceed it.

    Returns:
        1 where no unit differs.

    >>> flip_p(np.ones(6)), flip_p(np.array([2, 2])), flip_p(np.array([4, 2, -1])), flip_p(np.zeros(4))
    (0.03125, 0.5, 0.5, 1.0)
    """
    differing = np.asarray(sums, dtype=np.float64)
    differing = differing[np.abs(differing) > _ROUNDING * max(1.0, float(np.abs(differing).max(initial=0.0)))]
    if not differing.size or (abs(differing.sum()) <= _ROUNDING and not mid):
        return 1.0
    floor = 2.0 ** (1 - differing.size)
    whole = np.rint(differing)
    if np.abs(differing - whole).max() < _ROUNDING:
        reached, exceeded = _whole_tails(whole.astype(np.int64))
        return max((reached + exceeded) / 2.0, floor / 2.0) if mid else max(reached, floor)
    return max(_drawn_p(differing), floor)


def flips(values: NDArray[np.generic], units: Units, *, mid: bool = False) -> tuple[float, TooFew | None]:
    """:func:`flip_p` of differences by item, first less second; NaN and why where fewer than six units differ.

    >>> from tiltmeter.operators.statistics.units import each
    >>> flips(np.array([1, 1, 1, 1, 1, 1, 0]), each(7, "text"))
    (0.03125, None)
    """
    sums = units.sums(values)
    differing = int(np.count_nonzero(np.abs(sums) > _ROUNDING))
    if differing < MIN_UNITS:
        return float("nan"), TooFew(differing, MIN_UNITS, f"{units.kind} that differs")
    return flip_p(sums, mid=mid), None


def flips_max_t(values: NDArray[np.floating], units: Units) -> FloatArray:
    """p-values of several series of differences on the same items, corrected for their number: step-down max-T.

    With T_j = |sum_k d_jk| / sqrt(sum_k d_jk^2) and one set of signs for all series, series in falling order of T,

        p_(j) = max_{i <= j} P(max_{l >= i} T_(l) of drawn signs >= T_(i))

    (Westfall and Young 1993, *Resampling-based multiple testing*, algorithm 4.1). Null of each: d and -d are as likely.
    Of more than 4,096 units, those whose numbers are alike modulo 4,096 flip together.

    Args:
        values: ``[series, items]``; NaN, where an item has none, counts as no difference.
        units: of the items.

    Returns:
        ``[series]``; NaN where fewer than six units differ.

    >>> from tiltmeter.operators.statistics.units import each
    >>> flips_max_t(np.array([[1.0] * 6, [1.0, -1.0] * 3, [0.0] * 6]), each(6, "text"))
    array([0.0625, 1.    ,    nan])
    """
    num = min(units.num, _MOST_DRAWN)
    grouped = Units(units.codes % _MOST_DRAWN, num, units.kind)
    sums = grouped.sums(np.nan_to_num(np.asarray(values, dtype=np.float64)))
    differs = np.abs(sums) > _ROUNDING * np.maximum(1e-300, np.abs(sums).max(axis=1, keepdims=True))
    p_values = np.full(len(sums), np.nan)
    tested = np.flatnonzero(differs.sum(axis=1) >= MIN_UNITS)
    scaled = sums[tested] / np.sqrt(np.square(sums[tested]).sum(axis=1, keepdims=True))
    order = np.argsort(-np.abs(scaled.sum(axis=1)), kind="stable")
    scaled = scaled[order]
    reached = np.abs(scaled.sum(axis=1)) - _ROUNDING
    exact = num <= _MOST_ENUMERATED
    blocks = [_all_signs(num)] if exact else _signs(num, 0, num, _NUM_DRAWN)
    hits = np.zeros(len(scaled))
    for signs in blocks:
        drawn = np.abs(signs @ scaled.T)
        hits += (np.maximum.accumulate(drawn[:, ::-1], axis=1)[:, ::-1] >= reached).sum(axis=0)
    results = hits / 2.0 ** (num - 1) if exact else (hits + 1.0) / (_NUM_DRAWN + 1.0)
    p_values[tested[order]] = np.maximum.accumulate(results)
    return p_values


def _all_signs(num_units: int) -> FloatArray:
    """One of each two that differ in all signs."""
    return np.asarray(1.0 - 2.0 * (np.arange(2 ** (num_units - 1))[:, np.newaxis] >> np.arange(num_units) & 1))


def _signs(num_units: int, seed: int, about: int, num_draws: int) -> Iterator[FloatArray]:
    """Blocks of ``[draws, units]``."""
    generator = keyed_generator(seed, Stream.SIGN_FLIP, about)
    for start in range(0, num_draws, _AT_ONCE):
        bits = generator.integers(0, 2, (min(_AT_ONCE, num_draws - start), num_units), dtype=np.int8)
        yield np.asarray(2.0 * bits - 1.0)


def _whole_tails(sums: IntArray) -> tuple[float, float]:
    """P of a sum as far from 0 as the observed one, and of one that is farther."""
    from scipy.special import bdtr

    unit = int(np.gcd.reduce(sums))
    sizes, counts = np.unique(np.abs(sums) // unit, return_counts=True)
    observed = abs(int(sums.sum())) // unit
    if sizes.size == 1:
        num = int(counts[0])
        reached, exceeded = (
            min(1.0, 2.0 * float(bdtr((num - least) // 2, num, 0.5))) for least in (observed, observed + 1)
        )
        return reached, exceeded if num > observed else 0.0
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        chances = _convolved(chances, _binomial_steps(size, count))
    reach = (chances.size - 1) // 2
    reached, exceeded = (min(1.0, 2.0 * float(chances[reach + least :].sum())) for least in (observed, observed + 1))
    return reached, exceeded


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
        return float((np.abs(_all_signs(num) @ sums) >= reached).mean())
    if num > _MOST_DRAWN:
        return float(2.0 * ndtr(-observed / np.sqrt(np.square(sums).sum())))
    drawn = (np.abs(signs @ sums) >= reached for signs in _signs(num, 0, num, _NUM_DRAWN))
    return (sum(int(block.sum()) for block in drawn) + 1) / (_NUM_DRAWN + 1)
