"""Two sets of units that a property of the unit tells apart, such as speakers by their gender, or two lists of words.

Null: the property has nothing to do with the units' means. Labels of units are dealt again, and each deal's difference
of means is taken over its own standard error (Janssen 1997, *Studentized permutation tests for non-i.i.d.
hypotheses*): exact where both sides are exchangeable, and 8 % at a level of 5 % where the smaller side spreads twice as
much, where the difference alone rejects in 15 to 22 %. The interval is Welch's of the units' means. Below four units on
a side there is neither: 2 / C(8, 4) = 0.03 is the least p of four against four.
"""

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.intervals import check_level
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units

VERSION = "groups/1"

MIN_SIDE = 4
_MOST_ENUMERATED = 2**12
_ROUNDING = 1e-9
_NAN = float("nan")


def two_groups(
    values: NDArray[np.generic],
    units: Units,
    side_of_unit: BoolArray,
    *,
    level: float,
    seed: int,
    about: int,
    num_draws: int = 9_999,
) -> Inferred:
    """The mean of the units of one side less that of the other's, as above.

    Args:
        values: ``[items]``; NaN, where an item has none, is left out.
        units: of the items.
        side_of_unit: ``[units]``, whether each is on the first side.
        level: nominal coverage.
        seed, about: key of the deals.
        num_draws: deals, where more than 4,096 are possible; otherwise each is made once.

    >>> from tiltmeter.operators.statistics.units import each
    >>> sides = np.arange(8) < 4
    >>> found = two_groups(np.arange(8.0), each(8, "word"), sides, level=0.95, seed=0, about=0)
    >>> found.value, round(found.p, 4), round(found.low, 2), round(found.high, 2)
    (-4.0, 0.0286, -6.23, -1.77)
    """
    check_level(level)
    known = ~np.isnan(np.asarray(values, dtype=np.float64))
    counts = np.bincount(units.codes[known], minlength=units.num)
    kept = counts > 0
    means = units.sums(np.where(known, values, 0.0))[kept] / counts[kept]
    side = np.asarray(side_of_unit, dtype=np.bool_)[kept]
    smaller = int(min(side.sum(), (~side).sum()))
    if smaller < 1:
        return Inferred(_NAN, _NAN, _NAN, _NAN, _NAN, side.size, too_few=TooFew(smaller, MIN_SIDE, _of_side(units)))
    value = float(means[side].mean() - means[~side].mean())
    if smaller < MIN_SIDE:
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, side.size, too_few=TooFew(smaller, MIN_SIDE, _of_side(units)))
    return _tested(value, means, side, level, _deals(side, seed, about, num_draws))


def _of_side(units: Units) -> str:
    return f"{units.kind} on the smaller side"


def _tested(value: float, means: FloatArray, side: BoolArray, level: float, deals: tuple[BoolArray, bool]) -> Inferred:
    from scipy.special import stdtrit

    first, second = (float(part.var(ddof=1)) / part.size for part in (means[side], means[~side]))
    variance = first + second
    lacking = TooFew(0.0, 2, "value that differs from others on its side")
    if variance <= 0.0 and value == 0.0:
        return Inferred(value, _NAN, _NAN, 0.0, _NAN, side.size, too_few=lacking)
    labels, is_complete = deals
    observed = _studentised(means, side[np.newaxis])[0]
    hits = int((_studentised(means, labels) >= observed * (1.0 - _ROUNDING)).sum())
    p = hits / len(labels) if is_complete else (hits + 1) / (len(labels) + 1)
    if variance <= 0.0:
        return Inferred(value, _NAN, _NAN, 0.0, _NAN, side.size, p, lacking)
    df = variance**2 / (first**2 / (side.sum() - 1) + second**2 / ((~side).sum() - 1))
    reach = float(stdtrit(df, (1.0 + level) / 2.0)) * variance**0.5
    return Inferred(value, value - reach, value + reach, variance, float(df), side.size, p)


def _studentised(means: FloatArray, labels: BoolArray) -> FloatArray:
    """|t| of each deal, ``[deals]``; deviations are from the mean of all, for the squares' sake."""
    centred = means - means.mean()
    number = labels.sum(axis=1)
    parts = []
    for side, num in ((labels, number), (~labels, labels.shape[1] - number)):
        mean = side @ centred / num
        variance = np.maximum(side @ np.square(centred) / num - np.square(mean), 0.0) * num / (num - 1) / num
        parts.append((mean, variance))
    (first, one), (second, other) = parts
    error = np.sqrt(one + other)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(first - second) / error
    return np.where(np.isnan(t), 0.0, t)


def _deals(side: BoolArray, seed: int, about: int, num_draws: int) -> tuple[BoolArray, bool]:
    num, first = side.size, int(side.sum())
    if comb(num, first) <= _MOST_ENUMERATED:
        labels = np.zeros((comb(num, first), num), dtype=np.bool_)
        for row, chosen in enumerate(combinations(range(num), first)):
            labels[row, list(chosen)] = True
        return labels, True
    generator = keyed_generator(seed, Stream.GROUP_LABEL, about)
    return generator.permuted(np.tile(side, (num_draws, 1)), axis=1), False
