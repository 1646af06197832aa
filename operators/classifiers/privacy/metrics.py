"""What a private model no longer explains itself by, EP; and how well explanations agree with a valence lexicon, EG.

After Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy Preserving Emotion
Recognition Models Using Sociolinguistic Knowledge*, section 6.2. Of a text, E(M) are the words of the explanation of
model M, each with the weight w of its attribution; M_g is the model General, which nothing was done to, and L are the
words by which people tell a speaker's gender. Emotion-privacy, the mean over texts of equation 1, is

    E_d = (E(M_g) - E(M_x)) & L,   E_a = (E(M_x) - E(M_g)) & L,
    EP  = (sum_{E_d} |w| - sum_{E_a} |w|) / G(M_g),

above 0 where M_x leaves out words of L that General goes by, and below 0 where it takes up others. A word of E_d has
the weight that General gives it, one of E_a that of M_x. Emotion-generalization is 1 less the mean of equation 2,

    Px = (sum_{c_n} |w| + sum_{c_p} |w|) / s,

with s the number of words of the text, c_n the words that speak against the explained class although the lexicon has
them in the bin of the gold label, and c_p those that speak for it although they are in the opposite bin. What the
equations leave open is a :class:`MetricConfig`.

Every occurrence of a word is a word by itself.
"""

from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

VERSION = "privacy_metrics/2"

UNBINNED = -1
"""In place of the bin of a word that the lexicon does not have."""

Sign = Literal["positive", "any"]
Scale = Literal["raw", "maximum", "share", "count"]
Words = NDArray[np.bool_]
Weights = NDArray[np.float64]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class MetricConfig:
    """What equations 1 and 2 leave open.

    Attributes:
        sign: of the attributions of the words that make up E in equation 1: ``positive`` for those that speak for the
            explained class, ``any``. Equation 2 counts both signs, and takes any.
        threshold: words belong to E whose |w| is at least this part of the largest of the text.
        top_k: so many words of those belong to E, the heaviest; None: all.
        scale: of |w|: ``raw`` for the attribution itself, ``maximum`` and ``share`` for its part of the largest and of
            the sum of the text, ``count`` for 1.
        denominator: G, the number of words of L that are in E(M_g), ``listed``, or of all its words, ``all``.
        opposite_of_middle: the bins opposite to that in the middle: ``none``, or all ``others``.
    """

    sign: Sign = "positive"
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    top_k: Annotated[int, Field(ge=1)] | None = None
    scale: Scale = "raw"
    denominator: Literal["listed", "all"] = "listed"
    opposite_of_middle: Literal["none", "others"] = "none"


_DEFAULT = MetricConfig()


# --- explanations ---------------------------------------------------------------------------------------------------


def explanation(attributions: Weights, config: MetricConfig) -> Words:
    """The words of E, ``[words]``.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read. A word with 0 explains nothing.
        config: its sign, threshold and top_k; of words that weigh the same, the first ones are taken.

    >>> explanation(np.array([0.5, -2.0, 0.1, 1.0, 0.0]), MetricConfig())
    array([ True, False,  True,  True, False])
    >>> explanation(np.array([0.5, -2.0, 0.1, 1.0, 0.0]), MetricConfig("any", threshold=0.25, top_k=2))
    array([False,  True, False,  True, False])
    """
    values = _read(attributions)
    sizes = np.abs(values)
    belongs = (values > 0 if config.sign == "positive" else sizes > 0) & (sizes >= config.threshold * _largest(sizes))
    if config.top_k is not None:
        order = np.argsort(np.where(belongs, -sizes, np.inf), kind="stable")
        belongs[order[config.top_k :]] = False
    return np.asarray(belongs)


def weights(attributions: Weights, scale: Scale) -> Weights:
    """|w| of every word, ``[words]``; 0 for a word that was not read.

    >>> weights(np.array([1.0, -3.0, np.nan]), "maximum"), weights(np.array([1.0, -3.0, np.nan]), "share")
    (array([0.33333333, 1.        , 0.        ]), array([0.25, 0.75, 0.  ]))
    """
    sizes = np.abs(_read(attributions))
    if scale == "count":
        return (sizes > 0).astype(np.float64)
    unit = {"raw": 1.0, "maximum": _largest(sizes), "share": float(sizes.sum())}[scale]
    return np.asarray(sizes / (unit or 1.0))


# --- equation 1 -----------------------------------------------------------------------------------------------------


class AttributionDifference(NamedTuple):
    """Of two models' explanations of one text, whichever words are listed.

    Attributes:
        weights: ``[words]``, |w| of those in E(M_g) alone, -|w| of those in E(M_x) alone, otherwise 0.
        is_general: ``[words]``, which are in E(M_g).
    """

    weights: Weights
    is_general: Words


class EmotionPrivacy(NamedTuple):
    """Attributes:
    ep: of one text; NaN where the denominator is 0.
    parts: ``[words]``, what each word adds to it; all NaN where it is.
    num_general: G(M_g).
    num_avoided, num_added: words of E_d and of E_a.
    """

    ep: float
    parts: Weights
    num_general: int
    num_avoided: int
    num_added: int


def attribution_difference(general: Weights, other: Weights, config: MetricConfig) -> AttributionDifference:
    """What another model no longer explains itself by, and what it newly does.

    Args:
        general: ``[words]``, attributions of the model General; NaN for a word that it has not read.
        other: ``[words]``, those of the other model.
        config: sign, threshold, top_k and scale.

    >>> attribution_difference(np.array([0.5, 0.25, -1.0]), np.array([-0.5, 0.75, 2.0]), MetricConfig())
    AttributionDifference(weights=array([ 0.5,  0. , -2. ]), is_general=array([ True,  True, False]))
    """
    is_general, is_other = explanation(general, config), explanation(other, config)
    avoided = np.where(is_general & ~is_other, weights(general, config.scale), 0.0)
    added = np.where(is_other & ~is_general, weights(other, config.scale), 0.0)
    return AttributionDifference(avoided - added, is_general)


def emotion_privacy(
    general: Weights, other: Weights, is_listed: Words, config: MetricConfig = _DEFAULT
) -> EmotionPrivacy:
    """EP of one text, equation 1.

    Args:
        general: ``[words]``, attributions of the model General; NaN for a word that it has not read.
        other: ``[words]``, those of the other model.
        is_listed: ``[words]``, which of them are in L.
        config: sign, threshold, top_k, scale and denominator.

    >>> result = emotion_privacy(np.array([0.5, 0.25, -1.0]), np.array([-0.5, 0.75, 2.0]), np.array([True, True, True]))
    >>> result.ep, result.num_general, result.num_avoided, result.num_added
    (-0.75, 2, 1, 1)
    """
    return listed_difference(attribution_difference(general, other, config), is_listed, config)


def listed_difference(difference: AttributionDifference, is_listed: Words, config: MetricConfig) -> EmotionPrivacy:
    """EP of one text of which the difference is known, such as with several lists.

    Args:
        difference: of the explanations by General and the other model.
        is_listed: ``[words]``, which of them are in L.
        config: the denominator.
    """
    members = difference.is_general & is_listed if config.denominator == "listed" else difference.is_general
    num_general = int(members.sum())
    listed = np.where(is_listed, difference.weights, 0.0)
    parts = listed / num_general if num_general else np.full(listed.shape, np.nan)
    ep = float(parts.sum()) if num_general else float("nan")
    return EmotionPrivacy(ep, parts, num_general, int((listed > 0).sum()), int((listed < 0).sum()))


# --- equation 2 -----------------------------------------------------------------------------------------------------


class EmotionGeneralization(NamedTuple):
    """Attributes:
    eg: 1 - Px of one text; NaN where no word has an attribution other than 0.
    num_against: words of c_n.
    num_opposite: words of c_p.
    """

    eg: float
    num_against: int
    num_opposite: int


def emotion_generalization(
    attributions: Weights, bins: NDArray[np.int64], gold: int, num_bins: int, config: MetricConfig = _DEFAULT
) -> EmotionGeneralization:
    """EG of one text, equation 2; the mean is to be taken over texts that General gets right.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read, which counts among the words of the text.
        bins: ``[words]``, of the valence of each, from 0; ``UNBINNED`` for a word that the lexicon does not have.
        gold: the bin of the gold label.
        num_bins: how many there are, from the lowest valence to the highest.
        config: threshold, top_k, scale and opposite_of_middle.

    >>> attributions, bins = np.array([-0.5, 0.25, 1.0, 2.0]), np.array([2, 0, 2, UNBINNED])
    >>> emotion_generalization(attributions, bins, gold=2, num_bins=3)
    EmotionGeneralization(eg=0.8125, num_against=1, num_opposite=1)
    """
    values = _read(attributions)
    if not values.any():
        return EmotionGeneralization(float("nan"), 0, 0)
    is_explaining = explanation(attributions, MetricConfig("any", config.threshold, config.top_k))
    against = is_explaining & (values < 0) & (bins == gold)
    opposite = is_explaining & (values > 0) & np.isin(bins, opposite_bins(gold, num_bins, config.opposite_of_middle))
    wrong = weights(attributions, config.scale)[against | opposite].sum()
    return EmotionGeneralization(1.0 - float(wrong) / values.size, int(against.sum()), int(opposite.sum()))


def opposite_bins(number: int, num_bins: int, opposite_of_middle: str) -> list[int]:
    """The bins opposite to one: as far from the middle on the other side.

    >>> [opposite_bins(number, 3, "none") for number in range(3)], opposite_bins(1, 3, "others")
    ([[2], [], [0]], [0, 2])
    """
    opposite = num_bins - 1 - number
    if opposite != number:
        return [opposite]
    return [other for other in range(num_bins) if other != number] if opposite_of_middle == "others" else []


def _read(attributions: Weights) -> Weights:
    return np.nan_to_num(np.asarray(attributions, dtype=np.float64), nan=0.0)


def _largest(sizes: Weights) -> float:
    return float(sizes.max(initial=0.0))
