"""Shares of an attribution that fall on listed words, of one model by itself.

They are no metrics of Jaiswal and Mower Provost 2022, whose equations are in :mod:`.privacy.metrics`: they compare with
no other model and know no explanation, and so have a value for every text. With a_i the attribution of word i,

    listed share      = sum_{i in L} |a_i| / sum_i |a_i|,
    right-sign share  = sum_{i in V, a_i e_i > 0} |a_i| / sum_i |a_i|,

with L the words by which people tell a speaker's gender, V those of a valence lexicon, and e_i what word i should speak
for. Let v_i in [-1, 1] be its valence, and d in [-1, 1] that of the class whose output is explained, from the lowest to
the highest: then e_i = d v_i, and -|v_i| where d = 0, as a word with valence speaks against the class in the middle. A
model that gave signs to the words of V by chance would have half their share with the right sign.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.privacy.metrics import weights

VERSION = "attribution_shares/1"


class LexiconShares(NamedTuple):
    """Attributes:
    right_sign: share of the attribution that falls on words of the lexicon with the sign that they should have.
    any_sign: share that falls on them with any sign.
    """

    right_sign: float
    any_sign: float


def shares(attributions: NDArray[np.float64]) -> NDArray[np.float64]:
    """|a_i| / sum_j |a_j|, of one text.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.

    Returns:
        ``[words]``; 0 for a word that was not read, all NaN if no word has an attribution other than 0.

    >>> shares(np.array([1.0, -3.0, np.nan]))
    array([0.25, 0.75, 0.  ])
    """
    parts = weights(attributions, "share")
    return parts if parts.any() else np.full(parts.shape, np.nan)


def listed_share(attributions: NDArray[np.float64], is_listed: NDArray[np.bool_]) -> float:
    """The share that falls on words of L; the smaller, the less a model goes by what gives the speaker away.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.
        is_listed: ``[words]``, which of them are in L.

    Returns:
        In [0, 1]; NaN if no word has an attribution other than 0.

    >>> listed_share(np.array([1.0, -2.0, 1.0]), np.array([False, True, False]))
    0.5
    """
    parts = shares(attributions)
    return float("nan") if np.isnan(parts).any() else float(parts[is_listed].sum())


def lexicon_shares(attributions: NDArray[np.float64], valences: NDArray[np.float64], direction: float) -> LexiconShares:
    """The shares that fall on words of a lexicon.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.
        valences: ``[words]``, v_i in [-1, 1]; NaN for a word that is not in V.
        direction: d in [-1, 1], of the class whose output is explained; see :func:`direction_of`.

    Returns:
        Both in [0, 1]; NaN if no word has an attribution other than 0.

    >>> attributions, valences = np.array([3.0, 1.0, -4.0]), np.array([0.8, -0.5, np.nan])
    >>> lexicon_shares(attributions, valences, direction=1.0)
    LexiconShares(right_sign=0.375, any_sign=0.5)
    """
    parts = shares(attributions)
    if np.isnan(parts).any():
        return LexiconShares(float("nan"), float("nan"))
    known = ~np.isnan(valences)
    values = np.nan_to_num(valences, nan=0.0)
    should = direction * values if direction else -np.abs(values)
    agrees = known & (np.nan_to_num(attributions, nan=0.0) * should > 0)
    return LexiconShares(float(parts[agrees].sum()), float(parts[known].sum()))


def direction_of(number: int, num_classes: int) -> float:
    """Where a class stands between the lowest, -1, and the highest, 1.

    >>> [direction_of(number, 3) for number in range(3)]
    [-1.0, 0.0, 1.0]
    """
    return 2.0 * number / (num_classes - 1) - 1.0
