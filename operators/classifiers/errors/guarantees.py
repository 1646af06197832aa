"""What flagged texts promise: to hold most of the errors, or to leave few among the others.

Thresholds are chosen on texts that the scores were not trained with (Angelopoulos et al. 2021, *Learn then test*; Bates
et al. 2021, *Distribution-free, risk-controlling prediction sets*). What is promised holds with probability 1 - delta
over the draw of these texts, for texts like them. Texts of a group are no draws of their own: one of each group, drawn
by key, is what counts.
"""

from typing import Literal, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.designs.thresholds import Promise, miss_threshold, most_share, one_per_unit
from tiltmeter.operators.statistics.units import Units

VERSION = "flagging_guarantees/2"

MISSED, UNFLAGGED, JUDGED = 0, 1, 2
"""What a text of each group is drawn about."""

_MOST_THRESHOLDS = 20

Flags = Literal["all", "some", "none"]


class Flagged(NamedTuple):
    """What a threshold does to texts.

    Attributes:
        flags: whether all are flagged, some, or none.
        share: of the texts that are flagged.
        missed: share of the errors that are not.
        unflagged_rate: error rate among those that are not; NaN if all are.
    """

    flags: Flags
    share: float
    missed: float
    unflagged_rate: float


def flagged(threshold: float, scores: FloatArray, errors: BoolArray) -> Flagged:
    """Texts with at least this score are flagged: -inf flags all, inf none.

    >>> flagged(0.5, np.array([0.2, 0.6, 0.9]), np.array([True, False, True]))
    Flagged(flags='some', share=0.6666666666666666, missed=0.5, unflagged_rate=1.0)
    """
    is_flagged = scores >= threshold
    others = errors[~is_flagged]
    missed = float(others.sum() / errors.sum()) if errors.any() else np.nan
    flags: Flags = "some" if np.isfinite(threshold) else "none" if threshold > 0 else "all"
    return Flagged(flags, float(is_flagged.mean()), missed, float(others.mean()) if others.size else np.nan)


def holds_most_errors(
    scores: FloatArray, errors: BoolArray, units: Units, *, alpha: float, delta: float, joint: int, seed: int
) -> Promise:
    """The highest threshold that misses at most a share alpha of all errors: of one error of each unit.

    Args:
        scores, errors, units: of the texts that choose.
        alpha, delta, joint: as for :func:`.miss_threshold`.
        seed: of the draw of an error of each unit.

    >>> from tiltmeter.operators.statistics.units import each
    >>> scores = np.arange(100) / 100
    >>> texts = each(100, "text")
    >>> holds_most_errors(scores, scores >= 0.4, texts, alpha=0.1, delta=0.1, joint=1, seed=0).threshold
    0.42
    """
    wrong = np.flatnonzero(errors)
    drawn = wrong[one_per_unit(units.part(wrong), seed=seed, about=MISSED)]
    return miss_threshold(scores[drawn], alpha=alpha, delta=delta, joint=joint)


def leaves_few_errors(
    scores: FloatArray, errors: BoolArray, units: Units, *, rate: float, delta: float, joint: int, seed: int
) -> float:
    """The highest threshold below which at most a share ``rate`` of the texts are errors; -inf if there is none.

    That share need not grow with the threshold, so all of 20 thresholds, at equal shares of the texts, are tested, each
    at delta / joint / 20 (Bonferroni), on one text of each unit: of u texts below it m are errors, and the one-sided
    interval of Clopper and Pearson must end below the rate.

    >>> from tiltmeter.operators.statistics.units import each
    >>> scores = np.arange(1000) / 1000
    >>> leaves_few_errors(scores, scores >= 0.5, each(1000, "text"), rate=0.05, delta=0.1, joint=1, seed=0)
    0.5
    """
    drawn = one_per_unit(units, seed=seed, about=UNFLAGGED)
    scores, errors = scores[drawn], errors[drawn]
    values = np.unique(np.quantile(scores, np.arange(1, _MOST_THRESHOLDS) / _MOST_THRESHOLDS, method="higher"))
    values = np.append(values, np.inf)
    level = 1.0 - delta / joint / values.size
    fitting = [
        float(value)
        for value in values
        if (below := scores < value).any() and most_share(int(errors[below].sum()), int(below.sum()), level) <= rate
    ]
    return fitting[-1] if fitting else -np.inf


def most_unflagged(
    threshold: float, scores: FloatArray, errors: BoolArray, units: Units, *, level: float, seed: int
) -> float:
    """Upper bound of the error rate below a threshold, by one text of each unit that had no part in choosing it.

    Returns:
        NaN where no text lies below.
    """
    below = np.flatnonzero(scores < threshold)
    if not below.size:
        return np.nan
    drawn = below[one_per_unit(units.part(below), seed=seed, about=JUDGED)]
    return most_share(int(errors[drawn].sum()), drawn.size, level)
