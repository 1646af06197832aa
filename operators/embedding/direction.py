"""The direction that pairs of words have in common, such as that of gender, and how far words lie along it.

Bolukbasi et al. 2016, *Man is to computer programmer as woman is to homemaker? Debiasing word embeddings*, section 5.1.
Everything is computed in each replica by itself, on vectors of unit length as in the paper.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import cosine, unit_vectors

_ROUNDING = 1e-12
"""Unit vectors of coinciding pairs differ by rounding only; below this singular value there is no direction."""


class GenderDirection(NamedTuple):
    """The gender direction of each replica.

    Attributes:
        direction: ``[replicas, dims]`` float64 of unit length, pointing to the female side.
        first_share, second_share: ``[replicas]`` share of the pairs' variance along the first and second component.
        agreement: ``[replicas]`` share of the pairs whose female word lies further to the female side than its partner.
        num_pairs: ``[replicas]`` int64, pairs with both vectors, which the direction rests on.
    """

    direction: FloatArray
    first_share: FloatArray
    second_share: FloatArray
    agreement: FloatArray
    num_pairs: NDArray[np.int64]

    @property
    def gap(self) -> FloatArray:
        """``[replicas]`` first_share - second_share, in [0, 1]: 1 if a single direction holds all the variance.

        Figure 3 of Matthews et al. 2021, *Gender bias in natural language processing across human languages*.
        """
        return self.first_share - self.second_share


def gender_direction(female: NDArray[np.floating], male: NDArray[np.floating]) -> GenderDirection:
    """First principal component of the definitional pairs, each centred on its own middle.

    With unit vectors f_i, m_i and their middle c_i = (f_i + m_i)/2, it is the first right singular vector of the rows
    f_i - c_i and m_i - c_i; as these are opposite, of the rows (f_i - m_i)/2 alone.

    A component has no sign of its own. It is turned so that the differences f_i - m_i, summed over all pairs, point to
    its positive side: every pair votes with the length of its projection, so that pairs across the direction, whose
    sign is chance, hardly count, and no frequent word counts more because its vector is longer.

    Args:
        female, male: ``[replicas, pairs, dims]``, the two words of pair i in row i. A pair with a missing vector (NaN)
            in a replica is left out there and not counted in ``num_pairs``.

    Returns:
        The direction and its measures; all NaN but ``num_pairs`` where no pair is left or all pairs coincide.

    Raises:
        ValueError: if the arrays differ in shape or hold no pair.

    >>> female, male = np.array([[[1.0, 1.0], [2.0, 1.0]]]), np.array([[[-1.0, 1.0], [-2.0, 1.0]]])
    >>> result = gender_direction(female, male)
    >>> result.direction, result.first_share, result.agreement
    (array([[1., 0.]]), array([1.]), array([1.]))
    """
    _check_pairs(female, male)
    halves = (unit_vectors(female) - unit_vectors(male)) / 2.0
    present = np.asarray(np.isfinite(halves).all(axis=-1))
    # A row of zeros adds nothing to any component, so a missing pair is the same as a pair left out.
    halves = np.where(present[..., np.newaxis], halves, 0.0)
    values, components = _principal_components(halves)
    projections = np.einsum("rpd,rd->rp", halves, components)
    sign = np.where(projections.sum(axis=1) < 0, -1.0, 1.0)
    num_pairs = present.sum(axis=1, dtype=np.int64)
    defined = values[:, 0] > _ROUNDING
    total = np.where(defined, (values**2).sum(axis=1), np.nan)
    direction = np.where(defined[:, np.newaxis], sign[:, np.newaxis] * components, np.nan)
    num_agreeing = (projections * sign[:, np.newaxis] > 0).sum(axis=1)
    agreement = np.where(defined, num_agreeing / np.maximum(num_pairs, 1), np.nan)
    return GenderDirection(direction, values[:, 0] ** 2 / total, values[:, 1] ** 2 / total, agreement, num_pairs)


def projection(words: NDArray[np.floating], direction: NDArray[np.floating]) -> FloatArray:
    """cos(w, g) of every word w with the gender direction g: positive on the female side.

    Args:
        words: ``[replicas, words, dims]``.
        direction: ``[replicas, dims]``, or several of each replica as ``[..., replicas, dims]``.

    Returns:
        ``[..., replicas, words]`` float64 in [-1, 1]; NaN for a word without a vector, and in a replica without a
        direction.

    >>> projection(np.array([[[3.0, 4.0], [-1.0, 0.0]]]), np.array([[1.0, 0.0]])).round(4)
    array([[ 0.6, -1. ]])
    """
    return cosine(words, direction[..., np.newaxis, :])


def _principal_components(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values, at least two and in falling order, and the first right singular vector ``[replicas, dims]``."""
    _, values, components = np.linalg.svd(rows, full_matrices=False)
    # A single pair has no second component: its share is 0.
    return np.pad(values, ((0, 0), (0, max(0, 2 - values.shape[1])))), components[:, 0]


def _check_pairs(female: NDArray[np.floating], male: NDArray[np.floating]) -> None:
    if female.shape != male.shape or female.ndim != 3 or female.shape[1] == 0:
        raise ValueError(
            f"female {female.shape} and male {male.shape}: must both be [replicas, pairs, dims] with at least one pair"
        )
