"""Two systems on the same items, by the clusters that items are drawn in.

Items that are made from one template fail together: the difference of the means is that of all items, its spread that
of the sums of clusters (:mod:`.means`). Of items that one system gets right and the other wrong, b and c in number,
McNemar 1947 (*Note on the sampling error of the difference between correlated proportions*) asks whether b is what half
of b + c chances give. Of clusters the signs of their sums are drawn (:mod:`.flips`), whatever the scores, which is his
test where each has one item that is right or wrong. Student's t over clusters of unlike sizes has as many p below 0.05,
but up to three times as many below 0.017 as it should, which is what a correction for three scores asks for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.intervals import FISHER, LINEAR
from tiltmeter.operators.statistics.means import paired
from tiltmeter.operators.statistics.units import Inferred, Units

VERSION = "paired_items/2"


class PairedItems(NamedTuple):
    """Attributes:
    difference: ``second`` less ``first``; its p, by the signs of units, is NaN where fewer than six units differ.
    first_only, second_only: items that one of the systems alone gets right; None unless all scores are 0 or 1.
    mcnemar_p: the p of ``difference``, which is McNemar's then; likewise.
    """

    difference: Inferred
    first_only: int | None
    second_only: int | None
    mcnemar_p: float | None


def paired_items(
    first: NDArray[np.floating], second: NDArray[np.floating], units: Units, level: float = 0.95
) -> PairedItems:
    """How far two systems are apart on the same items, and whether that could be chance.

    Args:
        first, second: ``[items]``, the score of each system for each item; finite.
        units: of the items.
        level: nominal coverage of the interval.

    >>> from tiltmeter.operators.statistics.units import each
    >>> first, second = np.array([1.0] * 7 + [0.0, 1.0]), np.array([0.0] * 7 + [1.0, 1.0])
    >>> inferred = paired_items(first, second, each(9, "item"))
    >>> inferred.first_only, inferred.second_only, inferred.mcnemar_p
    (7, 1, 0.0703125)
    """
    are_right = bool(np.isin([first, second], (0.0, 1.0)).all())
    inferred = paired(second, first, units, level=level, scale=FISHER if are_right else LINEAR)
    if not are_right:
        return PairedItems(inferred, None, None, None)
    return PairedItems(inferred, int((first > second).sum()), int((second > first).sum()), inferred.p)
