"""The gender direction of an embedding and the bias along it, after Bolukbasi et al. 2016.

*Man is to computer programmer as woman is to homemaker? Debiasing word embeddings*, sections 5.1 and 5.2. Everything
here is computed in each replica by itself, on vectors of unit length as in the paper. What follows from projections
alone is in :mod:`.gender.professions`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.direction import GenderDirection, gender_direction, projection
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.gender.professions import direct_bias_of
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale, of_size

VERSION = "gender/4"

DOMINANCE = 2.0
"""How many times the second component's share the first has to carry for one direction to stand for gender.

A convention: Bolukbasi et al. show a first component far above the others and name no limit.
"""

SCALES = {
    **dict.fromkeys(("direct_bias", "direct_bias_of_forms", "agreement"), of_size(LOGIT)),
    **dict.fromkeys(("first_share", "second_share", "gap"), LOGIT),
    **dict.fromkeys(("female_words", "male_words"), of_size(FISHER)),
}
"""Of what is not simply a cosine, a mean of cosines or a difference of such: means of their sizes, counts of sides, and
means along the direction that the same words give, which noise makes larger; and shares of variance, which spread the
less the smaller they are: simulated, the gap was held in 94 to 96 % on log odds, and in 90 plainly around it."""


def scale(name: str) -> Scale:
    """On what scale intervals of a number of the gender survey are reckoned.

    >>> scale("agreement").is_size, scale("female_words").low, scale("gap") is LOGIT, scale("bias") is FISHER
    (True, -1.0, True, True)
    """
    return SCALES.get(name, FISHER)


class LeaveOneOut(NamedTuple):
    """What becomes of the gender direction when one definitional pair is left out, for each pair in turn.

    Attributes:
        direction: ``[pairs, replicas, dims]`` the direction without pair i, in row i.
        direct_bias: ``[pairs, replicas]`` direct bias of the words along it.
        similarity: ``[pairs, replicas]`` its cosine with the direction of all pairs: 1 if the pair does not matter,
            negative if the female side turns over without it.
        first_share, second_share: ``[pairs, replicas]`` share of the remaining pairs' variance along it and along the
            second component.
    """

    direction: FloatArray
    direct_bias: FloatArray
    similarity: FloatArray
    first_share: FloatArray
    second_share: FloatArray

    @property
    def gap(self) -> FloatArray:
        """``[pairs, replicas]`` first_share - second_share; 1 where a single pair remains."""
        return self.first_share - self.second_share


def dominates(direction: GenderDirection) -> NDArray[np.bool_]:
    """Whether one direction stands for gender: first_share >= DOMINANCE x second_share.

    Returns:
        ``[replicas]``; False where there is no direction.

    >>> female = np.array([[[3.0, 0.0, 4.0], [0.0, 7.0, 24.0]]])
    >>> result = gender_direction(female, male=female * [-1, -1, 1])
    >>> result.first_share.round(4), result.second_share.round(4), dominates(result)
    (array([0.8212]), array([0.1788]), array([ True]))
    """
    return np.asarray(direction.first_share >= DOMINANCE * direction.second_share)


def without_each_pair(
    female: NDArray[np.floating], male: NDArray[np.floating], words: NDArray[np.floating], exponent: float = 1.0
) -> LeaveOneOut:
    """The gender direction without each pair in turn, and the direct bias along it.

    Matthews et al. 2021 (*Gender bias in natural language processing across human languages*, section 4.1) repeat their
    analysis without wife and husband, and find that the gap between the first two components grows in all of their
    languages but one. What leaving out a pair does to the direct bias is ours.

    Args:
        female, male: ``[replicas, pairs, dims]`` as for :func:`gender_direction`. In a replica that misses a pair,
            leaving it out changes nothing.
        words: ``[replicas, words, dims]`` whose direct bias is taken, as for :func:`direct_bias`.
        exponent: c >= 0, the strictness of the direct bias.

    Returns:
        The measures without pair i, in row i; NaN where no pair remains or the remaining ones coincide. The direct bias
        of professions with several forms follows from ``projection(words, result.direction)``.

    Raises:
        ValueError: if female and male differ in shape or hold no pair, or the exponent is negative or not a number.

    >>> female, male = np.array([[[0.0, 1.0], [0.6, 0.8]]]), np.array([[[0.0, -1.0], [-0.6, 0.8]]])
    >>> result = without_each_pair(female, male, words=np.array([[[3.0, 4.0]]]))
    >>> result.similarity.T, result.direct_bias.T
    (array([[0., 1.]]), array([[0.6, 0.8]]))
    """
    complete = gender_direction(female, male)
    pairs = np.arange(female.shape[1])[:, np.newaxis]
    remaining = [gender_direction(np.where(pairs == left_out, np.nan, female), male) for left_out in pairs]
    direction = np.stack([result.direction for result in remaining])
    return LeaveOneOut(
        direction,
        direct_bias(words, direction, exponent),
        cosine(direction, complete.direction),
        np.stack([result.first_share for result in remaining]),
        np.stack([result.second_share for result in remaining]),
    )


def direct_bias(words: NDArray[np.floating], direction: NDArray[np.floating], exponent: float = 1.0) -> FloatArray:
    """DirectBias_c = 1/|N| sum_{w in N} |cos(w, g)|^c over words N that should be neutral.

    Args:
        words: ``[replicas, words, dims]``; words without a vector in a replica are left out there.
        direction: ``[..., replicas, dims]``, the gender direction g.
        exponent: c >= 0, the strictness. 0 counts the words with any part along g at all, so 0^0 is 0 here.

    Returns:
        ``[..., replicas]`` float64 in [0, 1]; NaN in replicas without a word or without a direction.

    Raises:
        ValueError: if the exponent is negative or not a number.

    >>> direct_bias(np.array([[[3.0, 4.0], [0.0, 1.0]]]), np.array([[1.0, 0.0]])).round(4)
    array([0.3])
    """
    return direct_bias_of(projection(words, direction), exponent)
