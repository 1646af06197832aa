"""Real texts and mixtures of words that are near a draw, how near that is, and a picture of texts and draws."""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

VERSION = "posterior_nearest/1"

_WEIGHT = 1e3
"""Of the condition that shares sum to 1, in lengths of the draw."""


class Nearest(NamedTuple):
    """Attributes:
    rows: ``[draws, k]``, numbers of the nearest texts, the nearest first.
    distances: ``[draws, k]``.
    quantiles: ``[draws, k]``, share of texts whose own nearest text is nearer than that.
    """

    rows: IntArray
    distances: FloatArray
    quantiles: FloatArray


def nearest_texts(draws: FloatArray, texts: FloatArray, number: int, num_sample: int = 500) -> Nearest:
    """The texts nearest to each draw.

    Args:
        draws: ``[draws, dimensions]``.
        texts: ``[texts, dimensions]``, more than ``number``.
        number: k.
        num_sample: texts whose distance to their own nearest text says what is near.

    >>> nearest_texts(np.array([[0.9]]), np.array([[0.0], [1.0], [3.0]]), 1).rows
    array([[1]])
    """
    distances = _distances(draws, texts)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :number]
    sample = np.linspace(0, len(texts) - 1, min(num_sample, len(texts))).astype(np.int64)
    between = _distances(texts[sample], texts)
    between[np.arange(len(sample)), sample] = np.inf
    usual = np.sort(between.min(axis=1))
    nearest = np.take_along_axis(distances, rows, axis=1)
    return Nearest(rows, nearest, np.searchsorted(usual, nearest) / len(usual))


def _distances(first: FloatArray, second: FloatArray) -> FloatArray:
    squares = (first**2).sum(axis=1)[:, np.newaxis] + (second**2).sum(axis=1) - 2.0 * first @ second.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


class Plane(NamedTuple):
    """Attributes:
    mean: ``[dimensions]``.
    axes: ``[2, dimensions]``, orthonormal.
    """

    mean: FloatArray
    axes: FloatArray

    def places(self, vectors: FloatArray) -> FloatArray:
        """``[vectors, 2]``, where vectors are projected to."""
        return np.asarray((vectors - self.mean) @ self.axes.T)


def principal_plane(vectors: FloatArray) -> Plane:
    """The plane through the mean in which vectors vary most: their first two principal components.

    The sign of each is such that its largest coordinate is positive, so that pictures of two runs can be compared.

    Args:
        vectors: ``[vectors, dimensions]``, at least two of each.

    >>> principal_plane(np.array([[0.0, -3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]])).axes.round(6) + 0.0
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:2]
    axes *= np.sign(axes[:, np.abs(axes).argmax(axis=1)].diagonal())[:, np.newaxis]
    return Plane(mean, axes)


def mixture_residual(draw: FloatArray, words: FloatArray) -> float:
    """min over shares of words of \\|s - sum_w share_w v_w\\| / \\|s\\|: how far a draw is from any bag of words.

    Args:
        draw: ``[dimensions]``, not 0.
        words: ``[words, dimensions]``, the candidates.

    >>> round(mixture_residual(np.array([1.0, 1.0]), np.array([[2.0, 0.0], [0.0, 2.0]])), 6)
    0.0
    """
    from scipy.optimize import nnls

    length = float(np.linalg.norm(draw))
    system = np.vstack([words.T / length, np.full(len(words), _WEIGHT)])
    shares, _ = nnls(system, np.append(draw / length, _WEIGHT))
    return float(np.linalg.norm(draw - shares @ words) / length)
