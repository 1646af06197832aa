"""The word embedding association test on vectors, in one call."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.association.scores import Statistic, associations, effect_size, weat_score
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics.partitions.permutation import permutation_p_value

_WITH_REPLICAS = 3
"""Axes of vectors ``[replicas, words, dims]``."""

Precisions = tuple[NDArray[np.floating], NDArray[np.floating]]


class WEAT(NamedTuple):
    """What a test says of each replica; without the axis of replicas where vectors came without.

    Attributes:
        effect_size: ``[replicas]`` float64, d, in standard deviations: positive where X goes with A and Y with B.
        p_value: ``[replicas]`` float64, one-sided, never below the true one; NaN where a word has no vector.
        p_low: ``[replicas]`` float64, never above the true p-value; the same number where it is exact.
        score: ``[replicas]`` float64, the test statistic S, in the unit of the scores; for sets of unequal
            size its sign may differ from that of d, see :func:`.scores.weat_score`.
        scores: ``[replicas, words]`` float64, the associations s(w, A, B) of X and then of Y.
    """

    effect_size: FloatArray
    p_value: FloatArray
    p_low: FloatArray
    score: FloatArray
    scores: FloatArray


def weat(
    x: NDArray[np.floating],
    y: NDArray[np.floating],
    a: NDArray[np.floating],
    b: NDArray[np.floating],
    similarity: Measure = "cosine",
    statistic: Statistic = "mean",
    *,
    ddof: int = 1,
    precisions: Precisions | None = None,
    relative_width: float = 0.005,
) -> WEAT:
    """Whether targets X are nearer to attributes A, and targets Y to B, than by chance (Caliskan et al. 2017).

    Args:
        x, y, a, b: vectors of the words of each set, ``[words, dims]``, or ``[replicas, words, dims]`` of bootstrap
            replicas; NaN for a word that a replica lacks.
        similarity: see :func:`.similarity.pairwise`.
        statistic: over the attributes of a set, see :func:`.scores.associations`.
        ddof: 1 for the sample standard deviation, which reproduces published values; 0 for the population's.
        precisions: for ``mahalanobis``, those of A and of B, ``[dims, dims]`` or ``[replicas, dims, dims]``, see
            :func:`.covariance.precision`.
        relative_width: how close the bounds of a p-value shall be, see :func:`.permutation.permutation_p_value`.

    Raises:
        ValueError: if the sets differ in replicas or dims, one is empty, a word can't be measured, or an argument is
            unknown.

    >>> she_he = np.eye(2)
    >>> arts, science = np.array([[3.0, 1.0], [2.0, 1.0]]), np.array([[1.0, 3.0], [1.0, 2.0]])
    >>> test = weat(arts, science, she_he[:1], she_he[1:])
    >>> test.effect_size.round(3), test.p_value.round(3), test.scores.round(2)
    (np.float64(1.707), np.float64(0.167), array([ 0.63,  0.45, -0.63, -0.45]))
    """
    has_replicas = np.ndim(x) == _WITH_REPLICAS
    sets = [_replicated(vectors, has_replicas) for vectors in (x, y, a, b)]
    targets, num_x = np.concatenate(sets[:2], axis=1), sets[0].shape[1]
    metrics = [None, None] if precisions is None else [_replicated(matrix, has_replicas) for matrix in precisions]
    pairs = zip(sets[2:], metrics, strict=True)
    to_a, to_b = (pairwise(targets, attributes, similarity, metric) for attributes, metric in pairs)
    scores = associations(to_a, to_b, statistic, similarity)
    p_value, p_low = np.array([_p_value(row, num_x, relative_width) for row in scores]).T
    test = WEAT(effect_size(scores, num_x, ddof), p_value, p_low, weat_score(scores, num_x), scores)
    return test if has_replicas else WEAT(*(values[0] for values in test))


def _replicated(vectors: NDArray[np.floating], has_replicas: bool) -> NDArray[np.floating]:
    """With an axis of replicas before the others."""
    return np.asarray(vectors) if has_replicas else np.asarray(vectors)[np.newaxis]


def _p_value(scores: FloatArray, num_x: int, relative_width: float) -> tuple[float, float]:
    if not np.isfinite(scores).all():
        return np.nan, np.nan
    p = permutation_p_value(scores[:num_x], scores[num_x:], relative_width)
    return p.value, p.low
