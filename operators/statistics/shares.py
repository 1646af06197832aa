"""Shares of counted things, with exact intervals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray


class Rates(NamedTuple):
    """Shares with the ends of their intervals, which are NaN where nothing was counted."""

    rate: FloatArray
    low: FloatArray
    high: FloatArray


def clopper_pearson(hits: NDArray[np.number] | float, sizes: NDArray[np.number] | float, level: float = 0.95) -> Rates:
    """Shares with the interval of Clopper and Pearson 1934, which holds the true one with at least that probability.

    Args:
        hits, sizes: of one shape: how many of how many, or effective numbers.

    >>> [round(float(value), 4) for value in clopper_pearson(8, 10)]
    [0.8, 0.4439, 0.9748]
    """
    from scipy.special import betaincinv

    num, total = np.asarray(hits, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    tail = (1.0 - level) / 2.0
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = num / total
        low = np.where(num > 0, betaincinv(np.maximum(num, 1), total - num + 1, tail), 0.0)
        high = np.where(num < total, betaincinv(num + 1, np.maximum(total - num, 1), 1.0 - tail), 1.0)
    return Rates(rate, *(np.where(total > 0, end, np.nan) for end in (low, high)))
