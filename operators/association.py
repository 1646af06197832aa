"""The word embedding association test of Caliskan et al. 2017.

*Semantics derived automatically from language corpora contain human-like biases*, Science 356. Everything here is
computed in each replica by itself: arrays come as ``[replicas, words, dims]``, and a replica in which a word has no
vector (NaN) gets no value for what needs that word.
"""

import numpy as np
from numpy.typing import NDArray

from operators.similarity import FloatArray, unit_vectors

VERSION = "association/1"

_ROUNDING = 1e-12
"""Associations are sums of cosines: differences below this are rounding, and their ratio would be noise."""


def word_associations(
    words: NDArray[np.floating], attributes_a: NDArray[np.floating], attributes_b: NDArray[np.floating]
) -> FloatArray:
    """How much closer each word lies to attributes A than to attributes B.

    s(w, A, B) = mean_{a in A} cos(w, a) - mean_{b in B} cos(w, b).

    Args:
        words: ``[replicas, words, dims]``.
        attributes_a, attributes_b: ``[replicas, words of A or B, dims]``.

    Returns:
        ``[replicas, words]`` float64 in [-2, 2]; NaN for a word that has no vector in the replica, and for all words of
        a replica in which an attribute has none.

    Raises:
        ValueError: if a set is empty or the arrays do not have the same replicas and dims.

    >>> axes = np.eye(2)[np.newaxis]
    >>> word_associations(np.array([[[3.0, 4.0]]]), axes[:, :1], axes[:, 1:]).round(4)
    array([[-0.2]])
    """
    _check(words=words, attributes_a=attributes_a, attributes_b=attributes_b)
    # A mean of cosines is the cosine's dot product with the mean of the unit vectors.
    contrast = unit_vectors(attributes_a).mean(axis=1) - unit_vectors(attributes_b).mean(axis=1)
    return np.asarray(np.einsum("rwd,rd->rw", unit_vectors(words), contrast))


def effect_size(
    targets_x: NDArray[np.floating],
    targets_y: NDArray[np.floating],
    attributes_a: NDArray[np.floating],
    attributes_b: NDArray[np.floating],
    ddof: int = 1,
) -> FloatArray:
    """The WEAT effect size: how far apart the associations of the two target sets lie, in standard deviations.

    d = (mean_{x in X} s(x, A, B) - mean_{y in Y} s(y, A, B)) / sd_{w in X u Y} s(w, A, B).

    Args:
        targets_x, targets_y: ``[replicas, words of X or Y, dims]``.
        attributes_a, attributes_b: ``[replicas, words of A or B, dims]``.
        ddof: 1 for the sample standard deviation, which reproduces the published values; 0 for the population's,
            with which \\|d\\| <= 2 for target sets of one size.

    Returns:
        ``[replicas]`` float64, no unit; positive where X goes with A and Y with B. NaN in replicas where any word has
        no vector, or where all associations are equal (within 1e-12).

    Raises:
        ValueError: if ``ddof`` is neither 0 nor 1, a set is empty, or the arrays differ in replicas or dims.

    >>> axes = np.eye(2)[np.newaxis]
    >>> effect_size(axes[:, :1], axes[:, 1:], axes[:, :1], axes[:, 1:], ddof=0)
    array([2.])
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof={ddof}: must be 1 (sample, as published) or 0 (population); set the association's ddof")
    _check(targets_x=targets_x, targets_y=targets_y, attributes_a=attributes_a, attributes_b=attributes_b)
    targets = np.concatenate([targets_x, targets_y], axis=1)
    scores = word_associations(targets, attributes_a, attributes_b)
    num_x = targets_x.shape[1]
    difference = scores[:, :num_x].mean(axis=1) - scores[:, num_x:].mean(axis=1)
    spread = np.where(np.ptp(scores, axis=1) > _ROUNDING, scores.std(axis=1, ddof=ddof), np.nan)
    return np.asarray(difference / spread)


def _check(**sets: NDArray[np.floating]) -> None:
    shapes = {name: vectors.shape for name, vectors in sets.items()}
    for name, shape in shapes.items():
        if len(shape) != 3 or shape[1] == 0:
            raise ValueError(f"{name} has shape {shape}: must be [replicas, words, dims] with at least one word")
    if len({(shape[0], shape[2]) for shape in shapes.values()}) > 1:
        raise ValueError(f"the sets must share their replicas and dims (first and last axis): {shapes}")
