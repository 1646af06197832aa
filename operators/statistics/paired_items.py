"""Two systems on the same items, by the clusters that items are drawn in.

Items that are made from one template fail together: the difference of the means is that of all items, its spread that
of the sums of clusters (:mod:`.means`). Of items that one system gets right and the other wrong, b and c in number,
McNemar 1947 (*Note on the sampling error of the difference between correlated proportions*) asks whether b is what half
of b + c chances give; of clusters, the signs of their b - c are drawn (:mod:`.flips`), which is his test where each has
one item.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.flips import MIN_UNITS, mcnemar
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR
from tiltmeter.operators.statistics.means import Inferred, mean
from tiltmeter.operators.statistics.units import TooFew, Units

VERSION = "paired_items/2"


class PairedItems(NamedTuple):
    """Attributes:
    difference: ``second`` less ``first``; its p is Student's, and NaN where fewer than six units differ.
    first_only, second_only: items that one of the systems alone gets right; None unless all scores are 0 or 1.
    mcnemar_p: two-sided, exact, by the signs of units; likewise.
    too_few: why there is no p-value, or no interval.
    """

    difference: Inferred
    first_only: int | None
    second_only: int | None
    mcnemar_p: float | None
    too_few: TooFew | None


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
    >>> found = paired_items(first, second, each(9, "item"))
    >>> found.first_only, found.second_only, found.mcnemar_p
    (7, 1, 0.0703125)
    """
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    are_right = bool(np.isin([first, second], (0.0, 1.0)).all())
    found = mean(differences, units, level=level, scale=FISHER if are_right else LINEAR)
    alone = (differences < 0.0, differences > 0.0)
    p, lacking = mcnemar(*alone, units) if are_right else (None, None)
    differing = int(np.count_nonzero(units.sums(differences)))
    if lacking or differing < MIN_UNITS:
        found = found._replace(p=float("nan"))
        lacking = TooFew(differing, MIN_UNITS, f"{units.kind} that differs")
    elif found.variance == 0.0:
        found = found._replace(p=2.0 ** (1 - differing))  # what signs could show at the most
    num = [int(side.sum()) if are_right else None for side in alone]
    return PairedItems(found, num[0], num[1], p, lacking or found.too_few)
