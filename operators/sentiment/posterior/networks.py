"""A classifier p(+ | s) of vectors: a small network, and what it makes of a vector under a label.

Liang and Acuna 2020, section 4.3: p(+ | s) = sigma(f(s)) with f a multilayer perceptron on the mean word vector of a
review. A probit link Phi(f(s)) with a linear f has a posterior in closed form, which
samplers are held against; p(y | s)^k with k > 1 asks a sharper question.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "posterior_network/1"

Activation = Literal["softplus", "relu"]
Link = Literal["logit", "probit"]


class Network(NamedTuple):
    """f(s), with the standardisation of s and the temperature inside its weights.

    Attributes:
        weights: ``[inputs, outputs]`` of each layer, float64; the last has one output.
        biases: ``[outputs]`` of each layer.
        activation: between layers; softplus has a gradient that changes smoothly, as NUTS wants it.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    activation: Activation = "softplus"

    @property
    def num_inputs(self) -> int:
        return int(self.weights[0].shape[0])


class Target(NamedTuple):
    """What a posterior is asked about.

    Attributes:
        network: of the classifier.
        sign: of the label: 1 for positive, -1 for negative.
        link: from f(s) to a probability.
        power: k of p(y | s)^k.
    """

    network: Network
    sign: int
    link: Link = "logit"
    power: float = 1.0


def scores(network: Network, vectors: FloatArray) -> FloatArray:
    """f(s) of each vector.

    Args:
        vectors: ``[vectors, dimensions]``.

    Returns:
        ``[vectors]`` float64, in units of log odds.

    >>> linear = Network((np.array([[1.0], [-2.0]]),), (np.array([0.5]),))
    >>> scores(linear, np.array([[1.0, 1.0], [3.0, 0.0]]))
    array([-0.5,  3.5])
    """
    *hidden, (last, offset) = zip(network.weights, network.biases, strict=True)
    for weights, biases in hidden:
        vectors = activated(vectors @ weights + biases, network.activation)
    return np.asarray((vectors @ last + offset)[..., 0])


def activated(values: FloatArray, activation: Activation) -> FloatArray:
    """max(x, 0), or log(1 + exp(x)) in a form that neither overflows nor loses digits."""
    if activation == "relu":
        return np.maximum(values, 0.0)
    return np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))


def log_likelihoods(target: Target, vectors: FloatArray) -> FloatArray:
    """k log p(y | s) of each vector, ``[vectors]``.

    >>> linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    >>> log_likelihoods(Target(linear, -1), np.array([[0.0], [800.0]])).round(4).tolist()
    [-0.6931, -800.0]
    """
    signed = target.sign * scores(target.network, vectors)
    logs = -activated(-signed, "softplus") if target.link == "logit" else log_ndtr(signed)
    return np.asarray(target.power * logs)


def arrays(network: Network) -> dict[str, FloatArray]:
    """Weights by name, as they are stored."""
    layers = zip(network.weights, network.biases, strict=True)
    return {
        f"{kind}_{layer}": part for layer, pair in enumerate(layers) for kind, part in zip(_KINDS, pair, strict=True)
    }


def network_of(parts: Mapping[str, Any], activation: Activation) -> Network:
    """The network of the weights that :func:`arrays` names.

    Raises:
        ValueError: if there is no layer, or layers don't fit each other.
    """
    num = sum(name.startswith("weights_") for name in parts)
    missing = [f"{kind}_{layer}" for layer in range(max(num, 1)) for kind in _KINDS if f"{kind}_{layer}" not in parts]
    if missing:
        raise ValueError(f"weights of a classifier: there is no {', '.join(missing)}; give weights_0, biases_0, ...")
    weights, biases = ([np.asarray(parts[f"{kind}_{layer}"], np.float64) for layer in range(num)] for kind in _KINDS)
    _check(weights, biases)
    return Network(tuple(weights), tuple(biases), activation)


_KINDS = ("weights", "biases")


def _check(weights: Sequence[FloatArray], biases: Sequence[FloatArray]) -> None:
    widths = [part.shape for part in weights]
    chained = all(first[1] == second[0] for first, second in itertools.pairwise(widths))
    fitting = all(part.shape == (width[1],) for part, width in zip(biases, widths, strict=True))
    if not (chained and fitting and widths[-1][1] == 1):
        raise ValueError(
            f"weights of a classifier: shapes {widths} must be [inputs, outputs] of layers that follow each other, the "
            "last with one output, and biases [outputs] of each"
        )
