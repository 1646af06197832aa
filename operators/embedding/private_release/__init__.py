"""Vectors that can be given away: noise, how private it is exactly, and whether a mechanism is as private as it says.

norm_noise              noise of density ``exp(-||z|| / s)``
published_dimensions    dimensions of the random projection
largest_stretches       the pair of a vocabulary that a map stretches most, certified
spectral_sensitivity    the most that a map stretches any difference
delta_of, epsilon_of    exact privacy profile of a pair
audited_loss            bounds on the privacy loss from counts of a score
on_grid                 vectors as they are published
noisy_block             the same with noise from a secret key
composed                what several releases promise together
naming_caps             most that an attacker can believe in the right word
radius_check            whether what was released is as its certificate says; so with cosine_check, stretch_check

Scores of an audit are in :mod:`.private_release.scores`, tasks and their controls in :mod:`.private_release.utility`.

>>> round(epsilon_of(1e-6, 10.0, 54), 6)
6.125987
"""

from tiltmeter.operators.embedding.private_release.bounds import audited_loss
from tiltmeter.operators.embedding.private_release.composition import composed
from tiltmeter.operators.embedding.private_release.deniability import naming_caps
from tiltmeter.operators.embedding.private_release.noise import norm_noise, published_dimensions
from tiltmeter.operators.embedding.private_release.profile import delta_of, epsilon_of
from tiltmeter.operators.embedding.private_release.residuals import cosine_check, radius_check, stretch_check
from tiltmeter.operators.embedding.private_release.secrets import noisy_block, on_grid
from tiltmeter.operators.embedding.private_release.sensitivity import largest_stretches, spectral_sensitivity

__all__ = [
    "audited_loss",
    "composed",
    "cosine_check",
    "delta_of",
    "epsilon_of",
    "largest_stretches",
    "naming_caps",
    "noisy_block",
    "norm_noise",
    "on_grid",
    "published_dimensions",
    "radius_check",
    "spectral_sensitivity",
    "stretch_check",
]
