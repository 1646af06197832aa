"""Rules that judge a mean night after night, and how often they would fail a system that has not changed.

Without a fall, the chance of an alarm within T nights is at most a by

    e_detector   evidence R of T / a                          :mod:`.e_detector`
    confirm      p <= sqrt(a / T) on two nights in a row      T pairs of nights, each by a / T if nights share no noise
    spending     p <= 6 a / (pi t)^2 on night t               sum over t = a
    single       p <= a                                       one night alone
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.gates.e_detector import evidence
from tiltmeter.operators.statistics.units import kish

Rule = Literal["e_detector", "confirm", "spending", "single"]


class Nights(NamedTuple):
    """What nights say, each ``[..., nights]``."""

    p: FloatArray
    log_e: FloatArray


def one_sided_p(sums: FloatArray, sizes: NDArray[np.integer], allowance: float = 0.0) -> FloatArray:
    """p of "the mean is at least -allowance" by Student's t, with the variance of :mod:`.means`.

    Args:
        sums: ``[..., units]`` of the items of each unit; p is at least 2^-k where k of them differ from 0.
        sizes: ``[units]``, how many items that are; of two units at least.

    >>> round(float(one_sided_p(np.array([-1.0, -2.0, -2.0, -3.0]), np.ones(4, int))), 4)
    0.0625
    """
    from scipy.special import stdtr

    total = float(sizes.sum())
    mean = sums.sum(axis=-1) / total
    spread = np.sqrt((np.square(sums - mean[..., None] * sizes) / (1.0 - sizes / total)).sum(axis=-1)) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.nan_to_num((mean + allowance) / spread, nan=np.inf)
    least = 0.5 ** np.count_nonzero(sums, axis=-1).astype(np.float64)
    return np.asarray(np.maximum(stdtr(kish(sizes) - 1.0, distance), least), dtype=np.float64)


def p_limit(rule: Rule, level: float, nights: int, night: NDArray[np.integer] | int) -> FloatArray:
    """The p at or below which a night of a rule counts; of the e-detector none does.

    >>> round(float(p_limit("confirm", 0.05, 365, 1)), 4), round(float(p_limit("spending", 0.05, 365, 2)), 4)
    (0.0117, 0.0076)
    """
    limits = {"e_detector": 0.0, "confirm": (level / nights) ** 0.5, "single": level}
    limits["spending"] = 6.0 * level / (np.pi * np.asarray(night)) ** 2
    return np.asarray(limits[rule], dtype=np.float64)


def alarms(rule: Rule, level: float, nights: Nights) -> NDArray[np.bool_]:
    """Which nights of years, ``[..., nights]``, raise an alarm if none before did.

    >>> alarms("confirm", 0.001, Nights(np.array([0.04, 0.01, 0.005, 0.9]), np.zeros(4))).tolist()
    [False, False, True, False]
    """
    num = nights.p.shape[-1]
    if rule == "e_detector":
        return np.asarray(evidence(nights.log_e) >= num / level)
    is_low = np.asarray(nights.p <= p_limit(rule, level, num, np.arange(1, num + 1)))
    if rule != "confirm":
        return is_low
    return np.concatenate([np.zeros_like(is_low[..., :1]), is_low[..., 1:] & is_low[..., :-1]], axis=-1)


def share_of_years(rule: Rule, level: float, nights: int, kept: Nights, rng: np.random.Generator) -> float:
    """Share of 1,000 years with an alarm, whose nights are drawn with replacement of those given, ``[num]``."""
    drawn = rng.integers(0, kept.p.size, (1000, nights))
    return float(alarms(rule, level, Nights(kept.p[drawn], kept.log_e[drawn])).any(axis=-1).mean())
