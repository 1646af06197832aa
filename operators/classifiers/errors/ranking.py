"""How well scores rank the errors of a classifier: precision at K, AUROC, and the area under the risk-coverage curve.

Texts with equal scores come in no order: what is given is the mean over all orders of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.units import Units

VERSION = "error_ranking/2"


class Ties(NamedTuple):
    """Attributes:
    group: ``[texts]``, the number of its score, from the highest on.
    num: how many scores there are.
    """

    group: NDArray[np.int64]
    num: int


def ties_of(scores: NDArray[np.floating]) -> Ties:
    """Texts by their score, the highest first.

    Raises:
        ValueError: if a score is NaN.
    """
    if np.isnan(scores).any():
        raise ValueError("scores hold NaN: every text must have one")
    _, group = np.unique(-np.asarray(scores, dtype=np.float64), return_inverse=True)
    return Ties(np.asarray(group, dtype=np.int64), int(group.max()) + 1 if group.size else 0)


def first_weights(scores: NDArray[np.floating], size: int) -> FloatArray:
    """``[texts]``: how much of each is among the K of the highest scores; equal scores share what is left.

    With errors e, P@K = sum w e / K (Misra et al. 2021, section 4.1).

    >>> first_weights(np.array([0.9, 0.5, 0.5, 0.1]), 2)
    array([1. , 0.5, 0.5, 0. ])
    """
    ties = ties_of(scores)
    num = np.bincount(ties.group, minlength=ties.num)
    before = np.cumsum(num) - num
    return np.asarray(np.clip((size - before) / np.maximum(num, 1), 0.0, 1.0)[ties.group])


def auroc(scores: NDArray[np.floating], errors: BoolArray) -> float:
    """Probability that an error has a higher score than a text that is none, equal ones counting one half.

    Mann and Whitney 1947; NaN where all texts or none are errors.

    >>> auroc(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.875
    """
    from scipy.stats import rankdata

    num_errors = int(errors.sum())
    num_others = len(errors) - num_errors
    if not num_errors or not num_others:
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[errors].sum() - num_errors * (num_errors + 1) / 2) / (num_errors * num_others))


def risk_coverage(scores: NDArray[np.floating], errors: BoolArray) -> FloatArray:
    """The error rate among the i texts of the lowest scores, for i = 1..n (El-Yaniv and Wiener 2010).

    >>> risk_coverage(np.array([0.9, 0.2, 0.1]), np.array([True, False, False])).round(3)
    array([0.   , 0.   , 0.333])
    """
    ties = ties_of(-np.asarray(scores, dtype=np.float64))
    rates = np.bincount(ties.group, errors) / np.bincount(ties.group)
    expected = rates[np.sort(ties.group)]
    return np.asarray(np.cumsum(expected) / np.arange(1, len(errors) + 1))


def aurc(scores: NDArray[np.floating], errors: BoolArray) -> float:
    """The mean of :func:`risk_coverage` over all coverages; lower is better, and the error rate is chance.

    >>> round(aurc(np.array([0.9, 0.2, 0.1]), np.array([True, False, False])), 4)
    0.1111
    """
    return float(risk_coverage(scores, errors).mean())


def at_prevalence(precision: float, balanced: float, prevalence: float) -> float:
    """A precision measured where a share ``balanced`` of the texts are errors, as it is where ``prevalence`` are.

    With TPR and FPR the shares of errors and of others that are among the first, P = b TPR / (b TPR + (1 - b) FPR), so
    that P / (1 - P) = b / (1 - b) * TPR / FPR: odds are multiplied by those of the prevalences.

    >>> round(at_prevalence(0.76, 0.5, 4655 / 11664), 4)
    0.6777
    """
    if precision in (0.0, 1.0):
        return precision
    odds = precision / (1 - precision) * (1 - balanced) / balanced * prevalence / (1 - prevalence)
    return odds / (1 + odds)


def units_of_both(errors: BoolArray, units: Units) -> int:
    """Units with an error, or with a text that is none, whichever are fewer: an AUROC is of pairs of both."""
    return min(units.part(errors).num, units.part(~errors).num)
