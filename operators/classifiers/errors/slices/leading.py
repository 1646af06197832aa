"""Few slices that say what many say: each as short as it can be, and none a shadow of another.

Significant slices overlap: with a slice, its parts and whatever lies mostly within it come out, too. So the slice of
the largest T is taken first, and shortened: a predicate goes as long as the slice is not wrong more often than the rest
of what is left without it, and is significant without it as well. Then its texts are put aside, and of the others, what
still is significant follows.
"""

from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.errors.slices.group_flips import group_scores
from tiltmeter.operators.compute.arrays import BoolArray, LossArray
from tiltmeter.operators.statistics.units import Units

VERSION = "leading_slices/4"

Conjunction = tuple[int, ...]

_ROUNDING = 1e-9


def standardised(
    members: BoolArray, errors: LossArray, strata: NDArray[np.integer], units: Units, within: BoolArray
) -> float:
    """T of :mod:`.max_t` or, where units have several rows, of :mod:`.group_flips` among some rows; NaN without one.

    Args:
        members, errors, strata: ``[rows]``.
        units: of the rows.
        within: ``[rows]``, which count.

    >>> from tiltmeter.operators.statistics.units import each
    >>> members, errors = np.array([True, True, False, False]), np.array([True, True, False, False])
    >>> round(standardised(members, errors, np.zeros(4, dtype=int), each(4, "text"), np.ones(4, dtype=bool)), 4)
    1.7321
    """
    if units.num < len(errors):
        scores, _ = group_scores(members, errors, strata, within, units)
        scale = float(np.sqrt(np.square(scores).sum()))
        return float(scores.sum()) / scale if scale > _ROUNDING else float("nan")
    num = int(strata.max()) + 1 if strata.size else 0
    rows, wrong, inside = (
        np.bincount(strata, within * values, minlength=num) for values in (np.ones(len(strata)), errors, members)
    )
    rate = wrong / np.maximum(rows, 1)
    residuals = np.where(within, errors - rate[strata], 0.0)
    variance = np.bincount(strata, residuals**2, minlength=num) / np.maximum(rows, 1)
    spread = (inside * (rows - inside) * variance / np.maximum(rows - 1, 1)).sum()
    if spread <= _ROUNDING**2 * max(float(variance.max(initial=0.0)), 1e-300):
        return float("nan")
    return float(residuals[members].sum() / np.sqrt(spread))


def rows_with(members: BoolArray, conjunction: Conjunction) -> BoolArray:
    """``[rows]``: which have all predicates of a conjunction."""
    return np.asarray(members[list(conjunction)].all(axis=0), dtype=np.bool_)


def leading_slices(
    members: BoolArray,
    conjunctions: list[Conjunction],
    errors: LossArray,
    strata: NDArray[np.integer],
    units: Units,
    critical: float,
    gain: float,
) -> list[Conjunction]:
    """The slices that lead, the first first.

    Args:
        members: ``[predicates, rows]``.
        conjunctions: those that are significant.
        errors, strata: ``[rows]``.
        units: of the rows.
        critical: T from which a slice is significant, such as the smallest that has a p-value of at most alpha; that
            slice's own may differ from it by rounding.
        gain: T from which a predicate adds something, among the texts that have the others.
    """
    left, chosen = np.ones(len(errors), dtype=bool), list[Conjunction]()
    known = {conjunction: rows_with(members, conjunction) for conjunction in conjunctions}
    while known:
        values = {conjunction: standardised(rows, errors, strata, units, left) for conjunction, rows in known.items()}
        known = {
            conjunction: rows for conjunction, rows in known.items() if values[conjunction] >= critical - _ROUNDING
        }
        if not known:
            break
        best = max(known, key=lambda conjunction: (values[conjunction], -len(conjunction)))
        chosen.append(shortened(best, members, errors, strata, units, left, gain, known))
        left &= ~rows_with(members, chosen[-1])
        known.pop(best)
    return chosen


def shortened(
    conjunction: Conjunction,
    members: BoolArray,
    errors: LossArray,
    strata: NDArray[np.integer],
    units: Units,
    within: BoolArray,
    gain: float,
    significant: Collection[Conjunction],
) -> Conjunction:
    """The conjunction without predicates that add nothing: of those that may go, the one that adds least goes first.

    Args:
        significant: what it may come to; the conjunction is one of them.
    """
    while len(conjunction) > 1:
        rows = rows_with(members, conjunction)
        values = {
            shorter: standardised(rows, errors, strata, units, within & rows_with(members, shorter))
            for shorter in _shorter(conjunction)
            if shorter in significant
        }
        idle = {shorter: value for shorter, value in values.items() if np.isnan(value) or value < gain}
        if not idle:
            return conjunction
        conjunction = min(idle, key=lambda shorter: -np.inf if np.isnan(idle[shorter]) else idle[shorter])
    return conjunction


def _shorter(conjunction: Conjunction) -> Iterator[Conjunction]:
    return combinations(conjunction, len(conjunction) - 1)
