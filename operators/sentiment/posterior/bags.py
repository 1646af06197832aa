"""Bags of real words that a classifier finds positive, drawn exactly (Gibbs sampling).

A bag of n words has the prior prod_i p(w_i) and the likelihood p(y | mean of its vectors)^k. One position after the
other is drawn anew given all others. Its full conditional over the whole vocabulary is one pass, since the first layer
is linear: with A = V W1, h(w) = (sum_{j != i} A_{w_j} + A_w) / n + b1. So a draw's words are words, and nothing is
rounded to its nearest word.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior.networks import Target

if TYPE_CHECKING:
    import torch

VERSION = "posterior_bags/1"


def gibbs_bags(
    generator: np.random.Generator, target: Target, words: FloatArray, counts: NDArray[np.number], num_words: int
) -> Iterator[IntArray]:
    """Bags without end: after each sweep over all positions, ``[num_words]`` numbers of words.

    Likelihoods are computed in float32, whose errors of 1e-7 are far below what draws could show; probabilities are
    summed in float64.

    Args:
        words: ``[words, dimensions]``, the candidates, finite.
        counts: ``[words]``, of their occurrences, which make the prior.
        num_words: n.
    """
    import torch

    network = target.network
    first = torch.from_numpy(((words @ network.weights[0]) / num_words).astype(np.float32))
    offset = torch.from_numpy(network.biases[0].astype(np.float32))
    log_prior = np.log(counts / counts.sum())
    bag = generator.choice(len(words), size=num_words, p=counts / counts.sum())
    while True:
        places = generator.random(num_words)
        for position in range(num_words):
            others = first[np.delete(bag, position)].sum(dim=0) + offset
            log_weights = log_prior + _log_likelihoods(target, first + others)
            sums = np.cumsum(np.exp(log_weights - log_weights.max()))
            bag[position] = np.searchsorted(sums, places[position] * sums[-1], side="right")
        yield bag.copy()


def _log_likelihoods(target: Target, hidden: "torch.Tensor") -> FloatArray:
    """k log p(y | bag) of each candidate, from the inputs of the first hidden layer."""
    import torch

    network = target.network
    activate = torch.relu if network.activation == "relu" else torch.nn.functional.softplus
    values = hidden
    for matrix, offset in zip(network.weights[1:], network.biases[1:], strict=True):
        weights, biases = (torch.from_numpy(part.astype(np.float32)) for part in (matrix, offset))
        values = torch.addmm(biases, activate(values), weights)
    signed = target.sign * values[:, 0].double()
    logs = torch.nn.functional.logsigmoid(signed) if target.link == "logit" else torch.special.log_ndtr(signed)
    return np.asarray(target.power * logs.numpy())
