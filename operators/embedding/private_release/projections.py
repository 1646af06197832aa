"""Public maps to fewer dimensions, drawn or computed without the vectors that are to be private."""

from math import sqrt
from typing import Literal

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "private_projections/1"

Projection = Literal["none", "gaussian", "haar", "public_pca", "mahalanobis"]
"""``gaussian`` is the paper's; rows of ``haar`` and ``public_pca`` are orthonormal, so that no distance grows."""


def gaussian_projection(generator: np.random.Generator, num_kept: int, num_dimensions: int) -> FloatArray:
    """Phi of equation 1 of Feyisetan and Kasiviswanathan 2021: ``[m, d]`` with entries of N(0, 1/m).

    >>> gaussian_projection(np.random.default_rng(0), 400, 300).std().round(3)
    np.float64(0.05)
    """
    return generator.standard_normal((num_kept, num_dimensions)) / sqrt(num_kept)


def haar_projection(generator: np.random.Generator, num_kept: int, num_dimensions: int) -> FloatArray:
    """Orthonormal rows of a subspace that is uniform among all of its dimension; ``[m, d]``.

    The signs of R make Q of the QR decomposition uniform (Mezzadri 2007).

    >>> rows = haar_projection(np.random.default_rng(0), 2, 5)
    >>> np.allclose(rows @ rows.T, np.eye(2))
    True
    """
    columns, triangle = np.linalg.qr(generator.standard_normal((num_dimensions, num_kept)))
    return np.ascontiguousarray((columns * np.sign(np.diag(triangle))).T)


def principal_projection(public: FloatArray, num_kept: int) -> FloatArray:
    """Orthonormal rows: the directions in which public vectors vary most; ``[m, d]``.

    The sign of a row is that of its largest entry, which makes it positive.

    Args:
        public: ``[p, d]``, none of them private: components of private vectors would say something of them.
        num_kept: m <= d.

    >>> principal_projection(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 0.0], [-1.0, 0.0]]), 1)
    array([[0., 1.]])
    """
    centred = public - public.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    rows = directions[:, ::-1][:, :num_kept].T
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.ascontiguousarray(rows * np.sign(largest)) + 0.0


def mahalanobis_map(public: FloatArray, weight: float) -> FloatArray:
    """Sigma^(-1/2), symmetric: distances of images are those of the regularised Mahalanobis metric (Xu et al. 2020).

    ``Sigma = weight C / v + (1 - weight) I`` with the covariance C of public vectors and the mean v of its diagonal. By
    noise z of the norm on images, ``Sigma^(1/2) (Sigma^(-1/2) x + z) = x + r Sigma^(1/2) u`` is what the paper writes,
    with r by Gamma and u uniform on the sphere. The density at x falls with the metric, so that no loss exceeds it by
    more than 1 / scale; ``Sigma^(1/2) u`` must not be made a unit vector again.

    Args:
        public: ``[p, d]``, none of them private.
        weight: of the covariance, between 0 and 1: Sigma is regular at any number of vectors.

    >>> mahalanobis_map(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 0.0], [-1.0, 0.0]]), 0.5).round(3)
    array([[1.291, 0.   ],
           [0.   , 0.845]])
    """
    covariance = np.cov(public.T, ddof=0)
    shape = weight * covariance / np.diag(covariance).mean() + (1 - weight) * np.eye(len(covariance))
    values, directions = np.linalg.eigh(shape)
    return np.asarray((directions / np.sqrt(values)) @ directions.T)


def clipped(vectors: FloatArray, radius: float) -> FloatArray:
    """Vectors whose norm is at most a public radius; no two of them come further apart than they were.

    Args:
        vectors: ``[n, d]``, finite; of any size, also where squares of their entries are none that a double has.
        radius: a positive normal number.

    Raises:
        ValueError: for any other radius, whose multiples may be rounded to more than it.

    >>> clipped(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    if not np.finfo(np.float64).tiny <= radius < np.inf:
        raise ValueError(f"radius={radius}: must be a positive normal number")
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    units = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    lengths = np.linalg.norm(units, axis=1, keepdims=True)
    limits = radius / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(np.where(largest > limits, units * limits, vectors))
