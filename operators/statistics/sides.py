"""To which side of a neutral value an estimate leans, where it, its interval and other statistics say the same.

A percentile interval of bootstrap replicas need not hold the estimate of the original sample: a resampled corpus has
fewer different lines, and what depends on their number moves with it. An interval below 0 beside an estimate above 0
names no direction, and neither does the estimate.
"""

import math
from typing import Literal, NamedTuple

Side = Literal["above", "below", "neither", "outside", "opposite", "disputed", "unknown", "undirected"]
"""What is known of the side on which an estimate lies; only the first two name a direction.

- above, below: the whole interval lies there, it holds the estimate, and no other statistic contradicts it.
- neither: the interval includes the neutral value.
- outside: the interval and the estimate lie on one side, and the estimate outside of the interval.
- opposite: the interval lies on one side, and the estimate at the neutral value or on the other side.
- disputed: the interval and the estimate name a side, and another statistic of the same thing does not lie there.
- unknown: there is no estimate, or no interval.
- undirected: the number says how much, and not which way.
"""

NAMED: frozenset[Side] = frozenset({"above", "below"})
CONTRADICTORY: frozenset[Side] = frozenset({"outside", "opposite", "disputed"})


class Estimate(NamedTuple):
    """A number and the ends of its interval, in the same unit; NaN for what is not known."""

    value: float
    low: float
    high: float

    @property
    def is_outside(self) -> bool:
        """Whether the number lies outside of its interval, by more than rounding; not where either is unknown."""
        is_beyond = self.value < self.low or self.value > self.high
        return is_beyond and not any(math.isclose(self.value, end) for end in (self.low, self.high))


def side(estimate: Estimate, neutral: float = 0.0, *others: float) -> Side:
    """On which side of a neutral value an estimate lies.

    Args:
        estimate: with its interval.
        neutral: what leans to no side; an interval that ends there includes it.
        others: further statistics of the same thing, with the same neutral value; NaN contradicts nothing.

    >>> side(Estimate(0.5, 0.25, 1.0)), side(Estimate(0.25, -0.5, 0.5)), side(Estimate(0.36, -1.08, -0.37))
    ('above', 'neither', 'opposite')
    >>> side(Estimate(0.5, 0.25, 1.0), 0.0, -0.08)
    'disputed'
    """
    if any(map(math.isnan, estimate)):
        return "unknown"
    if estimate.low <= neutral <= estimate.high:
        return "neither"
    direction = math.copysign(1.0, estimate.low - neutral)
    if (estimate.value - neutral) * direction <= 0:
        return "opposite"
    if estimate.is_outside:
        return "outside"
    if any((other - neutral) * direction <= 0 for other in others):
        return "disputed"
    return "above" if direction > 0 else "below"


def compared(first: Estimate, second: Estimate) -> Side:
    """On which side of a second estimate a first one lies: their intervals lie apart, and each holds its own estimate.

    >>> compared(Estimate(0.5, 0.4, 0.6), Estimate(0.1, 0.0, 0.2))
    'above'
    >>> compared(Estimate(0.5, 0.1, 0.6), Estimate(0.1, 0.0, 0.2)), compared(Estimate(0.5, 0.1, 0.2), Estimate(0, 0, 0))
    ('neither', 'outside')
    """
    if any(map(math.isnan, (*first, *second))):
        return "unknown"
    if first.low <= second.high and second.low <= first.high:
        return "neither"
    direction = math.copysign(1.0, first.low - second.high)
    if (first.value - second.value) * direction <= 0:
        return "opposite"
    if first.is_outside or second.is_outside:
        return "outside"
    return "above" if direction > 0 else "below"
