"""How private noise is, exactly: delta(e) of a pair of vectors, and the smallest e for a delta.

For noise of density proportional to ``exp(-||z|| / s)`` in m dimensions and two vectors whose images lie ``rho s``
apart, the privacy loss is ``L = sqrt(R^2 + 2 R rho c + rho^2) - R`` with R of Gamma(m, 1) and c the cosine to a fixed
direction, of density proportional to ``(1 - c^2)^((m - 3) / 2)``. L exceeds e where c exceeds
``(e^2 + 2 R e - rho^2) / (2 R rho)``, and under the other vector the loss has the law of -L. With F the distribution
function of c, a Beta law on [-1, 1] with both parameters (m - 1) / 2, one integral over R is left:

    delta(e) = Pr[L > e] - exp(e) Pr[L < -e],    Pr[L > e] = E_R[1 - F((e^2 + 2 R e - rho^2) / (2 R rho))].

F leaves its ends at ``R = (rho -+ e) / 2`` like a power of (m - 1) / 2, which the substitution ``R = start + t^2``
makes smooth. One dimension is the Laplace mechanism, where ``delta(e) = 1 - exp((e - rho) / 2)``.
"""

from collections.abc import Callable
from functools import cache
from math import exp, expm1, inf, lgamma, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaln, gammainc, log_ndtr, ndtr
from scipy.stats import gamma

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "privacy_profile/2"

_LEAST = 1e-300
"""Chances below it count as none."""

_NUM_NODES = 80
_NUM_SCOUTS = 48
_NEGLIGIBLE = 46.0
"""Natural logarithm of the ratio to its largest value below which an integrand is left out: 1e-20."""
_SMALLEST = 1e-290
_NUM_TERMS = 60
_LAPLACE = 1


def delta_of(epsilon: float, rho: float, num_dimensions: int) -> float:
    """Smallest delta at which noise by the norm is (epsilon, delta)-private for a pair.

    Args:
        epsilon: e >= 0.
        rho: distance of the two images in units of the noise's scale s; epsilon of the mechanism times the distance of
            the two vectors, if their images lie as far apart as the sensitivity allows.
        num_dimensions: m.

    Raises:
        ValueError: for a negative number or no dimension.

    >>> round(delta_of(1.0, 3.0, 1), 6), round(1 - exp(-1.0), 6), delta_of(3.0, 3.0, 7)
    (0.632121, 0.632121, 0.0)
    """
    if epsilon < 0 or rho < 0 or num_dimensions < _LAPLACE:
        raise ValueError(f"epsilon={epsilon}, rho={rho}, num_dimensions={num_dimensions}: none may be negative")
    if epsilon >= rho:
        return 0.0
    if num_dimensions == _LAPLACE:
        return -expm1((epsilon - rho) / 2)
    difference = loss_above(epsilon, rho, num_dimensions) - _loss_below(epsilon, rho, num_dimensions, epsilon)
    return min(1.0, max(0.0, difference))  # integrals are off by their last bits


def epsilon_of(delta: float, rho: float, num_dimensions: int) -> float:
    """Smallest epsilon at which noise by the norm is (epsilon, delta)-private for a pair: the inverse of delta_of.

    Args:
        delta: between 0 and 1; 0 gives rho, the bound that holds without any slack.
        rho, num_dimensions: as for :func:`delta_of`.

    >>> round(epsilon_of(1e-6, 10.0, 54), 6), round(epsilon_of(1e-6, 10.0, 300), 6)
    (6.125987, 2.593294)
    """
    if delta <= 0 or rho == 0:
        return rho
    if num_dimensions == _LAPLACE:
        return max(0.0, rho + 2 * log1p(-delta)) if delta < 1 else 0.0
    if delta_of(0.0, rho, num_dimensions) <= delta:
        return 0.0
    return _crossing(lambda epsilon: delta_of(epsilon, rho, num_dimensions), delta, rho)


def loss_above(threshold: float, rho: float, num_dimensions: int) -> float:
    """``Pr[L > e]`` for a vector against the other: how often a test at this threshold names the right one.

    Args:
        threshold: e, of any sign; the loss lies between -rho and rho.
        rho, num_dimensions: as for :func:`delta_of`.

    >>> loss_above(2.0, 1.0, 5), loss_above(-1.0, 1.0, 5)
    (0.0, 1.0)
    """
    if threshold >= rho:
        return 0.0
    if threshold <= -rho:
        return 1.0
    if num_dimensions == _LAPLACE:
        return 1 - exp((threshold - rho) / 2) / 2
    if threshold < 0:
        return 1.0 - loss_below(threshold, rho, num_dimensions)
    start = (rho - threshold) / 2
    return float(gammainc(num_dimensions, start)) + _integral(_Tail(threshold, rho, num_dimensions, 1))


def loss_below(threshold: float, rho: float, num_dimensions: int) -> float:
    """``Pr[L < e]``, to its last digits where it is small: how often a test names the wrong vector.

    >>> loss_below(-1.0, 1.0, 5), loss_below(2.0, 1.0, 5)
    (0.0, 1.0)
    """
    if abs(threshold) >= rho:
        return float(threshold > 0)
    if num_dimensions == _LAPLACE:
        return exp((threshold - rho) / 2) / 2
    return _loss_below(-threshold, rho, num_dimensions, 0.0)


def true_positive_rate(false_positive_rate: float, rho: float, num_dimensions: int) -> float:
    """Largest chance to name the right vector of a test that names it wrongly with a given chance: the trade-off curve.

    The best test is a threshold e on the loss (Neyman and Pearson): false positives ``Pr[L < -e]``.

    >>> round(true_positive_rate(0.1, 1.0, 1), 4), round(true_positive_rate(0.1, 1.0, 300), 4)
    (0.2718, 0.1105)
    """
    if rho == 0 or num_dimensions == _LAPLACE:
        return _laplace_power(false_positive_rate, rho)
    if false_positive_rate <= _LEAST:
        return 0.0
    if false_positive_rate >= 1:
        return 1.0

    def excess(threshold: float) -> float:
        return log(max(loss_below(-threshold, rho, num_dimensions), _LEAST)) - log(false_positive_rate)

    return loss_above(brentq(excess, -rho, rho, xtol=1e-12 * rho), rho, num_dimensions)


def _laplace_power(size: float, rho: float) -> float:
    """Of the Laplace mechanism: exp(rho) a up to exp(-rho) / 2, then 1 / (4 a) exp(-rho), then the mirror image."""
    if size <= exp(-rho) / 2:
        return exp(rho) * max(size, 0.0)
    return 1 - exp(-rho) / (4 * size) if size <= 1 / 2 else 1 - exp(-rho) * (1 - min(size, 1.0))


def _loss_below(epsilon: float, rho: float, num_dimensions: int, log_factor: float) -> float:
    """``exp(log_factor) Pr[L < -e]`` for e of any sign."""
    return _integral(_Tail(-epsilon, rho, num_dimensions, -1), log_factor)


class _Tail(NamedTuple):
    """``Pr[sign L > sign threshold]`` over the radii at which it is no certainty; with the sign 1, threshold >= 0."""

    threshold: float
    rho: float
    num_dimensions: int
    sign: int

    def log_density(self, radii: FloatArray) -> FloatArray:
        """Logarithm of the density of R times the chance of a cosine beyond the limit."""
        threshold, rho, num_dimensions, sign = self
        limits = (threshold**2 + 2 * radii * threshold - rho**2) / (2 * radii * rho)
        shares = np.clip((1 - sign * limits) / 2, 0.0, 1.0)
        density = (num_dimensions - 1) * np.log(radii) - radii - lgamma(num_dimensions)
        return density + _log_beta((num_dimensions - 1) / 2, shares)


def _integral(tail: _Tail, log_factor: float = 0.0) -> float:
    """E_R of the tail, from where the chance is neither 0 nor 1; scouts say where the integrand counts."""
    start = (tail.rho - tail.threshold) / 2
    end = float(gamma.isf(1e-22, tail.num_dimensions)) + tail.rho

    def log_integrand(roots: FloatArray) -> FloatArray:
        return tail.log_density(start + roots**2) + np.log(2 * roots) + log_factor

    low, high = 0.0, sqrt(max(end - start, 0.0))
    if high == 0.0:
        return 0.0
    scouts = np.linspace(low, high, _NUM_SCOUTS + 2)[1:-1]
    heights = log_integrand(scouts)
    important = np.flatnonzero(heights > heights.max() - _NEGLIGIBLE)
    step = high / (_NUM_SCOUTS + 1)
    low, high = max(low, scouts[important[0]] - step), min(high, scouts[important[-1]] + step)
    nodes, weights = _legendre(_NUM_NODES)
    middle, half = (low + high) / 2, (high - low) / 2
    return float(half * (weights @ np.exp(log_integrand(middle + half * nodes))))


def _log_beta(half: float, shares: FloatArray) -> FloatArray:
    """Logarithm of the distribution function of Beta(half, half), also where it underflows, by its power series."""
    values = betainc(half, half, shares)
    logs = np.log(np.maximum(values, _SMALLEST))
    small = (values < _SMALLEST) & (shares > 0)
    if small.any():
        x = shares[small]
        terms = np.cumprod(x[:, None] * (2 * half + np.arange(_NUM_TERMS)) / (half + 1 + np.arange(_NUM_TERMS)), axis=1)
        series = np.log1p(terms.sum(axis=1)) - log(half) - betaln(half, half)
        logs[small] = half * (np.log(x) + np.log1p(-x)) + series
    return np.where(shares > 0, logs, -inf)


@cache
def _legendre(num_nodes: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(num_nodes)
    return nodes, weights


def gaussian_delta_of(epsilon: float, distance: float, deviation: float) -> float:
    """Smallest delta of normal noise for two vectors at a distance (Balle and Wang 2018, theorem 8).

    ``delta = N(r / (2 sigma) - e sigma / r) - exp(e) N(-r / (2 sigma) - e sigma / r)``

    Args:
        epsilon: e >= 0.
        distance: r, of the two images.
        deviation: sigma > 0, of each coordinate.

    >>> round(gaussian_delta_of(0.0, 1.0, 1.0), 6)
    0.382925
    """
    if distance == 0:
        return 0.0
    ratio = distance / deviation
    first, second = ndtr(ratio / 2 - epsilon / ratio), -ratio / 2 - epsilon / ratio
    return max(0.0, float(first) - exp(epsilon + float(log_ndtr(second))))


def gaussian_epsilon_of(delta: float, distance: float, deviation: float) -> float:
    """Smallest epsilon of normal noise for two vectors at a distance; infinite without a slack.

    >>> round(gaussian_epsilon_of(gaussian_delta_of(1.5, 1.0, 1.0), 1.0, 1.0), 9)
    1.5
    """
    if delta <= 0:
        return inf if distance > 0 else 0.0
    if gaussian_delta_of(0.0, distance, deviation) <= delta:
        return 0.0
    ratio = distance / deviation
    limit = ratio**2 / 2 + ratio * sqrt(2 * log(1 / delta)) + 1
    return _crossing(lambda epsilon: gaussian_delta_of(epsilon, distance, deviation), delta, limit)


def _crossing(delta_at: Callable[[float], float], delta: float, limit: float) -> float:
    """Where a falling delta meets a value: by the logarithm, which is closer to a line."""

    def excess(epsilon: float) -> float:
        return log(max(delta_at(epsilon), _LEAST)) - log(delta)

    return float(brentq(excess, 0.0, limit, xtol=1e-10 * limit, rtol=1e-13))
