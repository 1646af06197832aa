"""Correction of p-values for the number of tests in a family, so that chance alone finds little.

Holm bounds the probability of any false rejection, Benjamini and Hochberg the expected share of false ones among the
rejections. A test is rejected at level alpha if its adjusted p-value is at most alpha.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "multiplicity/1"


def holm(p_values: NDArray[np.floating]) -> FloatArray:
    """Adjusted p-values of Holm 1979, *A simple sequentially rejective multiple test procedure*.

    Of m tests, with p ascending, p'_(i) = max_{j <= i} min(1, (m - j + 1) p_(j)). It holds however the tests depend on
    each other.

    Args:
        p_values: ``[tests]`` in [0, 1], the family; NaN, where there is no test, is left out.

    Returns:
        ``[tests]`` in [0, 1]; NaN where there is no test.

    Raises:
        ValueError: if a p-value lies outside [0, 1].

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(4)
    array([0.03, 0.06,  nan, 0.06])
    """
    _check(p_values)
    adjusted = np.full(p_values.shape, np.nan)
    order = np.argsort(p_values, kind="stable")[: np.count_nonzero(~np.isnan(p_values))]  # NaN sorts last
    steps = np.arange(order.size, 0, -1) * p_values[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: NDArray[np.floating]) -> FloatArray:
    """Adjusted p-values of Benjamini and Hochberg 1995, *Controlling the false discovery rate*.

    Of m tests, with p ascending, p'_(i) = min_{j >= i} min(1, m / j p_(j)). It holds for tests that are independent or
    depend on each other positively.

    Args:
        p_values: as for :func:`holm`.

    Returns:
        ``[tests]`` in [0, 1]; NaN where there is no test.

    Raises:
        ValueError: if a p-value lies outside [0, 1].

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03])).round(4)
    array([0.03, 0.04,  nan, 0.04])
    """
    from scipy.stats import false_discovery_control  # importing it takes half a second

    _check(p_values)
    known = ~np.isnan(p_values)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[known] = false_discovery_control(p_values[known])
    return adjusted


def least_possible(kind: Literal["flips", "controls"], num: int, num_tests: int) -> float:
    """The smallest p that a test of so many units, or against so many controls, can have after Holm.

    A page says it before it says that there is no evidence.

    >>> least_possible("flips", 6, 1), least_possible("controls", 99, 6)
    (0.03125, 0.06)
    """
    least = 2.0 ** (1 - num) if kind == "flips" else 1.0 / (num + 1)
    return min(1.0, num_tests * least)


def _check(p_values: NDArray[np.floating]) -> None:
    outside = p_values[(p_values < 0.0) | (p_values > 1.0)]
    if outside.size:
        raise ValueError(f"p_values hold {outside[0]}: must lie in [0, 1]")
