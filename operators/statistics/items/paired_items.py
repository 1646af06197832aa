"""Two systems on the same items, by the clusters that items are drawn in, and on several tasks together.

Items that are made from one template fail together: the difference of the means is that of all items, its spread that
of the sums of clusters (:mod:`.means`). With weights w_t of tasks, and in unit k the sum e_kt of deviations from the
mean of task t, of whose n_t items it has n_kt,

    V = sum_k (sum_t w_t e_kt / n_t / sqrt(1 - n_kt / n_t))^2

which is sum_t w_t^2 V_t where no unit has items of two tasks. Degrees of freedom are Welch and Satterthwaite's of the
tasks, at most those of all units. Repeats need no model here: they are inside the mean of each item.

Of items that one system gets right and the other wrong, b and c in number, McNemar 1947 (*Note on the sampling error of
the difference between correlated proportions*) asks whether b is what half of b + c chances give. Of clusters the signs
of their sums are drawn (:mod:`.flips`), whatever the scores, which is his test where each has one item that is right or
wrong. Student's t over clusters of unlike sizes has as many p below 0.05, but up to three times as many below 0.017 as
it should, which is what a correction for three scores asks for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.flips import flips
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, Scale, check_level
from tiltmeter.operators.statistics.means import MIN_KISH, interval_ends
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, kish

VERSION = "paired_items/3"

_MIN_OF_TASK = 1.5
"""Units of one size that each task needs, for its mean to have a spread."""

_MOST_CONVOLVED = 2_000_000
"""Sums of signs whose chances are reckoned; of more, signs are drawn, or their sum is normal."""


class Tasks(NamedTuple):
    """Which task each item is of.

    Attributes:
        codes: ``[items]``, numbers from 0.
        weights: ``[tasks]``, what the mean of each counts for; they sum to 1.
    """

    codes: IntArray
    weights: FloatArray

    @property
    def shares(self) -> FloatArray:
        """``[items]``, what each counts for in the mean of tasks: w_t / n_t."""
        return np.asarray((self.weights / np.bincount(self.codes))[self.codes])


class PairedItems(NamedTuple):
    """Attributes:
    first, second: means of the systems, without p-values.
    difference: ``second`` less ``first``; its p, by the signs of units, is NaN where fewer than six units differ.
    first_only, second_only: items that one of the systems alone gets right; None unless all scores are 0 or 1.
    mcnemar_p: the p of ``difference``, which is McNemar's then; likewise, and None of several tasks.
    """

    first: Inferred
    second: Inferred
    difference: Inferred
    first_only: int | None
    second_only: int | None
    mcnemar_p: float | None


def paired_items(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    units: Units,
    level: float = 0.95,
    *,
    tasks: Tasks | None = None,
    mid_p: bool = False,
    denominator: int | None = None,
) -> PairedItems:
    """How far two systems are apart on items like these, and whether that could be chance.

    Args:
        first, second: ``[items]``, the score of each system for each item, or the mean of its repeats; finite.
        units: of the items.
        level: nominal coverage of the intervals.
        tasks: of the items, whose weighted means are compared; None: they are of one.
        mid_p: whether p is :func:`.flips.flip_p`'s mid-p.
        denominator: of scores that are shares of repeats which are 0 or 1, a multiple of their numbers: the signs of
            whole numbers have an exact p. None: scores other than 0 and 1 are no shares.

    >>> from tiltmeter.operators.statistics.units import each
    >>> first, second = np.array([1.0] * 7 + [0.0, 1.0]), np.array([0.0] * 7 + [1.0, 1.0])
    >>> inferred = paired_items(first, second, each(9, "item"))
    >>> inferred.first_only, inferred.second_only, inferred.mcnemar_p
    (7, 1, 0.0703125)
    """
    known = tasks or Tasks(np.zeros(first.size, dtype=np.int64), np.ones(1))
    are_right = bool(np.isin([first, second], (0.0, 1.0)).all())
    of_means, of_differences = (LOGIT, FISHER) if are_right or denominator else (LINEAR, LINEAR)
    one, other = (task_mean(side, known, units, level=level, scale=of_means) for side in (first, second))
    difference = task_mean(second - first, known, units, level=level, scale=of_differences)
    multiple = denominator if denominator and denominator * first.size <= _MOST_CONVOLVED else 1
    p, too_few = flips((second - first) * (known.shares * first.size * multiple), units, mid=mid_p)
    difference = difference._replace(p=p, too_few=difference.too_few or too_few)
    if not are_right:
        return PairedItems(one, other, difference, None, None, None)
    first_only, second_only = int((first > second).sum()), int((second > first).sum())
    return PairedItems(one, other, difference, first_only, second_only, p if known.weights.size == 1 else None)


def task_mean(
    values: NDArray[np.floating], tasks: Tasks, units: Units, *, level: float, scale: Scale = LINEAR
) -> Inferred:
    """The weighted mean of the tasks' means of values ``[items]``, with the interval above; without a p-value."""
    check_level(level)
    sizes = np.bincount(tasks.codes)
    means = np.bincount(tasks.codes, weights=values) / sizes
    value = float(tasks.weights @ means)
    cells, cell = np.unique(tasks.codes * units.num + units.codes, return_inverse=True)
    task, unit = np.divmod(cells, units.num)
    counts = np.bincount(cell)
    parts, effective = counts / sizes[task], sizes**2 / np.bincount(task, weights=counts**2)
    together = kish(np.bincount(unit, weights=counts * (tasks.weights * values.size / sizes)[task]))
    if together < MIN_KISH or effective.min() < _MIN_OF_TASK:
        few = (
            TooFew(together, MIN_KISH, units.kind) if together < MIN_KISH else TooFew(1.0, 2, f"{units.kind} of a task")
        )
        return Inferred(value, np.nan, np.nan, np.nan, np.nan, units.num, too_few=few)
    deviations = np.bincount(cell, weights=values - means[tasks.codes])
    moves = tasks.weights[task] * deviations / sizes[task] / np.sqrt(1.0 - parts)
    variance = float(np.square(np.bincount(unit, weights=moves)).sum())
    variances = np.bincount(task, weights=np.square(moves))
    spread, df = float((np.square(variances) / (effective - 1.0)).sum()), together - 1.0
    if sizes.size > 1 and spread > 0.0:
        df = min(df, float(variances.sum()) ** 2 / spread)
    low, high, too_few = interval_ends(value, variance, df, df + 1.0, level, scale, units.kind)
    return Inferred(value, low, high, variance, df, units.num, too_few=too_few)
