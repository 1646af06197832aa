"""Rates of a teacher, from a student that judges everything and a teacher that judges a sample.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023) with the tuned weight of PPI++
(Angelopoulos, Duchi and Zrnic 2023). Of N things the student says f and the teacher, of n drawn from them, y:

    estimate = l mean_N(f) + mean_n(y - l f),   l = cov_n(y, f) / var_n(f),
    variance = (1 - n / N) var_n(y - l f) / n.

As all N things are at hand, what is estimated is the mean of y over these, and the share that the sample is of them
comes off its variance. As the weight is chosen by the sample, its residuals are taken as they would be without the
thing itself, each divided by 1 - h with h its leverage (MacKinnon and White 1985, HC3). The interval takes Student's t
with n - 1 degrees of freedom, clusters - 1 where clusters are drawn; of what lies between two borders, such as a rate,
it is that of the score with this variance (:func:`.text_intervals.score_interval`), so that a sample in which both
agree throughout leaves something open. The second form is exact for any n: what the student calls 1 and what it calls 0
are strata, of which the teacher's 1s are bounded by the hypergeometric distribution of the sample.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import LINEAR, Scale, check_level, student_reach
from tiltmeter.operators.statistics.text_intervals import score_interval

VERSION = "prediction_powered/1"

_MAX_LEVERAGE = 0.9
"""One thing alone that differs from all others would have drawn the weight to itself altogether."""


class Powered(NamedTuple):
    """A mean of the teacher, with its interval.

    Attributes:
        estimate, low, high: NaN where the sample is too small.
        weight: l, of the student.
        num: things, or clusters, that the teacher judged.
        error: standard error of the estimate; NaN of what is bounded exactly.
    """

    estimate: float
    low: float
    high: float
    weight: float
    num: int
    error: float = np.nan


def powered_mean(
    student: NDArray[np.floating],
    rows: IntArray,
    teacher: NDArray[np.floating],
    level: float = 0.95,
    *,
    weight: float | None = None,
    scale: Scale = LINEAR,
) -> Powered:
    """The teacher's mean over all things, as above.

    Args:
        student: ``[N]``, what the student says of each.
        rows: ``[n]``, different ones that were drawn, all with the same chance.
        teacher: ``[n]``, what the teacher says of these.
        level: of the interval.
        weight: of the student; None: as is best, 0: the teacher alone.
        scale: of the mean.

    >>> powered_mean(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 3]), np.array([1.0, 4.0]))
    Powered(estimate=2.5, low=2.5, high=2.5, weight=1.0, num=2, error=0.0)
    """
    check_level(level)
    predicted, truth = np.asarray(student[rows], np.float64), np.asarray(teacher, np.float64)
    num, total = truth.size, student.size
    if num < 2:
        return Powered(np.nan, np.nan, np.nan, np.nan, num)
    tuned = _tuned(predicted, truth) if weight is None else weight
    rest = truth - tuned * predicted
    estimate = tuned * float(np.mean(student)) + float(rest.mean())
    left_out = rest - rest.mean()
    if weight is None:
        left_out /= 1.0 - _leverage(predicted)
    error = float(np.sqrt(max(1.0 - num / total, 0.0) * np.square(left_out).sum() / (num * (num - 1))))
    return Powered(*_interval(estimate, error, num, total, level, scale), float(tuned), num, error)


def _interval(
    estimate: float, error: float, num: int, total: int, level: float, scale: Scale
) -> tuple[float, float, float]:
    """The estimate, between the borders, and its ends, for num of so many things."""
    if num == total or scale is LINEAR:
        reach = student_reach(level, num) * error
        return estimate, estimate - reach, estimate + reach
    inside = min(max(estimate, scale.low), scale.high)
    agreeing = num / (1.0 - num / total)
    return inside, *score_interval(inside, error**2, agreeing, level, scale, df=num - 1.0)


def powered_cluster_mean(
    student: NDArray[np.floating],
    clusters: IntArray,
    rows: IntArray,
    teacher: NDArray[np.floating],
    level: float = 0.95,
    scale: Scale = LINEAR,
) -> Powered:
    """The teacher's mean over things of which whole clusters were drawn, such as the contexts of a sentence.

    It is the ratio of two totals over clusters; its variance is that of the clusters' sums of y - l f less their part
    in it (Cochran 1977, section 11.3, for the difference).

    Args:
        student: ``[N]``.
        clusters: ``[N]``, numbers.
        rows: ``[n]``, all things of the clusters that were drawn.
        teacher: ``[n]``.
        level: of the interval.
        scale: of the mean.
    """
    check_level(level)
    predicted, truth = np.asarray(student[rows], np.float64), np.asarray(teacher, np.float64)
    groups, inverse = np.unique(clusters[rows], return_inverse=True)
    num, total = groups.size, np.unique(clusters).size
    if num < 2:
        return Powered(np.nan, np.nan, np.nan, np.nan, num)
    tuned = _tuned(predicted, truth)
    rest = truth - tuned * predicted
    mean = rest.mean()
    drawn = np.minimum(np.bincount(inverse, weights=_leverage(predicted)), _MAX_LEVERAGE)
    sums = np.bincount(inverse, weights=rest - mean) / (1.0 - drawn)
    estimate = tuned * float(np.mean(student)) + float(mean)
    error = float(np.sqrt(max(1.0 - num / total, 0.0) * num / (num - 1) * np.square(sums).sum()) / rest.size)
    return Powered(*_interval(estimate, error, num, total, level, scale), tuned, num, error)


def _leverage(predicted: FloatArray) -> FloatArray:
    """How far each thing has drawn the weight and the mean toward itself, less than 1."""
    deviations = np.square(predicted - predicted.mean())
    drawn = deviations / deviations.sum() if deviations.any() else deviations
    return np.asarray(np.minimum(1.0 / predicted.size + drawn, _MAX_LEVERAGE))


def _tuned(predicted: FloatArray, truth: FloatArray) -> float:
    variance = predicted.var()
    return float(((predicted - predicted.mean()) * (truth - truth.mean())).mean() / variance) if variance > 0 else 0.0


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
    Powered(estimate=0.125, low=0.125, high=0.125, weight=1.0, num=8, error=nan)
    """
    check_level(level)
    total = sum(stratum.num for stratum in strata)
    if not total:
        return Powered(np.nan, np.nan, np.nan, np.nan, 0)
    num_open = max(sum(stratum.num > stratum.num_checked for stratum in strata), 1)
    bounds = [true_bounds(stratum, 1.0 - (1.0 - level) / num_open) for stratum in strata]
    shares = [
        stratum.num * stratum.num_true / stratum.num_checked if stratum.num_checked else (np.nan if stratum.num else 0)
        for stratum in strata
    ]
    low, high = (sum(bound[side] for bound in bounds) / total for side in (0, 1))
    return Powered(float(sum(shares)) / total, low, high, 1.0, sum(stratum.num_checked for stratum in strata))


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
