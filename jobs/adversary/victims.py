"""Classifiers that are attacked: which there are, what identifies each, how some learn, and how a worker asks them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic
from pydantic import Field

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.models import Source, TrainedSource, find_source, model_table
from tiltmeter.jobs.classifiers.tables import Split
from tiltmeter.jobs.classifiers.training import TrainTexts
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.jobs.sentiment.rating.systems import Score, System, find_system
from tiltmeter.operators.classifiers.adversary import fitting, victims
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.victims import LinearReader, Pieces, Reader, TextReader, class_weights
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.text.tokenised import NO_WORD
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.described_weights import parse_weights
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

_ASKED = {"vader", "textblob", "gru", "transformer"}
"""Systems that have an answer to any text, and the same one whenever they are asked."""

_NOTHING = EncoderSources(None, None)
_ARRAYS = ("idf", "weights", "biases", "slopes", "offsets")

# --- settings: a victim is added by its kind, and so has defaults besides those of ``conf/victim`` ------------------


@settings
class LinearVictim:
    """TF-IDF of words, support vector machines and calibration, learnt from the training texts.

    Attributes:
        masked: whether it neither learns nor reads gendered words, so that it can't be biased by them: a control.
    """

    kind: Literal["linear"]
    linear: LinearConfig = Field(default_factory=LinearConfig)
    masked: bool = False


@settings
class EncoderVictim(TrainedModels):
    """The small encoder, or a fine-tuned checkpoint, that learns the training texts."""

    kind: Literal["small_encoder"]


@settings
class TransformerVictim:
    """A text classifier of transformers, as it is: from the hub, or a local folder."""

    kind: Literal["transformer"]
    model: Text
    revision: str | None = None
    device: Device = "cpu"


@settings
class SentimentVictim:
    """A sentiment system of ``job=sentiment_rating``, whose score is cut into classes.

    Attributes:
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

# --- before any work ------------------------------------------------------------------------------------------------

Load = Callable[[Store, TableRef | None, str], Reader]
"""Makes a classifier ready in a worker: of the model that a unit has made of it, if it learns, on a torch device."""


@dataclass(frozen=True)
class FoundVictim(Subject):
    """A classifier that was found before any work; with the model that it has learnt, units attack it.

    Attributes:
        settings: whatever decides its outputs, beside what it learns.
        device: where it may run.
        encoder: what it starts to learn from, of an encoder that is trained.
        record: what ``run.json`` says of it.
        on_gpu: where it does run.
        made: the table of its model, if it learns.
    """

    name: str
    settings: Mapping[str, Any]
    load: Load
    device: Device = "cpu"
    encoder: EncoderSources = _NOTHING
    record: Mapping[str, Any] = field(default_factory=dict)
    on_gpu: bool = False
    made: TableRef | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """With its name, which is in the rows of every unit."""
        return {"victim": self.name, "identity": self.settings, "on_gpu": self.on_gpu}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """What it has learnt."""
        return {} if self.made is None else {"model": [self.made]}

    def ready(self, store: Store) -> AbstractContextManager[Reader]:
        """In a worker, in which it stays until another is asked for."""
        device = "cuda" if self.on_gpu else "cpu"
        learnt = None if self.made is None else list(self.made.columns.items())
        return resident((digest([self.settings, learnt]), device), lambda _: self.load(store, self.made, device))


def find_victim(name: str, victim: Victim, seed: int) -> FoundVictim:
    """Look for a classifier's files.

    Args:
        name: of the classifier, for messages.
        seed: of the run.

    Raises:
        CheckpointError: if a model can't be found, or tells no classes apart.
        InputError: if a file can't be found.
    """
    made = partial(FoundVictim, name)
    settings: dict[str, Any] = {"operator": victims.VERSION}
    match victim:
        case LinearVictim():
            return made(settings | {"linear": victim.linear, "masked": victim.masked}, _load_linear)
        case EncoderVictim():
            encoder = find_encoder(victim)
            load = partial(_load_network, TrainedSource())
            return made(settings, load, victim.device, encoder, encoder.record())
        case TransformerVictim():
            source = find_source(victim.model, victim.revision, f"victim.{name}.model")
            load = partial(_load_network, source)
            return made({**settings, **source.identity}, load, victim.device, record=source.identity)
        case SentimentVictim():
            system = find_system(name, victim.system, seed)
            settings |= {"system": system.identity, "classes": victim.classes, "cuts": victim.cuts}
            if system.load is None:
                raise InputError(f"victim.{name}.system.kind={victim.system.kind}: reads no text; choose another")
            load = partial(_load_system, system.load, victim)
            return made(settings, load, system.device, record={"kind": victim.system.kind})


# --- what some learn, and how a worker asks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Described:
    """A linear classifier, less its weights."""

    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    kind: str = "linear"


class FitLinear(Work, unit=fitting.VERSION, stage="fit victims"):
    """A linear classifier of the training texts; ``masked``: words that it neither learns nor reads."""

    linear: LinearConfig
    masked: Sequence[str]
    texts: TableRef

    def tables(self, store: Store) -> Tables:
        rows = [row for row in Split.read(store, self.texts) if row.part == "training"]
        made = fitted([row.text for row in rows], [row.label for row in rows], self.linear, self.masked)
        arrays = {name: np.asarray(getattr(made.model, name), dtype=np.float64) for name in _ARRAYS}
        yield "model", model_table(_Described(made.classes, made.vocabulary), arrays)


class TrainEncoder(TrainTexts, unit="adversary_model/1"):
    """A network that learns the training texts."""


def _load_linear(store: Store, made: TableRef | None, _: str) -> Reader:
    """A linear classifier that a unit has fitted."""
    if made is None:
        raise ValueError("a victim that learns has a table that a unit has made")
    [content] = store.read(made)["content"].to_pylist()
    described, arrays = parse_weights(content, "classifier")
    vocabulary = {term: number for number, term in enumerate(described["vocabulary"])}
    model = LinearModel(**{name: arrays[name] for name in _ARRAYS})
    return LinearReader(model, tuple(described["classes"]), vocabulary, analyser())


def _load_network(source: Source[Networked], store: Store, made: TableRef | None, device: str) -> Reader:
    network = source.load(store, made, device)
    return TextReader(network.classes, network.probabilities, partial(_cut, network.network))


def _cut(network: TextClassifier, tokens: Sequence[str]) -> list[Pieces]:
    read = [np.array(one.inputs["input_ids"])[one.word_of != NO_WORD] for one in network.tokenise(tokens)]
    unknown = network.unknown
    return [(ids.size, np.nan if unknown is None else int((ids == unknown).sum())) for ids in read]


def _load_system(
    load: Callable[[str], Score], victim: SentimentVictim, _: Store, __: TableRef | None, device: str
) -> Reader:
    score, cuts = load(device), victim.cuts
    return TextReader(victim.classes, lambda texts: class_weights(np.asarray(score(texts)[0], np.float64), cuts))
