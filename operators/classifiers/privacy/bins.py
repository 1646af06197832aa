"""Classes of a valence that people rated on a scale, of texts and of words.

Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy Preserving Emotion
Recognition Models Using Sociolinguistic Knowledge*, section 4.1: mean ratings from 1 to 5 are low up to 2.75, mid up to
3.25 and high above (IEMOCAP, MSP-Improv), and those from 1 to 9 low up to 3.75, mid up to 4.25 and high above (MuSE). A
rating where two bins meet is of the lower one.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.privacy.metrics import UNBINNED
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.text.normalisation import folded

VERSION = "rating_bins/1"

Bins = Mapping[str, tuple[float, float]]
"""The lowest and the highest rating of each class, from the lowest class to the highest."""


def check_bins(key: str, bins: Bins) -> None:
    """Refuse bins that overlap, that leave something out between them, or that have no width.

    >>> check_bins("bins", {"low": (1, 2.75), "mid": (2.5, 3.25), "high": (3.25, 5)})
    Traceback (most recent call last):
    ValueError: bins: low and mid overlap from 2.5 to 2.75: must end and begin at one rating
    """
    if len(bins) < 2:
        raise ValueError(f"{key}: must have a bin for each of two classes at least")
    for name, (low, high) in bins.items():
        if not low < high or high - low == float("inf"):
            raise ValueError(
                f"{key}: {name} reaches from {low:g} to {high:g}: must be two numbers, the lower one first"
            )
    for (lower, (_, end)), (higher, (start, _)) in pairwise(bins.items()):
        if start != end:
            between = "overlap" if start < end else "leave out ratings"
            raise ValueError(
                f"{key}: {lower} and {higher} {between} from {min(start, end):g} to {max(start, end):g}: must end and "
                "begin at one rating"
            )


def binned(rating: float | str, bins: Bins) -> str:
    """The class of a rating, which may be written.

    Raises:
        ValueError: if it is no number, or outside the scale.

    >>> scale = {"low": (1, 2.75), "mid": (2.75, 3.25), "high": (3.25, 5)}
    >>> [binned(rating, scale) for rating in (1, 2.75, 2.76, 3.25, 3.26, 5)]
    ['low', 'low', 'mid', 'mid', 'high', 'high']
    """
    lowest, highest = min(low for low, _ in bins.values()), max(high for _, high in bins.values())
    try:
        number = float(rating)
    except ValueError:
        number = float("nan")
    if not lowest <= number <= highest:
        raise ValueError(f"must be a number from {lowest:g} to {highest:g}")
    return next(name for name, (_, high) in bins.items() if number <= high)


class BinnedLexicon(NamedTuple):
    """Attributes:
    valences: of words, in [-1, 1].
    bins: of words, from 0.
    """

    valences: Mapping[str, float]
    bins: Mapping[str, int]

    def valences_of(self, words: Sequence[str], least: float) -> FloatArray:
        """``[words]``; NaN for a word that the lexicon does not have, or less than ``least`` from the middle."""
        values = np.array([self.valences.get(folded(word), np.nan) for word in words], dtype=np.float64)
        return np.where(np.abs(values) >= least, values, np.nan)

    def bins_of(self, words: Sequence[str]) -> IntArray:
        """``[words]``; ``UNBINNED`` for a word that the lexicon does not have."""
        return np.array([self.bins.get(folded(word), UNBINNED) for word in words], dtype=np.int64)
