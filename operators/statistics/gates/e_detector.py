"""The e-detector: has a mean fallen, asked every night (Shin, Ramdas and Rinaldo 2022, *E-detectors*).

A night has differences D_i in [-1, 1] of independent units. With g >= 0, what the mean may fall by without alarm, and a
stake s that is fixed before the night, the e-value of "the mean of E D_i is at least -g" and the evidence are

    e_t = prod_i (1 - s (D_i + g))        E e_t <= 1, as geometric means do not exceed arithmetic ones
    R_t = e_t (R_{t-1} + 1),  R_0 = 0     alarm when R_t >= T / a

(R_t + T - t) / T is a non-negative supermartingale that begins at 1, so without a fall the chance of an alarm within T
nights is at most a (Ville 1939). Of a fall by d the evidence grows fastest with s = d / mean(D^2), and by about
num (s (d - g) - s^2 mean(D^2) / 2) a night on the logarithmic scale.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

MAX_STAKE = 0.5
_MAX_LOG, _MAX_EVIDENCE = 300.0, 1e150


def stake(fall: float, squares: float, num: int, allowance: float = 0.0) -> float:
    """s against a fall d, by the sum of D^2 of the units of earlier nights, and one more unit of the largest square.

    >>> stake(0.02, 0.0, 0), round(stake(0.02, 239.0, 999), 4), stake(0.02, 2.0, 999)
    (0.02, 0.0833, 0.5)
    """
    return min(fall * (1.0 + num) / (1.0 + squares), MAX_STAKE, 1.0 / (1.0 + allowance))


def log_e_values(
    differences: NDArray[np.floating],
    size: float,
    allowance: float = 0.0,
    counts: NDArray[np.integer] | float = 1.0,
) -> FloatArray:
    """log e of nights with the stake ``size``, ``[..., units]`` to ``[...]``; ``counts``: units that differ so.

    >>> float(np.exp(log_e_values(np.array([-1.0, -1.0, 1.0, 0.0]), 0.5)))
    1.125
    >>> float(np.exp(log_e_values(np.array([-1.0, 1.0, 0.0]), 0.5, counts=np.array([2, 1, 1]))))
    1.125
    """
    return np.asarray((counts * np.log1p(-size * (differences + allowance))).sum(axis=-1), dtype=np.float64)


def evidence(log_e: NDArray[np.floating], before: float = 0.0) -> FloatArray:
    """R of nights, ``[..., nights]``, where it was ``before`` them.

    >>> evidence(np.log([2.0, 0.5, 4.0])).tolist()
    [2.0, 1.5, 10.0]
    """
    result, last = np.empty(log_e.shape), np.full(log_e.shape[:-1], before)
    for night in range(log_e.shape[-1]):
        last = np.minimum(np.exp(np.minimum(log_e[..., night], _MAX_LOG)) * (last + 1.0), _MAX_EVIDENCE)
        result[..., night] = last
    return result


def nights_to_alarm(
    threshold: float, fall: float, size: float, square: float, num: int, allowance: float = 0.0
) -> float:
    """About how many nights with a fall take R to its threshold; infinite where it does not grow.

    >>> round(nights_to_alarm(7300, 0.02, size=0.02 / 0.24, square=0.24, num=1000), 1)
    10.7
    """
    growth = num * (size * (fall - allowance) - size**2 * square / 2.0)
    return math.log(threshold) / growth if growth > 0.0 else math.inf
