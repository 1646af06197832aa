"""Mechanisms as they are specified: map, noise and sensitivity, and what they promise, also exactly."""

from collections.abc import Callable
from math import inf
from typing import Literal, NamedTuple

from scipy.optimize import brentq

from tiltmeter.operators.embedding.private_release.noise import Law, coordinate_deviation
from tiltmeter.operators.embedding.private_release.profile import epsilon_of, gaussian_epsilon_of
from tiltmeter.operators.embedding.private_release.projections import Projection

VERSION = "mechanisms/2"

Name = Literal["M1", "M2", "M2 exact", "M2 spectral", "haar", "public_pca", "mahalanobis", "gaussian"]
Sensitivity = Literal["none", "published", "exact_vocabulary", "spectral"]


class Design(NamedTuple):
    """What a mechanism is made of, whatever its epsilon."""

    projection: Projection
    law: Law
    sensitivity: Sensitivity


DESIGNS: dict[Name, Design] = {
    "M1": Design("none", "norm", "none"),
    "M2": Design("gaussian", "norm", "published"),
    "M2 exact": Design("gaussian", "norm", "exact_vocabulary"),
    "M2 spectral": Design("gaussian", "norm", "spectral"),
    "haar": Design("haar", "norm", "exact_vocabulary"),
    "public_pca": Design("public_pca", "norm", "exact_vocabulary"),
    "mahalanobis": Design("mahalanobis", "norm", "exact_vocabulary"),
    "gaussian": Design("none", "gaussian", "none"),
}
"""Rows of haar and public_pca are orthonormal, so that no distance of any vectors grows; how far those of a public
vocabulary do is certified as for any other map, and less than 1. Normal noise takes the vectors as they are."""


class Specification(NamedTuple):
    """A mechanism with its noise.

    Attributes:
        num_dimensions: m, of what is published.
        sensitivity: Delta, the most that its map may stretch a distance.
        scale: s = Delta / epsilon, or sigma of normal noise.
    """

    law: Law
    num_dimensions: int
    sensitivity: float
    scale: float

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate of the noise."""
        return coordinate_deviation(self.law, self.num_dimensions, self.scale)


def specified(
    design: Design, num_dimensions: int, sensitivity: float, epsilon: float, anchor: "Anchor"
) -> Specification:
    """The mechanism of a nominal epsilon: a bound of ``epsilon`` times the distance, or what is nearest to it.

    Noise by the norm has the scale ``Delta / epsilon``. Normal noise keeps no such bound, as its loss grows with the
    square of the distance: it is (epsilon r, delta)-private at one distance r, the anchor's.

    Raises:
        ValueError: if epsilon is not positive.
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon={epsilon}: must be positive")
    if design.law == "norm":
        return Specification("norm", num_dimensions, sensitivity, sensitivity / epsilon)
    return matched(design, num_dimensions, sensitivity, epsilon * anchor.distance, anchor)


class Anchor(NamedTuple):
    """Where mechanisms are compared.

    Attributes:
        distance: of two vectors, as they are.
        stretch: of the map, at that distance.
        delta: slack.
    """

    distance: float
    stretch: float
    delta: float


def matched(design: Design, num_dimensions: int, sensitivity: float, exact: float, anchor: Anchor) -> Specification:
    """The mechanism that is (exact, delta)-private at the anchor, and no more: the inverse of :func:`exact_epsilon`.

    >>> anchor = Anchor(distance=2.0, stretch=1.0, delta=1e-6)
    >>> for law in ("norm", "gaussian"):
    ...     made = matched(Design("none", law, "none"), 54, 1.0, 3.0, anchor)
    ...     print(round(exact_epsilon(made, 2.0, 1e-6), 6))
    3.0
    3.0
    """
    image = anchor.distance * anchor.stretch
    if design.law == "gaussian":

        def leak(deviation: float) -> float:
            return gaussian_epsilon_of(anchor.delta, image, deviation) - exact

        # Far out nothing leaks beyond delta; a very small epsilon is near to that.
        most = next(factor for factor in (1e4, 1 / anchor.delta) if leak(image * factor) <= 0)
        return Specification("gaussian", num_dimensions, sensitivity, _root(leak, image / (exact + 40), image * most))

    def excess(rho: float) -> float:
        return epsilon_of(anchor.delta, rho, num_dimensions) - exact

    rho = _root(excess, exact / 2, (exact + 1) * (4 + num_dimensions))
    return Specification("norm", num_dimensions, sensitivity, image / rho)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, rtol=1e-12))


def exact_epsilon(mechanism: Specification, image: float, delta: float) -> float:
    """Smallest e at which a mechanism is (e, delta)-private for two vectors whose images lie ``image`` apart."""
    if mechanism.law == "gaussian":
        return gaussian_epsilon_of(delta, image, mechanism.scale)
    return epsilon_of(delta, image / mechanism.scale, mechanism.num_dimensions)


def claimed_epsilon(mechanism: Specification, distance: float) -> float:
    """Bound on the loss that holds without any slack: epsilon times the distance; infinite for normal noise."""
    return inf if mechanism.law == "gaussian" else mechanism.sensitivity * distance / mechanism.scale
