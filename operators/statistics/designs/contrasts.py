"""Contrasts of one number over parts of the data: two parts, a part against the others, a slope over ordered parts.

With the number y_k of part k and weights c_k that sum to 0, a contrast is c = sum c_k y_k, and that of draw r is
c*_r = sum c_k y*_kr. If draws are keyed by documents, parts draw those that they share alike, and others independently
of each other: either way the spread of c*_r is that of c. So :func:`.differences.paired_difference` judges it, with 0
in the place of the other side.

    one part less another    c = (-1, 1)
    a part less the others   c_k = 1, and -1 / (K - 1) for the others
    slope over places x_k    c_k = (x_k - mean x) / sum (x_j - mean x)^2        ordinary least squares
"""

import math

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.differences import Difference, paired_difference, smallest_paired


def against_others(num: int) -> FloatArray:
    """``[parts, parts]``: weights of each of at least 2 parts against the mean of the others."""
    return np.where(np.eye(num) > 0.0, 1.0, -1.0 / (num - 1))


def slope(places: NDArray[np.floating]) -> FloatArray:
    """``[parts]``: weights of the slope of least squares over places of which at least two differ.

    >>> slope(np.array([1990.0, 2000.0, 2010.0])).tolist()
    [-0.05, 0.0, 0.05]
    """
    apart = places - places.mean()
    return np.asarray(apart / (apart @ apart))


def contrasts(
    values: NDArray[np.floating], draws: NDArray[np.floating], weights: NDArray[np.floating]
) -> tuple[FloatArray, Difference]:
    """Contrasts of a number, and how each is judged, at 95 %.

    Args:
        values: ``[parts]``, finite.
        draws: ``[parts, draws]``, of replicas; a contrast leaves those out in which a part of it has no finite value.
        weights: ``[contrasts, parts]``; those of a contrast sum to 0.

    >>> value, judged = contrasts(np.array([1.0, 2]), np.array([[1.0, 5, 9], [2, 6, 10.5]]), np.array([[-1.0, 1]]))
    >>> value.tolist(), judged.p.round(3).tolist()
    ([1.0], [0.073])
    """
    with np.errstate(invalid="ignore"):  # infinity less itself is no number
        parts = np.where(weights[..., np.newaxis] == 0.0, 0.0, weights[..., np.newaxis] * draws)
        drawn = parts.sum(axis=1)
    value = np.asarray(weights @ values)
    return value, paired_difference(value, np.zeros_like(drawn), drawn)


def apart(draws: NDArray[np.floating]) -> tuple[FloatArray, Difference, FloatArray]:
    """Every difference of two of several numbers that share their draws: which can be told apart, and which could be.

    Args:
        draws: ``[numbers, draws]``, finite; each number is the mean of its draws.

    Returns:
        the differences of two, the later less the earlier; how each is judged at 95 %; and the smallest difference that
        would be found with a chance of 80 % where the draws of the two spread as they do.

    >>> value, judged, smallest = apart(np.array([[1.0, 2, 3], [2, 4, 6], [1, 1, 1]]))
    >>> value.tolist(), smallest.round(2).tolist()
    ([2.0, -1.0, -3.0], [6.53, 6.53, 13.06])
    """
    first, second = np.triu_indices(len(draws), 1)
    weights = np.eye(len(draws))[second] - np.eye(len(draws))[first]
    value, judged = contrasts(draws.mean(axis=1), draws, weights)
    spreads, num = np.std(weights @ draws, axis=1, ddof=1), draws.shape[1]
    return value, judged, np.array([smallest_paired(spread, num) for spread in spreads])


def smallest_in_longer(smallest: float, times: float) -> float:
    """The smallest difference that a longer text would show: the spread of a mean over n documents falls with sqrt(n).

    Args:
        smallest: of the text at hand.
        times: how many times as many documents like its own the longer one has.

    >>> smallest_in_longer(0.3, 4.0)
    0.15
    """
    return smallest / math.sqrt(times)
