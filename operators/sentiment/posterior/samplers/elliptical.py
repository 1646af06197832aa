"""Elliptical slice sampling (Murray, Adams and MacKay 2010): a chain that needs values of p(y | s) alone, no gradient.

Of a normal prior, with u whitened: a second u' ~ N(0, I) makes an ellipse u cos(t) + u' sin(t), on which the next state
is looked for in a shrinking bracket around the present one, until it is above the slice.
"""

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.networks import Target, log_likelihoods
from tiltmeter.operators.sentiment.posterior.priors import Gaussian
from tiltmeter.operators.sentiment.posterior.samplers.chains import Chain

VERSION = "posterior_elliptical/1"


def elliptical_chain(
    generator: np.random.Generator, prior: Gaussian, target: Target, num_warmup: int, num_draws: int
) -> Chain:
    """A chain from a draw of the prior.

    Args:
        num_warmup: states that are dropped.
        num_draws: states that are kept.
    """
    state = generator.standard_normal(prior.mean.size)
    level = _level(prior, target, state)
    kept, num_steps = np.empty((num_draws, prior.mean.size)), np.zeros(num_draws, dtype=np.int64)
    for step in range(-num_warmup, num_draws):
        state, level, tried = _moved(generator, prior, target, state, level)
        if step >= 0:
            kept[step], num_steps[step] = state, tried
    none = np.zeros(num_draws)
    return Chain(prior.vectors(kept), none.astype(bool), num_steps, 1.0 / num_steps, none, none.astype(bool))


def _moved(
    generator: np.random.Generator, prior: Gaussian, target: Target, state: FloatArray, level: float
) -> tuple[FloatArray, float, int]:
    other = generator.standard_normal(state.size)
    slice_level = level + np.log(generator.random())
    angle = generator.random() * 2.0 * np.pi
    low, high, tried = angle - 2.0 * np.pi, angle, 1
    while True:
        proposal = state * np.cos(angle) + other * np.sin(angle)
        reached = _level(prior, target, proposal)
        if reached > slice_level:
            return proposal, reached, tried
        low, high = (angle, high) if angle < 0.0 else (low, angle)
        angle = low + generator.random() * (high - low)
        tried += 1


def _level(prior: Gaussian, target: Target, state: FloatArray) -> float:
    return float(log_likelihoods(target, prior.vectors(state)[np.newaxis])[0])
