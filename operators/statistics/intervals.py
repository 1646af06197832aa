"""Percentile intervals over bootstrap replicas (Efron 1979, *Bootstrap methods: another look at the jackknife*)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

_MIN_VALUES = 2


class Interval(NamedTuple):
    """Ends of percentile intervals and how many values each rests on; the shape of the values less the reduced axis.

    Attributes:
        low, high: float64, in the unit of the values; NaN where fewer than 2 values are finite.
        num: int64, number of finite values.
    """

    low: FloatArray
    high: FloatArray
    num: NDArray[np.int64]


def percentile_interval(values: NDArray[np.floating], level: float = 0.95, axis: int = -1) -> Interval:
    """The central interval that holds a share ``level`` of the values.

    Its ends are the (1 - level)/2 and (1 + level)/2 quantiles of the finite values, with linear interpolation between
    order statistics (definition 7 of Hyndman and Fan 1996, the default of ``numpy.quantile``).

    Args:
        values: bootstrap replicas of an estimate along ``axis``, the original corpus not among them; NaN and infinite
            values are left out.
        level: nominal coverage, strictly between 0 and 1.
        axis: the axis that counts replicas; it is reduced.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> percentile_interval(np.array([4.0, 1.0, np.nan, 2.0, 3.0, 5.0]), level=0.5)
    Interval(low=array(2.), high=array(4.), num=array(5))
    """
    check_level(level)
    doubles = np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    finite = np.isfinite(doubles)
    num = np.asarray(finite.sum(axis=-1, dtype=np.int64))
    # Sorting puts NaN last, so the first num values of every row are its finite ones, in order.
    ordered = np.sort(np.where(finite, doubles, np.nan), axis=-1)
    tail = (1.0 - level) / 2.0
    return Interval(_quantile(ordered, num, tail), _quantile(ordered, num, 1.0 - tail), num)


def empirical_interval(values: NDArray[np.floating], level: float = 0.95) -> Interval:
    """The percentile interval of values that may be infinite: its ends are among them.

    They are the quantiles of the empirical distribution function (definition 1 of Hyndman and Fan 1996), as there is
    nothing between a finite value and an infinite one.

    Args:
        values: ``[replicates]``; NaN is left out.
        level: nominal coverage, strictly between 0 and 1.

    Returns:
        Numbers; NaN for both ends where fewer than 2 values are known.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> empirical_interval(np.array([1.0, np.inf, 3.0, 2.0, np.nan]), level=0.5)
    Interval(low=array(1.), high=array(3.), num=array(4))
    """
    check_level(level)
    known = values[~np.isnan(values)]
    ends = np.full(2, np.nan)
    if known.size >= _MIN_VALUES:
        ends = np.quantile(known, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return Interval(np.asarray(ends[0]), np.asarray(ends[1]), np.asarray(known.size))


def percentile_coverage(level: float, num_values: int) -> float:
    """Chance that one more value falls into the percentile interval of the others, exactly so for uniform values.

    The k-th smallest of R exceeds a new value with chance k / (R + 1), and the ends are k = 1 + (R - 1)(1 +- level)/2.
    Normal values give a little more: simulated, 90 % instead of 89 % with 32 values at a level of 95 %.

    Args:
        level: nominal coverage.
        num_values: R, that the interval rests on.

    >>> round(percentile_coverage(0.95, 32), 4)
    0.8924
    """
    return level * (num_values - 1) / (num_values + 1)


def check_level(level: float) -> None:
    """Refuses a nominal coverage outside the open interval (0, 1).

    Raises:
        ValueError: naming the value and what is allowed.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(
            f"level={level}: must lie strictly between 0 and 1, for example 0.95; set the interval's level"
        )


def _quantile(ordered: FloatArray, num: NDArray[np.int64], share: float) -> FloatArray:
    if ordered.shape[-1] == 0:
        return np.full(num.shape, np.nan)
    position = np.maximum(num - 1, 0) * share
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(num - 1, 0))
    lower, upper = _take(ordered, below), _take(ordered, above)
    return np.where(num >= _MIN_VALUES, lower + (upper - lower) * (position - below), np.nan)


def _take(ordered: FloatArray, index: NDArray[np.int64]) -> FloatArray:
    return np.take_along_axis(ordered, index[..., np.newaxis], axis=-1)[..., 0]
