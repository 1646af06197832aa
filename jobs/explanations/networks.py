"""Networks that are about to be trained: the small encoder, or a checkpoint of transformers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.classifier_training import Epoch, Head, Pooling
from operators.small_classifier import SmallEncoderConfig, Vocabulary
from operators.tokenised_texts import Tokenise, tokenise
from operators.trained_classifiers import Model, SmallModel, TransformerModel
from storage.checkpoints import find_checkpoint
from storage.embedding_files import read_embedding
from storage.models import load_encoder

if TYPE_CHECKING:
    from operators.text_networks import HeadedNetwork


class NewNetwork(NamedTuple):
    """Attributes:
    network: with its first weights, on its device.
    tokenise: makes its inputs.
    described: the model that it has become, given the history of its training.
    """

    network: "HeadedNetwork"
    tokenise: Tokenise
    described: Callable[[tuple[Epoch, ...]], Model]


@dataclass(frozen=True)
class Encoders:
    """What makes networks.

    Attributes:
        encoder: the small encoder.
        checkpoint: of transformers in its place; None: none.
        version: of the checkpoint.
        pooling: of the checkpoint.
        setting: that names the checkpoint.
        device: as torch names it.
    """

    encoder: SmallEncoderConfig
    checkpoint: str | None
    version: str | None
    pooling: Pooling
    setting: str
    device: str

    def made(
        self, texts: Sequence[str], heads: Mapping[str, Head], vectors: Mapping[str, Any] | None, seed: int
    ) -> NewNetwork:
        """A network.

        Args:
            texts: whose words the small encoder has vectors for.
            heads: of the network.
            vectors: file that the small encoder's vectors come from, as ``FoundFile.identity`` gives it.
            seed: of its first weights.
        """
        return self._small(texts, heads, vectors, seed) if self.checkpoint is None else self._transformer(heads, seed)

    def _small(
        self, texts: Sequence[str], heads: Mapping[str, Head], file: Mapping[str, Any] | None, seed: int
    ) -> NewNetwork:
        from operators.text_networks import small_network  # imports torch

        vectors = _vectors(file)
        vocabulary = Vocabulary.of(texts, self.encoder, vectors)
        network = small_network(vocabulary, self.encoder, heads, seed, vectors).to(self.device)
        return NewNetwork(
            network, vocabulary.tokenise, partial(SmallModel, self.encoder, vocabulary.words, dict(heads))
        )

    def _transformer(self, heads: Mapping[str, Head], seed: int) -> NewNetwork:
        from operators.text_networks import transformer_network  # imports torch

        name, version = str(self.checkpoint), str(self.version)
        folder = find_checkpoint(name, version, self.setting).folder
        model, tokenizer = load_encoder(folder, self.device, self.setting)
        described = partial(TransformerModel, name, version, self.pooling, dict(heads))
        network = transformer_network(model, heads, seed, self.pooling)
        return NewNetwork(network, partial(tokenise, model, tokenizer), described)


def _vectors(file: Mapping[str, Any] | None) -> dict[str, NDArray[np.float32]]:
    if file is None:
        return {}
    embedding = read_embedding(file["uri"])
    return dict(zip(embedding.words, embedding.vectors, strict=True))
