"""The No-U-Turn sampler (Hoffman and Gelman 2014), which Liang and Acuna 2020 drew with; here BlackJAX's.

In whitened coordinates s = mu + L u the log density is -|u|^2 / 2 + k log p(y | s). Step size and a diagonal (or dense)
metric are adapted during the warm-up, as in Stan. Everything is float64: where p(y | s) saturates, float32 has no
digits left. The compiled function takes weights and prior as arguments, so that a process compiles it once for all
classifiers, priors and labels.
"""

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior.networks import Activation, Link, Target
from tiltmeter.operators.sentiment.posterior.priors import Gaussian

VERSION = "posterior_nuts/1"

PACKAGES = ("jax", "blackjax")
"""That it needs beyond what the project needs: the extra ``posterior``."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NutsConfig:
    """Settings of the sampler.

    Attributes:
        chains: from draws of the prior.
        warmup: transitions of each chain that adapt it and are dropped.
        draws: transitions of each chain that are kept.
        target: mean probability of acceptance that the step size is adapted to.
        max_depth: of a tree: a trajectory has 2^depth - 1 steps at most.
        metric: a variance for each coordinate, or a ``dense`` covariance.
    """

    chains: Annotated[int, Field(ge=1)] = 4
    warmup: Annotated[int, Field(ge=20)] = 1000
    draws: Annotated[int, Field(ge=8)] = 2500
    target: Annotated[float, Field(gt=0, lt=1)] = 0.8
    max_depth: Annotated[int, Field(ge=1, le=15)] = 10
    metric: str = Field(default="diagonal", pattern="^(diagonal|dense)$")


class Chain(NamedTuple):
    """What a chain leaves.

    Attributes:
        draws: ``[draws, dimensions]``, of s.
        diverged: ``[draws]``, whether the energy of a trajectory got out of hand.
        num_steps: ``[draws]``, evaluations of the gradient.
        acceptance: ``[draws]``, mean probability of acceptance along the trajectory.
        energies: ``[draws]``, of the states that trajectories began with.
        saturated: ``[draws]``, whether the tree was as deep as it may be.
    """

    draws: FloatArray
    diverged: BoolArray
    num_steps: IntArray
    acceptance: FloatArray
    energies: FloatArray
    saturated: BoolArray


def nuts_chain(generator: np.random.Generator, prior: Gaussian, target: Target, config: NutsConfig) -> Chain:
    """A chain from a draw of the prior.

    Args:
        generator: gives the start and the key of all that JAX draws.

    Raises:
        ImportError: if JAX or BlackJAX is not installed.
    """
    import jax

    start = generator.standard_normal(prior.mean.size)
    network = target.network
    with jax.enable_x64(True):
        sampler = _compiled(network.activation, target.link, config)
        key = jax.random.key(int(generator.integers(2**63)))
        drawn = sampler(
            key, start, network.weights, network.biases, prior.mean, prior.factor, target.sign, target.power
        )
        states, diverged, steps, acceptance, energies, depths = map(np.asarray, drawn)
    whole = steps.astype(np.int64)
    return Chain(prior.vectors(states), diverged, whole, acceptance, energies, depths >= config.max_depth)


@cache
def _compiled(activation: Activation, link: Link, config: NutsConfig) -> Any:
    import blackjax
    import jax

    bounds = {"max_num_doublings": config.max_depth}

    def drawn(key: Any, start: Any, weights: Any, biases: Any, mean: Any, factor: Any, sign: Any, power: Any) -> Any:
        def log_density(state: Any) -> Any:
            score = _score(mean + factor @ state, weights, biases, activation)
            return -0.5 * state @ state + power * _log_probability(sign * score, link)

        adapting, sampling = jax.random.split(key)
        warmup = blackjax.window_adaptation(
            blackjax.nuts,
            log_density,
            is_mass_matrix_diagonal=config.metric == "diagonal",
            target_acceptance_rate=config.target,
            **bounds,
        )
        (state, parameters), _ = warmup.run(adapting, start, config.warmup)
        kernel = blackjax.nuts(log_density, **parameters).step

        def step(state: Any, key: Any) -> Any:
            state, info = kernel(key, state)
            fields = info.is_divergent, info.num_integration_steps, info.acceptance_rate, info.energy
            return state, (state.position, *fields, info.num_trajectory_expansions)

        return jax.lax.scan(step, state, jax.random.split(sampling, config.draws))[1]

    return jax.jit(drawn)


def _score(vector: Any, weights: Any, biases: Any, activation: Activation) -> Any:
    import jax

    activate = jax.nn.relu if activation == "relu" else jax.nn.softplus
    for matrix, offset in zip(weights[:-1], biases[:-1], strict=True):
        vector = activate(vector @ matrix + offset)
    return (vector @ weights[-1] + biases[-1])[0]


def _log_probability(signed: Any, link: Link) -> Any:
    import jax

    return -jax.nn.softplus(-signed) if link == "logit" else jax.scipy.stats.norm.logcdf(signed)
