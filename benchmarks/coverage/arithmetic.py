"""How often intervals of samples hold what they should, and how far samples and replicas spread.

Arrays are ``[samples, quantities]``, NaN where a sample lacks a quantity, and ``[samples, quantities, replicas]``.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.special import stdtrit
from scipy.stats import chi2

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import LINEAR, Interval, Scale, bootstrap_interval

LEVEL = 0.95

_MIN_SAMPLES = 2

Method = Literal["percentile", "reflected", "bias_corrected", "studentised", "averaged", "centred"]
METHODS: tuple[Method, ...] = get_args(Method)


class Share(NamedTuple):
    """A share with the reach of its 95 % interval on either side."""

    value: float
    reach: float


def interval(
    method: Method, estimates: FloatArray, replicas: FloatArray, errors: FloatArray, scale: Scale = LINEAR
) -> Interval:
    """The interval of every estimate by its replicas.

    ``studentised`` takes the quantiles of (replica - estimate) / its standard error (Davison and Hinkley 1997, section
    5.2); the others are the product's.

    Args:
        method: which.
        estimates: ``[samples, quantities]``.
        replicas: ``[samples, quantities, replicas]``.
        errors: ``[samples, quantities, 1 + replicas]`` standard errors, those of the estimates first; NaN where there
            are none.
        scale: that the product's intervals are made on.
    """
    if method != "studentised":
        return bootstrap_interval(estimates, replicas, LEVEL, method, scale)
    pivots = bootstrap_interval(0.0, (replicas - estimates[..., np.newaxis]) / errors[..., 1:], LEVEL, "percentile")
    return Interval(estimates - pivots.high * errors[..., 0], estimates - pivots.low * errors[..., 0], pivots.num)


def widened(interval: Interval, factor: float | FloatArray) -> Interval:
    """An interval so many times as wide, around its middle.

    >>> widened(Interval(np.array(1.0), np.array(4.0), np.array(8)), 2.0)[:2]
    (np.float64(-0.5), np.float64(5.5))
    """
    middle, half = (interval.low + interval.high) / 2.0, (interval.high - interval.low) / 2.0
    return Interval(middle - factor * half, middle + factor * half, interval.num)


def spread_interval(replicas: FloatArray) -> Interval:
    """That of a standard deviation, of replicas that are normal: by the quantiles of chi-square."""
    num = np.isfinite(replicas).sum(axis=-1)
    df = np.where(num > 1, num - 1.0, np.nan)
    spread = standard_deviation(replicas)
    low, high = (spread * np.sqrt(df / chi2.ppf(share, df)) for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    return Interval(low, high, num)


# --- what an interval should hold -----------------------------------------------------------------------------------


def mean_of_others(values: FloatArray) -> FloatArray:
    """Of every sample, the mean over the other samples; NaN where fewer than 2 of them have the quantity.

    >>> mean_of_others(np.array([[1.0], [2.0], [6.0]])).T
    array([[4. , 3.5, 1.5]])
    """
    known = np.isfinite(values)
    num = known.sum(axis=0)
    others = np.nansum(values, axis=0) - values
    return np.asarray(np.where(known & (num > 2), others / np.maximum(num - 1, 1), np.nan))


def noise_of_others(values: FloatArray) -> FloatArray:
    """``[quantities]`` how many times as far a sample lies from the mean of the others as from what all are drawn from.

    The mean of k - 1 others has a noise of its own: sqrt(1 + 1/(k - 1)), on average.

    >>> noise_of_others(np.array([[1.0, 1.0], [2.0, np.nan], [6.0, 3.0]])).round(3)
    array([1.225, 1.414])
    """
    num = np.isfinite(values).sum(axis=0)
    return np.asarray(np.sqrt(1.0 + 1.0 / np.maximum(num - 1, 1)))


def holds_expected_value(interval: Interval, values: FloatArray) -> FloatArray:
    """Whether the interval holds what samples are drawn from: the mean of the others, allowing for its noise."""
    return holds(widened(interval, noise_of_others(values)), mean_of_others(values))


def holds(interval: Interval, target: FloatArray) -> FloatArray:
    """1 where the interval holds the target, 0 where not, NaN where one is missing."""
    known = np.isfinite(interval.low) & np.isfinite(interval.high) & np.isfinite(target)
    inside = (interval.low <= target) & (target <= interval.high)
    return np.where(known, inside.astype(np.float64), np.nan)


def holds_others(interval: Interval, values: FloatArray) -> FloatArray:
    """Of every sample's interval, the share of the other samples' values that it holds.

    >>> ends = Interval(np.array([[0.0], [1.5], [0.0]]), np.array([[2.5], [3.0], [9.0]]), np.array([]))
    >>> holds_others(ends, np.array([[1.0], [2.0], [6.0]])).T
    array([[0.5, 0. , 1. ]])
    """
    shares = np.full_like(values, np.nan)
    for sample in range(len(values)):
        one = Interval(interval.low[sample], interval.high[sample], interval.num[..., :0])
        held = holds(one, np.delete(values, sample, axis=0))
        known = np.isfinite(held)
        num = known.sum(axis=0)
        shares[sample] = np.where(num > 0, np.nansum(held, axis=0) / np.maximum(num, 1), np.nan)
    return shares


def share(parts: Sequence[FloatArray]) -> Share:
    """How many are held, with an interval by the differences between samples.

    Quantities of one sample rest on the same text, so that samples, not quantities, are what is independent.

    Args:
        parts: ``[samples, quantities]`` of each corpus: 1 or 0, or a share of several targets; NaN where there is none.

    >>> share([np.array([[1.0, 1.0, np.nan], [1.0, 0.0, 1.0]])])
    Share(value=0.8, reach=...)
    """
    num = np.concatenate([np.isfinite(part).sum(axis=1) for part in parts]) if parts else np.zeros(0)
    sums = np.concatenate([np.nansum(part, axis=1) for part in parts]) if parts else np.zeros(0)
    num_samples = int((num > 0).sum())
    if num_samples < _MIN_SAMPLES:
        return Share(np.nan, np.nan)
    value = sums.sum() / num.sum()
    variance = num_samples / (num_samples - 1.0) * ((sums - value * num) ** 2).sum() / num.sum() ** 2
    return Share(float(value), float(stdtrit(num_samples - 1, (1 + LEVEL) / 2) * np.sqrt(variance)))


def needed_factor(interval: Interval, target: FloatArray, level: float = LEVEL) -> float:
    """How many times as wide intervals would have to be to hold a share ``level`` of the targets.

    >>> ends = Interval(np.full(4, -1.0), np.full(4, 1.0), np.array([]))
    >>> needed_factor(ends, np.array([0.5, -3.0, 1.0, 2.0]), level=0.75)
    2.0
    """
    middle, half = (interval.low + interval.high) / 2.0, (interval.high - interval.low) / 2.0
    ratios = np.abs(target - middle) / half
    known = ratios[np.isfinite(ratios)]
    return float(np.quantile(known, level, method="inverted_cdf")) if known.size else np.nan


# --- how far they spread --------------------------------------------------------------------------------------------


def mean(values: FloatArray, axis: int = -1) -> FloatArray:
    """Of what is there; NaN where nothing is."""
    num = np.isfinite(values).sum(axis=axis)
    return np.asarray(np.nansum(values, axis=axis) / np.where(num > 0, num, np.nan))


def standard_deviation(values: FloatArray, axis: int = -1) -> FloatArray:
    """Of what is there; NaN where fewer than 2 values are."""
    num = np.isfinite(values).sum(axis=axis)
    squares = np.nansum((values - np.expand_dims(mean(values, axis), axis)) ** 2, axis=axis)
    return np.asarray(np.where(num > 1, np.sqrt(squares / np.maximum(num - 1, 1)), np.nan))


def root_mean_square(values: FloatArray, axis: int | None = None) -> FloatArray:
    """Of what is there."""
    return np.asarray(np.sqrt(mean(values**2 if axis is not None else values.ravel() ** 2, axis or 0)))


class Ratios(NamedTuple):
    """Standard deviations against others, over quantities: root mean square, and median."""

    mean: float
    median: float


def ratios(ones: FloatArray, others: FloatArray) -> Ratios:
    """Of every quantity one against the other; ``[quantities]`` each.

    >>> ratios(np.array([1.0, 2.0, np.nan]), np.array([1.0, 1.0, 1.0]))
    Ratios(mean=1.581..., median=1.5)
    """
    found = ones / others
    known = found[np.isfinite(found)]
    return Ratios(float(root_mean_square(known)), float(np.median(known))) if known.size else Ratios(np.nan, np.nan)


def sample_spread(values: FloatArray, min_samples: int = 3) -> FloatArray:
    """Standard deviation over the samples of every quantity that so many of them have."""
    num = np.isfinite(values).sum(axis=0)
    return np.where(num >= min_samples, standard_deviation(values, axis=0), np.nan)


def replica_spread(replicas: FloatArray) -> FloatArray:
    """Standard deviation of replicas, root mean square over the samples, of every quantity."""
    return root_mean_square(standard_deviation(replicas), axis=0)
