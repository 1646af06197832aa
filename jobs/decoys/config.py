"""The config of `decoy_benchmark`: texts, decoys, the models that learn them, and how these are explained."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import ConfigDict, Field

from jobs.common_config import CommonConfig
from jobs.devices import Device
from jobs.explanations.labelled_data import LabelledData, LabelledFiles, find_labelled_data
from operators.attribution import AttributionConfig, Method
from operators.classifier_training import Pooling, TrainingConfig
from operators.decoy_detection import Selection
from operators.decoys import Decoy
from operators.small_classifier import SmallEncoderConfig
from storage.checkpoints import find_checkpoint
from storage.files import shown
from storage.sources import FoundFile, find_file

_Path = Annotated[str, Field(min_length=1)]
CHECKPOINT_SETTING = "models.checkpoint"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DecoyBenchmarkJob:
    """``job=decoy_benchmark``"""

    name: Literal["decoy_benchmark"] = "decoy_benchmark"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BenchmarkModels:
    """Text classifiers that are trained with and without each decoy.

    Attributes:
        number: of models for each decoy, and without one, that differ in their random numbers.
        checkpoint: of transformers to be fine-tuned, a name on the hub or a local folder; None: the small encoder.
        revision: of a checkpoint on the hub.
        pooling: of a checkpoint: how the states of tokens become the representation of a text.
        vectors: file of word vectors that the small encoder starts from; None: drawn ones.
        encoder: the small encoder.
        training: of either.
        device: where models are trained and explained.
    """

    encoder: SmallEncoderConfig
    training: TrainingConfig
    number: Annotated[int, Field(ge=1)] = 3
    checkpoint: _Path | None = None
    revision: str | None = None
    pooling: Pooling = "mean"
    vectors: _Path | None = None
    device: Device = "cpu"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Explanations:
    """How models are explained, and who looks at it.

    Attributes:
        methods: of attribution.
        attribution: what they have in common; its method stands back behind ``methods``.
        num_pools: times that somebody debugs a model, each with instances of the test part that no other looks at.
        pool_size: instances that each has; the largest budget.
        top_words: that an explanation shows.
        selections: in which order instances are looked at.
        max_clusters: of relevance, for ``clustering``.
    """

    methods: Annotated[tuple[Method, ...], Field(min_length=1)]
    attribution: AttributionConfig
    num_pools: Annotated[int, Field(ge=2)] = 15
    pool_size: Annotated[int, Field(ge=2)] = 20
    top_words: Annotated[int, Field(ge=1)] = 3
    selections: Annotated[tuple[Selection, ...], Field(min_length=1)] = ("random", "submodular_pick", "clustering")
    max_clusters: Annotated[int, Field(ge=2)] = 8


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LanguageModel:
    """The language model of n-grams that says how natural a text is; it learns the training texts.

    Attributes:
        order: words of the longest n-gram.
        discount: of Kneser and Ney.
    """

    order: Annotated[int, Field(ge=1, le=6)] = 3
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.75


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Intervals:
    """Bootstrap intervals, and what they decide.

    Attributes:
        num_resamples: of texts, or of pools of instances.
        level: of the intervals.
        min_fall: what the interval of the fall in accuracy must lie above for a decoy to count as adopted.
    """

    num_resamples: Annotated[int, Field(ge=2)] = 1000
    level: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.95
    min_fall: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DecoyBenchmarkRun(CommonConfig):
    """A run of ``decoy_benchmark``.

    Attributes:
        decoys: by the names that tables give them.
    """

    job: DecoyBenchmarkJob
    data: LabelledData
    decoys: Annotated[dict[Annotated[str, Field(pattern=r"^\w[\w.-]*$")], Decoy], Field(min_length=1)]
    models: BenchmarkModels
    explanations: Explanations
    language_model: LanguageModel
    intervals: Intervals

    def without_keys(self) -> Self:
        """The config as it may be shown."""
        vectors = self.models.vectors
        models = dataclasses.replace(self.models, vectors=None if vectors is None else shown(vectors))
        return dataclasses.replace(self, data=self.data.without_keys(), models=models)

    @pydantic.model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.models.checkpoint is not None and self.models.vectors is not None:
            raise ValueError("models.vectors: a checkpoint has its own; leave out one of models.checkpoint and it")
        return self


@dataclass(frozen=True)
class BenchmarkSources:
    """Attributes:
    texts: files of labelled texts.
    vectors: that the small encoder starts from.
    checkpoint: version of the checkpoint that is fine-tuned.
    """

    texts: LabelledFiles
    vectors: FoundFile | None
    checkpoint: str | None

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        vectors = {} if self.vectors is None else {"vectors": self.vectors.entry}
        return self.texts.record() | vectors | ({} if self.checkpoint is None else {"checkpoint": self.checkpoint})


def find_sources(config: DecoyBenchmarkRun, _: str) -> BenchmarkSources:
    """Look for the files and the checkpoint.

    Raises:
        CorpusError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    models = config.models
    vectors = None if models.vectors is None else find_file(models.vectors, "models.vectors")
    checkpoint = None
    if models.checkpoint is not None:
        checkpoint = find_checkpoint(models.checkpoint, models.revision, CHECKPOINT_SETTING).version
    return BenchmarkSources(find_labelled_data(config.data), vectors, checkpoint)
