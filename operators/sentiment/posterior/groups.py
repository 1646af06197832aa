"""Words against a lexicon, and groups of words against each other; the units are words, never draws.

Ten thousand draws are no ten thousand observations of a name: a test over draws finds every difference that the
vectors happen to have. So p-values are over permutations of words (:mod:`.statistics.permutation`), and intervals over
words. Resamples of words (Efron 1979) spread as these intervals say: with them, the numbers of two runs on the same
words are held against each other word by word. Of correlations they spread by a little less, as Fisher's z is of two
normal columns: with n words, r with a column of two values, of which a share p is 1, has the variance (Tate 1954,
*Correlation between a discrete and a continuous variable*)

    (1 - r^2)^2 (1 - 3/2 r^2 + r^2 / (4 p (1 - p))) / n

which is 1 - r^2 / 2 of Fisher's where both polarities have as many words.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.sentiment.posterior.training import area
from tiltmeter.operators.statistics.correlation import correlation
from tiltmeter.operators.statistics.permutation import permutation_p_value
from tiltmeter.operators.statistics.resampling import Estimate, resampled_mean
from tiltmeter.operators.statistics.text_intervals import spread_out

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


def resampled_agreement(values: FloatArray, is_positive: BoolArray, counts: NDArray[np.integer]) -> FloatArray:
    """``pearson`` of :func:`lexicon_agreement` in resamples of its words, ``[resamples]``.

    Args:
        values: ``[words]``, finite.
        is_positive: ``[words]``.
        counts: ``[resamples, words]``, how often each resample has each word.

    Returns:
        Spread as correlations of so many words are; NaN in a resample of one polarity, or of one value.

    >>> counts = np.array([[1, 1, 1, 1], [0, 2, 2, 0], [2, 2, 0, 0]])
    >>> resampled_agreement(np.array([0.0, 1.0, 3.0, 4.0]), np.array([False, False, True, True]), counts).round(3)
    array([0.945, 1.004,   nan])
    """
    num = counts.sum(axis=1)
    positive = (counts @ is_positive.astype(np.int64)) / num
    offsets = values - values.mean()
    mean = (counts @ offsets) / num
    product = (counts @ (offsets * is_positive)) / num - mean * positive
    variances = ((counts @ offsets**2) / num - mean**2) * positive * (1.0 - positive)
    is_known = variances > 0.0
    pearson = np.clip(product / np.sqrt(np.where(is_known, variances, np.nan)), -1.0, 1.0)
    return spread_out(Estimate(np.nan, pearson, len(values)))


def resampled_difference(first: FloatArray, second: FloatArray, counts: NDArray[np.integer]) -> FloatArray:
    """``difference`` of :func:`group_difference` in resamples of each group's words, ``[resamples]``.

    Args:
        first, second: ``[words]`` of each group, finite.
        counts: ``[resamples, words of both]``, how often each resample has each word, those of the first group first.

    Returns:
        Spread as means of so many words are: their variance is that of Welch's t.

    >>> counts = np.array([[2, 0, 1, 1], [0, 2, 1, 1]])
    >>> resampled_difference(np.array([1.0, 3.0]), np.array([0.0, 0.0]), counts).round(3)
    array([0.586, 3.414])
    """
    groups = (first, counts[:, : len(first)]), (second, counts[:, len(first) :])
    one, other = (spread_out(resampled_mean(values, drawn)) for values, drawn in groups)
    return one - other


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
