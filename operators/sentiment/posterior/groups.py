"""Words against a lexicon, and groups of words against each other; the units are words, never draws.

Ten thousand draws are no ten thousand observations of a name: a test over draws finds every difference that the
vectors happen to have. Forms of one lemma (*girl*, *girls*) are one unit, as their vectors are near each other. The
labels of units are dealt anew for p-values of groups (:mod:`.designs.groups`), and intervals are over units: of a
correlation, by what each word contributes to it (:mod:`.statistics.means`) on Fisher's scale. Resamples of units (Efron
1979) spread as these intervals say: with them, the numbers of two runs on the same words are held against each other
word by word.
"""

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior.training import area
from tiltmeter.operators.statistics.correlation import correlation
from tiltmeter.operators.statistics.designs.groups import two_groups
from tiltmeter.operators.statistics.means import influenced
from tiltmeter.operators.statistics.resampling import Estimate, resampled_mean
from tiltmeter.operators.statistics.text_intervals import spread_out
from tiltmeter.operators.statistics.units import Inferred, Units, each, kish, units_of

VERSION = "posterior_groups/2"

NUM_DEALS, MOST_ENUMERATED = 9_999, 2**12
"""Of labels to units, by chance; and of which each is made once, where there are no more."""


class LexiconAgreement(NamedTuple):
    """Attributes:
    pearson, spearman: correlation with being positive.
    low, high: interval of ``pearson`` over units.
    auc: area under the ROC curve of positive words.
    num_words: with a value.
    """

    pearson: float
    low: float
    high: float
    spearman: float
    auc: float
    num_words: int


def lemma_units(words: Sequence[str], lemmas: Mapping[str, str]) -> Units:
    """Words of one lemma are one unit: those that are told to be, and those of one stem by Porter 1980.

    Args:
        words: English ones.
        lemmas: what other word a word is a form of, where the stem does not tell, such as ``{"women": "woman"}``.

    >>> lemma_units(["girl", "girls", "woman", "women"], {"women": "woman"}).codes
    array([0, 0, 1, 1])
    """
    from textblob import Word  # imports NLTK, which takes seconds

    return units_of([str(Word(lemmas.get(word, word)).stem()) for word in words], "word (lemma)")


def lexicon_agreement(
    values: FloatArray, is_positive: BoolArray, units: Units, level: float = 0.95
) -> LexiconAgreement:
    """How a number of words goes with a lexicon.

    With both sides in standard deviations, a word contributes u_i = x_i y_i - r (x_i^2 + y_i^2) / 2 to Pearson's r
    (Devlin, Gnanadesikan and Kettenring 1975), and u_i / (1 - r^2) to artanh r.

    Args:
        values: ``[words]``; words with NaN are left out.
        is_positive: ``[words]``.
        units: of the words.
        level: of the interval.

    >>> from tiltmeter.operators.statistics.units import each
    >>> lexicon_agreement(np.array([3.0, 2.0, 1.0, 1.5]), np.array([True, True, False, False]), each(4, "word")).auc
    1.0
    """
    known = np.isfinite(values)
    values, is_positive, units = values[known], is_positive[known], units.part(known)
    both = correlation(values, is_positive.astype(np.float64))
    low = high = float("nan")
    if abs(both.pearson) < 1.0:
        x, y = _standardised(values), _standardised(is_positive.astype(np.float64))
        influence = (x * y - both.pearson * (x**2 + y**2) / 2.0) / (1.0 - both.pearson**2)
        inferred = influenced(float(np.arctanh(both.pearson)), influence, units, level=level)
        low, high = (float(np.tanh(end)) for end in (inferred.low, inferred.high))
    return LexiconAgreement(both.pearson, low, high, both.spearman, area(values, is_positive), both.num)


def _standardised(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / values.std())


def unit_names(words: Sequence[str], units: Units) -> tuple[str, ...]:
    """Of each unit, its words.

    >>> unit_names(["girl", "aunt", "girls"], units_of(["girl", "aunt", "girl"], "word"))
    ('girl girls', 'aunt')
    """
    names: list[list[str]] = [[] for _ in range(units.num)]
    for word, code in zip(words, units.codes.tolist(), strict=True):
        names[code].append(word)
    return tuple(map(" ".join, names))


class WordGroup(NamedTuple):
    """A group of words.

    Attributes:
        name: of the group.
        places: ``[words]``, their rows among all words.
        units: of the words.
        names: ``[units]``.
    """

    name: str
    places: IntArray
    units: Units
    names: tuple[str, ...]

    @classmethod
    def among(cls, rows: Mapping[str, int], name: str, words: Sequence[str], lemmas: Mapping[str, str]) -> Self:
        """The group of these words, given the row of each word."""
        units = lemma_units(words, lemmas)
        return cls(name, np.array([rows[word] for word in words], dtype=np.int64), units, unit_names(words, units))

    def of(self, values: FloatArray) -> FloatArray:
        """``[units]`` of ``[all words]``."""
        return unit_means(values[self.places], self.units)


def unit_means(values: FloatArray, units: Units) -> FloatArray:
    """``[units]``, the mean of each one's words that have a value; NaN where none has.

    >>> unit_means(np.array([1.0, 3.0, np.nan]), units_of(["girl", "girl", "aunt"], "word"))
    array([ 2., nan])
    """
    known = np.isfinite(values)
    num = units.sums(known)
    return units.sums(np.where(known, values, 0.0)) / np.where(num > 0, num, np.nan)


def group_difference(
    first: FloatArray, second: FloatArray, *, level: float = 0.95, seed: int = 0, about: int = 0
) -> Inferred:
    """How far the means of two groups of units are apart, first less second.

    Null: which units are in which group has nothing to do with their values.

    Args:
        first, second: ``[units]`` of each group, from :func:`unit_means`; those with NaN are left out.
        level: of the interval.
        seed, about: what deals are keyed by.

    Returns:
        No p-value and no interval where a group has fewer than 4.
    """
    values = np.concatenate([first, second])
    sides = np.arange(values.size) < len(first)
    return two_groups(
        values, each(values.size, "word (lemma)"), sides, level=level, seed=seed, about=about, num_draws=NUM_DEALS
    )


def least_p(num_first: int, num_second: int) -> float:
    """The smallest p that groups of so many units can have.

    >>> least_p(4, 4), least_p(4, 5), least_p(15, 15)
    (0.02857142857142857, 0.007936507936507936, 0.0001)
    """
    deals = comb(num_first + num_second, num_first)
    if deals > MOST_ENUMERATED:
        return 1.0 / (NUM_DEALS + 1)
    return (2.0 if num_first == num_second else 1.0) / deals


def resampled_agreement(
    values: FloatArray, is_positive: BoolArray, counts: NDArray[np.integer], units: Units
) -> FloatArray:
    """``pearson`` of :func:`lexicon_agreement` in resamples of its units, ``[resamples]``.

    Args:
        values: ``[words]``, finite.
        is_positive: ``[words]``.
        counts: ``[resamples, words]``, how often each resample has each word.
        units: of the words, which are drawn whole.

    Returns:
        Spread as correlations of so many units are; NaN in a resample of one polarity, or of one value.

    >>> counts = np.array([[1, 1, 1, 1], [0, 2, 2, 0], [2, 2, 0, 0]])
    >>> is_positive = np.array([False, False, True, True])
    >>> resampled_agreement(np.array([0.0, 1.0, 3.0, 4.0]), is_positive, counts, each(4, "word")).round(3)
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
    return spread_out(Estimate(np.nan, pearson, kish(units.sizes)))


def resampled_difference(first: FloatArray, second: FloatArray, counts: NDArray[np.integer]) -> FloatArray:
    """``difference`` of :func:`group_difference` in resamples of each group's units, ``[resamples]``.

    Args:
        first, second: ``[units]`` of each group, finite.
        counts: ``[resamples, units of both]``, how often each resample has each unit, those of the first group first.

    Returns:
        Spread as means of so many units are: their variance is that of Welch's t.

    >>> counts = np.array([[2, 0, 1, 1], [0, 2, 1, 1]])
    >>> resampled_difference(np.array([1.0, 3.0]), np.array([0.0, 0.0]), counts).round(3)
    array([0.586, 3.414])
    """
    groups = (first, counts[:, : len(first)]), (second, counts[:, len(first) :])
    one, other = (spread_out(resampled_mean(values, drawn)) for values, drawn in groups)
    return one - other


def as_one_group(sizes: Sequence[int]) -> float:
    """How many units of one group have as many degrees of freedom as the difference of groups (Welch 1947).

    Of units that spread alike.

    >>> as_one_group([8, 8]), round(as_one_group([2, 100]), 2)
    (15.0, 2.04)
    """
    variances = 1.0 / np.array(sizes, dtype=np.float64)
    return float(1.0 + variances.sum() ** 2 / (variances**2 / (np.array(sizes) - 1.0)).sum())


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
