"""Thresholds that promise something of units not yet seen (Bates et al. 2021, *Distribution-free, risk-controlling
prediction sets*; Angelopoulos et al. 2021, *Learn then test*).

Of n errors with exchangeable scores, the share below the (m + 1)-th smallest score has a Beta(m + 1, n - m)
distribution, whatever the scores are (Wilks 1941). So the chance that the threshold there misses more than a share
alpha is P(Bin(n, alpha) <= m): known, with nothing to be resampled.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.units import Units

VERSION = "thresholds/1"


class Promise(NamedTuple):
    """Attributes:
    threshold: units with at least this score are flagged; -inf flags all.
    allowed: m, errors below it among those that chose it; -1 where all are flagged.
    num: n, errors that chose it.
    achieved_delta: chance that the promise is broken, exact; 0 where all are flagged.
    """

    threshold: float
    allowed: int
    num: int
    achieved_delta: float


def miss_threshold(scores_of_errors: FloatArray, *, alpha: float, delta: float, joint: int) -> Promise:
    """The highest threshold that misses more than a share alpha of all errors with probability at most delta / joint.

    Args:
        scores_of_errors: ``[errors]``, one of each unit (:func:`one_per_unit`), by a model that has not seen them.
        alpha: share of errors that may lie below.
        delta: chance that any of the promises is broken.
        joint: how many promises are made together; 1 for each by itself.

    >>> miss_threshold(np.arange(60) / 60, alpha=0.1, delta=0.1, joint=1)[1:3]
    (2, 60)
    >>> miss_threshold(np.arange(21) / 21, alpha=0.1, delta=0.1, joint=1)
    Promise(threshold=-inf, allowed=-1, num=21, achieved_delta=0.0)
    """
    from scipy.stats import binom

    ordered = np.sort(np.asarray(scores_of_errors, dtype=np.float64))
    chances = binom.cdf(np.arange(ordered.size), ordered.size, alpha)
    allowed = int(np.count_nonzero(chances <= delta / joint)) - 1
    if allowed < 0:
        return Promise(float("-inf"), -1, ordered.size, 0.0)
    return Promise(float(ordered[allowed]), allowed, ordered.size, float(chances[allowed]))


def errors_needed(alpha: float, delta: float, joint: int) -> int:
    """The fewest errors with which any text may be left unflagged: (1 - alpha)^n <= delta / joint.

    >>> errors_needed(0.1, 0.1, 1), errors_needed(0.05, 0.1, 1), errors_needed(0.1, 0.1, 3)
    (22, 45, 33)
    """
    return int(np.ceil(np.log(delta / joint) / np.log1p(-alpha) - 1e-9))


def exchangeable_p(promise: Promise, other_scores: FloatArray) -> float:
    """Chance that as many of other errors lie below the threshold, if these are of the kind that chose it.

    That many are BetaBin(n', m + 1, n - m). It tests whether the two sets are exchangeable, and not the promise: an
    honest threshold is broken on another finite set about 1.7 times as often as on all that may come.

    Returns:
        1 where all are flagged.
    """
    from scipy.stats import betabinom

    if promise.allowed < 0:
        return 1.0
    missed = int(np.count_nonzero(other_scores < promise.threshold))
    return float(betabinom.sf(missed - 1, other_scores.size, promise.allowed + 1, promise.num - promise.allowed))


def most_share(hits: int, num: int, level: float) -> float:
    """The upper end of the one-sided interval of Clopper and Pearson 1934 of a share of independent units.

    >>> round(most_share(0, 29, 0.95), 3), most_share(3, 3, 0.95)
    (0.098, 1.0)
    """
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1.0, num - hits, level)) if hits < num else 1.0


def one_per_unit(units: Units, *, seed: int, about: int) -> IntArray:
    """An item of every unit, drawn by key, in the order of the units."""
    draws = keyed_generator(seed, Stream.ONE_PER_UNIT, about).random(units.codes.size)
    order = np.lexsort((draws, units.codes))
    return order[np.unique(units.codes[order], return_index=True)[1]]
