"""Classifiers that are attacked: which there are, what identifies each, and how a worker makes it ready."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.models import ExplainedModel, checkpoint_model
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.sentiment.rating.systems import Score, System, find_system
from tiltmeter.operators.classifiers.adversary import victims
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig
from tiltmeter.operators.classifiers.adversary.victims import Reader, TextReader, class_weights
from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store

_CONFIG = ConfigDict(extra="forbid")
_ASKED = {"vader", "textblob", "gru", "transformer"}
"""Systems that have an answer to any text, and the same one whenever they are asked."""


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class LinearVictim:
    """TF-IDF of words, support vector machines and calibration, learnt from the training texts.

    Attributes:
        masked: whether it neither learns nor reads gendered words, so that it can't be biased by them: a control.
    """

    kind: Literal["linear"]
    linear: LinearConfig = Field(default_factory=LinearConfig)
    masked: bool = False


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class EncoderVictim(TrainedModels):
    """The small encoder, or a fine-tuned checkpoint, that learns the training texts."""

    kind: Literal["small_encoder"]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class TransformerVictim:
    """A text classifier of transformers, as it is.

    Attributes:
        model: a name on the hub or a local folder.
        revision: of a model on the hub: a branch, a tag or a commit.
        device: where to run.
    """

    kind: Literal["transformer"]
    model: Annotated[str, Field(min_length=1)]
    revision: str | None = None
    device: Device = "cpu"


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class SentimentVictim:
    """A sentiment system, whose score is cut into classes.

    Attributes:
        system: as of ``job=sentiment_rating``.
        classes: from the lowest scores to the highest.
        cuts: between the classes, rising.
    """

    kind: Literal["sentiment"]
    system: System
    classes: Annotated[tuple[str, ...], Field(min_length=2)] = ("negative", "neutral", "positive")
    cuts: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = (-0.05, 0.05)

    @pydantic.field_validator("system")
    @classmethod
    def _can_be_asked(cls, system: System) -> System:
        if system.kind not in _ASKED:
            raise ValueError(
                f"kind={system.kind}: a search asks about texts that nobody has seen before, so it needs a system that "
                f"reads texts and no scores, votes or draws; choose one of {', '.join(sorted(_ASKED))}"
            )
        return system

    @pydantic.model_validator(mode="after")
    def _cuts_lie_between_classes(self) -> Self:
        if len(self.cuts) != len(self.classes) - 1 or any(low >= high for low, high in pairwise(self.cuts)):
            raise ValueError(
                f"cuts={list(self.cuts)}: must be {len(self.classes) - 1}, rising, between the {len(self.classes)} "
                "classes; set cuts or classes"
            )
        return self


Victim = LinearVictim | EncoderVictim | TransformerVictim | SentimentVictim


_NOTHING = EncoderSources(None, None)


@dataclass(frozen=True)
class FoundVictim:
    """A classifier that was found before any work.

    Attributes:
        identity: whatever decides its outputs, beside what it learns.
        load: makes it ready in a worker, on a device; None for one that is trained first.
        device: where it may run.
        encoder: what it starts to learn from, of an encoder that is trained.
        record: what ``run.json`` says of it.
    """

    identity: Mapping[str, Any]
    load: Callable[[Store, str], Reader] | None = None
    device: Device = "cpu"
    encoder: EncoderSources = _NOTHING
    record: Mapping[str, Any] = field(default_factory=dict)


def find_victim(name: str, victim: Victim, seed: int) -> FoundVictim:
    """Look for a classifier's files.

    Args:
        name: of the classifier, for messages.
        seed: of the run.

    Raises:
        CheckpointError: if a model can't be found, or tells no classes apart.
        InputError: if a file can't be found.
    """
    match victim:
        case LinearVictim():
            return FoundVictim({"operator": victims.VERSION, "linear": victim.linear, "masked": victim.masked})
        case EncoderVictim():
            encoder = find_encoder(victim)
            return FoundVictim({"operator": victims.VERSION}, None, victim.device, encoder, encoder.record())
        case TransformerVictim():
            return _transformer(name, victim)
        case SentimentVictim():
            system = find_system(name, victim.system, seed)
            identity: dict[str, Any] = {"operator": victims.VERSION, "system": system.identity}
            identity |= {"classes": victim.classes, "cuts": victim.cuts}
            if system.load is None:
                raise InputError(f"victim.{name}.system.kind={victim.system.kind}: reads no text; choose another")
            load = partial(_load_system, system.load, victim)
            return FoundVictim(identity, load, system.device, record={"kind": victim.system.kind})


def _transformer(name: str, victim: TransformerVictim) -> FoundVictim:
    model = checkpoint_model(victim.model, victim.revision, f"victim.{name}.model")
    identity = {"operator": victims.VERSION, **model.identity}
    return FoundVictim(identity, partial(_load_checkpoint, model), victim.device, record=model.identity)


def _load_checkpoint(model: ExplainedModel, store: Store, device: str) -> Reader:
    return reader_of(model.load(store, device))


def reader_of(classifier: TextClassifier) -> Reader:
    """A network as something that can be asked."""
    return TextReader(classifier.classes, partial(predict, classifier))


def _load_system(load: Callable[[str], Score], victim: SentimentVictim, _: Store, device: str) -> Reader:
    return TextReader(victim.classes, partial(_weights, load(device), victim.cuts))


def _weights(score: Score, cuts: Sequence[float], texts: Sequence[str]) -> FloatArray:
    return class_weights(np.asarray(score(texts)[0], dtype=np.float64), cuts)
