"""How much of what explains a model falls on words that give the speaker away, EP; and on words that should matter, EG.

After Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy Preserving Emotion
Recognition Models Using Sociolinguistic Knowledge*. Of a sentence whose word i has the attribution a_i,

    EP = sum_{i in L} |a_i| / sum_i |a_i|                                       (equation 1, as it is taken here)

with L the words by which people tell a speaker's gender; and, with V the words of a valence lexicon,

    EG = sum_{i in V, a_i e_i > 0} |a_i| / sum_i |a_i|                          (equation 2, as it is taken here)

where e_i says what word i should speak for. Let v_i in [-1, 1] be its valence, and d in [-1, 1] that of the class whose
output is explained, from the lowest to the highest: then e_i = d v_i, and -|v_i| where d = 0, as a word with valence
speaks against the class in the middle. Over a data set both are means over its sentences. Both lie in [0, 1]; a private
model has a small EP, one that goes by what carries valence everywhere has a large EG. A model that gave signs to the
words of V by chance would have an EG of half their share.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = "privacy_metrics/1"


class Generality(NamedTuple):
    """Attributes:
    eg: share of the attribution that falls on words of the lexicon with the sign that they should have.
    lexicon_share: share that falls on them with any sign.
    """

    eg: float
    lexicon_share: float


def shares(attributions: NDArray[np.float64]) -> NDArray[np.float64]:
    """|a_i| / sum_j |a_j|, of one sentence.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.

    Returns:
        ``[words]``; 0 for a word that was not read, all NaN if no word has an attribution other than 0.

    >>> shares(np.array([1.0, -3.0, np.nan]))
    array([0.25, 0.75, 0.  ])
    """
    sizes = np.abs(np.nan_to_num(np.asarray(attributions, dtype=np.float64), nan=0.0))
    total = sizes.sum()
    return np.asarray(sizes / total) if total > 0 else np.full(sizes.shape, np.nan)


def explanation_privacy(attributions: NDArray[np.float64], is_listed: NDArray[np.bool_]) -> float:
    """EP of one sentence.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.
        is_listed: ``[words]``, which of them are in L.

    Returns:
        In [0, 1]; NaN if no word has an attribution other than 0.

    >>> explanation_privacy(np.array([1.0, -2.0, 1.0]), np.array([False, True, False]))
    0.5
    """
    return float(shares(attributions)[is_listed].sum()) if _has_any(attributions) else float("nan")


def explanation_generality(
    attributions: NDArray[np.float64], valences: NDArray[np.float64], direction: float
) -> Generality:
    """EG of one sentence.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.
        valences: ``[words]``, v_i in [-1, 1]; NaN for a word that is not in V.
        direction: d in [-1, 1], of the class whose output is explained; see :func:`direction_of`.

    Returns:
        Both in [0, 1]; NaN if no word has an attribution other than 0.

    >>> attributions, valences = np.array([3.0, 1.0, -4.0]), np.array([0.8, -0.5, np.nan])
    >>> explanation_generality(attributions, valences, direction=1.0)
    Generality(eg=0.375, lexicon_share=0.5)
    """
    if not _has_any(attributions):
        return Generality(float("nan"), float("nan"))
    known = ~np.isnan(valences)
    values = np.nan_to_num(valences, nan=0.0)
    should = direction * values if direction else -np.abs(values)
    agrees = known & (np.nan_to_num(attributions, nan=0.0) * should > 0)
    parts = shares(attributions)
    return Generality(float(parts[agrees].sum()), float(parts[known].sum()))


def direction_of(number: int, num_classes: int) -> float:
    """Where a class stands between the lowest, -1, and the highest, 1.

    >>> [direction_of(number, 3) for number in range(3)]
    [-1.0, 0.0, 1.0]
    """
    return 2.0 * number / (num_classes - 1) - 1.0


def _has_any(attributions: NDArray[np.float64]) -> bool:
    return bool(np.nan_to_num(attributions, nan=0.0).any())
