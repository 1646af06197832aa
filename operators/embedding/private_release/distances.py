"""Distances and inner products of private vectors: closed forms of their errors, and read-outs without the bias.

Experiments 1 and 2 of Feyisetan and Kasiviswanathan 2021 print ``| ||w_i - w_j|| - ||x_i - x_j|| |`` and
``|<w_i, w_j> - <x_i, x_j>|``. With ``a = E ||kappa||^2 = m (m + 1) s^2`` the first is near ``sqrt(D^2 + 2 a) - D``, the
second near ``sqrt(2 / pi)`` times the standard deviation ``(m + 1) sqrt(m) s^2`` of ``<kappa_i, kappa_j>``: the size of
the noise and little else. Taking the known noise off the squared distance costs no privacy.
"""

from collections.abc import Mapping
from math import log, nan, pi
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.embedding.private_release.noise import draw_noise, mean_squared_norm, norm_quantile

VERSION = "private_distances/2"


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


class Bounds(NamedTuple):
    """On errors of all pairs together, which hold but for a chance of delta.

    Attributes:
        distance: of ``| ||w_i - w_j|| - ||x_i - x_j|| |`` (proposition 7).
        product: of ``|<w_i, w_j> - <x_i, x_j>|`` (proposition 8).
        loss: that training on private vectors adds, for ``lambda ||Theta|| = 1`` (proposition 9).
    """

    distance: float
    product: float
    loss: float


def published_bounds(norm: float, beta: float, num_dimensions: int, epsilon: float, num: int, delta: float) -> Bounds:
    """Propositions 7 to 9 of M2 as they are printed, with ``k = 2 m ln(2 n m / delta) / epsilon`` for the noise:
    ``2 beta tau + 2 k``, ``beta tau^2 + 4 tau k + k^2`` and ``2 k + beta tau``.

    Args:
        norm: tau, of the longest vector.
        beta: distortion.
        num_dimensions: m.
        epsilon: nominal.
        num: n vectors.
        delta: chance.

    >>> [round(bound) for bound in published_bounds(6.0, 0.5, 173, 1.0, 200, 1e-6)]
    [17279, 74792141, 17276]
    """
    noise = 2 * num_dimensions * log(2 * num * num_dimensions / delta) / epsilon
    return _bounds(norm, beta, noise, 2.0)


def quantile_bounds(norm: float, beta: float, num_dimensions: int, epsilon: float, num: int, delta: float) -> Bounds:
    """The same by the exact quantile of the noise's radius in place of claim 6, and ``1 + beta`` in place of 2.

    >>> [round(bound) for bound in quantile_bounds(6.0, 0.5, 173, 1.0, 200, 1e-6)]
    [790, 160675, 591]
    """
    return _bounds(norm, beta, norm_quantile(num_dimensions, (1 + beta) / epsilon, delta / (2 * num)), 1 + beta)


def _bounds(norm: float, beta: float, noise: float, stretch: float) -> Bounds:
    product = beta * norm**2 + 2 * stretch * norm * noise + noise**2
    return Bounds(2 * beta * norm + 2 * noise, product, stretch * noise + beta * norm)


def constant_error(values: FloatArray) -> float:
    """Mean absolute error of the best public constant, the median: a control that reads no vector.

    >>> constant_error(np.array([1.0, 2.0, 6.0]))
    1.6666666666666667
    """
    return float(np.mean(np.abs(values - np.median(values))))


# --- read-outs of all pairs of two sides ----------------------------------------------------------------------------


def mean_errors(
    generator: np.random.Generator, first: FloatArray, second: FloatArray, projection: FloatArray, made: Specification
) -> dict[str, float]:
    """Mean absolute error of each read-out, with one draw of noise by the norm for all vectors.

    Args:
        first, second: ``[n, d]`` and ``[k, d]``; each of one side is paired with each of the other.
        projection: ``[m, d]``.
        made: scale of the noise.
    """
    releases = [
        vectors @ projection.T + draw_noise(generator, "norm", (len(vectors), made.num_dimensions), made.scale)
        for vectors in (first, second)
    ]
    true, noisy = pair_distances(first, second), pair_distances(*releases)
    debiased = debiased_distances(noisy, mean_squared_norm("norm", made.num_dimensions, made.scale))
    return {
        "distance": float(np.mean(np.abs(noisy - true))),
        "debiased_distance": float(np.mean(np.abs(debiased - true))),
        "inner_product": float(np.mean(np.abs(releases[0] @ releases[1].T - first @ second.T))),
    }


class Forms(NamedTuple):
    """What is known of the error of a read-out; NaN where nothing is.

    Attributes:
        closed_form: what it should be.
        constant_error: that of the best constant.
        proposition, quantile_bound: on all errors at once, as printed and by the exact quantile.
    """

    closed_form: float
    constant_error: float
    proposition: float = nan
    quantile_bound: float = nan


def closed_forms(
    first: FloatArray, second: FloatArray, images: FloatArray, others: FloatArray, made: Specification
) -> dict[str, Forms]:
    """What :func:`mean_errors` should find.

    Args:
        images, others: ``[n, m]`` and ``[k, m]``, Phi x of both sides.
    """
    squared = mean_squared_norm("norm", made.num_dimensions, made.scale)
    norms = np.add.outer((images**2).sum(axis=1), (others**2).sum(axis=1))
    true, products = pair_distances(first, second), first @ second.T
    product = expected_product_error(made.deviation, made.num_dimensions, norms)
    return {
        "distance": Forms(expected_distance_error(true, squared), constant_error(true)),
        "debiased_distance": Forms(nan, constant_error(true)),
        "inner_product": Forms(product, constant_error(products)),
    }


def with_bounds(
    forms: Mapping[str, Forms], vectors: FloatArray, beta: float, num_dimensions: int, epsilon: float, delta: float
) -> dict[str, Forms]:
    """The same with the bounds of M2 for all vectors ``[n, d]``; other arguments as of :func:`published_bounds`."""
    about = float(np.linalg.norm(vectors, axis=1).max()), beta, num_dimensions, epsilon, len(vectors), delta
    printed, exact = published_bounds(*about), quantile_bounds(*about)
    distance = forms["distance"]._replace(proposition=printed.distance, quantile_bound=exact.distance)
    product = forms["inner_product"]._replace(proposition=printed.product, quantile_bound=exact.product)
    return {**forms, "distance": distance, "inner_product": product}
