"""The difference of a number between two bodies of data that may share some of what they are drawn from.

Let a number be b in one and a in the other, and b*_r and a*_r in their bootstrap draws (Efron 1979). If both draw what
they share alike, as draws keyed by document and line do, then the spread of

    d*_r = a*_r - b*_r

is that of what they do *not* share (and of training, as far as it does not start alike): what is common to b and a
moves both by the same. With the mean m and the standard deviation s of R finite d*_r, and the difference d = a - b,

    averaged   m -+ t_{R-1}(1 - alpha) s sqrt(1 + 1/R), extended to d      of replicas that are trained again
    centred    d -+ t_{R-1}(1 - alpha) s                                   of resamples of texts

as :mod:`.intervals` has them for a single number, and for the same reasons: replicas are few, so that their mean has a
noise of its own, and it averages out that of training. Resamples are many, but the texts that differ may be few: if k
of them differ alike, resamples have each of them a Poisson number of times, and their skewness is 1 / sqrt(k). So t has
1 / skewness^2 - 1 degrees of freedom there, as of k numbers; at least 1, and at most R - 1. Draws that are not shared
are independent: then s^2 is the sum of both variances, and t has the degrees of freedom of Welch 1947. The p-value is
the smallest alpha whose interval leaves out 0.

Nor do resamples of n texts know how few n are: if all of them change alike, they do so in every resample. So t has at
most n - 1 degrees of freedom, and p is at least what an exact test of so few can have, whatever they show (Fisher 1935,
*The Design of Experiments*): of pairs, that all n signs are alike, or of n and m texts that are not shared, that all of
one side lie above all of the other,

    p >= 2^(1 - n)                       p >= 2 / (n + m choose n)

That asks whether texts of this kind have another number. Whether *these very texts* have one, whatever others would, is
a smaller question: the mean over draws of a has to differ from that of b, by the t-test of pairs (Student 1908),

    t_{R-1} = m / (s / sqrt(R))

It needs draws whose noise has nothing in common but what both sides share: of embeddings, that both take their words in
one order (``embedding.keyed_by=word``), as all replicas of a run do.

How far must two numbers lie apart for that? If the true difference is delta and the draws of differences have the
standard deviation sigma, the middle in units of its standard error has Student's noncentral t distribution with the
noncentrality nu = delta / (sigma sqrt(f)), f = 1 + 1/R or 1 as above (Johnson and Welch 1940, *Applications of the
non-central t-distribution*). So a difference is found with the chance ``power`` where

    F_df(t_df(1 - alpha/2); nu) = 1 - power         that is       delta = nu sigma sqrt(f)

but for intervals that lie on the wrong side of 0, and for what extending them to d adds. For many draws nu is
z(1 - alpha/2) + z(power): 2.80 at 95 % and 80 %. Of unpaired draws that spread alike, sigma is sqrt(2) times that of
one side, on 2 (R - 1) degrees of freedom; Welch counts fewer where the two spreads happen to differ, so that of 4 draws
on each side 76 % are found instead of 80, of 8 draws 78.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import check_level

VERSION = "differences/3"

Centre = Literal["averaged", "centred"]

_MIN_DRAWS = 2

DEFAULT_POWER = 0.8
"""Chance that a difference is found."""


class Difference(NamedTuple):
    """Attributes:
    low, high: of the interval of the difference, in the unit of the number; NaN where fewer than 2 draws are finite.
    p: two-sided, of the hypothesis that only chance parts the two.
    num: draws that it rests on; of unpaired ones, of the side that has fewer.
    """

    low: FloatArray
    high: FloatArray
    p: FloatArray
    num: NDArray[np.int64]


class _Moments(NamedTuple):
    mean: FloatArray
    variance: FloatArray
    num: NDArray[np.int64]


def paired_difference(
    difference: NDArray[np.floating] | float,
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    level: float = 0.95,
    centre: Centre = "averaged",
    num_items: NDArray[np.floating] | float = math.inf,
) -> Difference:
    """Of numbers whose draws are shared, draw by draw.

    Args:
        difference: ``[...]``, after less before, of the data themselves.
        before, after: ``[..., draws]``; NaN and infinite values are left out with their partner.
        level: nominal coverage, strictly between 0 and 1.
        centre: around what the interval lies.
        num_items: ``[...]``, at least 1, texts or other items whose resamples the draws are; infinite of replicas, or
            where nobody knows.

    Returns:
        ``p`` is 1 where nothing differs in any draw, and the least that so many items can have where all draws differ
        by one number that is not 0.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> one = paired_difference(1.0, np.array([1.0, 5.0, 9.0]), np.array([2.0, 6.0, 10.5]))
    >>> [round(float(value), 3) for value in one]
    [-0.268, 2.601, 0.073, 3.0]
    """
    moments = _paired_moments(before, after)
    df = np.asarray(moments.num - 1.0, dtype=np.float64)
    if centre == "centred":
        num_alike = np.minimum(_num_alike(_draws(before, after), moments), num_items)
        df = np.clip(num_alike - 1.0, 1.0, np.maximum(df, 1.0))
    return _judged(difference, moments.mean, moments.variance, df, moments.num, level, centre, _least_p(num_items))


def paired_means(
    difference: NDArray[np.floating] | float, before: NDArray[np.floating], after: NDArray[np.floating]
) -> FloatArray:
    """Two-sided p of the hypothesis that the means over all possible draws of these very data are equal.

    Args:
        difference, before, after: as for :func:`paired_difference`.

    Returns:
        ``[...]``; 1 where the mean lies on the other side of 0 than the difference itself, or where nothing differs,
        NaN of fewer than 2 draws.

    >>> round(float(paired_means(1.0, np.array([1.0, 5.0, 9.0]), np.array([2.0, 6.0, 10.5]))), 3)
    0.02
    """
    mean, variance, num = _paired_moments(before, after)
    error = np.sqrt(variance / np.maximum(num, 1))
    return _p_value(difference, mean, error, np.asarray(num - 1.0, dtype=np.float64), num)


def unpaired_difference(
    difference: NDArray[np.floating] | float,
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    level: float = 0.95,
    centre: Centre = "averaged",
    num_items: Sequence[NDArray[np.floating] | float] = (math.inf, math.inf),
) -> Difference:
    """The same of numbers whose draws have nothing to do with each other.

    Args:
        difference: as for :func:`paired_difference`.
        before, after: ``[..., draws]``, of which each side has as many as it likes.
        level, centre: as there.
        num_items: of either side, as there.

    >>> one = unpaired_difference(1.0, np.array([1.0, 5.0, 9.0]), np.array([2.0, 6.0, 10.5]))
    >>> [round(float(value), 2) for value in one]
    [-17.58, 19.91, 0.87, 3.0]
    """
    one, other = (_moments(np.asarray(side, dtype=np.float64)) for side in (before, after))
    variance = one.variance + other.variance
    total = np.where(variance > 0.0, variance, 1.0)
    parts = sum(
        (side.variance / total) ** 2 / np.maximum(np.minimum(side.num, items) - 1.0, 1.0)
        for side, items in zip((one, other), num_items, strict=True)
    )
    df = np.where(variance > 0.0, 1.0 / np.where(parts > 0.0, parts, 1.0), 1.0)
    num = np.minimum(one.num, other.num)
    return _judged(difference, other.mean - one.mean, variance, df, num, level, centre, _least_p_apart(*num_items))


def noncentrality(df: float, level: float = 0.95, power: float = DEFAULT_POWER) -> float:
    """How many standard errors a difference must have to be found with the chance ``power``.

    Args:
        df: degrees of freedom of the standard error, at least 1.
        level: of the interval, strictly between 0 and 1.
        power: strictly between (1 - level) / 2 and 1.

    Raises:
        ValueError: for a level or a power outside.

    >>> round(noncentrality(31), 3), round(noncentrality(1e6), 3)
    (2.892, 2.802)
    """
    from scipy.special import nctdtrinc, stdtrit

    check_level(level)
    if not (1.0 - level) / 2.0 < power < 1.0:
        raise ValueError(f"power={power}: must lie strictly between {(1.0 - level) / 2.0:g} and 1, for example 0.8")
    return float(nctdtrinc(df, 1.0 - power, stdtrit(df, (1.0 + level) / 2.0)))


def smallest_paired(
    sd: float,
    num: int,
    level: float = 0.95,
    power: float = DEFAULT_POWER,
    centre: Centre = "averaged",
    num_items: float = math.inf,
) -> float:
    """Of numbers whose draws are shared, draw by draw.

    Args:
        sd: standard deviation of the draws of the difference.
        num: draws that both sides have.
        level: of the interval of the difference.
        power: chance that it is found.
        centre: around what the interval lies.
        num_items: whose resamples the draws are; infinite of replicas, or where nobody knows.

    Returns:
        In the unit of ``sd``; infinite where so few items tell no difference from 0, NaN for fewer than 2 draws.

    >>> round(smallest_paired(1.0, 32), 3), round(smallest_paired(1.0, 8), 3)
    (2.937, 3.468)
    >>> [round(smallest_paired(1.0, 200, centre="centred", num_items=num), 3) for num in (5, 6, 400)]
    [inf, 3.514, 2.815]
    """
    df = min(num, num_items) - 1.0
    return _smallest(sd, num, df, level, power, centre, _least_p(num_items))


def smallest_unpaired(
    sd: float,
    num: int,
    level: float = 0.95,
    power: float = DEFAULT_POWER,
    centre: Centre = "averaged",
    num_items: float = math.inf,
) -> float:
    """Of numbers whose draws have nothing to do with each other.

    Args:
        sd: standard deviation of the draws of one side; the other is taken to be alike.
        num, level, power, centre, num_items: as for :func:`smallest_paired`; draws and items of each side.

    >>> round(smallest_unpaired(1.0, 32), 3)
    4.087
    """
    df = 2.0 * (min(num, num_items) - 1.0)
    return _smallest(math.sqrt(2.0) * sd, num, df, level, power, centre, _least_p_apart(num_items, num_items))


def _smallest(sd: float, num: int, df: float, level: float, power: float, centre: Centre, least_p: FloatArray) -> float:
    if num < _MIN_DRAWS:
        return math.nan
    if least_p > 1.0 - level:
        return math.inf
    factor = 1.0 + 1.0 / num if centre == "averaged" else 1.0
    return noncentrality(df, level, power) * sd * math.sqrt(factor)


def _judged(
    difference: NDArray[np.floating] | float,
    mean: FloatArray,
    variance: FloatArray,
    df: FloatArray,
    num: NDArray[np.int64],
    level: float,
    centre: Centre,
    least_p: FloatArray,
) -> Difference:
    from scipy.special import stdtrit

    check_level(level)
    estimate = np.asarray(difference, dtype=np.float64)
    middle, factor = (mean, 1.0 + 1.0 / np.maximum(num, 1)) if centre == "averaged" else (estimate, 1.0)
    error = np.sqrt(variance * factor)
    reach = stdtrit(df, (1.0 + level) / 2.0) * error
    p = np.maximum(_p_value(estimate, middle, error, df, num), least_p)
    low, high = np.minimum(middle - reach, estimate), np.maximum(middle + reach, estimate)
    is_too_few = least_p > 1.0 - level
    low, high = np.where(is_too_few, np.minimum(low, 0.0), low), np.where(is_too_few, np.maximum(high, 0.0), high)
    low, high = (np.where(np.isnan(p), np.nan, value) for value in (low, high))
    return Difference(low, high, p, num)


def _p_value(
    difference: NDArray[np.floating] | float,
    middle: FloatArray,
    error: FloatArray,
    df: FloatArray,
    num: NDArray[np.int64],
) -> FloatArray:
    from scipy.special import stdtr

    estimate = np.asarray(difference, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(middle == 0.0, 0.0, np.abs(middle) / error)
    # An interval that is extended to the other side of 0 holds it at every level.
    p = np.where(np.sign(middle) * np.sign(estimate) > 0.0, 2.0 * stdtr(df, -t), 1.0)
    return np.where((num < _MIN_DRAWS) | ~np.isfinite(estimate), np.nan, p)


def _least_p(num_items: NDArray[np.floating] | float) -> FloatArray:
    """Of so many pairs."""
    return np.asarray(np.exp2(1.0 - np.maximum(num_items, 1.0)))


def _least_p_apart(first: NDArray[np.floating] | float, second: NDArray[np.floating] | float) -> FloatArray:
    """Of so many items on each of two sides that share none."""
    from scipy.special import binom

    is_known = np.isfinite(first) & np.isfinite(second)
    known = [np.where(is_known, np.maximum(num, 1.0), 1.0) for num in (first, second)]
    return np.asarray(np.where(is_known, 2.0 / binom(sum(known), known[0]), 0.0))


def _draws(before: NDArray[np.floating], after: NDArray[np.floating]) -> FloatArray:
    with np.errstate(invalid="ignore"):  # infinity less itself is no number
        return np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)


def _num_alike(draws: FloatArray, moments: _Moments) -> FloatArray:
    """How many texts differ, if they differ alike, by the skewness of resamples; infinite without any.

    The standard error of a skewness that is 0, sqrt(6 / R), is taken off: chance makes no few texts out of many.
    """
    num = np.maximum(moments.num, 1)
    deviations = np.where(np.isfinite(draws), draws - moments.mean[..., np.newaxis], 0.0)
    deviations /= np.where(moments.variance > 0.0, np.sqrt(moments.variance * (num - 1) / num), np.inf)[..., np.newaxis]
    skewness = np.abs((deviations**3).sum(axis=-1) / num)
    surely = np.maximum(skewness - np.sqrt(6.0 / num), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / surely**2, dtype=np.float64)


def _paired_moments(before: NDArray[np.floating], after: NDArray[np.floating]) -> _Moments:
    draws = _draws(before, after)
    mean, variance, num = _moments(draws)
    # The rounding of a mean is no variance.
    return _Moments(mean, np.where(_range(draws) == 0.0, 0.0, variance), num)


def _moments(draws: FloatArray) -> _Moments:
    finite = np.isfinite(draws)
    num = np.asarray(finite.sum(axis=-1, dtype=np.int64))
    mean = np.where(finite, draws, 0.0).sum(axis=-1) / np.maximum(num, 1)
    squares = (np.where(finite, draws - mean[..., np.newaxis], 0.0) ** 2).sum(axis=-1)
    return _Moments(mean, squares / np.maximum(num - 1.0, 1.0), num)


def _range(draws: FloatArray) -> FloatArray:
    finite = np.isfinite(draws)
    highest = np.max(draws, axis=-1, initial=-np.inf, where=finite)
    lowest = np.min(draws, axis=-1, initial=np.inf, where=finite)
    return np.asarray(highest - lowest)
