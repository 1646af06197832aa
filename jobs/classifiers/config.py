"""What jobs train text classifiers from: the settings that they share, and the files that these name."""

from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.operators.classifiers.records import Pooling
from tiltmeter.operators.classifiers.small import SmallEncoderConfig
from tiltmeter.operators.classifiers.training import TrainingConfig
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.vectors.files import check_pickle, look_through_embedding

CHECKPOINT_SETTING = "models.checkpoint"

_Path = Annotated[str, Field(min_length=1)]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainedModels:
    """Text classifiers, of which a job says what they learn.

    Attributes:
        encoder: the small encoder.
        checkpoint: of transformers to be fine-tuned, a name on the hub or a local folder; None: the small encoder.
        revision: of a checkpoint on the hub.
        pooling: of a checkpoint: how the states of tokens become the representation of a text.
        vectors: file of word vectors that the small encoder starts from; None: drawn ones.
        training: of either.
        device: where models are trained and explained.
    """

    encoder: SmallEncoderConfig
    checkpoint: _Path | None = None
    revision: str | None = None
    pooling: Pooling = "mean"
    vectors: _Path | None = None
    training: TrainingConfig
    device: Device = "cpu"

    @pydantic.field_validator("vectors")
    @classmethod
    def _of_the_small_encoder(cls, vectors: str | None, info: pydantic.ValidationInfo) -> str | None:
        if vectors is not None and info.data.get("checkpoint") is not None:
            raise ValueError("a checkpoint has its own; leave out one of models.checkpoint and it")
        return vectors


@dataclass(frozen=True)
class EncoderSources:
    """Attributes:
    vectors: that the small encoder starts from.
    version: of the checkpoint that is fine-tuned.
    """

    vectors: FoundFile | None
    version: str | None

    def record(self) -> dict[str, Any]:
        """Each with its version, for ``run.json``."""
        vectors = {} if self.vectors is None else {"vectors": self.vectors.redacted}
        return vectors | ({} if self.version is None else {"checkpoint": self.version})


def find_encoder(models: TrainedModels) -> EncoderSources:
    """Look for the file of vectors and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing or can't be read.
        EmbeddingFileError: for vectors in gensim's format, a pickle.
    """
    vectors = None if models.vectors is None else find_file(models.vectors, "models.vectors")
    if vectors is not None:
        check_pickle(vectors.uri, allow_pickle=False, setting=None)
        look_through_embedding(vectors.uri)
    if models.checkpoint is None:
        return EncoderSources(vectors, None)
    return EncoderSources(vectors, find_checkpoint(models.checkpoint, models.revision, CHECKPOINT_SETTING).version)
