"""Means, shares, ratios and differences with their intervals and tests, by the unit that was drawn.

Of N items in K units, with the sums e_k of deviations from the mean and n_k items in unit k,

    v = sum_k e_k^2 / (1 - n_k / N) / N^2            (CR2: Bell and McCaffrey 2002, for an intercept)

and Student's t has K* - 1 degrees of freedom, K* = (sum n_k)^2 / sum n_k^2. With units of one item it is s^2 / N with
N - 1. Simulated with an intraclass correlation of 0.3 and 5 to 50 units of unlike sizes, a test at 5 % rejects in 4 to
6 % (9 % where effects of units are skewed), where items taken for units give 44 to 51 %. Fewer than four units of one
size get no interval, and fewer than six that differ no p-value. Null of a mean: it is 0.

Models that are trained again are a second thing that is drawn. Over S seeds v gains s_seed^2 / S, and df are Welch and
Satterthwaite's. ``benchmarks.calibration`` says what each covers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.flips import MIN_UNITS, flips
from tiltmeter.operators.statistics.intervals import LINEAR, LOGIT, Scale, check_level
from tiltmeter.operators.statistics.text_intervals import is_bounded, score_interval
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, kish

VERSION = "means/1"

MIN_KISH = 4
"""Units of one size that an interval needs."""

MIN_SHARE = 2
"""The same for a share, whose interval is exact for independent units, and wide."""

_FEW = 5
"""Units with a hit, or with a miss, below which the spread of a share says nothing."""

_NAN = float("nan")


def mean(
    values: NDArray[np.generic],
    units: Units,
    *,
    level: float,
    scale: Scale = LINEAR,
    seeds: NDArray[np.floating] | None = None,
) -> Inferred:
    """The mean of items, as above; p is of a mean of 0, by Student's t.

    Args:
        values: ``[items]``; NaN, where an item has none, is left out.
        units: of the items.
        level: nominal coverage.
        scale: of the mean; between two borders the interval is that of a score test.
        seeds: ``[seeds]``, the mean by each training, where ``values`` are averages over these.

    >>> from tiltmeter.operators.statistics.units import each
    >>> found = mean(np.array([1.0, 2.0, 3.0, 6.0]), each(4, "text"), level=0.95)
    >>> found.value, round(found.low, 3), round(found.high, 3), round(found.p, 4)
    (3.0, -0.437, 6.437, 0.125)
    """
    numbers = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(numbers)
    part = units.part(known)
    value = float(numbers[known].mean()) if known.any() else _NAN
    return influenced(value, numbers[known] - value, part, level=level, scale=scale, seeds=seeds)


def paired(
    first: NDArray[np.generic], second: NDArray[np.generic], units: Units, *, level: float, scale: Scale = LINEAR
) -> Inferred:
    """The mean of ``first`` less ``second``; p by the signs of units (:mod:`.flips`): either sign is as likely.

    >>> from tiltmeter.operators.statistics.units import each
    >>> paired(np.array([1, 1, 1, 1, 1, 1, 0]), np.zeros(7), each(7, "text"), level=0.95).p
    0.03125
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    known = ~np.isnan(differences)
    result = mean(differences, units, level=level, scale=scale)
    p, too_few = flips(differences[known], units.part(known))
    return result._replace(p=p, too_few=result.too_few or too_few)


def contrast(
    values: NDArray[np.generic], side: NDArray[np.bool_], units: Units, *, level: float, scale: Scale = LINEAR
) -> Inferred:
    """The mean of the items on one side less that of the others, by units that may have items on both.

    With e_k and f_k the sums of deviations in unit k, of n_k of N items and m_k of M, the variance is

        sum_k (e_k / N / sqrt(1 - n_k / N) - f_k / M / sqrt(1 - m_k / M))^2

    with degrees of freedom of Welch 1947, at most those of all units together. Null: both means are the same; p by
    Student's t.

    Args:
        values: ``[items]``; NaN, where an item has none, is left out.
        side: ``[items]``, whether each is on the first side.
        units: of the items.
        level: nominal coverage.
        scale: of the difference, where it has borders.

    >>> from tiltmeter.operators.statistics.units import each
    >>> sides = np.arange(8) < 4
    >>> found = contrast(np.arange(8.0), sides, each(8, "text"), level=0.95)
    >>> found.value, round(found.low, 2), round(found.high, 2), round(found.p, 4)
    (-4.0, -6.23, -1.77, 0.0078)
    """
    numbers = np.asarray(values, dtype=np.float64)
    chosen = [~np.isnan(numbers) & on_side for on_side in (side, ~side)]
    first, second = (mean(np.where(part, numbers, np.nan), units, level=level) for part in chosen)
    value, total = first.value - second.value, int(np.count_nonzero(units.sums(chosen[0] | chosen[1])))
    lacking = [one.too_few for one in (first, second) if one.too_few and np.isnan(one.variance)]
    if lacking:
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, total, too_few=lacking[0])
    sides = [(units.sums(part), units.sums(np.where(part, numbers, 0.0))) for part in chosen]
    means = zip(sides, (first.value, second.value), strict=True)
    moves = [(sums - value * num) / num.sum() / np.sqrt(1.0 - num / num.sum()) for (num, sums), value in means]
    variance = float(np.square(moves[0] - moves[1]).sum())
    spread = first.variance**2 / first.df + second.variance**2 / second.df
    together = kish(sides[0][0] / chosen[0].sum() + sides[1][0] / chosen[1].sum())
    df = min((first.variance + second.variance) ** 2 / spread if spread else _NAN, together - 1.0)
    low, high, too_few = interval_ends(value, variance, df, together, level, scale, units.kind)
    p = max(student_p(value, variance, df), 2.0 ** (1 - min(total, 1074))) if variance > 0.0 else _NAN
    return Inferred(value, low, high, variance, df, total, p, too_few)


def influenced(
    value: float,
    influence: NDArray[np.floating],
    units: Units,
    *,
    level: float,
    scale: Scale = LINEAR,
    seeds: NDArray[np.floating] | None = None,
    weights: NDArray[np.floating] | None = None,
    least: int = 0,
) -> Inferred:
    """Any number whose change by each item is known, such as F1, with the mean's interval.

    Args:
        value: of all items.
        influence: ``[items]``, u_i, where the number moves as the mean of the u_i; they sum to 0.
        units: of the items.
        level, scale, seeds: as for :func:`mean`.
        weights: ``[items]``, how much each item counts for; None: alike.
        least: units that count for something, below which there is no interval.
    """
    check_level(level)
    num = influence.size
    sizes = units.sums(np.ones(num) if weights is None else weights)
    effective, counting = kish(sizes), int(np.count_nonzero(sizes))
    if counting < least or effective < MIN_KISH:
        lacking = TooFew(counting, least, units.kind) if counting < least else TooFew(effective, MIN_KISH, units.kind)
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, units.num, too_few=lacking)
    sums = units.sums(influence)
    variance = float((np.square(sums) / (1.0 - sizes / sizes.sum())).sum()) / num**2
    variance, df = with_seeds(variance, effective - 1.0, seeds)
    low, high, too_few = interval_ends(value, variance, df, effective, level, scale, units.kind)
    differing = int(np.count_nonzero(units.sums(influence + value)))
    p = max(student_p(value, variance, df), 2.0 ** (1 - min(differing, 1074))) if variance > 0.0 else _NAN
    return Inferred(value, low, high, variance, df, units.num, p, too_few)


def with_seeds(variance: float, df: float, seeds: NDArray[np.floating] | None) -> tuple[float, float]:
    """Variance and degrees of freedom with what training adds (Satterthwaite 1946); as they are below two seeds.

    >>> [round(number, 4) for number in with_seeds(1.0, 99.0, np.array([1.0, 3.0]))]
    [2.0, 3.96]
    """
    known = np.zeros(0) if seeds is None else seeds[~np.isnan(seeds)]
    if known.size < 2:
        return variance, df
    training = float(known.var(ddof=1)) / known.size
    total = variance + training
    if total == 0.0:
        return total, df
    return total, total**2 / (variance**2 / df + training**2 / (known.size - 1.0))


def share(
    hits: NDArray[np.generic], units: Units, *, level: float, sizes: NDArray[np.generic] | None = None
) -> Inferred:
    """A share of counted things, whose interval is Korn and Graubard's 1998.

    Of N things in K units, p = X / N with the variance v above counts as

        m = N min(1, p (1 - p) / ((N - 1) v) (t_{N-1} / t_{K*-1})^2)

    independent ones, whose interval is Clopper and Pearson's 1934: with units of one thing, m = N. Where fewer than
    five units have a hit, or a miss, m is at most K*.

    Args:
        hits: ``[items]``, whole numbers or yes and no.
        units: of the items.
        level: nominal coverage.
        sizes: ``[items]``, how many things each item stands for; None: one.

    >>> from tiltmeter.operators.statistics.units import each, units_of
    >>> found = share(np.arange(10) < 8, each(10, "text"), level=0.95)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.8, 0.4439, 0.9748)
    >>> round(share(np.arange(10) < 8, units_of(list("aabbccddee"), "speaker"), level=0.95).low, 2)
    0.15
    """
    counts = np.ones(np.size(hits)) if sizes is None else sizes
    return share_of_counts(units.sums(hits), units.sums(counts), level=level, kind=units.kind)


def share_of_counts(hits: NDArray[np.generic], sizes: NDArray[np.generic], *, level: float, kind: str) -> Inferred:
    """:func:`share` of counts by unit, ``[units]``; units without anything counted are left out."""
    from scipy.special import betaincinv

    check_level(level)
    kept = np.asarray(sizes) > 0
    result, counts = np.asarray(hits, dtype=np.float64)[kept], np.asarray(sizes, dtype=np.float64)[kept]
    total, effective = float(counts.sum()), kish(counts)
    value = float(result.sum()) / total if total else _NAN
    if effective < MIN_SHARE:
        return Inferred(value, _NAN, _NAN, _NAN, _NAN, result.size, too_few=TooFew(effective, MIN_SHARE, kind))
    variance = float((np.square(result - value * counts) / (1.0 - counts / total)).sum()) / total**2
    num = _independent(value, variance, total, effective, level)
    if min(np.count_nonzero(result), np.count_nonzero(counts - result)) < _FEW:
        num = min(num, effective)
    tail, hit = (1.0 - level) / 2.0, value * num
    low = float(betaincinv(hit, num - hit + 1.0, tail)) if value > 0.0 else 0.0
    high = float(betaincinv(hit + 1.0, num - hit, 1.0 - tail)) if value < 1.0 else 1.0
    return Inferred(value, min(low, value), max(high, value), variance, effective - 1.0, result.size)


def _independent(value: float, variance: float, total: float, effective: float, level: float) -> float:
    from scipy.special import stdtrit

    if variance <= 0.0 or not 0.0 < value < 1.0:
        return effective
    quantiles = stdtrit(np.array([total, effective]) - 1.0, (1.0 + level) / 2.0)
    ratio = value * (1.0 - value) / ((total - 1.0) * variance) * float(quantiles[0] / quantiles[1]) ** 2
    return total * min(1.0, ratio)


def ratio(
    numerator: NDArray[np.generic],
    denominator: NDArray[np.generic],
    units: Units,
    *,
    level: float,
    scale: Scale = LINEAR,
    seeds: NDArray[np.floating] | None = None,
) -> Inferred:
    """A ratio of two sums, R = sum a / sum b, linearised: u_i = N (a_i - R b_i) / sum b (Cochran 1977, section 6.4).

    >>> from tiltmeter.operators.statistics.units import each
    >>> ratio(np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 4.0, 4.0, 6.0]), each(4, "text"), level=0.95).value
    0.5
    """
    above, below = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    total = float(below.sum())
    if not total:
        return Inferred(_NAN, _NAN, _NAN, _NAN, _NAN, units.num, too_few=TooFew(0.0, MIN_KISH, units.kind))
    value = float(above.sum()) / total
    influence = (above - value * below) * (above.size / total)
    return influenced(value, influence, units, level=level, scale=scale, seeds=seeds, weights=below)


class Counts(NamedTuple):
    """What F1 is made of, ``[items]``, or ``[seeds, items]`` of models that were trained again.

    Attributes:
        hits: true positives of each item, such as a sentence.
        predicted: positives.
        gold: that are there.
    """

    hits: NDArray[np.generic]
    predicted: NDArray[np.generic]
    gold: NDArray[np.generic]


MIN_SENTENCES = 20


def f1(counts: Counts, units: Units, *, level: float, least: int = MIN_SENTENCES) -> Inferred:
    """F1 = 2 TP / (P + G), with influences u_i = N (2 tp_i - F (p_i + g_i)) / sum (p + g), averaged over seeds.

    Args:
        counts: by item.
        units: of the items: documents where they are known, else sentences.
        level: nominal coverage.
        least: units with a pair that it needs: 20 sentences, or 6 documents.
    """
    values, influence, weights = _f1_parts(counts)
    value = float(values.mean())
    return influenced(value, influence, units, level=level, scale=LOGIT, seeds=values, weights=weights, least=least)


def f1_difference(first: Counts, second: Counts, units: Units, *, level: float, least: int = MIN_SENTENCES) -> Inferred:
    """F1 of the first less that of the second; interval and p are of one number and cannot contradict each other.

    The influences of both are subtracted (Cochran 1977; the swap of outputs of Yeh 2000 agrees in tests), and seeds of
    both sides add what training spreads. McNemar's test asks of accuracy instead: at equal F1 with a recall of 0.5
    against 0.75 it rejects in 99 % of 200 sentences.

    Args:
        first, second: of the same items.
        units, level, least: as for :func:`f1`.
    """
    (one, u_one, w_one), (other, u_other, w_other) = _f1_parts(first), _f1_parts(second)
    value = float(one.mean() - other.mean())
    result = influenced(value, u_one - u_other, units, level=level, weights=w_one + w_other, least=least)
    if np.isnan(result.variance):
        return result
    variance, df = with_seeds(*with_seeds(result.variance, result.df, one), other)
    low, high, too_few = interval_ends(value, variance, df, units.num, level, LINEAR, units.kind)
    p = student_p(value, variance, df) if variance > 0.0 else _NAN
    return Inferred(value, max(low, -1.0), min(high, 1.0), variance, df, units.num, p, too_few)


def _f1_parts(counts: Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F1 of each seed, the mean influence of every item, and what each counts for."""
    hits = np.atleast_2d(np.asarray(counts.hits, dtype=np.float64))
    sums = np.atleast_2d(np.asarray(counts.predicted, dtype=np.float64) + np.asarray(counts.gold, dtype=np.float64))
    total = np.maximum(sums.sum(axis=1, keepdims=True), 1.0)
    values = 2.0 * hits.sum(axis=1, keepdims=True) / total
    influence = ((2.0 * hits - values * sums) * (hits.shape[1] / total)).mean(axis=0)
    return values[:, 0], influence, sums.mean(axis=0)


def judged_sample(
    student: NDArray[np.generic],
    rows: NDArray[np.integer],
    teacher: NDArray[np.generic],
    units: Units,
    *,
    level: float,
    scale: Scale = LINEAR,
) -> Inferred:
    """The teacher's mean where it judged a part and a student all: of other units of this kind, in two phases.

    With y of the teacher, f of the student, and l by which f foretells y best,

        l mean_N(f) + mean_n(y - l f),    v = (1 - n / N) v(y - l f) + n / N v(y),

    both variances by units as above (Cochran 1977, chapter 12: units are a sample, and those judged a sample of it).
    The second part stays where all are judged; there it is :func:`paired`, whose p is by signs. Null: y is as likely
    to be -y in each unit.

    Args:
        student: ``[N]``, f.
        rows: ``[n]``, those that the teacher judged, drawn with equal chances.
        teacher: ``[n]``, y.
        units: of all N.
        level, scale: as for :func:`mean`.
    """
    judged, truth = units.part(rows), np.asarray(teacher, dtype=np.float64)
    if truth.size == units.codes.size:
        return paired(truth, np.zeros(truth.size), judged, level=level, scale=scale)
    predicted = np.asarray(student, dtype=np.float64)
    weight = _best_weight(predicted[rows], truth, judged)
    rest, part = truth - weight * predicted[rows], truth.size / units.codes.size
    value = weight * float(predicted.mean()) + float(rest.mean())
    residual, all_of_it = (mean(numbers, judged, level=level) for numbers in (rest, truth))
    if residual.too_few and np.isnan(residual.variance):
        return residual._replace(value=value)
    variance = (1.0 - part) * residual.variance + part * all_of_it.variance
    value = min(max(value, scale.low), scale.high)
    low, high, too_few = interval_ends(value, variance, residual.df, residual.df + 1.0, level, scale, units.kind)
    differing = int(np.count_nonzero(judged.sums(truth)))
    if differing < MIN_UNITS:
        lacking = TooFew(differing, MIN_UNITS, f"{units.kind} that differs")
        return Inferred(value, low, high, variance, residual.df, judged.num, _NAN, too_few or lacking)
    p = max(student_p(value, variance, residual.df), 2.0 ** (1 - min(differing, 1074)))
    return Inferred(value, low, high, variance, residual.df, judged.num, p, too_few)


def _best_weight(predicted: FloatArray, truth: FloatArray, units: Units) -> float:
    """l in [0, 1] with the least variance of sums of y - l f over units."""
    f, y = (units.sums(numbers - numbers.mean()) for numbers in (predicted, truth))
    squares = float(f @ f)
    return float(np.clip(f @ y / squares, 0.0, 1.0)) if squares > 0.0 else 0.0


def interval_ends(
    value: float, variance: float, df: float, effective: float, level: float, scale: Scale, kind: str
) -> tuple[float, float, TooFew | None]:
    """Ends of an interval by Student's t, or the score's; where nothing spreads there is one between borders alone."""
    from scipy.special import stdtrit

    if is_bounded(scale):
        return *score_interval(value, variance, effective, level, scale, df), None
    if not variance > 0.0:
        return _NAN, _NAN, TooFew(0.0, 2, f"{kind} that differs from the others")
    reach = float(stdtrit(df, (1.0 + level) / 2.0)) * variance**0.5
    return max(value - reach, scale.low), min(value + reach, scale.high), None


def student_p(value: float, variance: float, df: float) -> float:
    """The two-sided p-value of a number whose null is 0."""
    from scipy.special import stdtr

    return float(2.0 * stdtr(df, -abs(value) / variance**0.5)) if variance > 0.0 else 1.0 if value == 0.0 else 0.0


__all__ = [
    "Counts",
    "Inferred",
    "contrast",
    "f1",
    "f1_difference",
    "influenced",
    "interval_ends",
    "judged_sample",
    "mean",
    "paired",
    "ratio",
    "share",
    "share_of_counts",
    "student_p",
    "with_seeds",
]
