"""Ratios of totals over drawn units, by the jackknife (Quenouille 1956; Cochran 1977, section 6.17).

Of n units with sums A_i below and B_i above, r = sum B / sum A, errors e_i = B_i - r A_i, and r_(i) without unit i,

    v = (1 - f) (n - 1) / n sum_i (r_(i) - mean r_(.))^2,        f: the part of the population that was drawn,
    nu = (sum e^2)^2 / sum e^4 - 1, at least 1                   units that carry the error, less 1

the interval is g(r) -+ t_nu sqrt(v) g'(r) on the scale g of the ratio. Few large units make nu small and the interval
wide, where Wald's holds as little as half of what it says. Where no unit errs, as r is 0 or 1, nothing spreads: then it
is Clopper and Pearson's 1934 of (sum A)^2 / sum A^2 independent things (Kish 1965).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.flips import MIN_UNITS
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.shares import clopper_pearson
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, kish

_NAN, _ROUNDING = float("nan"), 1e-12


class Parts(NamedTuple):
    """What a ratio is made of, ``[items]`` each: what is summed above, and below."""

    above: NDArray[np.number]
    below: NDArray[np.number]


def sampled_ratio(parts: Parts, units: Units, *, level: float, scale: Scale = LOGIT, drawn: float = 0.0) -> Inferred:
    """A ratio of totals with its interval, as above.

    Its value has the bias of a ratio of sums taken off to first order, (1 - f) sum e_i A_i n / ((n - 1) (sum A)^2), and
    is kept within the interval; ``df`` + 1 is the effective number of units.

    Args:
        parts: by item, with weights that are inverse to the chance of each.
        units: of the items, drawn independently.
        level: nominal coverage.
        scale: of the ratio: ``LOGIT`` of shares, ``LOG`` of means above 0.
        drawn: f, from 0 to 1: 0 of draws with replacement.

    >>> from tiltmeter.operators.statistics.units import each
    >>> sample = Parts(np.array([2.0, 2, 0, 3, 3, 4, 2, 3]), np.array([2.0, 3, 2, 4, 3, 4, 3, 3]))
    >>> [round(float(number), 3) for number in sampled_ratio(sample, each(8, "entity"), level=0.95)[:3]]
    [0.795, 0.204, 0.983]
    """
    below, num = units.sums(parts.below), units.num
    value, others, errors = _left_out(parts, units)
    carrying, effective = int(np.count_nonzero(below)), kish(below)
    if carrying < 2:
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, carrying, too_few=TooFew(carrying, 2, units.kind))
    variance = (1.0 - drawn) * (num - 1) / num * float(np.square(others - others.mean()).sum())
    if variance <= (_ROUNDING * value) ** 2:
        if drawn < 1.0 and scale is not LOGIT:
            lacking = TooFew(0.0, 2, f"{units.kind} that differs from the others")
            return Inferred(value, _NAN, _NAN, 0.0, effective - 1.0, carrying, too_few=lacking)
        low, high = clopper_pearson(value * effective, effective, level)[1:] if drawn < 1.0 else (value, value)
        return Inferred(value, float(low), float(high), 0.0, effective - 1.0, carrying)
    df, reach = _reach(errors, variance, level)
    middle, slope = scale.forward(np.asarray(value)), value * (1.0 - value) if scale is LOGIT else value
    low, high = (float(scale.backward(middle + side * reach / slope)) for side in (-1.0, 1.0))
    bias = (1.0 - drawn) * float(errors @ below) * num / ((num - 1) * float(below.sum()) ** 2)
    return Inferred(min(max(value + bias, low), high), low, high, variance, df, carrying)


def ratio_difference(first: Parts, second: Parts, units: Units, *, level: float) -> Inferred:
    """The first ratio less the second one, of the same units, each left out of both at once.

    Null: both are the same; p by Student's t with nu of the differences of errors, and at least what the signs of so
    many units that differ can have, 2^(1 - n).

    Args:
        first, second: by item.
        units: of the items, drawn independently.
        level: nominal coverage.
    """
    from scipy.special import stdtr

    (one, others, errors), (two, other_others, other_errors) = (_left_out(parts, units) for parts in (first, second))
    value, rest = one - two, others - other_others
    errors = errors / np.sum(first.below) - other_errors / np.sum(second.below)
    num = int(np.count_nonzero(np.abs(errors) > _ROUNDING))
    if num < MIN_UNITS or not np.isfinite(rest).all():
        lacking = TooFew(num, MIN_UNITS, f"{units.kind} that differs")
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, num, too_few=lacking)
    variance = (units.num - 1) / units.num * float(np.square(rest - rest.mean()).sum())
    df, reach = _reach(errors, variance, level)
    p = max(float(2.0 * stdtr(df, -abs(value) / variance**0.5)), 2.0 ** (1 - min(num, 1074)))
    return Inferred(value, max(value - reach, -1.0), min(value + reach, 1.0), variance, df, num, p)


def _left_out(parts: Parts, units: Units) -> tuple[float, FloatArray, FloatArray]:
    """The ratio, what it is without each unit, and the errors of the units."""
    above, below = units.sums(parts.above), units.sums(parts.below)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, others = above.sum() / below.sum(), (above.sum() - above) / (below.sum() - below)
    return float(value), others, above - value * below


def _reach(errors: FloatArray, variance: float, level: float) -> tuple[float, float]:
    """nu, and how far the interval goes."""
    from scipy.special import stdtrit

    squares = np.square(errors / np.abs(errors).max())
    df = max(1.0, float(squares.sum() ** 2 / np.square(squares).sum()) - 1.0)
    return df, float(stdtrit(df, (1.0 + level) / 2.0)) * variance**0.5
