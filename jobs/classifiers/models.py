"""Text classifiers that are explained: what identifies each, and how a worker makes it ready."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING
from tiltmeter.operators.classifiers.attribution.attribute import transformers_classifier
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
from tiltmeter.storage.store.ledger import Store, TableRef

_CONTENT = "content"
_KIND: Kind = "classifier"


@dataclass(frozen=True)
class ExplainedModel:
    """A text classifier.

    Attributes:
        load: makes it ready in a worker, on a device as torch names it.
        identity: whatever decides its outputs, beside ``trained``.
        trained: the table of :func:`model_table` that a unit has made; None for a model that was there before.
    """

    load: Callable[[Store, str], TextClassifier]
    identity: Mapping[str, Any] = field(default_factory=dict)
    trained: TableRef | None = None


def checkpoint_model(model: str, revision: str | None, setting: str) -> ExplainedModel:
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
    return ExplainedModel(
        partial(_load_checkpoint, model, checkpoint.version, setting), {"version": checkpoint.version}
    )


def _load_checkpoint(model: str, version: str, setting: str, _: Store, device: str) -> TextClassifier:
    folder = find_checkpoint(model, version, setting).folder
    return transformers_classifier(*load_classifier(folder, device, setting))


def model_table(model: Any, weights: Weights) -> pa.Table:
    """A trained model as a table of one cell, for a unit to return.

    Args:
        model: a :data:`.trained.Model`.
        weights: of the network.
    """
    content = weights_content(DescribedWeights(asdict(model), weights), _KIND)
    return pa.table({_CONTENT: pa.array([content], pa.binary())})


def trained_model(ref: TableRef) -> ExplainedModel:
    """A model that a unit has trained.

    Args:
        ref: of the table :func:`model_table`.
    """
    return ExplainedModel(partial(_load_trained, ref), trained=ref)


def described_model(ref: TableRef, store: Store) -> tuple[Model, Weights]:
    """What a unit has trained: what it is, and its weights.

    Args:
        ref: of the table :func:`model_table`.
        store: that holds it.
    """
    [content] = store.read(ref)[_CONTENT].to_pylist()
    description, weights = parse_weights(content, _KIND)
    return TypeAdapter(Model).validate_python(description), weights


def _load_trained(ref: TableRef, store: Store, device: str) -> TextClassifier:
    model, weights = described_model(ref, store)
    if isinstance(model, SmallModel):
        return small_classifier(model, weights, device)
    folder = find_checkpoint(model.checkpoint, model.version, CHECKPOINT_SETTING).folder
    return transformer_classifier(model, weights, *load_encoder(folder, device, CHECKPOINT_SETTING))
