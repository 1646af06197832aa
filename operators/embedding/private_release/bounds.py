"""Lower bounds on what a mechanism leaks that hold, from counts of scores.

For a threshold t on a score, with Clopper-Pearson ends, ``eps_low = ln((TPR_low(t) - delta) / FPR_high(t))``. What
makes it valid: the threshold is chosen on some of the draws and the bound computed on the others; the pair's two
directions, above or below it, are chosen there as well; all scores and pairs of an audit share the level (Bonferroni).

Where the noise's law is known, there is a sharper question: whether the mechanism is at least as private as specified.
It is not if a test beats the exact trade-off curve (:mod:`.profile`), and it is not the specified one if a score falls
into a range more or less often than the law says.
"""

from collections.abc import Callable
from math import inf, log
from typing import Literal, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.shares import clopper_pearson

VERSION = "audit_bounds/1"

CHOOSING = 8
"""One draw in so many chooses thresholds, and the others are for bounds: more would leave less for these than a better
threshold gains."""

Verdict = Literal["within", "above the claim", "above the exact curve", "not the specified law"]
"""What an audit says; the later, the finer what was seen."""


class Counts(NamedTuple):
    """How many releases of each of a pair's vectors had a score in each bin, ``[bins]`` each.

    Attributes:
        chosen_first, chosen_second: of those draws that thresholds are chosen on.
        first, second: of the other draws, for bounds.
    """

    chosen_first: IntArray
    chosen_second: IntArray
    first: IntArray
    second: IntArray


def proportion_bounds(successes: IntArray, num: int, level: float) -> tuple[FloatArray, FloatArray]:
    """One-sided Clopper-Pearson bounds on a chance, each of which fails with chance ``level`` at most.

    Args:
        successes: ``[...]``, of ``num`` trials.
        level: of each end.

    >>> low, high = proportion_bounds(np.array([0, 10]), 10, 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.7411]), array([0.2589, 1.    ]))
    """
    _, low, high = clopper_pearson(successes, np.full(np.shape(successes), num), 1 - 2 * level)
    return low, high


class Loss(NamedTuple):
    """How much more likely one vector makes a set of scores than the other, as a natural logarithm; none is negative.

    Attributes:
        value: by the shares that were counted; infinite where the other vector had no such score.
        low: lower bound, and so one on the privacy loss of the mechanism.
        high: upper bound on the loss by this set of scores, which says nothing of others.
    """

    value: float
    low: float
    high: float


def audited_loss(counts: Counts, level: float, delta: float = 0.0) -> Loss:
    """The loss by the set of scores that tells a pair apart best; its lower end is the largest e of which the draws
    exclude that the mechanism is (e, delta)-private for the pair.

    Sets of scores above or below a threshold are tried for either vector against the other on some of the draws.
    The best of them all is bounded on the others, with half of the level for each of its two ends.

    Args:
        counts: of a score.
        level: chance at most that the bound is above the truth.
        delta: slack that the claim has.

    >>> even, low, high = np.array([500, 500]), np.array([1000, 0]), np.array([0, 1000])
    >>> audited_loss(Counts(even, even, even, even), 0.05).low
    0.0
    >>> [round(number, 2) for number in audited_loss(Counts(low, high, low, high), 0.05)]
    [inf, 5.6, inf]
    """
    tried = []
    for side in _orders(counts):
        chosen = _bounds(_beyond(side.chosen_first), _beyond(side.chosen_second), level, delta)
        tried.append((float(chosen.max()), int(chosen.argmax()), side))
    _, place, side = max(tried, key=lambda entry: entry[0])
    hits, alarms = (np.array([beyond[0], beyond[place]]) for beyond in (_beyond(side.first), _beyond(side.second)))
    low, high = _bounds(hits, alarms, level, delta)[1], -_bounds(alarms, hits, level, 0.0)[1]
    share, other = (float(beyond[1] / max(beyond[0], 1)) for beyond in (hits, alarms))
    ratio = (share - delta) / other if other else inf if share > delta else 1.0
    return Loss(log(max(ratio, 1.0)), max(0.0, float(low)), max(0.0, float(high)) if other else inf)


def _orders(counts: Counts) -> list[Counts]:
    """Either vector against the other, by large and by small scores."""
    swapped = Counts(counts.chosen_second, counts.chosen_first, counts.second, counts.first)
    return [Counts(*(side[::step] for side in order)) for order in (counts, swapped) for step in (1, -1)]


def _beyond(counts: IntArray) -> IntArray:
    """How many lie in each bin or above."""
    return np.cumsum(counts[::-1])[::-1]


def _bounds(hits: IntArray, alarms: IntArray, level: float, delta: float) -> FloatArray:
    """For each bin as a threshold; of all draws, which the first bin holds, nothing but 0 can be said."""
    low, _ = proportion_bounds(hits, int(hits[0]), level / 2)
    _, high = proportion_bounds(alarms, int(alarms[0]), level / 2)
    return np.log(np.maximum(low - delta, np.finfo(np.float64).tiny)) - np.log(high)


def beats_curve(counts: Counts, curve: Callable[[float], float], level: float) -> bool:
    """Whether some test is better than the best one against the specified noise.

    The set of scores is chosen on some of the draws, where the lower end of the hits exceeds by most what the curve
    allows at the upper end of the alarms; on the others it must exceed it too.

    Args:
        curve: largest chance of a hit for a chance of a false alarm; rises.
        level: chance at most that noise as specified is convicted.
    """
    tried = []
    for side in _orders(counts):
        hits, alarms = _beyond(side.chosen_first), _beyond(side.chosen_second)
        places = _spread(alarms / max(int(alarms[0]), 1))
        tried += [(_excess(hits, alarms, place, curve, level), place, side) for place in places]
    _, place, side = max(tried, key=lambda entry: entry[0])
    return _excess(_beyond(side.first), _beyond(side.second), place, curve, level) > 0


def _excess(hits: IntArray, alarms: IntArray, place: int, curve: Callable[[float], float], level: float) -> float:
    low, _ = proportion_bounds(hits[place : place + 1], int(hits[0]), level / 2)
    _, high = proportion_bounds(alarms[place : place + 1], int(alarms[0]), level / 2)
    return float(low[0]) - curve(float(high[0]))


_NUM_TRIED = 24


def _spread(alarms: FloatArray) -> list[int]:
    """Some thresholds, from no false alarm to nothing but false alarms: a curve is dear to compute."""
    wanted = np.concatenate(
        [[0.0], np.geomspace(1e-5, 0.5, _NUM_TRIED // 2), 1 - np.geomspace(0.4, 1e-5, _NUM_TRIED // 2)]
    )
    places = np.searchsorted(-alarms, -wanted, side="left")
    return sorted({int(place) for place in np.minimum(places, len(alarms) - 1)})


class Law(NamedTuple):
    """How often a score should lie at or above some of its bins' beginnings, between two ends.

    Attributes:
        bins: ``[k]`` of the grid.
        low, high: ``[k]`` chances by the specified law; the grid of what is published takes them apart.
    """

    bins: IntArray
    low: FloatArray
    high: FloatArray


def departs(counts: IntArray, law: Law, level: float) -> bool:
    """Whether scores fall beyond a threshold more or less often than the specified law says.

    Args:
        counts: ``[bins]`` of draws.
        level: chance at most that the specified law is convicted, over all thresholds and both sides.

    >>> law = Law(np.array([1]), np.array([0.49]), np.array([0.51]))
    >>> departs(np.array([500, 500]), law, 0.05), departs(np.array([400, 600]), law, 0.05)
    (False, True)
    """
    beyond = np.cumsum(counts[::-1])[::-1]
    low, high = proportion_bounds(beyond[law.bins], int(beyond[0]), level / (2 * max(len(law.bins), 1)))
    return bool(((law.high < low) | (law.low > high)).any())


def share_of_level(level: float, family: int) -> float:
    """What one of ``family`` bounds may fail with, so that all hold together (Bonferroni).

    >>> share_of_level(0.05, 10)
    0.005
    """
    return level / max(family, 1)
