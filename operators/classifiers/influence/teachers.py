"""Classifiers as teachers: the states that enter their last, linear layer (Kumar et al. 2021, section 3.1).

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.influence.records import MASK, Teacher, Words, written
from tiltmeter.operators.classifiers.networks import HeadedNetwork
from tiltmeter.operators.classifiers.small import PADDING, UNKNOWN, Vocabulary
from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.text.tokenised import tokenise

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MAX_TOKENS = 16_384
_MAX_TRANSFORMER_TOKENS = 2048


def small_teacher(network: HeadedNetwork, vocabulary: Vocabulary, classes: tuple[str, ...]) -> Teacher:
    """A classifier with a small encoder; a word that is left out has the vector of padding, which is zero.

    Raises:
        ValueError: if its head is not linear.
    """
    head = network.heads[network.main]
    if not isinstance(head, nn.Linear):
        raise ValueError("the classifier's head has a hidden layer: train it with a linear one")
    network.train(False)

    def states(texts: Sequence[Words]) -> NDArray[np.float32]:
        result = np.zeros((len(texts), network.encoder.size), np.float32)
        for rows in length_batches([len(text) for text in texts], _MAX_TOKENS):
            numbers = token_numbers([texts[row] for row in rows], vocabulary)
            with torch.inference_mode():
                result[rows] = network.representation(**numbers).numpy()
        return result

    weight, bias = (tensor.detach().numpy().copy() for tensor in (head.weight, head.bias))
    return Teacher(states, weight, bias, classes, lambda word: vocabulary.number(word) != UNKNOWN)


def token_numbers(texts: Sequence[Words], vocabulary: Vocabulary, mask: int = PADDING) -> dict[str, Tensor]:
    """Texts for a small encoder, filled up behind: ``[texts, tokens]`` int64 by name.

    Args:
        texts: at least one.
        vocabulary: of the encoder.
        mask: number of what stands where a word is left out.
    """
    ids = np.full((len(texts), max(len(text) for text in texts)), PADDING, np.int64)
    is_read = np.zeros(ids.shape, np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = [mask if word == MASK else vocabulary.number(word) for word in text]
        is_read[row, : len(text)] = 1
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(is_read)}


def transformers_teacher(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> Teacher:
    """A sequence classifier of transformers, which reads texts as they stand; see :func:`.records.written`.

    Its state is what its last linear layer is given: in RoBERTa, after the dense layer and tanh of its head.

    Raises:
        ValueError: if the tokenizer has no mask, or the model does not end in a linear layer over one state of a text.
    """
    if tokenizer.mask_token is None:
        raise ValueError("the model's tokenizer has no mask token: set the model to one that learnt to fill masks")
    layer = _last_layer(model)
    model.train(False)

    def states(texts: Sequence[Words]) -> NDArray[np.float32]:
        read = [written(text, str(tokenizer.mask_token)) for text in texts]
        lengths = [len(text.word_of) for text in tokenise(model, tokenizer, read)]
        result = np.zeros((len(texts), layer.in_features), np.float32)
        for rows in length_batches(lengths, _MAX_TRANSFORMER_TOKENS):
            result[rows] = _entering(model, layer, tokenizer, [read[row] for row in rows])
        return result

    def is_known(word: str) -> bool:
        pieces = tokenizer(word, add_special_tokens=False)["input_ids"]
        return bool(pieces) and tokenizer.unk_token_id not in pieces

    labels = {int(number): str(label) for number, label in (model.config.id2label or {}).items()}
    weight = layer.weight.detach().float().cpu().numpy().copy()
    bias = np.zeros(len(weight), np.float32) if layer.bias is None else layer.bias.detach().float().cpu().numpy().copy()
    return Teacher(states, weight, bias, tuple(label for _, label in sorted(labels.items())), is_known)


def word_vectors(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", words: Sequence[str], dimensions: int
) -> dict[str, NDArray[np.float64]]:
    """What a model reads words as: the mean of its input embeddings of each one's pieces, as behind a space.

    Where the model has more dimensions, they are those in which the embeddings of all its pieces vary most, about their
    mean.

    Args:
        words: of which those are left out that have an unknown piece, or none.
        dimensions: at most.
    """
    layer = cast(nn.Embedding, model.get_input_embeddings())
    embedding = layer.weight.detach().double().cpu().numpy()
    vectors = embedding - embedding.mean(axis=0)
    if dimensions < vectors.shape[1]:
        axes = np.linalg.eigh(vectors.T @ vectors)[1][:, : -dimensions - 1 : -1]
        vectors = vectors @ (axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(dimensions)]))
    result = {}
    for word in words:
        pieces = tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
        if pieces and tokenizer.unk_token_id not in pieces:
            result[word] = vectors[pieces].mean(axis=0)
    return result


def _last_layer(model: "PreTrainedModel") -> nn.Linear:
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, nn.Linear) and layer.out_features == model.config.num_labels
    ]
    if not layers:
        raise ValueError(f"{type(model).__name__} does not end in a linear layer with a row for each class")
    return layers[-1]


def _entering(
    model: "PreTrainedModel", layer: nn.Linear, tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]
) -> NDArray[np.float32]:
    entered: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, inputs: entered.append(inputs[0]))
    try:
        inputs = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            model(**inputs)
    finally:
        hook.remove()
    if entered[0].ndim != 2:
        raise ValueError(f"{type(model).__name__} classifies every token: its last layer must be given one state")
    return entered[0].float().cpu().numpy()
