"""A teacher's rate over words that a student judged all and the teacher a sample of, exact for these very words.

What the student calls 1 and what it calls 0 are strata, of which the teacher's 1s are bounded by the hypergeometric
distribution of the sample. What other sentences would say is another question: :func:`.statistics.means.judged_sample`.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from tiltmeter.operators.statistics.intervals import check_level

VERSION = "prediction_powered/2"


class Powered(NamedTuple):
    """A rate of the teacher, with its interval.

    Attributes:
        estimate, low, high: NaN where nothing was judged.
        num: things that the teacher judged.
    """

    estimate: float
    low: float
    high: float
    num: int


class Stratum(NamedTuple):
    """Things of which the student says the same.

    Attributes:
        num: how many.
        num_checked: drawn from them for the teacher.
        num_true: of these, that the teacher calls true.
    """

    num: int
    num_checked: int
    num_true: int


def allocation(num_true: int, num_false: int, num: int) -> tuple[int, int]:
    """How many are drawn of what a student calls true, and of what it calls false: half of each, or what there is.

    Args:
        num_true, num_false: that there are.
        num: to be drawn.

    >>> allocation(50, 250, 40), allocation(5, 250, 40), allocation(50, 3, 40), allocation(5, 3, 40)
    ((20, 20), (5, 35), (37, 3), (5, 3))
    """
    first = min(max(num // 2, num - num_false), num_true)
    return first, min(num - first, num_false)


def powered_rate(*strata: Stratum, level: float = 0.95) -> Powered:
    """The share of things that the teacher calls true, with an interval that holds it at least as often as it says.

    Each stratum's number of true things is bounded exactly, with a share of the chance of error for each stratum that
    was not judged whole.

    Args:
        strata: what the student calls true, and what it calls false.
        level: of the interval.

    Returns:
        The estimate is NaN where a stratum that has things was not drawn from; its bounds hold all the same.

    >>> powered_rate(Stratum(2, 2, 1), Stratum(6, 6, 0))
    Powered(estimate=0.125, low=0.125, high=0.125, num=8)
    """
    check_level(level)
    total = sum(stratum.num for stratum in strata)
    if not total:
        return Powered(np.nan, np.nan, np.nan, 0)
    num_open = max(sum(stratum.num > stratum.num_checked for stratum in strata), 1)
    bounds = [true_bounds(stratum, 1.0 - (1.0 - level) / num_open) for stratum in strata]
    shares = [
        stratum.num * stratum.num_true / stratum.num_checked if stratum.num_checked else (np.nan if stratum.num else 0)
        for stratum in strata
    ]
    low, high = (sum(bound[side] for bound in bounds) / total for side in (0, 1))
    return Powered(float(sum(shares)) / total, low, high, sum(stratum.num_checked for stratum in strata))


def true_bounds(stratum: Stratum, level: float) -> tuple[int, int]:
    """The smallest and the largest number of true things that a sample does not rule out, each by half of the rest.

    As Clopper and Pearson 1934 for a binomial, with the hypergeometric distribution of a sample without replacement.

    >>> true_bounds(Stratum(10, 5, 0), 0.95), true_bounds(Stratum(10, 0, 0), 0.95)
    ((0, 3), (0, 10))
    """
    num, checked, true = stratum
    if checked == num:
        return true, true
    tail = (1.0 - level) / 2.0
    possible = np.arange(true, num - (checked - true) + 1)
    at_least = hypergeom.sf(true - 1, num, possible, checked)
    at_most = hypergeom.cdf(true, num, possible, checked)
    plausible = possible[(at_least > tail) & (at_most > tail)]
    return int(plausible[0]), int(plausible[-1])
