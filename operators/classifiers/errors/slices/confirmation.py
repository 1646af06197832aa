"""Error rates of slices with their intervals, and whether texts that did not choose a slice confirm it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.errors.slices.group_flips import centred, group_scores
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.statistics.designs.one_sided import positive_p
from tiltmeter.operators.statistics.intervals import LINEAR
from tiltmeter.operators.statistics.means import MIN_KISH, influenced, mean, share_of_counts
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.shares import Rates, clopper_pearson
from tiltmeter.operators.statistics.text_intervals import between
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units

VERSION = "slice_rates/2"


def confirmed_p(
    members: BoolArray,
    conjunctions: Sequence[Conjunction],
    errors: LossArray,
    strata: IntArray,
    units: Units,
) -> FloatArray:
    """One-sided p-values of slices on texts that did not choose them, by Holm over these; NaN without a test.

    Student's t of the scores of units (:func:`.group_scores`), of K* - 1 degrees of freedom.

    Args:
        members: ``[predicates, rows]``.
        errors, strata, units: of the rows.
    """
    everyone, p_values = np.ones(len(errors), dtype=np.bool_), []
    for slice_ in conjunctions:
        scores, weights = group_scores(rows_with(members, slice_), errors, strata, everyone, units)
        p_values.append(positive_p(scores, weights, units.kind)[0])
    return holm(np.array(p_values, dtype=np.float64))


def retested(inside: BoolArray, errors: LossArray, strata: IntArray, units: Units, level: float) -> Inferred:
    """A slice that was named beforehand: how much larger its losses are than those of other rows of the same strata.

    With x membership and r the loss, both less their means in the stratum, d = sum x r / sum x^2, which is the
    coefficient of membership in a regression with a mean for each stratum, and of one stratum the difference of two
    means. Its interval is :func:`.influenced`'s, with u_i = N x_i (r_i - d x_i) / sum x^2, by units. p is one-sided,
    of no difference, as in :func:`confirmed_p` of one slice.

    Args:
        inside, errors, strata, units: of the rows; errors, or losses.

    >>> from tiltmeter.operators.statistics.units import each
    >>> losses, rows = np.array([1.0, 2.0, 3.0, 6.0, 0.0, 1.0, 2.0, 1.0]), each(8, "row")
    >>> made = retested(np.arange(8) < 4, losses, np.zeros(8, dtype=int), rows, 0.95)
    >>> made.value, round(made.low, 3), round(made.high, 3), round(made.p, 4)
    (2.0, -0.528, 4.528, 0.0518)
    """
    x, residuals = centred(inside, errors, strata, np.ones(len(errors), dtype=np.bool_))
    weights, nan = x * x, float("nan")
    if not weights.sum() > 0.0:
        return Inferred(nan, nan, nan, nan, nan, units.num, nan, TooFew(0.0, MIN_KISH, f"{units.kind} to compare"))
    value = float((x * residuals).sum() / weights.sum())
    influence = len(errors) * x * (residuals - value * x) / weights.sum()
    scale = between(-1.0, 1.0) if errors.dtype == np.bool_ else LINEAR
    made = influenced(value, influence, units, level=level, scale=scale, weights=weights)
    p, too_few = positive_p(units.sums(x * residuals), units.sums(weights), units.kind)
    return made._replace(p=p, too_few=made.too_few or too_few)


def rates_of(slices: Iterable[BoolArray], errors: LossArray, units: Units, level: float) -> Rates:
    """Error rates of slices with the interval of :func:`.share`, by units that have texts in them, ``[slices]``.

    Args:
        slices: ``[rows]`` of each, which are in it.
        errors, units: of the rows; of losses, their means have the interval of :func:`.mean`.

    >>> from tiltmeter.operators.statistics.units import each
    >>> rates = rates_of(np.ones((1, 10), dtype=bool), np.arange(10) < 8, each(10, "text"), 0.95)
    >>> [round(float(value[0]), 4) for value in rates]
    [0.8, 0.4439, 0.9748]
    """
    if errors.dtype != np.bool_:
        means = [mean(errors[inside], units.part(inside), level=level) for inside in slices]
        return Rates(*(np.array([getattr(one, name) for one in means]) for name in ("value", "low", "high")))
    if units.num == len(errors):  # the same, all at once
        counts = np.array([((inside & errors).sum(), inside.sum()) for inside in slices]).reshape(-1, 2)
        return clopper_pearson(counts[:, 0], counts[:, 1], level)
    shares = [
        share_of_counts(units.sums(inside & errors), units.sums(inside), level=level, kind=units.kind)
        for inside in slices
    ]
    return Rates(*(np.array([getattr(one, name) for one in shares]) for name in ("value", "low", "high")))


def sliceline_score(
    errors: LossArray, sizes: IntArray, num_errors: float, num_rows: int, alpha: float = 0.95
) -> FloatArray:
    """The score by which SliceLine ranks (Sagadeeva and Boehm 2021, equation 1), with errors of 0 or 1.

        alpha (e_S / |S| / (e / n) - 1) - (1 - alpha) (n / |S| - 1),

    which weighs how much worse a slice is against how small it is; it says nothing of chance.

    >>> sliceline_score(np.array([50]), np.array([100]), 250, 1000).round(3)
    array([0.5])
    """
    worse = (errors / sizes) / (num_errors / num_rows) - 1
    return np.asarray(alpha * worse - (1 - alpha) * (num_rows / sizes - 1))


class Change(NamedTuple):
    """How much worse a version of a model is than the one before, of a slice.

    Attributes:
        before, after: error rates.
        change: after less before, with its interval.
    """

    before: float
    after: float
    change: Inferred


def change_of(inside: BoolArray, before: LossArray, after: LossArray, units: Units, level: float) -> Change:
    """The change of the error rate of a slice on the same texts, with the interval of :func:`.mean`.

    Args:
        inside: ``[texts]``, that the slice has.
        before, after: ``[texts]``, errors or losses of each version.
        units: of the texts.

    >>> from tiltmeter.operators.statistics.units import each
    >>> change = change_of(np.ones(10, dtype=bool), np.arange(10) < 2, np.arange(10) < 6, each(10, "text"), 0.95)
    >>> change.before, change.after, round(change.change.value, 3), round(change.change.low, 3)
    (0.2, 0.6, 0.4, -0.003)
    """
    one, other = before[inside], after[inside]
    scale = between(-1.0, 1.0) if after.dtype == np.bool_ else LINEAR
    change = mean(other.astype(np.float64) - one, units.part(inside), level=level, scale=scale)
    return Change(float(one.mean()), float(other.mean()), change)
