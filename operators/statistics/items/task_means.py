"""Means of the items of several tasks, weighted, with their interval by units that may have items of several tasks.

With weights w_t that sum to 1, the sums e_kt of deviations from the mean of task t in unit k, which has n_kt of its n_t
items, the mean of the tasks' means has the variance

    V = sum_k (sum_t w_t e_kt / n_t / sqrt(1 - n_kt / n_t))^2

which is sum_t w_t^2 V_t where no unit has items of two tasks, and of one task that of :mod:`.means`. Degrees of freedom
are Welch and Satterthwaite's of the tasks, at most those of all units together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import LINEAR, Scale, check_level
from tiltmeter.operators.statistics.means import MIN_KISH, interval_ends
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, kish

_MIN_OF_TASK = 1.5
"""Units of one size that each task needs, for its mean to have a spread."""


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
        """``[items]``, what each item counts for: w_t / n_t."""
        return np.asarray((self.weights / np.bincount(self.codes, minlength=self.weights.size))[self.codes])


def one_task(num_items: int) -> Tasks:
    """All items are of one task."""
    return Tasks(np.zeros(num_items, dtype=np.int64), np.ones(1))


def task_mean(
    values: NDArray[np.floating], tasks: Tasks, units: Units, *, level: float, scale: Scale = LINEAR
) -> Inferred:
    """The weighted mean of the tasks' means, as above; without a p-value.

    Args:
        values: ``[items]``; finite.
        tasks, units: of the items; each task has an item.
        level: nominal coverage of the interval.
        scale: of the mean.

    >>> from tiltmeter.operators.statistics.units import each
    >>> tasks = Tasks(np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0.5, 0.5]))
    >>> result = task_mean(np.array([1.0, 2, 3, 6, 0, 0, 1, 1]), tasks, each(8, "item"), level=0.95)
    >>> result.value, round(result.variance, 4), round(result.df, 2)
    (1.75, 0.3125, 3.43)
    """
    check_level(level)
    sizes = np.bincount(tasks.codes, minlength=tasks.weights.size)
    means = np.bincount(tasks.codes, weights=values) / sizes
    value = float(tasks.weights @ means)
    cells, cell = np.unique(tasks.codes * units.num + units.codes, return_inverse=True)
    task, unit = cells // units.num, cells % units.num
    parts = np.bincount(cell) / sizes[task]
    effective = np.square(np.bincount(task, weights=parts)) / np.bincount(task, weights=np.square(parts))
    least, together = float(effective.min()), kish(np.bincount(unit, weights=tasks.weights[task] * parts))
    if together < MIN_KISH or least < _MIN_OF_TASK:
        few = TooFew(together, MIN_KISH, units.kind) if together < MIN_KISH else TooFew(least, 2, units.kind)
        return Inferred(value, *[float("nan")] * 4, units.num, too_few=few)
    deviations = np.bincount(cell, weights=values - means[tasks.codes])
    moves = tasks.weights[task] * deviations / sizes[task] / np.sqrt(1.0 - parts)
    variance = float(np.square(np.bincount(unit, weights=moves)).sum())
    variances = np.bincount(task, weights=np.square(moves))
    spread = float((np.square(variances) / (effective - 1.0)).sum())
    df = min(float(variances.sum()) ** 2 / spread if spread else np.inf, together - 1.0)
    low, high, too_few = interval_ends(value, variance, df, df + 1.0, level, scale, units.kind)
    return Inferred(value, low, high, variance, df, units.num, too_few=too_few)
