"""Sentiment analysis systems: which there are, what identifies each, and how a worker makes it ready."""

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from tiltmeter.jobs.classifiers.brought import find_classifier
from tiltmeter.jobs.runtime.files import find_table
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.operators.sentiment import annotators, gru
from tiltmeter.operators.sentiment import lexicons as sentiment
from tiltmeter.operators.sentiment import transformer_scores as classifiers
from tiltmeter.operators.sentiment.annotators import label_codes, vote
from tiltmeter.operators.sentiment.gru import GRUDescription, GRUScore, TrainedGRU
from tiltmeter.operators.sentiment.lexicons import random_scores, textblob_scores, vader_scores
from tiltmeter.operators.sentiment.transformer_scores import (
    ClassifierConfig,
    ClassifierScore,
    LabelValues,
    label_values,
    score_texts,
    sentiments,
)
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.gru_files import read_gru
from tiltmeter.storage.models.load import check_classifier, described_labels, load_classifier
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.records.cells import NUMBER, TEXT, Rules, one_of, spelled

_LABELS = {"negative": -1.0, "-1": -1.0, "neutral": 0.0, "0": 0.0, "positive": 1.0, "1": 1.0, "+1": 1.0}
Score = Callable[[Sequence[str]], tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""From texts to a number for each, NaN where the system has none; and whether it read the text's beginning alone."""

Labels = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to what each annotator says of them, ``[texts, annotators]``; NaN for nothing."""


@settings
class SimpleSystem:
    """A system without settings: ``biased_female`` looks at the gender alone, ``random`` at nothing, the others at the
    words.
    """

    kind: Literal["biased_female", "random", "textblob", "vader"]


@settings
class GRUSystem:
    """A recurrent network that ``job=gru_training`` trained."""

    kind: Literal["gru"]
    path: Text
    score: GRUScore = "expected"
    extras: ClassVar = {"path": "models"}


@settings
class TransformerSystem:
    """A text classifier of transformers."""

    kind: Literal["transformer"]
    model: Text
    revision: str | None = None
    device: Device = "auto"
    classifier: ClassifierConfig = Field(default_factory=ClassifierConfig)
    extras: ClassVar = {"model": "models"}


@settings
class PackageSystem:
    """A text classifier that another package brings by a name; its classes are worth what they say."""

    kind: Literal["package"]
    name: Text
    labels: LabelValues = None
    score: ClassifierScore = "expected"
    device: Device = "cpu"
    extras: ClassVar = {"name": "models"}


@settings
class ScoresSystem:
    """Scores from elsewhere, such as people's judgements: a CSV, TSV or Parquet file with a row for each text."""

    kind: Literal["scores"]
    path: Text
    text: str = "text"
    sentiment: str = "sentiment"

    @property
    def rules(self) -> Rules:
        """Of the cells of its columns."""
        return {self.text: [TEXT], self.sentiment: [NUMBER]}


@pydantic.dataclasses.dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True)
)
class AnnotatorsSystem:
    """What people say: the vote of annotators, one of whose labels is drawn where several are the most frequent."""

    kind: Literal["annotators"]
    path: Text
    text: str = "text"
    annotators: Annotated[tuple[str, ...], Field(min_length=2)] = ("annotator_1", "annotator_2", "annotator_3")
    labels: Annotated[dict[str, Annotated[float, Field(ge=-1.0, le=1.0)]], Field(min_length=2)] | None = None

    @property
    def values(self) -> dict[str, float]:
        """What each label is worth."""
        return _LABELS if self.labels is None else self.labels

    @property
    def rules(self) -> Rules:
        """Of the cells of its columns."""
        return {self.text: [TEXT]} | dict.fromkeys(self.annotators, (one_of([*self.values]),))


System = Annotated[
    SimpleSystem | GRUSystem | TransformerSystem | PackageSystem | ScoresSystem | AnnotatorsSystem,
    Field(discriminator="kind"),
]


class FoundSystem(NamedTuple):
    """A system that was found before any work.

    Attributes:
        identity: whatever decides its scores.
        load: makes it ready in a worker, on a device as torch names it; None for a system that looks at no text.
        file: that it is read from, if it is.
        device: where it may run.
        labels: of people, if it is them.
    """

    identity: Mapping[str, Any]
    load: Callable[[str], Score] | None
    file: FoundFile | None = None
    device: Device = "cpu"
    labels: Labels | None = None


def find_system(name: str, system: System, seed: int) -> FoundSystem:
    """Look for a system's files.

    Args:
        name: of the system, for messages.
        seed: of the run.

    Raises:
        CheckpointError: if a model can't be found.
        InputError: if a file can't be found, or lacks a column.
    """
    match system:
        case SimpleSystem():
            return _simple(system.kind, seed)
        case GRUSystem():
            file = find_file(system.path, f"sentiment.{name}.path")
            _gru(file.uri, system.score, "")  # refuses a damaged file before any work
            identity = _identity(gru.VERSION, file) | {"tokenizer": Tokenizer(gru.LANGUAGE).identity}
            return FoundSystem(identity | {"score": system.score}, partial(_gru, file.uri, system.score), file)
        case TransformerSystem():
            return _transformer(system, f"sentiment.{name}")
        case PackageSystem():
            return _package(system, f"sentiment.{name}")
        case ScoresSystem():
            columns = [system.text, system.sentiment]
            file = find_table(system.path, f"sentiment.{name}.path", columns, rules=system.rules, once=columns)
            identity = _identity("score_file/1", file) | {"columns": columns}
            return FoundSystem(identity, partial(_from_file, file.uri, system), file)
        case AnnotatorsSystem():
            columns = [system.text, *system.annotators]
            file = find_table(system.path, f"sentiment.{name}.path", columns, rules=system.rules, once=columns)
            identity = _identity(annotators.VERSION, file) | {"labels": system.values, "seed": seed}
            identity |= {"columns": columns}
            votes = partial(_votes, file.uri, system, seed)
            return FoundSystem(identity, votes, file, labels=partial(_labels, file.uri, system))


def _simple(kind: str, seed: int) -> FoundSystem:
    """Packages with a lexicon of their own may change it from version to version."""
    identity: dict[str, Any] = {"operator": sentiment.VERSION, "kind": kind}
    match kind:
        case "random":
            return FoundSystem(identity | {"seed": seed}, lambda _: _whole(partial(random_scores, seed=seed)))
        case "textblob":
            identity["version"] = importlib.metadata.version("textblob")
            return FoundSystem(identity, lambda _: _whole(textblob_scores))
        case "vader":
            identity["version"] = importlib.metadata.version("vaderSentiment")
            return FoundSystem(identity, lambda _: _whole(vader_scores))
    return FoundSystem(identity, None)


def _whole(score: Callable[[Sequence[str]], NDArray[np.float64]]) -> Score:
    """Of a system that reads texts of any length."""
    return lambda texts: (score(texts), np.zeros(len(texts), dtype=bool))


def _identity(operator: str, file: FoundFile) -> dict[str, Any]:
    return {"operator": operator, "file": file.identity}


def _gru(uri: str, kind: GRUScore, _: str) -> Score:
    file = read_gru(uri)
    return _whole(partial(gru.score, TrainedGRU(GRUDescription(**file.description), file.weights), kind=kind))


def _transformer(system: TransformerSystem, name: str) -> FoundSystem:
    checkpoint = find_checkpoint(system.model, system.revision, f"{name}.model")
    check_classifier(checkpoint.folder, f"{name}.model")
    _check_labels(described_labels(checkpoint.folder), system.classifier.labels, f"{name}.classifier.labels")
    identity = {"operator": classifiers.VERSION, "version": checkpoint.version, "classifier": system.classifier}
    return FoundSystem(
        identity, partial(_load_transformer, system, checkpoint.version, f"{name}.model"), device=system.device
    )


def _load_transformer(system: TransformerSystem, version: str, setting: str, device: str) -> Score:
    checkpoint = find_checkpoint(system.model, version, setting)
    model, tokenizer = load_classifier(checkpoint.folder, device, setting)
    return partial(score_texts, model, tokenizer, config=system.classifier)


def _check_labels(labels: Mapping[int, str], values: Mapping[str, float] | None, setting: str) -> None:
    try:
        label_values(labels, values)
    except ValueError as error:
        raise InputError(f"{setting}: {str(error).replace('sentiment.<name>.classifier.labels', setting)}") from error


def _package(system: PackageSystem, setting: str) -> FoundSystem:
    brought = find_classifier(system.name, f"{setting}.name")
    _check_labels(dict(enumerate(brought.classes)), system.labels, f"{setting}.labels")
    identity: dict[str, Any] = {"operator": classifiers.VERSION, "version": brought.version, "name": system.name}
    identity |= {"labels": system.labels, "score": system.score}
    load = partial(_load_package, system, brought.version, setting)
    return FoundSystem(identity, load, device=system.device)


def _load_package(system: PackageSystem, version: str, setting: str, device: str) -> Score:
    brought = find_classifier(system.name, f"{setting}.name", version)
    classifier, values = brought.load(device), label_values(dict(enumerate(brought.classes)), system.labels)
    return _whole(lambda texts: sentiments(classifier.probabilities(texts), values, system.score))


def _from_file(uri: str, system: ScoresSystem, _: str) -> Score:
    rows = read_records(uri, [system.text, system.sentiment], rules=system.rules)
    scores = numbers(rows, system.sentiment).to_list()
    known: dict[str, float | None] = {}
    for text, score in zip(rows[system.text].cast(str), scores, strict=True):
        if known.setdefault(text, score) != score:
            raise InputError(f"{redacted(uri)}: has several scores for the text {text!r}; give each text one row")
    return _whole(lambda texts: np.array([known.get(text) for text in texts], dtype=np.float64))


def _votes(uri: str, system: AnnotatorsSystem, seed: int, _: str) -> Score:
    return _whole(lambda texts: vote(_labels(uri, system, texts), texts, seed))


def _labels(uri: str, system: AnnotatorsSystem, texts: Sequence[str]) -> NDArray[np.float64]:
    """What each annotator says of the texts."""
    rows = read_records(uri, [system.text, *system.annotators], rules=system.rules)
    given = [spelled(rows[name], [*system.values]).to_list() for name in system.annotators]
    codes = _codes(list(zip(*given, strict=True)), system, uri)
    known: dict[str, int] = {}
    for row, text in enumerate(rows[system.text].cast(str)):
        if not np.array_equal(codes[known.setdefault(text, row)], codes[row], equal_nan=True):
            raise InputError(f"{redacted(uri)}: has several rows of labels for the text {text!r}; give each text one")
    places = np.array([known.get(text, len(codes)) for text in texts], dtype=np.int64)
    return np.vstack([codes, np.full(len(system.annotators), np.nan)])[places]


def _codes(given: Sequence[Sequence[str | None]], system: AnnotatorsSystem, uri: str) -> NDArray[np.float64]:
    try:
        return label_codes(given, system.values).reshape(-1, len(system.annotators))
    except ValueError as error:
        raise InputError(
            f"{redacted(uri)}: {error}; set the system's labels to a number from -1 to 1 for each"
        ) from error
