"""What the encoder starts from: vectors of words, or a transformer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.relations.config import Encoder
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.vectors.files import check_pickle, look_through_embedding, read_embedding

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SETTING = "encoder.checkpoint"


@dataclass(frozen=True)
class PretrainedSources:
    """Attributes:
    vectors: file of vectors; None: drawn ones.
    checkpoint: name and version of a transformer; None: none.
    """

    vectors: FoundFile | None = None
    checkpoint: tuple[str, str] | None = None

    def record(self) -> dict[str, Any]:
        """Each with its version, for ``run.json``."""
        vectors = {} if self.vectors is None else {"vectors": self.vectors.redacted}
        return vectors | ({} if self.checkpoint is None else {"checkpoint": self.checkpoint[1]})

    def identity(self, encoder: Encoder) -> dict[str, Any]:
        """What decides what is learnt; nothing where nothing is given."""
        made: dict[str, Any] = {}
        if self.vectors is not None:
            made["vectors"] = {"file": self.vectors.identity, "most": encoder.most_vectors}
        if self.checkpoint is not None:
            made["checkpoint"] = list(self.checkpoint)
        return made


def find_pretrained(encoder: Encoder) -> PretrainedSources:
    """Look for them.

    Raises:
        InputError: if the file can't be found.
        EmbeddingFileError: if it is in gensim's format, a pickle.
        CheckpointError: if the checkpoint can't be found.
    """
    vectors = None if encoder.vectors is None else find_file(encoder.vectors, "encoder.vectors")
    if vectors is not None:
        check_pickle(vectors.uri, allow_pickle=False, setting=None)
        look_through_embedding(vectors.uri)
    if encoder.checkpoint is None:
        return PretrainedSources(vectors)
    version = find_checkpoint(encoder.checkpoint, encoder.revision, SETTING).version
    return PretrainedSources(vectors, (encoder.checkpoint, version))


def read_vectors(config: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Vectors by word, of a unit whose config has an identity; none without."""
    if "vectors" not in config:
        return {}
    embedding, most = read_embedding(config["vectors"]["file"]["uri"], bad=BadRecords()), config["vectors"]["most"]
    return dict(zip(embedding.words[:most], embedding.vectors[:most], strict=True))


def load_transformer(config: Mapping[str, Any]) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"] | None:
    """Model and tokenizer, of a unit whose config has an identity; None without."""
    if "checkpoint" not in config:
        return None
    name, version = config["checkpoint"]
    return load_encoder(find_checkpoint(name, version, SETTING).folder, "cpu", SETTING)
