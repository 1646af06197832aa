"""Independent draws from p(s | y), and the evidence P(y).

A draw s of the prior is kept with probability p(y | s): what is kept has the density p(y | s) p0(s) / P(y) (von Neumann
1951). Nothing has to converge, so these draws are what chains are held against.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.networks import Target, log_likelihoods
from tiltmeter.operators.sentiment.posterior.priors import Prior

VERSION = "posterior_exact/1"

RAREST = 1e-4
"""P(y) below which too few draws would be kept."""

_BLOCK = 20_000


class Evidence(NamedTuple):
    """P(y), the mean of p(y | s) over the prior, and its standard error."""

    probability: float
    standard_error: float


def evidence(generator: np.random.Generator, prior: Prior, target: Target, num: int) -> Evidence:
    """P(y) = E_{p0}[p(y | s)] from ``num`` draws of the prior.

    Args:
        num: at least 2.
    """
    values = np.exp(log_likelihoods(target, prior.draws(generator, num)))
    return Evidence(float(values.mean()), float(values.std(ddof=1) / np.sqrt(num)))


def exact_draws(
    generator: np.random.Generator, prior: Prior, target: Target, num: int, probability: float
) -> FloatArray:
    """Independent draws from p(s | y).

    Args:
        num: of them.
        probability: P(y) as :func:`evidence` has it, by which the amount of work is known.

    Returns:
        ``[num, dimensions]`` float64.

    Raises:
        ValueError: if P(y) is below 1e-4.
    """
    if probability < RAREST:
        raise ValueError(f"P(y) = {probability:.2g} is below {RAREST:g}: rejection would keep next to nothing")
    blocks: list[FloatArray] = []
    num_kept = 0
    while num_kept < num:
        needed = int(1.05 * (num - num_kept) / probability) + 100
        vectors = prior.draws(generator, min(_BLOCK, needed))
        kept = vectors[np.log(generator.random(len(vectors))) < log_likelihoods(target, vectors)]
        blocks.append(kept)
        num_kept += len(kept)
    return np.concatenate(blocks)[:num]
