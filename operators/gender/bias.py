"""The gender direction of an embedding and the bias along it, in one call."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.direction import GenderDirection, gender_direction, projection
from tiltmeter.operators.gender.professions import direct_bias_of

_WITH_REPLICAS = 3
"""Axes of vectors ``[replicas, words, dims]``."""


class GenderBias(NamedTuple):
    """Of each replica; without the axis of replicas where vectors came without.

    Attributes:
        direct_bias: ``[replicas]`` float64, mean of |cos(w, g)|^c over the words, in [0, 1].
        biases: ``[replicas, words]`` float64, cos(w, g) with the gender direction g, positive on the female side.
        direction: g, and how well it stands for gender.
    """

    direct_bias: FloatArray
    biases: FloatArray
    direction: GenderDirection


def gender_bias(
    female: NDArray[np.floating], male: NDArray[np.floating], words: NDArray[np.floating], exponent: float = 1.0
) -> GenderBias:
    """Direct bias of words that should be neutral (Bolukbasi et al. 2016).

    Args:
        female, male: ``[pairs, dims]`` or ``[replicas, pairs, dims]``, the definitional pairs, such as she and he.
        words: ``[words, dims]`` or ``[replicas, words, dims]``; NaN for a word that a replica lacks.
        exponent: c >= 0, the strictness.

    Raises:
        ValueError: if female and male differ in shape or hold no pair, or the exponent is negative or not a number.

    >>> result = gender_bias(np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> result.direct_bias.round(4), result.biases.round(4), result.direction.first_share
    (np.float64(0.3), array([0.6, 0. ]), np.float64(1.0))
    """
    has_replicas = np.ndim(words) == _WITH_REPLICAS
    if not has_replicas:
        female, male, words = (np.asarray(vectors)[np.newaxis] for vectors in (female, male, words))
    direction = gender_direction(female, male)
    biases = projection(words, direction.direction)
    direct = direct_bias_of(biases, exponent)
    if has_replicas:
        return GenderBias(direct, biases, direction)
    return GenderBias(direct[0], biases[0], GenderDirection(*(values[0] for values in direction)))
