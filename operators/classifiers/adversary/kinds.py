"""What a replacement has to do with gender: it swaps it, it leans as few controls do, or neither."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.adversary.words import GenderedWords
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_kinds/1"

Kind = Literal["definitional", "associated", "other"]

_NUM_BINS = 5
_SHARE = 0.95


class LeaningLimits(NamedTuple):
    """How far replacements along control directions lean, by how near they are to what they replace.

    Attributes:
        cosines: ``[bins - 1]``, between the bins.
        limits: ``[bins]``, which 95 in 100 of the control replacements in a bin keep to.
    """

    cosines: FloatArray
    limits: FloatArray


def leaning_limits(cosines: FloatArray, leanings: FloatArray) -> LeaningLimits:
    """Of the replacements along control directions, in five bins of as many each.

    Args:
        cosines: ``[replacements]``, with the shifted word.
        leanings: ``[replacements]``, by how much each lies further along the gender direction than the word.

    >>> leaning_limits(np.zeros(0), np.zeros(0)).limits
    array([inf, inf, inf, inf, inf])
    """
    if not cosines.size:
        return LeaningLimits(np.zeros(_NUM_BINS - 1), np.full(_NUM_BINS, np.inf))
    borders = np.quantile(cosines, np.arange(1, _NUM_BINS) / _NUM_BINS)
    bins = np.searchsorted(borders, cosines)
    sizes = np.abs(leanings)
    limits = [np.quantile(sizes[bins == number], _SHARE) if (bins == number).any() else np.inf for number in range(5)]
    return LeaningLimits(borders, np.array(limits))


def replacement_kind(
    pair: Sequence[str],
    words: GenderedWords,
    leaning: float = np.nan,
    cosine: float = np.nan,
    limits: LeaningLimits | None = None,
) -> Kind:
    """Of one replacement.

    Args:
        pair: the word and what replaces it, in small letters.
        words: that tell gender.
        leaning, cosine: as for :func:`leaning_limits`; NaN where there is none.
        limits: of the controls; None where nothing tells how far a replacement leans, so that none is associated.

    >>> from tiltmeter.operators.classifiers.adversary.words import gendered_words
    >>> limits = LeaningLimits(np.zeros(4), np.full(5, 0.2))
    >>> words = gendered_words([("man", "woman")])
    >>> [replacement_kind(pair, words, 0.3, 0.5, limits) for pair in (("man", "woman"), ("blue", "pink"))]
    ['definitional', 'associated']
    """
    first, second = (words.genders.get(word) for word in pair)
    if first and second and first != second:
        return "definitional"
    limit = np.inf if limits is None else limits.limits[np.searchsorted(limits.cosines, cosine)]
    return "associated" if abs(leaning) > limit else "other"
