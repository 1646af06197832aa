"""How well a student follows its teacher: text by text and word by word (Kumar et al. 2021, section 4.2).

A text counts as all-correct if the student gives it the teacher's class from every one of its places. It falls with the
number of words by construction, so that it is given by length too, with the share of single places beside it.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.influence.clusters import Rate, SampledClusters
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.units import TooFew


class Agreement(NamedTuple):
    """A share with its interval over clusters of texts.

    Attributes:
        value, low, high: NaN without a text, ends with too few clusters.
        resamples, too_few: of the value; see :class:`.clusters.Rate`.
        num: texts, or places, that it is a share of.
        num_clusters: that these are of.
    """

    value: float
    low: float
    high: float
    resamples: FloatArray
    too_few: TooFew | None
    num: int
    num_clusters: int


def all_correct(is_right: BoolArray, texts: IntArray, clusters: IntArray, sampled: SampledClusters) -> Agreement:
    """The share of texts with nothing but right places.

    Args:
        is_right: ``[places]``.
        texts: ``[places]``, number of each one's text.
        clusters: ``[places]``, such as the number of the sentence that the text is a phrase of.
        sampled: these clusters, drawn again.
    """
    _, first, inverse = np.unique(texts, return_index=True, return_inverse=True)
    is_whole = np.bincount(inverse, weights=~is_right, minlength=first.size) == 0
    return agreement(sampled.rate(is_whole, clusters[first]), clusters[first])


def per_word(is_right: BoolArray, clusters: IntArray, sampled: SampledClusters) -> Agreement:
    """The share of right places."""
    return agreement(sampled.rate(is_right, clusters), clusters)


def agreement(rate: Rate, clusters: IntArray) -> Agreement:
    """A rate over what is of these clusters."""
    return Agreement(*rate, int(clusters.size), int(np.unique(clusters).size))


def length_groups(lengths: IntArray) -> dict[str, BoolArray]:
    """Texts by their number of words.

    >>> groups = length_groups(np.array([1, 7, 40]))
    >>> {name: group.tolist() for name, group in groups.items() if group.any()}
    {'1-5': [True, False, False], '6-10': [False, True, False], '21-': [False, False, True]}
    """
    bounds = [(1, 5), (6, 10), (11, 20), (21, np.iinfo(np.int64).max)]
    return {f"{low}-{high if high < 1000 else ''}": (lengths >= low) & (lengths <= high) for low, high in bounds}
