"""Texts through a network and a method of attribution, batch by batch.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.attribution.methods import METHODS, Batch
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, Output, TextClassifier
from tiltmeter.operators.compute.memory import run_in_batches
from tiltmeter.operators.compute.onednn import linear_by_onednn
from tiltmeter.operators.text.tokenised import NO_WORD, TokenisedText, padded


class Explained(NamedTuple):
    """Attributes:
    values: ``[words]`` of each text.
    outputs, baselines: ``[texts]`` float64, F(x) and F(x'); NaN where no word was read.
    """

    values: list[NDArray[np.float64]]
    outputs: NDArray[np.float64]
    baselines: NDArray[np.float64]


def logits_of(
    classifier: TextClassifier, texts: Sequence[TokenisedText], max_tokens: int | None
) -> NDArray[np.float64]:
    """``[texts, classes]``; NaN for a text without any token.

    Raises:
        ValueError: if outputs are not finite, not as many as there are classes, or there are not several classes.
    """
    lengths, result = _lengths(texts), np.full((len(texts), len(classifier.classes)), np.nan)
    rows = np.flatnonzero(lengths)

    def work(batch: NDArray[np.int64], _: int) -> None:
        inputs = _inputs(classifier, [texts[row] for row in rows[batch]])
        with torch.inference_mode():
            logits = _logits(classifier.network, inputs).double().cpu().numpy()
        _check(logits, classifier.classes)
        result[rows[batch]] = logits

    with evaluating(classifier.network), linear_by_onednn():
        run_in_batches(lengths[rows], max_tokens or classifier.max_tokens, work)
    return result


def _check(logits: NDArray[np.float64], classes: Sequence[str]) -> None:
    if not 2 <= logits.shape[1] == len(classes):
        raise ValueError(
            f"the network has {logits.shape[1]} outputs for {len(classes)} classes: must be as many, and two or more"
        )
    if not np.isfinite(logits).all():
        raise ValueError("the network's outputs are not finite: its weights are damaged or overflow; set another model")


def explain(
    classifier: TextClassifier,
    texts: Sequence[TokenisedText],
    targets: NDArray[np.int64],
    keys: Sequence[int],
    config: AttributionConfig,
    seed: int,
    change: Callable[[Batch], Batch] | None = None,
) -> Explained:
    """What each word adds to the output of a class.

    Args:
        targets: the class of each text.
        keys: of each text, 64 bits that its random draws depend on.
        change: made of the embeddings of a batch, for :func:`.sensitivity.sensitivity`; None: they are as they are.
    """
    method = METHODS[config.method]
    values = [np.full(len(text.words), np.nan) for text in texts]
    outputs, baselines = np.full((2, len(texts)), np.nan)
    lengths = _lengths(texts)
    rows = np.flatnonzero([_words_read(text).size for text in texts])

    def work(chosen: NDArray[np.int64], max_tokens: int) -> None:
        places = rows[chosen].tolist()
        some, some_keys = [texts[row] for row in places], [keys[row] for row in places]
        batch = _batch(classifier, some, targets[places], some_keys, config.output, max_tokens)
        batch = batch if change is None else change(batch)
        with torch.no_grad():
            outputs[places], baselines[places] = (
                batch.forward(ends, *batch.arguments).double().cpu() for ends in (batch.embedded, batch.baselines)
            )
        for row, attributions in zip(places, method.values(batch, config, seed), strict=True):
            values[row][_words_read(texts[row])] = attributions.cpu().numpy()

    with evaluating(classifier.network), linear_by_onednn():
        run_in_batches(lengths[rows], config.max_tokens or classifier.max_tokens, work, method.num_forwards(config))
    return Explained(values, outputs, baselines)


def _batch(
    classifier: TextClassifier,
    texts: Sequence[TokenisedText],
    targets: NDArray[np.int64],
    keys: list[int],
    output: Output,
    max_tokens: int,
) -> Batch:
    inputs = _inputs(classifier, texts)
    words = _word_places(texts).to(inputs["input_ids"].device)
    blank = inputs["input_ids"].masked_fill(words >= 0, classifier.padding)
    layer = _embeddings(classifier.network)
    with torch.no_grad():
        embedded, baselines = layer(inputs["input_ids"]), layer(blank)
    arguments = (torch.from_numpy(targets).to(words.device), *inputs.values())
    of_logits = partial(_output, list(inputs), output)
    forward = partial(of_logits, partial(_embedded_logits, classifier.network))
    begin, rest = (None, None) if classifier.parts is None else classifier.parts
    return Batch(
        classifier.network,
        forward,
        begin or _unchanged,
        forward if rest is None else partial(of_logits, rest),
        embedded,
        baselines,
        words,
        (1 + words.amax(dim=1)).tolist(),
        arguments,
        keys,
        max(1, max_tokens // words.shape[1]),
    )


def _unchanged(embedded: Tensor) -> Tensor:
    return embedded


def _inputs(classifier: TextClassifier, texts: Sequence[TokenisedText]) -> dict[str, Tensor]:
    device = _embeddings(classifier.network).weight.device
    return {name: tensor.to(device) for name, tensor in padded(texts, classifier.padding).items()}


def _word_places(texts: Sequence[TokenisedText]) -> Tensor:
    """``[texts, tokens]``: the number of each token's word, among the words that have a token."""
    places = np.full((len(texts), max(_lengths(texts))), NO_WORD)
    for row, text in enumerate(texts):
        is_part = text.word_of != NO_WORD
        places[row, np.flatnonzero(is_part)] = np.searchsorted(_words_read(text), text.word_of[is_part])
    return torch.from_numpy(places)


def _words_read(text: TokenisedText) -> NDArray[np.int64]:
    """The words that have a token."""
    return np.unique(text.word_of[text.word_of != NO_WORD])


def _lengths(texts: Sequence[TokenisedText]) -> NDArray[np.int64]:
    return np.array([len(text.word_of) for text in texts], dtype=np.int64)


def _embeddings(network: nn.Module) -> nn.Embedding:
    layer: nn.Embedding = network.get_input_embeddings()  # type: ignore[operator]
    return layer


def _logits(network: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    outputs = network(**inputs)
    logits: Tensor = getattr(outputs, "logits", outputs)
    return logits


def _embedded_logits(network: nn.Module, embedded: Tensor, **inputs: Tensor) -> Tensor:
    with _replaced(_embeddings(network), embedded):
        return _logits(network, inputs)


def _output(
    names: list[str],
    output: Output,
    logits: Callable[..., Tensor],
    variables: Tensor,
    targets: Tensor,
    *inputs: Tensor,
) -> Tensor:
    """F of embeddings, or of what the affine part makes of them ``[n, tokens, dims]``: ``[n]``."""
    return explained_output(logits(variables, **dict(zip(names, inputs, strict=True))).float(), targets, output)


def explained_output(logits: Tensor, targets: Tensor, output: Output) -> Tensor:
    """F of each row's target class k, from logits z ``[n, classes]``.

    ``logit`` is z_k, ``probability`` p_k = exp(z_k) / sum_j exp(z_j), ``log_odds`` log p_k / (1 - p_k).

    >>> logits, targets = torch.tensor([[2.0, 1.0], [0.0, 0.0]]), torch.tensor([0, 1])
    >>> explained_output(logits, targets, "log_odds")
    tensor([1., 0.])
    """
    chosen = targets[:, None]
    if output == "probability":
        logits = logits.softmax(dim=1)
    output_of_target = logits.gather(1, chosen)[:, 0]
    if output == "log_odds":
        output_of_target = output_of_target - logits.scatter(1, chosen, -torch.inf).logsumexp(dim=1)
    return output_of_target


@contextmanager
def _replaced(layer: nn.Module, outputs: Tensor) -> Iterator[None]:
    """What the layer gives, whatever it is given."""
    handle = layer.register_forward_hook(lambda *_: outputs)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Without dropout, which stays off, and without gradients of the weights."""
    network.train(False)
    learnt = [weight for weight in network.parameters() if weight.requires_grad]
    for weight in learnt:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learnt:
            weight.requires_grad_()
