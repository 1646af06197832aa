"""Training of the recurrent sentiment system of :mod:`.sentiment.gru` on texts whose sentiment is known."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.sentiment.gru import (
    LANGUAGE,
    Epoch,
    GRUConfig,
    GRUDescription,
    TrainedGRU,
    evaluated,
    logits,
    new_network,
    reproducible,
    word_numbers,
)
from tiltmeter.operators.text.tokens import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

VERSION = "gru_training/1"

_LONGEST_GRADIENT = 1.0
"""Gradients over all weights are shortened to it, so that one batch cannot throw the recurrence off its course."""


class LabelledTexts(NamedTuple):
    """Attributes:
    texts: in English.
    labels: the name of each text's class.
    """

    texts: Sequence[str]
    labels: Sequence[str]


def numeric_values(labels: Iterable[str]) -> dict[str, float]:
    """The values of classes whose names are numbers in [-1, 1].

    Raises:
        ValueError: naming a label that is no such number.

    >>> numeric_values(["1", "-1", "0.5", "1"])
    {'-1': -1.0, '0.5': 0.5, '1': 1.0}
    """
    return {label: _number(label) for label in sorted(set(labels))}


def _number(label: str) -> float:
    try:
        value = float(label)
    except ValueError:
        value = math.nan
    if not -1.0 <= value <= 1.0:
        raise ValueError(
            f"label {label!r}: is not a number in [-1, 1]; set the GRU's values, a number for the name of each class"
        )
    return value


def train(
    training: LabelledTexts,
    development: LabelledTexts,
    values: Mapping[str, float],
    config: GRUConfig,
    seed: int,
) -> TrainedGRU:
    """Minimise the cross entropy of the training texts' classes, as long as that of the development texts falls.

    Args:
        training: what is learnt from.
        development: what tells when to stop.
        values: v_k in [-1, 1] of each class k, by its name.
        config: sizes and training.
        seed: of the first weights, the batches and dropout.

    Returns:
        The network as it was after its best epoch; on one type of processor, the same bits for the same arguments.

    Raises:
        ValueError: if there are no texts, a label has no value, a value is out of range, or there is but one class.
    """
    # In one order, whatever that of the mapping.
    ordered = dict(sorted(values.items(), key=lambda item: (item[1], item[0])))
    _check(ordered, training=training, development=development)
    vocabulary = _vocabulary(training.texts, config)
    description = GRUDescription(config=config, vocabulary=vocabulary, values=ordered, history=())
    examples, held_out = (_examples(part, description) for part in (training, development))
    with reproducible(seed):
        network = new_network(description)
        history, weights = _fitted(network, examples, held_out, config)
    return TrainedGRU(dataclasses.replace(description, history=tuple(history)), weights)


class _Examples(NamedTuple):
    """Attributes:
    texts: the numbers of each one's words.
    lengths: of the texts.
    classes: the number of each one's class.
    """

    texts: "list[Tensor]"
    lengths: NDArray[np.int64]
    classes: "Tensor"


def _vocabulary(texts: Sequence[str], config: GRUConfig) -> tuple[str, ...]:
    tokenize = Tokenizer(LANGUAGE)
    counts = Counter(word for text in texts for word in tokenize(text))
    frequent = sorted((-count, word) for word, count in counts.items() if count >= config.min_count)
    return tuple(word for _, word in frequent[: config.max_vocabulary])


def _examples(labelled: LabelledTexts, description: GRUDescription) -> _Examples:
    import torch  # takes seconds

    texts = word_numbers(labelled.texts, description.vocabulary)
    classes = {name: number for number, name in enumerate(description.values)}
    numbers = torch.tensor([classes[label] for label in labelled.labels])
    return _Examples(texts, np.array([len(text) for text in texts]), numbers)


def _fitted(
    network: "nn.ModuleDict", training: _Examples, development: _Examples, config: GRUConfig
) -> tuple[list[Epoch], dict[str, NDArray[np.float32]]]:
    """All epochs, and the weights after the best."""
    import torch

    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    history: list[Epoch] = []
    weights: dict[str, NDArray[np.float32]] = {}
    since_best = 0
    while len(history) < config.max_epochs and since_best < config.patience:
        loss = _pass(network, optimizer, training, config.max_tokens)
        history.append(Epoch(loss, *_measured(network, development, config.max_tokens)))
        since_best = len(history) - 1 - int(np.argmin([epoch.development_loss for epoch in history]))
        if since_best == 0:
            weights = {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}
    return history, weights


def _pass(network: "nn.ModuleDict", optimizer: "Optimizer", training: _Examples, max_tokens: int) -> float:
    """Mean loss of the texts during one epoch."""
    import torch
    from torch.nn.functional import cross_entropy
    from torch.nn.utils import clip_grad_norm_

    network.train()
    total = 0.0
    for rows in _shuffled_batches(training.lengths, max_tokens):
        loss = cross_entropy(logits(network, [training.texts[row] for row in rows]), training.classes[rows])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        clip_grad_norm_(network.parameters(), _LONGEST_GRADIENT)
        optimizer.step()
        total += loss.item() * len(rows)
    return total / len(training.texts)


def _shuffled_batches(lengths: NDArray[np.int64], max_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Batches of texts of about one length; which of them come together, and when, is drawn."""
    import torch

    order = torch.randperm(len(lengths)).numpy()
    batches = length_batches(lengths[order], max_tokens)
    for place in torch.randperm(len(batches)).tolist():
        yield order[batches[place]]


def _measured(network: "nn.ModuleDict", held_out: _Examples, max_tokens: int) -> tuple[float, float]:
    """Loss and accuracy."""
    from torch.nn.functional import cross_entropy

    logits = evaluated(network, held_out.texts, max_tokens)
    is_right = logits.argmax(dim=1) == held_out.classes
    return cross_entropy(logits, held_out.classes).item(), is_right.double().mean().item()


def _check(values: Mapping[str, float], **parts: LabelledTexts) -> None:
    for name, (texts, labels) in parts.items():
        if not texts or len(texts) != len(labels):
            raise ValueError(f"{len(texts)} {name} texts with {len(labels)} labels: must be as many, and at least one")
        if unknown := sorted(set(labels) - values.keys()):
            raise ValueError(
                f"label {unknown[0]!r} of a {name} text: must be one of {', '.join(values)}; set the GRU's values, a "
                "number in [-1, 1] for the name of each class"
            )
