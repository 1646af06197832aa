"""Two systems on the same items, by the clusters that items are drawn in.

Items that are made from one template fail together: the difference of the means is that of all items, its spread that
of the sums of clusters (:mod:`.task_means`). Of items that one system gets right and the other wrong, b and c in
number, McNemar 1947 (*Note on the sampling error of the difference between correlated proportions*) asks whether b is
what half of b + c chances give. Of clusters the signs of their sums are drawn (:mod:`.flips`), whatever the scores,
which is his test where each has one item that is right or wrong. Student's t over clusters of unlike sizes has as many
p below 0.05, but up to three times as many below 0.017 as it should, which is what a correction for three scores asks
for. Repeats need no model here: they are inside the mean of each item.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.flips import flips, flips_max_t
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.items.task_means import Tasks, one_task, task_mean
from tiltmeter.operators.statistics.units import Inferred, Units

VERSION = "paired_items/3"

_MOST_FLIPPED = 4_096
"""Units whose signs are drawn for several comparisons; of more, some flip together, which costs memory alone."""


class PairedItems(NamedTuple):
    """Attributes:
    first, second: means of the systems.
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
    are_shares: bool = False,
) -> PairedItems:
    """How far two systems are apart on items like these, and whether that could be chance.

    Args:
        first, second: ``[items]``, the score of each system for each item, or the mean of its repeats; finite.
        units: of the items.
        level: nominal coverage of the intervals.
        tasks: of the items, whose weighted means are compared; None: they are of one.
        mid_p: whether p is :func:`.flips.flip_p`'s mid-p.
        are_shares: whether scores that are not 0 or 1 are shares of repeats that are.

    >>> from tiltmeter.operators.statistics.units import each
    >>> first, second = np.array([1.0] * 7 + [0.0, 1.0]), np.array([0.0] * 7 + [1.0, 1.0])
    >>> inferred = paired_items(first, second, each(9, "item"))
    >>> inferred.first_only, inferred.second_only, inferred.mcnemar_p
    (7, 1, 0.0703125)
    """
    of_tasks = one_task(first.size) if tasks is None else tasks
    are_right = bool(np.isin([first, second], (0.0, 1.0)).all())
    one_scale, scale = (LOGIT, FISHER) if are_right or are_shares else (LINEAR, LINEAR)
    one, other = (task_mean(side, of_tasks, units, level=level, scale=one_scale) for side in (first, second))
    difference = task_mean(second - first, of_tasks, units, level=level, scale=scale)
    p, too_few = flips(influences(first, second, of_tasks), units, mid=mid_p)
    difference = difference._replace(p=p, too_few=difference.too_few or too_few)
    if not are_right:
        return PairedItems(one, other, difference, None, None, None)
    counts = int((first > second).sum()), int((second > first).sum())
    return PairedItems(one, other, difference, *counts, p if of_tasks.weights.size == 1 else None)


def influences(first: NDArray[np.floating], second: NDArray[np.floating], tasks: Tasks) -> FloatArray:
    """``[items]``, numbers whose mean is the difference of the weighted means; of one task they are the differences."""
    return np.asarray((second - first) * (tasks.shares * first.size))


def corrected(values: Sequence[NDArray[np.floating]], units: Units, p_values: NDArray[np.floating]) -> FloatArray:
    """p-values of several comparisons of systems on the same items, corrected by :func:`.flips.flips_max_t`.

    Comparisons that share a system share its noise, so that Bonferroni's correction, which takes them as independent,
    is too strict (Dunnett 1955, *A multiple comparison procedure for comparing several treatments with a control*).

    Args:
        values: of each comparison ``[items]``, as :func:`influences` makes them; NaN, where an item has none.
        units: of the items.
        p_values: ``[comparisons]``, by themselves; none is corrected to less.

    >>> from tiltmeter.operators.statistics.units import each
    >>> corrected([np.ones(6), np.array([1.0, -1.0] * 3)], each(6, "item"), np.array([0.03125, 1.0]))
    array([0.0625, 1.    ])
    """
    grouped = Units(units.codes % _MOST_FLIPPED, min(units.num, _MOST_FLIPPED), units.kind)
    return np.asarray(np.maximum(flips_max_t(np.stack(values), grouped), p_values))
