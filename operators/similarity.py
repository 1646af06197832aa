"""Cosine similarity of word vectors, for any number of replicas and words at once."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def unit_vectors(vectors: NDArray[np.floating]) -> FloatArray:
    """Vectors divided by their Euclidean length.

    Args:
        vectors: ``[..., dims]``, any float type.

    Returns:
        ``[..., dims]`` float64; NaN throughout where a vector holds a NaN or has length 0.

    >>> unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [nan, nan]])
    """
    doubles = np.asarray(vectors, dtype=np.float64)
    lengths = np.sqrt(np.einsum("...d,...d->...", doubles, doubles))[..., np.newaxis]
    return doubles / np.where(lengths > 0, lengths, np.nan)


def cosine(a: NDArray[np.floating], b: NDArray[np.floating]) -> FloatArray:
    """cos(a, b) = a.b / (|a| |b|), over the last axis.

    Args:
        a, b: ``[..., dims]``, broadcast against each other over the leading axes.

    Returns:
        ``[...]`` float64; NaN where either vector holds a NaN or has length 0.

    >>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 2.0])).round(4)
    array([0.    , 0.7071])
    """
    return np.asarray(np.einsum("...d,...d->...", unit_vectors(a), unit_vectors(b)))
