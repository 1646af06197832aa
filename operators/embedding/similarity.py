"""How near word vectors lie to each other: cosine similarity, and the Euclidean, Manhattan and Mahalanobis distances.

The four measures that Azarpanah and Farhadloo 2021 compare (*Measuring Biases of Word Embeddings: What Similarity
Measures and Descriptive Statistics to Use?*), for any number of replicas and words at once.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

Measure = Literal["cosine", "euclidean", "manhattan", "mahalanobis"]


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


def pairwise(
    words: NDArray[np.floating],
    attributes: NDArray[np.floating],
    measure: Measure,
    precision: NDArray[np.floating] | None = None,
) -> FloatArray:
    """A measure between every word w and every attribute a, in each replica by itself.

        cosine       w.a / (|w| |a|), a similarity in [-1, 1]
        euclidean    sqrt(sum_i (w_i - a_i)^2), a distance in the unit of the vectors
        manhattan    sum_i |w_i - a_i|, a distance in the unit of the vectors
        mahalanobis  sqrt((w - a)' P (w - a)), a distance without a unit

    Args:
        words: ``[replicas, words, dims]``.
        attributes: ``[replicas, attributes, dims]``.
        measure: one of the four.
        precision: ``[replicas, dims, dims]``, the P of ``mahalanobis``, for example the inverse covariance from
            :func:`.covariance.precision`. Positive definite and symmetric (the lower triangle is read), or
            NaN in a replica that has none.

    Returns:
        ``[replicas, words, attributes]`` float64; NaN where a vector or the precision matrix holds a NaN, and for the
        cosine where a vector has length 0.

    Raises:
        ValueError: if ``measure`` is unknown, a set is empty, the arrays do not have the same replicas and dims,
            ``precision`` comes without ``mahalanobis`` or that without it, or one of its matrices is not positive
            definite.

    >>> words, attributes = np.array([[[3.0, 4.0]]]), np.array([[[0.0, 0.0], [4.0, 3.0]]])
    >>> pairwise(words, attributes, "manhattan")
    array([[[7., 2.]]])
    >>> pairwise(words, attributes, "mahalanobis", np.array([[[4.0, 0.0], [0.0, 1.0]]])).round(4)
    array([[[7.2111, 2.2361]]])
    """
    from scipy.spatial.distance import cdist

    orientation(measure)
    _check_sets(words=words, attributes=attributes)
    if (precision is not None) != (measure == "mahalanobis"):
        given = "without" if precision is None else "with"
        raise ValueError(
            f"measure={measure!r} {given} precision: 'mahalanobis' needs precision, others must not have it"
        )
    if measure == "cosine":
        return np.asarray(unit_vectors(words) @ unit_vectors(attributes).swapaxes(1, 2))
    if precision is not None:
        # With P = L L' the distance is the Euclidean one between L'w and L'a: a matrix product instead of W A of them.
        factors = _factors(precision, (words.shape[0], words.shape[2], words.shape[2]))
        words, attributes = words @ factors, attributes @ factors
    metric: Literal["cityblock", "euclidean"] = "cityblock" if measure == "manhattan" else "euclidean"
    # Replica by replica, so that no array [replicas, words, attributes, dims] comes to be.
    return np.stack([cdist(*replica, metric) for replica in zip(words, attributes, strict=True)])


def orientation(measure: Measure) -> float:
    """+1 for a similarity, which grows as words come nearer; -1 for a distance, which falls.

    Raises:
        ValueError: if ``measure`` is unknown.
    """
    if measure not in get_args(Measure):
        allowed = ", ".join(get_args(Measure))
        raise ValueError(f"measure={measure!r}: must be one of {allowed}; set the association's measure")
    return 1.0 if measure == "cosine" else -1.0


def _factors(precision: NDArray[np.floating], shape: tuple[int, int, int]) -> FloatArray:
    """The Cholesky factors L of P = L L', NaN throughout where P holds a NaN."""
    if precision.shape != shape:
        raise ValueError(f"precision has shape {precision.shape}: must be [replicas, dims, dims], here {shape}")
    known = np.isfinite(precision).all(axis=(1, 2), keepdims=True)
    try:
        factors = np.linalg.cholesky(np.where(known, precision, np.eye(shape[1])))
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "precision: must be positive definite in every replica that has one (NaN: has none)"
        ) from error
    return np.where(known, factors, np.nan)


def _check_sets(**sets: NDArray[np.floating]) -> None:
    shapes = {name: vectors.shape for name, vectors in sets.items()}
    for name, shape in shapes.items():
        if len(shape) != 3 or shape[1] == 0:
            raise ValueError(f"{name} has shape {shape}: must be [replicas, words, dims] with at least one word")
    if len({(shape[0], shape[2]) for shape in shapes.values()}) > 1:
        raise ValueError(f"the sets must share their replicas and dims (first and last axis): {shapes}")
