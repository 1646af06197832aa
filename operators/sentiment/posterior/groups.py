"""Words against a lexicon, and groups of words against each other; the units are words, never draws.

Ten thousand draws are no ten thousand observations of a name: a test over draws finds every difference that the
vectors happen to have. So p-values are over permutations of words (:mod:`.statistics.permutation`), and intervals over
words.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.sentiment.posterior.training import area
from tiltmeter.operators.statistics.correlation import correlation
from tiltmeter.operators.statistics.permutation import permutation_p_value

VERSION = "posterior_groups/1"

_MIN_WORDS = 4
"""Of a correlation with an interval."""


class LexiconAgreement(NamedTuple):
    """Attributes:
    pearson, spearman: correlation with being positive.
    low, high: interval of ``pearson``, by Fisher's z over words.
    auc: area under the ROC curve of positive words.
    num_words: with a value.
    """

    pearson: float
    low: float
    high: float
    spearman: float
    auc: float
    num_words: int


class GroupDifference(NamedTuple):
    """Attributes:
    difference: of the means, first less second.
    low, high: its interval, by Welch's t over words.
    p: over permutations of the words, two-sided.
    num_first, num_second: words with a value.
    """

    difference: float
    low: float
    high: float
    p: float
    num_first: int
    num_second: int


def lexicon_agreement(values: FloatArray, is_positive: BoolArray, level: float = 0.95) -> LexiconAgreement:
    """How a number of words goes with a lexicon.

    Args:
        values: ``[words]``; words with NaN are left out.
        is_positive: ``[words]``.
        level: of the interval.

    >>> lexicon_agreement(np.array([3.0, 2.0, 1.0, 1.5]), np.array([True, True, False, False])).auc
    1.0
    """
    known = np.isfinite(values)
    values, is_positive = values[known], is_positive[known]
    both = correlation(values, is_positive.astype(np.float64))
    low = high = float("nan")
    if len(values) >= _MIN_WORDS and abs(both.pearson) < 1:
        width = stats.norm.ppf(0.5 + level / 2) / np.sqrt(len(values) - 3)
        low, high = (float(np.tanh(np.arctanh(both.pearson) + side * width)) for side in (-1, 1))
    return LexiconAgreement(both.pearson, low, high, both.spearman, area(values, is_positive), both.num)


def group_difference(first: FloatArray, second: FloatArray, level: float = 0.95) -> GroupDifference:
    """How far the means of two groups of words are apart.

    Args:
        first, second: ``[words]`` of each group; words with NaN are left out.
        level: of the interval.

    Returns:
        All NaN but the numbers of words where a group has fewer than 2.
    """
    first, second = first[np.isfinite(first)], second[np.isfinite(second)]
    if min(first.size, second.size) < 2:
        nan = float("nan")
        return GroupDifference(nan, nan, nan, nan, first.size, second.size)
    test = stats.ttest_ind(first, second, equal_var=False)
    low, high = test.confidence_interval(level)
    p = permutation_p_value(first, second, alternative="two-sided").value
    return GroupDifference(float(first.mean() - second.mean()), float(low), float(high), p, first.size, second.size)


def without_frequency(values: FloatArray, counts: FloatArray) -> FloatArray:
    """What is left of a number of words after its regression on the logarithm of their frequency and its square.

    Args:
        values: ``[words]``; NaN stays.
        counts: ``[words]``, positive where the value is finite.
    """
    known = np.isfinite(values)
    logs = np.log(np.where(known, counts, 1.0))
    design = np.stack([np.ones_like(logs), logs, logs**2], axis=1)
    slopes, *_ = np.linalg.lstsq(design[known], values[known], rcond=None)
    return np.asarray(values - design @ slopes)
