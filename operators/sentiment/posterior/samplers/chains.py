"""What a chain of a sampler leaves."""

from typing import NamedTuple

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray


class Chain(NamedTuple):
    """Attributes:
    draws: ``[draws, dimensions]``, of s.
    diverged: ``[draws]``, whether the energy of a trajectory got out of hand.
    num_steps: ``[draws]``, evaluations of the gradient, or of the likelihood.
    acceptance: ``[draws]``, mean probability of acceptance along the trajectory.
    energies: ``[draws]``, of the states that trajectories began with; 0 where there is no energy.
    saturated: ``[draws]``, whether the tree was as deep as it may be.
    """

    draws: FloatArray
    diverged: BoolArray
    num_steps: IntArray
    acceptance: FloatArray
    energies: FloatArray
    saturated: BoolArray
