"""Distances and inner products of private vectors: closed forms of their errors, and read-outs without the bias.

Experiments 1 and 2 of Feyisetan and Kasiviswanathan 2021 print ``| ||w_i - w_j|| - ||x_i - x_j|| |`` and
``|<w_i, w_j> - <x_i, x_j>|``. With ``a = E ||kappa||^2 = m (m + 1) s^2`` the first is near ``sqrt(D^2 + 2 a) - D``, the
second near ``sqrt(2 / pi)`` times the standard deviation ``(m + 1) sqrt(m) s^2`` of ``<kappa_i, kappa_j>``: the size of
the noise and little else. Taking the known noise off the squared distance costs no privacy.
"""

from math import pi

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "private_distances/1"


def pair_distances(vectors: FloatArray, others: FloatArray) -> FloatArray:
    """``||x_i - y_j||`` by explicit differences; ``[n, k]``.

    >>> pair_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    return np.stack([np.linalg.norm(others - vector, axis=1) for vector in vectors])


def debiased_distances(distances: FloatArray, mean_squared_norm: float) -> FloatArray:
    """``sqrt(max(0, ||w_i - w_j||^2 - 2 E ||kappa||^2))``: distances without the part that noise adds on average.

    Args:
        distances: between private vectors, each with noise of its own.
        mean_squared_norm: ``E ||kappa||^2`` of the noise.

    >>> debiased_distances(np.array([5.0, 1.0]), 8.0)
    array([3., 0.])
    """
    return np.sqrt(np.maximum(distances**2 - 2 * mean_squared_norm, 0.0))


def expected_distance_error(distances: FloatArray, mean_squared_norm: float) -> float:
    """Mean of ``sqrt(D^2 + 2 a) - D`` over pairs: what experiment 1 finds, up to fluctuations of the noise's norm.

    >>> expected_distance_error(np.array([3.0]), 8.0)
    2.0
    """
    return float(np.mean(np.sqrt(distances**2 + 2 * mean_squared_norm) - distances))


def expected_product_error(deviation: float, num_dimensions: int, squared_norms: FloatArray) -> float:
    """Mean ``|<w_i, w_j> - <Phi x_i, Phi x_j>|`` for an error that is nearly normal: experiment 2.

    Its variance is ``t^2 (||Phi x_i||^2 + ||Phi x_j||^2) + m t^4``, with t the standard deviation of a coordinate:
    ``E <kappa_i, kappa_j>^2 = m t^4 = (m + 1)^2 m s^4``.

    Args:
        deviation: t, of each coordinate of the noise.
        num_dimensions: m.
        squared_norms: of each pair's two images, summed.

    >>> round(expected_product_error(301**0.5, 300, np.zeros(1)))
    4160
    """
    variances = deviation**2 * squared_norms + num_dimensions * deviation**4
    return float(np.mean(np.sqrt(2 / pi * variances)))


def ridge_read_out(vectors: FloatArray, targets: FloatArray, deviation: float, floor: float = 1e-3) -> FloatArray:
    """Weights of a linear model of the original vectors, from noisy ones: errors in variables.

    ``(W'W - n t^2 I)^+ W'y`` takes the known covariance of the noise off; eigenvalues below a share of the largest
    are raised to it, since the difference may be indefinite.

    Args:
        vectors: ``[n, m]``, centred.
        targets: ``[n]``, centred.
        deviation: t, of each coordinate of the noise.
        floor: share of the largest eigenvalue that none falls below.

    >>> generator = np.random.default_rng(0)
    >>> clean = generator.standard_normal((20_000, 2))
    >>> noisy = clean + generator.standard_normal(clean.shape)
    >>> ridge_read_out(noisy, clean @ np.array([1.0, -2.0]), 1.0).round(1)
    array([ 1., -2.])
    """
    values, directions = np.linalg.eigh(vectors.T @ vectors)
    corrected = np.maximum(values - len(vectors) * deviation**2, floor * values.max())
    return np.asarray(directions @ ((directions.T @ (vectors.T @ targets)) / corrected))


def constant_error(values: FloatArray) -> float:
    """Mean absolute error of the best public constant, the median: a control that reads no vector.

    >>> constant_error(np.array([1.0, 2.0, 6.0]))
    1.6666666666666667
    """
    return float(np.mean(np.abs(values - np.median(values))))
