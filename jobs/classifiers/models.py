"""Text classifiers that are asked and explained: what identifies each, and how a worker makes it ready."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.operators.classifiers.attribution.attribute import Networked, transformers_classifier
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.trained import (
    Model,
    SmallModel,
    Weights,
    small_classifier,
    transformer_classifier,
)
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.described_weights import DescribedWeights, Kind, parse_weights, weights_content
from tiltmeter.storage.models.load import check_classifier, load_classifier, load_encoder
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

_CONTENT = "content"
_KIND: Kind = "classifier"


SomeClassifier = TypeVar("SomeClassifier", bound=Classifier, covariant=True)


class Source(Protocol[SomeClassifier]):
    """Where a classifier comes from; small, as it travels to the workers."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Whatever decides its outputs, beside what a unit has made of it."""

    def load(self, store: Store, made: TableRef | None, device: str) -> SomeClassifier:
        """Make it ready in a worker.

        Args:
            made: the table that a unit has made of it; None for one that was there before.
            device: as torch names it.
        """


@dataclass(frozen=True)
class TextModel(Subject, Generic[SomeClassifier]):
    """A classifier of texts that units ask, explain or attack.

    Attributes:
        source: where it comes from.
        on_gpu: where it runs.
        made: the table that a unit has made of it, such as :func:`model_table`; None for one that was there before.
        role: of this table among a unit's inputs.
    """

    source: Source[SomeClassifier]
    on_gpu: bool
    made: TableRef | None = None
    role: str = "model"

    @property
    def identity(self) -> Mapping[str, Any]:
        """Where it runs, and whatever else decides its outputs."""
        return {"on_gpu": self.on_gpu, **self.source.identity}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """What a unit has made of it."""
        return {} if self.made is None else {self.role: [self.made]}

    def load(self, store: Store) -> SomeClassifier:
        """In a worker, anew."""
        return self.source.load(store, self.made, "cuda" if self.on_gpu else "cpu")

    def ready(self, store: Store) -> AbstractContextManager[SomeClassifier]:
        """In a worker, in which it stays until another is asked for."""
        made = None if self.made is None else tuple(self.made.columns.items())
        key = (type(self.source).__name__, digest(self.source.identity), made, self.on_gpu)
        return resident(key, lambda _: self.load(store))


@dataclass(frozen=True)
class CheckpointSource:
    """A sequence classifier of transformers.

    Attributes:
        model: a name on the hub or a local folder.
        version: that was found before any work.
        setting: that names the model; messages name it.
    """

    model: str
    version: str
    setting: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its version."""
        return {"version": self.version}

    def load(self, _: Store, __: TableRef | None, device: str) -> Networked:
        """With its tokenizer."""
        folder = find_checkpoint(self.model, self.version, self.setting).folder
        return Networked(transformers_classifier(*load_classifier(folder, device, self.setting)))


def find_source(model: str, revision: str | None, setting: str) -> CheckpointSource:
    """A sequence classifier of transformers, found before any work.

    Args:
        model: a name on the hub or a local folder.
        revision: of a model on the hub: a branch, a tag or a commit.
        setting: that names the model; messages name it.

    Raises:
        CheckpointError: if it can't be found, or does not classify texts.
    """
    checkpoint = find_checkpoint(model, revision, setting)
    check_classifier(checkpoint.folder, setting)
    return CheckpointSource(model, checkpoint.version, setting)


@dataclass(frozen=True)
class TrainedSource:
    """What a unit has trained, of which the table says all.

    Attributes:
        max_tokens: that it is given at a time where it is asked; None for as many as suit it.
    """

    max_tokens: int | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Nothing else decides its outputs."""
        return {}

    def load(self, store: Store, made: TableRef | None, device: str) -> Networked:
        """With the encoder of its checkpoint, if it has one."""
        if made is None:
            raise ValueError("a model that is trained has a table that a unit has made")
        return Networked(_trained_network(made, store, device), self.max_tokens)


def model_table(model: Any, weights: Weights) -> pa.Table:
    """A trained model as a table of one cell, for a unit to return.

    Args:
        model: a :data:`.trained.Model`.
        weights: of the network.
    """
    content = weights_content(DescribedWeights(asdict(model), weights), _KIND)
    return pa.table({_CONTENT: pa.array([content], pa.binary())})


def described_model(ref: TableRef, store: Store) -> tuple[Model, Weights]:
    """What a unit has trained: what it is, and its weights.

    Args:
        ref: of the table :func:`model_table`.
        store: that holds it.
    """
    [content] = store.read(ref)[_CONTENT].to_pylist()
    description, weights = parse_weights(content, _KIND)
    return TypeAdapter(Model).validate_python(description), weights


def _trained_network(ref: TableRef, store: Store, device: str) -> TextClassifier:
    model, weights = described_model(ref, store)
    if isinstance(model, SmallModel):
        return small_classifier(model, weights, device)
    folder = find_checkpoint(model.checkpoint, model.version, CHECKPOINT_SETTING).folder
    return transformer_classifier(model, weights, *load_encoder(folder, device, CHECKPOINT_SETTING))
