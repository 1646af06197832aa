"""Rules that judge a mean night after night, and how often they would fail a system that has not changed.

Without a fall, the chance of an alarm within T nights is at most a by

    e_detector   evidence R of T / a                          :mod:`.e_detector`
    confirm      p <= sqrt(a / T) on two nights in a row      T pairs of nights, each by a / T if nights share no noise
    spending     p <= 6 a / (pi t)^2 on night t               sum over t = a
    single       p <= a                                       one night alone
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.gates.e_detector import evidence
from tiltmeter.operators.statistics.units import Units

_MOST_DRAWS = 10_000_000

Rule = Literal["e_detector", "confirm", "spending", "single"]


class Nights(NamedTuple):
    """What nights say, each ``[..., nights]``."""

    p: FloatArray
    log_e: FloatArray


def one_sided_p(
    sums: FloatArray,
    sizes: NDArray[np.integer],
    allowance: float = 0.0,
    counts: NDArray[np.integer] | float = 1.0,
) -> FloatArray:
    """p of "the mean is at least -allowance" by Student's t, with the variance of :mod:`.means`.

    Args:
        sums: ``[..., units]`` of the items of each unit; p is at least 2^-k where k of them differ from 0.
        sizes: ``[units]``, how many items that are; of two units at least.
        counts: ``[..., units]``, how many units have that sum and size.

    >>> round(float(one_sided_p(np.array([-1.0, -2.0, -2.0, -3.0]), np.ones(4, int))), 4)
    0.0625
    >>> round(float(one_sided_p(np.array([-1.0, -2.0, -3.0]), np.ones(3, int), counts=np.array([1, 2, 1]))), 4)
    0.0625
    """
    from scipy.special import stdtr

    total = np.asarray((counts * sizes).sum(axis=-1), dtype=np.float64)
    mean = (counts * sums).sum(axis=-1) / total
    squares = counts * np.square(sums - mean[..., None] * sizes) / (1.0 - sizes / total[..., None])
    spread = np.sqrt(squares.sum(axis=-1)) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.nan_to_num((mean + allowance) / spread, nan=np.inf)
    df = np.square(total) / (counts * np.square(sizes, dtype=np.float64)).sum(axis=-1) - 1.0
    least = 0.5 ** np.asarray((counts * (sums != 0.0)).sum(axis=-1), dtype=np.float64)
    return np.asarray(np.maximum(stdtr(df, distance), least), dtype=np.float64)


def stored_allowance(spreads: FloatArray, units: Units, level: float) -> float:
    """What a stored mean is off by at most, but for the chance ``level``: z sd, one-sided.

    Args:
        spreads: ``[items]``, standard error of each item's mean over its repeats; those of a unit share their noise.

    >>> from tiltmeter.operators.statistics.units import each
    >>> round(stored_allowance(np.full(100, 0.2), each(100, "item"), 0.025), 4)
    0.0392
    """
    from scipy.special import ndtri

    return float(-ndtri(level) * np.linalg.norm(units.sums(spreads)) / spreads.size)


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


def share_of_years(
    rule: Rule,
    level: float,
    nights: int,
    sums: FloatArray,
    sizes: NDArray[np.integer],
    judge: Callable[[FloatArray, IntArray, IntArray], Nights],
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Share of years with an alarm where nothing differs but by chance, and of how many years.

    On each night the two labels of every unit are swapped or not. Nights are drawn anew, as the mean of e-values over a
    few that are drawn again and again is not 1: a year would add up by how much it misses that.

    Args:
        sums: ``[differences, units]``, one row a year, in turn.
        sizes: ``[units]``.
        judge: sums and sizes ``[kinds]`` of units and how many are of a kind, ``[nights, kinds]``, to what nights say.
    """
    _, of_kind = np.unique(np.stack([np.abs(sums[0]), sizes]), axis=1, return_counts=True)
    num_years = int(np.clip(_MOST_DRAWS // (nights * of_kind.size), 20, 1000))
    years = (_swapped(sums[year % len(sums)], sizes, nights, rng) for year in range(num_years))
    return sum(bool(alarms(rule, level, judge(*year)).any()) for year in years) / num_years, num_years


def _swapped(
    sums: FloatArray, sizes: NDArray[np.integer], nights: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, IntArray]:
    (values, of_sizes), counts = np.unique(np.stack([np.abs(sums), sizes]), axis=1, return_counts=True)
    kept = rng.binomial(counts, 0.5, (nights, counts.size))
    both = np.concatenate([values, -values]), np.tile(of_sizes.astype(np.int64), 2)
    return *both, np.concatenate([kept, counts - kept], axis=1)
