"""Networks that are about to be trained: the small encoder, or a checkpoint of transformers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING, EncoderSources, TrainedModels
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.classifiers import small as small_classifier
from tiltmeter.operators.classifiers import training as classifier_training
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import Vocabulary
from tiltmeter.operators.classifiers.trained import Model, SmallModel, TransformerModel
from tiltmeter.operators.classifiers.training import Epoch
from tiltmeter.operators.text.tokenised import Tokenise, tokenise
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.vectors.files import read_embedding

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.networks import HeadedNetwork


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
class Encoders(Subject):
    """What makes networks.

    Attributes:
        models: the settings.
        sources: what they name.
        on_gpu: where the networks are made.
    """

    models: TrainedModels
    sources: EncoderSources
    on_gpu: bool

    @property
    def identity(self) -> dict[str, Any]:
        """Whatever decides what is learnt, beside the texts, the heads and the seed."""
        models, vectors = self.models, self.sources.vectors
        return {
            "operators": [small_classifier.VERSION, classifier_training.VERSION],
            "models": [models.encoder, models.training, models.pooling if models.checkpoint else None],
            "vectors": None if vectors is None else vectors.identity,
            "checkpoint": self.sources.version,
            "on_gpu": self.on_gpu,
        }

    def made(self, texts: Sequence[str], heads: Mapping[str, Head], seed: int) -> NewNetwork:
        """A network.

        Args:
            texts: whose words the small encoder has vectors for.
            heads: of the network.
            seed: of its first weights.
        """
        return self._small(texts, heads, seed) if self.models.checkpoint is None else self._transformer(heads, seed)

    @property
    def _device(self) -> str:
        return "cuda" if self.on_gpu else "cpu"

    def _small(self, texts: Sequence[str], heads: Mapping[str, Head], seed: int) -> NewNetwork:
        from tiltmeter.operators.classifiers.networks import small_network  # imports torch

        vectors, encoder = _vectors(self.sources.vectors), self.models.encoder
        vocabulary = Vocabulary.of(texts, encoder, vectors)
        network = small_network(vocabulary, encoder, heads, seed, vectors).to(self._device)
        return NewNetwork(network, vocabulary.tokenise, partial(SmallModel, encoder, vocabulary.words, dict(heads)))

    def _transformer(self, heads: Mapping[str, Head], seed: int) -> NewNetwork:
        from tiltmeter.operators.classifiers.networks import transformer_network  # imports torch

        name, version, pooling = str(self.models.checkpoint), str(self.sources.version), self.models.pooling
        folder = find_checkpoint(name, version, CHECKPOINT_SETTING).folder
        model, tokenizer = load_encoder(folder, self._device, CHECKPOINT_SETTING)
        described = partial(TransformerModel, name, version, pooling, dict(heads))
        network = transformer_network(model, heads, seed, pooling)
        return NewNetwork(network, partial(tokenise, model, tokenizer), described)


def _vectors(file: FoundFile | None) -> dict[str, NDArray[np.float32]]:
    if file is None:
        return {}
    # What is left out here was counted where the run began; see config.find_encoder.
    embedding = read_embedding(file.uri, bad=BadRecords())
    return dict(zip(embedding.words, embedding.vectors, strict=True))
