"""Trained text classifiers as plain data: what describes them, and their weights."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.records import Head, Pooling
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.classifiers.training import Epoch
from tiltmeter.operators.text.tokenised import tokenise

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tiltmeter.operators.classifiers.networks import HeadedNetwork

Heads = Annotated[dict[str, Head], Field(min_length=1)]
Weights = Mapping[str, NDArray[np.floating]]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SmallModel:
    """A classifier with a small encoder, less its weights.

    ``dataclasses.asdict`` makes plain data of it that JSON can hold, and :data:`Model` checks and undoes that.

    Attributes:
        config: of the encoder.
        vocabulary: the words that have a vector, in their order.
        heads: what the network was trained for; the first is the one that it stands for.
        history: of its training.
    """

    config: SmallEncoderConfig
    vocabulary: tuple[str, ...]
    heads: Heads
    history: tuple[Epoch, ...] = ()
    kind: Literal["small"] = "small"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TransformerModel:
    """A fine-tuned model of transformers, less its weights and its tokenizer.

    Attributes:
        checkpoint: that it was fine-tuned from, by its name or folder; its tokenizer and config are still needed.
        version: of the checkpoint.
        pooling: how the states of tokens become the representation of a text.
        heads, history: as of :class:`SmallModel`.
    """

    checkpoint: str
    version: str
    pooling: Pooling
    heads: Heads
    history: tuple[Epoch, ...] = ()
    kind: Literal["transformer"] = "transformer"


Model = Annotated[SmallModel | TransformerModel, Field(discriminator="kind")]
"""For ``pydantic.TypeAdapter(Model).validate_python``."""


def weights_of(network: "HeadedNetwork") -> dict[str, NDArray[np.floating]]:
    """All weights, by their names in torch; copies."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def small_classifier(model: SmallModel, weights: Weights, device: str = "cpu") -> TextClassifier:
    """A trained classifier, ready for use.

    Raises:
        ValueError: if the weights are not those of the model.
    """
    from tiltmeter.operators.classifiers.networks import HeadedNetwork, SmallEncoder, text_classifier  # imports torch

    vectors = np.asarray(weights.get("encoder.embedding.weight", np.zeros((1, 1))), dtype=np.float32)
    network = HeadedNetwork(SmallEncoder(vectors, model.config), model.heads)
    _load(network, weights)
    return text_classifier(network.to(device), Vocabulary(model.vocabulary, model.config).tokenise, model.heads)


def transformer_classifier(
    model: TransformerModel, weights: Weights, encoder: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase"
) -> TextClassifier:
    """A fine-tuned classifier, ready for use, on the device of the encoder.

    Args:
        model: what it is.
        weights: of the whole network.
        encoder: of the checkpoint; its weights are overwritten.
        tokenizer: of the checkpoint.

    Raises:
        ValueError: as :func:`small_classifier`.
    """
    from tiltmeter.operators.classifiers.networks import text_classifier, transformer_network  # imports torch

    network = transformer_network(encoder, model.heads, 0, model.pooling)
    _load(network, weights)
    return text_classifier(network, partial(tokenise, encoder, tokenizer), model.heads)


def _load(network: "HeadedNetwork", weights: Weights) -> None:
    import torch

    try:
        network.load_state_dict({name: torch.tensor(weight) for name, weight in weights.items()})
    except RuntimeError as error:
        raise ValueError(f"the weights are not those of the model that is described: {error}; train it anew") from error
    network.train(False)
