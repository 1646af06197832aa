"""A classifier of vectors with two labels: trained, calibrated, and how well it tells the labels apart.

Adam with weight decay on the cross-entropy, on standardised vectors, until the loss of a development part has not
fallen for some epochs (Prechelt 1998, *Early stopping - but when?*). Calibration is one temperature (Guo et al. 2017,
*On calibration of modern neural networks*, equation 9): sigma(f(s) / T) with the T that makes held-out labels most
likely.
"""

import itertools
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator, one_thread, torch_random
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior.networks import Activation, Network, activated

if TYPE_CHECKING:
    import torch

VERSION = "posterior_classifier/1"

_NUM_BINS = 10


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ClassifierConfig:
    """How the classifier is trained.

    Attributes:
        hidden: units of each hidden layer; none: a linear f.
        activation: between layers.
        learning_rate, weight_decay: of Adam.
        batch: vectors of a step.
        max_epochs: at most.
        patience: epochs without a smaller loss on the development part, after which training stops.
        development: share of the training vectors that says when.
    """

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = (100,)
    activation: Activation = "softplus"
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-4
    batch: Annotated[int, Field(ge=1)] = 100
    max_epochs: Annotated[int, Field(ge=1)] = 50
    patience: Annotated[int, Field(ge=1)] = 3
    development: Annotated[float, Field(gt=0, lt=1)] = 0.1


class Quality(NamedTuple):
    """Attributes:
    auc: area under the ROC curve.
    log_loss: mean of -log p(y | s).
    calibration_error: mean difference of p(+ | s) and the share of positive ones, over ten bins of p.
    """

    auc: float
    log_loss: float
    calibration_error: float


def trained(vectors: FloatArray, is_positive: BoolArray, config: ClassifierConfig, seed: int, number: int) -> Network:
    """The network that tells positive vectors from negative ones.

    Args:
        vectors: ``[texts, dimensions]``, finite.
        is_positive: ``[texts]``, with both labels.
        seed: of the run.
        number: of the classifier; its start and the order of its steps are its own.

    Raises:
        ValueError: if there is one label only.
    """
    if is_positive.all() or not is_positive.any():
        raise ValueError(
            f"{len(vectors)} texts to learn, all with the same label or without a word that has a vector: must be of "
            "both labels; set data.path to more texts, or classifier.folds to fewer (equal texts are in one fold)"
        )
    generator = keyed_generator(seed, Stream.CLASSIFIER_TRAINING, document_key("posterior classifier"), number)
    order = generator.permutation(len(vectors))
    num_development = min(max(1, round(config.development * len(vectors))), len(vectors) - 1)
    development, training = order[:num_development], order[num_development:]
    mean, scale = vectors[training].mean(axis=0), vectors[training].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    standardised = ((vectors - mean) / scale).astype(np.float32)
    with one_thread(), torch_random(seed, Stream.CLASSIFIER_TRAINING, document_key("posterior start"), number):
        layers = _descended(standardised, is_positive, training, development, config, generator)
    return _unstandardised(layers, mean, scale, config.activation)


def _descended(
    vectors: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]",
    is_positive: BoolArray,
    training: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    development: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    config: ClassifierConfig,
    generator: np.random.Generator,
) -> list[tuple[FloatArray, FloatArray]]:
    """Weights ``[inputs, outputs]`` and biases of each layer at the smallest loss of the development part."""
    import torch

    inputs, labels = torch.from_numpy(vectors), torch.from_numpy(is_positive.astype(np.float32))
    network = _layers(vectors.shape[1], config)
    loss = torch.nn.BCEWithLogitsLoss()
    steps = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    best, least, waited = _weights(network), float("inf"), 0
    for _ in range(config.max_epochs):
        shuffled = generator.permutation(training)
        for start in range(0, len(shuffled), config.batch):
            rows = torch.from_numpy(shuffled[start : start + config.batch])
            steps.zero_grad()
            loss(network(inputs[rows])[:, 0], labels[rows]).backward()
            steps.step()
        with torch.no_grad():
            reached = float(loss(network(inputs[development])[:, 0], labels[development]))
        waited = 0 if reached < least else waited + 1
        if waited == 0:
            best, least = _weights(network), reached
        if waited == config.patience:
            break
    return best


def _layers(num_inputs: int, config: ClassifierConfig) -> "torch.nn.Sequential":
    import torch

    widths, layers = (num_inputs, *config.hidden), []
    for inputs, outputs in itertools.pairwise(widths):
        activation = torch.nn.ReLU() if config.activation == "relu" else torch.nn.Softplus()
        layers += [torch.nn.Linear(inputs, outputs), activation]
    return torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 1))


def _weights(network: "torch.nn.Sequential") -> list[tuple[FloatArray, FloatArray]]:
    import torch

    linear = [layer for layer in network if isinstance(layer, torch.nn.Linear)]
    return [(_copy(layer.weight).T, _copy(layer.bias)) for layer in linear]


def _copy(parameter: "torch.Tensor") -> FloatArray:
    return np.array(parameter.detach().numpy(), dtype=np.float64)


def _unstandardised(
    layers: list[tuple[FloatArray, FloatArray]], mean: FloatArray, scale: FloatArray, activation: Activation
) -> Network:
    """The same network of vectors as they are: W1 / scale and b1 - (mean / scale) W1."""
    (weights, biases), *others = layers
    first = weights / scale[:, np.newaxis], biases - (mean / scale) @ weights
    every = [first, *others]
    return Network(tuple(part for part, _ in every), tuple(part for _, part in every), activation)


def temperature(logits: FloatArray, is_positive: BoolArray) -> float:
    """T > 0 at which sigma(f / T) makes the labels most likely, between 1/20 and 20.

    Args:
        logits, is_positive: ``[texts]``, of texts that the classifier has not seen.

    >>> temperature(np.array([4.0, 4.0, 4.0, -4.0]), np.array([True, True, False, False])) > 1
    True
    """
    from scipy.optimize import minimize_scalar

    signed = np.where(is_positive, logits, -logits)
    reached = minimize_scalar(
        lambda log_t: activated(-signed / np.exp(log_t), "softplus").mean(), bounds=(-3.0, 3.0), method="bounded"
    )
    return float(np.exp(reached.x))


def cooled(network: Network, degrees: float) -> Network:
    """f(s) / T."""
    *weights, last = network.weights
    *biases, offset = network.biases
    return network._replace(weights=(*weights, last / degrees), biases=(*biases, offset / degrees))


def quality(logits: FloatArray, is_positive: BoolArray) -> Quality:
    """How well logits tell the labels apart, and how far probabilities made of them hold.

    Args:
        logits, is_positive: ``[texts]``, with both labels.

    >>> quality(np.array([2.0, -1.0, 1.0, -2.0]), np.array([True, True, False, False])).auc
    0.75
    """
    signed = np.where(is_positive, logits, -logits)
    shares = 1.0 / (1.0 + np.exp(-logits))
    bins = np.minimum((shares * _NUM_BINS).astype(np.int64), _NUM_BINS - 1)
    gaps = np.bincount(bins, weights=shares - is_positive, minlength=_NUM_BINS)
    return Quality(
        area(logits, is_positive), float(activated(-signed, "softplus").mean()), float(np.abs(gaps).sum() / len(logits))
    )


def area(values: FloatArray, is_positive: BoolArray) -> float:
    """Area under the ROC curve: the chance that a positive one has the larger value, ties counting half."""
    from scipy.stats import rankdata

    num_positive = int(is_positive.sum())
    num_negative = len(is_positive) - num_positive
    if not num_positive or not num_negative:
        return float("nan")
    ranks = rankdata(values)[is_positive].sum() - num_positive * (num_positive + 1) / 2
    return float(ranks / (num_positive * num_negative))
