"""What flagged texts promise: to hold most of the errors, or to leave few among the others.

Thresholds are chosen on texts that the scores were not trained with, by testing them one after the other (Angelopoulos
et al. 2021, *Learn then test*; Bates et al. 2021, *Distribution-free, risk-controlling prediction sets*). What is
promised holds with probability 1 - delta over the draw of these texts, for texts like them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "flagging_guarantees/1"

_MOST_THRESHOLDS = 20
_RESPLIT = 7


class Threshold(NamedTuple):
    """Attributes:
    value: texts with at least this score are flagged; -inf flags all.
    flagged_share: of the calibration texts.
    missed: share of the errors there that are not flagged.
    unflagged_rate: error rate among those that are not flagged; NaN if all are.
    """

    value: float
    flagged_share: float
    missed: float
    unflagged_rate: float


def holds_most_errors(scores: FloatArray, errors: BoolArray, alpha: float, delta: float) -> Threshold:
    """The highest threshold that misses at most a share alpha of all errors, with probability 1 - delta.

    The share that a threshold misses grows with it, so thresholds are tested from the lowest on until one fails, and no
    test is paid for twice. Of n errors, m lie below a threshold; that it misses more than alpha is rejected where
    P(Bin(n, alpha) <= m) <= delta. So the threshold is the (m + 1)-th smallest score of an error, with the largest such
    m; with none, all texts are flagged.

    >>> scores = np.arange(100) / 100
    >>> holds_most_errors(scores, scores >= 0.4, alpha=0.1, delta=0.1).value
    0.42
    """
    from scipy.stats import binom

    of_errors = np.sort(scores[errors])
    num = of_errors.size
    fitting = np.flatnonzero(binom.cdf(np.arange(num), num, alpha) <= delta)
    return _threshold(float(of_errors[fitting[-1]]) if fitting.size else -np.inf, scores, errors)


def leaves_few_errors(scores: FloatArray, errors: BoolArray, rate: float, delta: float) -> Threshold:
    """The highest threshold below which at most a share ``rate`` of the texts are errors, with probability 1 - delta.

    That share need not grow with the threshold, so all of 20 thresholds, at equal shares of the texts, are tested, each
    at delta / 20 (Bonferroni): of u texts below it, m are errors, and P(Bin(u, rate) <= m) <= delta / 20.

    >>> scores = np.arange(1000) / 1000
    >>> leaves_few_errors(scores, scores >= 0.5, rate=0.05, delta=0.1).flagged_share
    0.5
    """
    from scipy.stats import binom

    values = np.unique(np.quantile(scores, np.arange(1, _MOST_THRESHOLDS) / _MOST_THRESHOLDS, method="higher"))
    values = np.append(values, np.inf)
    below = scores[np.newaxis] < values[:, np.newaxis]
    sizes, wrong = below.sum(axis=1), (below & errors).sum(axis=1)
    passes = (sizes > 0) & (binom.cdf(wrong, sizes, rate) <= delta / values.size)
    return _threshold(float(values[passes][-1]) if passes.any() else -np.inf, scores, errors)


def _threshold(value: float, scores: FloatArray, errors: BoolArray) -> Threshold:
    flagged = scores >= value
    others = errors[~flagged]
    missed = float(others.sum() / errors.sum()) if errors.any() else np.nan
    return Threshold(value, float(flagged.mean()), missed, float(others.mean()) if others.size else np.nan)


Choice = Callable[[FloatArray, BoolArray, float, float], Threshold]


def broken_share(
    choose: Choice, scores: FloatArray, errors: BoolArray, level: float, delta: float, num_resplits: int, seed: int
) -> float:
    """How often a threshold that a drawn half of the texts has chosen breaks its promise on all of them.

    All texts stand for what the half was drawn from, so that the share should be at most delta, as far as chance goes.

    Args:
        choose: :func:`holds_most_errors` or :func:`leaves_few_errors`.
        level: alpha, or the rate.
        num_resplits: how many halves are drawn.
    """
    broken = 0
    for resplit in range(num_resplits):
        generator = keyed_generator(seed, Stream.ERROR_CHARACTERISATION, _RESPLIT, resplit)
        drawn = generator.permutation(len(errors)) < len(errors) // 2
        threshold = _threshold(choose(scores[drawn], errors[drawn], level, delta).value, scores, errors)
        measured = threshold.missed if choose is holds_most_errors else threshold.unflagged_rate
        broken += bool(measured > level)
    return broken / num_resplits
