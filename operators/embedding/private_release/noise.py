"""Noise for private vectors, and how many dimensions a projection keeps (Feyisetan and Kasiviswanathan 2021, Alg. 1).

A mechanism publishes ``w = Phi x + kappa``. The density of kappa is proportional to ``exp(-||z|| / s)`` with the scale
``s = Delta / epsilon``: a direction uniform on the sphere, and a radius by Gamma(shape m, scale s) of its own (the
footnote of section 3). Section 3 calls this noise d-dimensional; it is m-dimensional, as in Algorithm 1.
"""

from math import lgamma, log, log2, pi, sqrt
from typing import Literal

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "private_noise/1"

Law = Literal["norm", "gaussian"]
"""Of noise: density by the norm, as published, or normal in each coordinate."""

_CHUNK = 2**15
"""Numbers that are drawn at a time: they stay in a core's cache while they are scaled."""


def published_dimensions(num_dimensions: int, beta: float, delta: float = 1e-6) -> int:
    """Dimensions m of the projection: ``(omega + sqrt(ln(1 / delta)))^2 / beta^2`` (Algorithm 1), rounded.

    The paper sets ``omega = sqrt(log d)`` and names neither the base of this logarithm nor the constant before the
    formula. With the constant 1 and the base 2 the dimensions of its appendix A follow; with the natural logarithm
    they do not.

    Args:
        num_dimensions: d, of the vectors as they are.
        beta: distortion that is allowed, between 0 and 1.
        delta: with which the bound ``1 + beta`` on the sensitivity may fail.

    Raises:
        ValueError: if beta or delta does not lie between 0 and 1.

    >>> [published_dimensions(300, beta) for beta in (0.5, 0.6, 0.7, 0.9, 0.93, 0.66, 0.468)]
    [173, 120, 89, 54, 50, 100, 198]
    """
    if not (0 < beta < 1 and 0 < delta < 1):
        raise ValueError(f"beta={beta}, delta={delta}: both must lie between 0 and 1")
    return round((sqrt(log2(num_dimensions)) + sqrt(log(1 / delta))) ** 2 / beta**2)


def norm_noise(generator: np.random.Generator, shape: tuple[int, int], scale: float) -> FloatArray:
    """Vectors of density proportional to ``exp(-||z|| / scale)``.

    Args:
        generator: whose numbers say what the draws are.
        shape: ``(n, m)``: vectors and their dimensions.
        scale: s, positive; the mean of the norm is ``m s``, the standard deviation of a coordinate ``sqrt(m + 1) s``.

    Returns:
        ``[n, m]`` float64.

    >>> noise = norm_noise(np.random.default_rng(0), (100_000, 5), 2.0)
    >>> np.linalg.norm(noise, axis=1).mean().round(1), noise.std().round(1)
    (np.float64(10.0), np.float64(4.9))
    """
    num_rows, num_dimensions = shape
    radii = generator.standard_gamma(num_dimensions, num_rows)
    noise = np.empty(shape)
    size = max(1, _CHUNK // num_dimensions)
    for start in range(0, num_rows, size):
        part = noise[start : start + size]
        generator.standard_normal(out=part)
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
        part *= (radii[start : start + size] * scale / lengths)[:, None]
    return noise


def draw_noise(generator: np.random.Generator, law: Law, shape: tuple[int, int], scale: float) -> FloatArray:
    """Noise of a law: :func:`norm_noise`, or normal numbers of standard deviation ``scale``; ``[n, m]`` float64."""
    if law == "norm":
        return norm_noise(generator, shape, scale)
    return generator.standard_normal(shape) * scale


def coordinate_deviation(law: Law, num_dimensions: int, scale: float) -> float:
    """Standard deviation of each coordinate of noise: ``sqrt(m + 1) s`` by the norm, sigma for normal noise.

    >>> coordinate_deviation("norm", 3, 2.0), coordinate_deviation("gaussian", 3, 2.0)
    (4.0, 2.0)
    """
    return sqrt(num_dimensions + 1) * scale if law == "norm" else scale


def mean_squared_norm(law: Law, num_dimensions: int, scale: float) -> float:
    """``E ||kappa||^2``: ``m (m + 1) s^2`` by the norm, ``m sigma^2`` for normal noise.

    >>> mean_squared_norm("norm", 3, 2.0), mean_squared_norm("gaussian", 3, 2.0)
    (48.0, 12.0)
    """
    return num_dimensions * coordinate_deviation(law, num_dimensions, scale) ** 2


def norm_quantile(num_dimensions: int, scale: float, failure: float) -> float:
    """Radius that noise by the norm exceeds with chance ``failure``: a quantile of Gamma(m, s).

    Claim 6 of the paper bounds it by ``m ln(m / failure) s``, which is ten times as much where m is 54.

    >>> round(norm_quantile(54, 1.0, 1e-6), 1), round(54 * log(54 / 1e-6), 1)
    (96.4, 961.4)
    """
    return float(stats.gamma.isf(failure, num_dimensions, scale=scale))


def log_density(law: Law, offsets: FloatArray, scale: float) -> FloatArray:
    """Logarithm of the density of noise; by the norm, ``exp(-||z|| / s) / (A_m Gamma(m) s^m)``; ``[n]``.

    A_m is the area of the unit sphere, ``2 pi^(m / 2) / Gamma(m / 2)``.

    Args:
        offsets: ``[n, m]``.
        scale: s, or sigma.

    >>> np.exp(log_density("norm", np.zeros((1, 1)), 0.5)).round(9)
    array([1.])
    """
    num_dimensions = offsets.shape[1]
    lengths = np.linalg.norm(offsets, axis=1) / scale
    if law == "gaussian":
        return np.asarray(-(lengths**2) / 2 - num_dimensions * (log(2 * pi) / 2 + log(scale)))
    log_area = log(2) + num_dimensions / 2 * log(pi) - lgamma(num_dimensions / 2)
    return np.asarray(-lengths - log_area - lgamma(num_dimensions) - num_dimensions * log(scale))
