"""Networks that represent a text by a vector, and classify it by heads over that vector.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.records import Head, Pooling
from tiltmeter.operators.classifiers.small import PADDING, UNKNOWN, SmallEncoderConfig, Vocabulary, initial_vectors
from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.compute.generators import torch_random
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import Tokenise, TokenisedText, padded

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SMALL_MAX_TOKENS = 16_384
"""At a time, for a small encoder: its operations are so short that starting them takes longer, if they are many."""

_WEIGHTS = 3
"""Of what is drawn in training a classifier: the first weights of all layers but the word vectors."""


class SmallEncoder(nn.Module):
    """A convolution over word vectors, and attention over its outputs.

    With x_t the vectors of ``width`` words around word t, h_t = tanh(W x_t + b), a = softmax_t(v . h_t), the
    representation is sum_t a_t h_t.

    Args:
        vectors: ``[2 + words, dims]``, before training.
        config: sizes.
    """

    def __init__(self, vectors: NDArray[np.float32], config: SmallEncoderConfig) -> None:
        super().__init__()
        self.size, self.padding = config.hidden, PADDING
        num_words, dimensions = vectors.shape
        self.embedding = nn.Embedding(num_words, dimensions, padding_idx=PADDING, _weight=torch.tensor(vectors))
        self.convolution = nn.Conv1d(dimensions, config.hidden, config.width, padding="same")
        self.attention = nn.Linear(config.hidden, 1)
        self.dropout = nn.Dropout(config.dropout)

    def get_input_embeddings(self) -> nn.Module:
        """The word vectors."""
        return self.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """``[texts, hidden]``."""
        return self.attended(self.convolved(self.dropout(self.embedding(input_ids))), attention_mask)

    def convolved(self, vectors: Tensor) -> Tensor:
        """W x_t + b, of word vectors ``[texts, tokens, dims]``: ``[texts, tokens, hidden]``."""
        states: Tensor = self.convolution(vectors.transpose(1, 2))
        return states.transpose(1, 2)

    def attended(self, convolved: Tensor, attention_mask: Tensor) -> Tensor:
        """``[texts, hidden]``."""
        states = convolved.tanh()
        scores = self.attention(states)[:, :, 0].masked_fill(attention_mask == 0, -torch.inf)
        mean: Tensor = self.dropout((scores.softmax(dim=1)[:, None] @ states)[:, 0])
        return mean


class PooledEncoder(nn.Module):
    """A model of transformers without a head; the representation is a mean over the tokens of a text, or the first.

    Args:
        model: its outputs have a ``last_hidden_state``.
        pooling: ``mean`` over all tokens, special ones included, or the ``first``, as [CLS] in BERT.
    """

    def __init__(self, model: "PreTrainedModel", pooling: Pooling = "mean") -> None:
        super().__init__()
        self.size, self.padding = int(model.config.hidden_size), int(model.config.pad_token_id or 0)
        self.model, self._pooling = model, pooling

    def get_input_embeddings(self) -> nn.Module:
        """Those of the model."""
        layer: nn.Module = self.model.get_input_embeddings()
        return layer

    def forward(self, attention_mask: Tensor, **inputs: Tensor) -> Tensor:
        """``[texts, hidden]``."""
        states: Tensor = self.model(attention_mask=attention_mask, **inputs).last_hidden_state
        if self._pooling == "first":
            return states[:, 0]
        mask = attention_mask[:, :, None].to(states.dtype)
        return (states * mask).sum(dim=1) / mask.sum(dim=1)


class HeadedNetwork(nn.Module):
    """Classifiers that share an encoder.

    Args:
        encoder: gives ``[texts, size]``.
        heads: by name; the first is the one that the network itself stands for.
    """

    def __init__(self, encoder: SmallEncoder | PooledEncoder, heads: Mapping[str, Head]) -> None:
        super().__init__()
        self.encoder, self.main = encoder, next(iter(heads))
        self.heads = nn.ModuleDict({name: _head(encoder.size, head) for name, head in heads.items()})

    def get_input_embeddings(self) -> nn.Module:
        """Those of the encoder."""
        return self.encoder.get_input_embeddings()

    def representation(self, **inputs: Tensor) -> Tensor:
        """What all heads look at: ``[texts, size]``."""
        vectors: Tensor = self.encoder(**inputs)
        return vectors

    def forward(self, **inputs: Tensor) -> Tensor:
        """The logits of the first head: ``[texts, classes]``."""
        logits: Tensor = self.heads[self.main](self.representation(**inputs))
        return logits


def text_classifier(network: HeadedNetwork, tokenise: Tokenise, heads: Mapping[str, Head]) -> TextClassifier:
    """A network with what makes its inputs, as attributions and predictions of its first head need it."""
    encoder, classes = network.encoder, heads[network.main].classes
    if isinstance(encoder, PooledEncoder):
        return TextClassifier(network, tokenise, encoder.padding, classes)

    def rest(convolved: Tensor, *, attention_mask: Tensor, **_: Tensor) -> Tensor:
        logits: Tensor = network.heads[network.main](encoder.attended(convolved, attention_mask))
        return logits

    parts = encoder.convolved, rest
    return TextClassifier(network, tokenise, encoder.padding, classes, parts, _SMALL_MAX_TOKENS, unknown=UNKNOWN)


def _head(size: int, head: Head) -> nn.Module:
    num_classes = len(head.classes)
    if not head.hidden:
        return nn.Linear(size, num_classes)
    return nn.Sequential(nn.Linear(size, head.hidden), nn.Tanh(), nn.Linear(head.hidden, num_classes))


def small_network(
    vocabulary: Vocabulary,
    config: SmallEncoderConfig,
    heads: Mapping[str, Head],
    seed: int,
    vectors: Mapping[str, NDArray[np.floating]] | None = None,
) -> HeadedNetwork:
    """An untrained network with a small encoder; see :func:`.small.initial_vectors`."""
    with torch_random(seed, Stream.CLASSIFIER_TRAINING, _WEIGHTS):
        return HeadedNetwork(SmallEncoder(initial_vectors(vocabulary, config, seed, vectors), config), heads)


def transformer_network(
    model: "PreTrainedModel", heads: Mapping[str, Head], seed: int, pooling: Pooling = "mean"
) -> HeadedNetwork:
    """A model of transformers with untrained heads, on the model's device."""
    with torch_random(seed, Stream.CLASSIFIER_TRAINING, _WEIGHTS):
        return HeadedNetwork(PooledEncoder(model, pooling), heads).to(model.device)


class Outputs(NamedTuple):
    """Attributes:
    representation: ``[texts, size]`` float32.
    logits: ``[texts, classes]`` float32, by head.
    """

    representation: NDArray[np.float32]
    logits: Mapping[str, NDArray[np.float32]]


def outputs(network: HeadedNetwork, texts: Sequence[TokenisedText], max_tokens: int = 2048) -> Outputs:
    """What a network makes of any number of texts, without dropout; it is left in evaluation mode.

    Raises:
        ValueError: if a text has no token.
    """
    check_tokens(texts)
    network.train(False)
    results: dict[str, NDArray[np.float32]] = {}
    with torch.inference_mode():
        for rows in length_batches([len(text.word_of) for text in texts], max_tokens):
            representation = network.representation(**network_inputs(network, [texts[row] for row in rows]))
            parts = {"": representation} | {name: head(representation) for name, head in network.heads.items()}
            for name, tensor in parts.items():
                values = tensor.float().cpu().numpy()
                results.setdefault(name, np.empty((len(texts), values.shape[1]), np.float32))[rows] = values
    return Outputs(results.pop(""), results)


def network_inputs(network: HeadedNetwork, texts: Sequence[TokenisedText]) -> dict[str, Tensor]:
    """The inputs of several texts, on the network's device; see :func:`.tokenised.padded`."""
    device = next(network.parameters()).device
    return {name: tensor.to(device) for name, tensor in padded(texts, network.encoder.padding).items()}


def check_tokens(texts: Sequence[TokenisedText]) -> None:
    """Refuse texts without any token, of which an encoder makes nothing.

    Raises:
        ValueError: if there is one.
    """
    if empty := sum(not len(text.word_of) for text in texts):
        raise ValueError(f"{empty} texts have no token: leave them out")


def reversed_gradient(values: Tensor, strength: float) -> Tensor:
    """The values as they are; gradients that come back through them are multiplied by -strength.

    Ganin and Lempitsky 2015, *Unsupervised Domain Adaptation by Backpropagation*, equations 11 and 12.

    >>> values = torch.tensor([2.0], requires_grad=True)
    >>> (3 * reversed_gradient(values, 0.5)).backward()
    >>> values.grad
    tensor([-1.5000])
    """
    still = values.detach()
    return still + strength * (still - values)
