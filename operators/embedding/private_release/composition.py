"""What several releases of the same vectors promise together.

Promises ``(epsilon_i r, delta_i)`` for two vectors at a distance r add up: ``(sum epsilon_i r, sum delta_i)`` always
holds. Normal noise of deviations ``sigma_i`` composes more tightly: seen together, the releases are one of
``mu = r sqrt(sum 1 / sigma_i^2)``, whose profile is that of Balle and Wang 2018 (Dong, Roth and Su 2022).
"""

from collections.abc import Sequence
from math import hypot
from typing import NamedTuple

from tiltmeter.operators.embedding.private_release.profile import gaussian_epsilon_of


class Promise(NamedTuple):
    """Of one release, or of several together.

    Attributes:
        epsilon: per unit of distance.
        delta: slack, of any distance.
        mu: of normal noise, per unit of distance: the stretch of its map over sigma; 0 for noise by the norm.
        reach: largest distance for which normal noise keeps its epsilon.
    """

    epsilon: float
    delta: float
    mu: float = 0.0
    reach: float = 0.0


def composed(promises: Sequence[Promise]) -> Promise:
    """All releases seen together.

    At one delta the epsilon of normal noise grows faster than the distance, so that per unit of distance it is largest
    at the reach; vectors further apart have images no further apart than that, as they were shortened.

    >>> composed([Promise(1.0, 0.0), Promise(2.0, 1e-6)])
    Promise(epsilon=3.0, delta=1e-06, mu=0.0, reach=0.0)
    >>> one = Promise(gaussian_epsilon_of(1e-6, 2.0, 4.0) / 2, 1e-6, mu=1 / 4, reach=2.0)
    >>> four = composed([one] * 4)
    >>> round(four.epsilon / one.epsilon, 2), four.mu, four.delta
    (2.03, 0.5, 4e-06)
    """
    exact, normal = ([item for item in promises if bool(item.mu) == kind] for kind in (False, True))
    delta, reach = sum(item.delta for item in normal), max((item.reach for item in normal), default=0.0)
    mu = hypot(*(item.mu for item in normal))
    epsilon = sum(item.epsilon for item in normal)
    if mu and reach:
        epsilon = min(epsilon, gaussian_epsilon_of(delta, mu * reach, 1.0) / reach)
    return Promise(sum(item.epsilon for item in exact) + epsilon, sum(item.delta for item in exact) + delta, mu, reach)
