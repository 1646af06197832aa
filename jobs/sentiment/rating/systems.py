"""Sentiment analysis systems: which there are, what identifies each, and how a worker makes it ready."""

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.operators.sentiment import gru
from tiltmeter.operators.sentiment import lexicons as sentiment
from tiltmeter.operators.sentiment import transformer_scores as classifiers
from tiltmeter.operators.sentiment.gru import GRUDescription, GRUScore, TrainedGRU
from tiltmeter.operators.sentiment.lexicons import random_scores, textblob_scores, vader_scores
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig, score_texts
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.gru_files import read_gru
from tiltmeter.storage.models.load import check_classifier, load_classifier
from tiltmeter.storage.records import check_columns, numbers, read_records

_Path = Annotated[str, Field(min_length=1)]
Score = Callable[[Sequence[str]], tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""From texts to a number for each, NaN where the system has none; and whether it read the text's beginning alone."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SimpleSystem:
    """A system without settings: ``biased_female`` looks at the gender alone, ``random`` at nothing, the others at the
    words.
    """

    kind: Literal["biased_female", "random", "textblob", "vader"]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GRUSystem:
    """A recurrent network that ``job=gru_training`` trained.

    Attributes:
        path: of its safetensors file.
        score: ``expected`` is the mean value of the classes, weighted by their probabilities; ``top`` is the value of
            the most probable class, as Lakkaraju et al. 2023 take it.
    """

    kind: Literal["gru"]
    path: _Path
    score: GRUScore = "expected"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TransformerSystem:
    """A text classifier of transformers.

    Attributes:
        model: a name on the hub or a local folder.
        revision: of a model on the hub: a branch, a tag or a commit.
        device: where to run; ``auto`` takes the cluster's GPUs if it has any.
        classifier: what its labels are worth, and how texts are put together.
    """

    kind: Literal["transformer"]
    model: _Path
    revision: str | None = None
    device: Device = "auto"
    classifier: ClassifierConfig = Field(default_factory=ClassifierConfig)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ScoresSystem:
    """Scores from elsewhere, such as people's judgements: a CSV, TSV or Parquet file with a row for each text.

    Attributes:
        path: of the file; a text that it lacks has no score.
        text, sentiment: what it calls its columns.
    """

    kind: Literal["scores"]
    path: _Path
    text: str = "text"
    sentiment: str = "sentiment"


System = Annotated[SimpleSystem | GRUSystem | TransformerSystem | ScoresSystem, Field(discriminator="kind")]


class FoundSystem(NamedTuple):
    """A system that was found before any work.

    Attributes:
        identity: whatever decides its scores.
        load: makes it ready in a worker, on a device as torch names it; None for a system that looks at no text.
        file: that it is read from, if it is.
        device: where it may run.
    """

    identity: Mapping[str, Any]
    load: Callable[[str], Score] | None
    file: FoundFile | None = None
    device: Device = "cpu"


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
            settings = _identity(gru.VERSION, file) | {"tokenizer": Tokenizer(gru.LANGUAGE).identity}
            return FoundSystem(settings | {"score": system.score}, partial(_gru, file.uri, system.score), file)
        case TransformerSystem():
            return _transformer(system, f"sentiment.{name}.model")
        case ScoresSystem():
            file = find_file(system.path, f"sentiment.{name}.path")
            check_columns(file.uri, [system.text, system.sentiment], f"sentiment.{name}")
            settings = _identity("score_file/1", file) | {"columns": [system.text, system.sentiment]}
            return FoundSystem(settings, partial(_from_file, file.uri, system), file)


def _simple(kind: str, seed: int) -> FoundSystem:
    """Packages with a lexicon of their own may change it from version to version."""
    settings: dict[str, Any] = {"operator": sentiment.VERSION, "kind": kind}
    match kind:
        case "random":
            return FoundSystem(settings | {"seed": seed}, lambda _: _whole(partial(random_scores, seed=seed)))
        case "textblob":
            settings["version"] = importlib.metadata.version("textblob")
            return FoundSystem(settings, lambda _: _whole(textblob_scores))
        case "vader":
            settings["version"] = importlib.metadata.version("vaderSentiment")
            return FoundSystem(settings, lambda _: _whole(vader_scores))
    return FoundSystem(settings, None)


def _whole(score: Callable[[Sequence[str]], NDArray[np.float64]]) -> Score:
    """Of a system that reads texts of any length."""
    return lambda texts: (score(texts), np.zeros(len(texts), dtype=bool))


def _identity(operator: str, file: FoundFile) -> dict[str, Any]:
    return {"operator": operator, "file": file.identity}


def _gru(uri: str, kind: GRUScore, _: str) -> Score:
    file = read_gru(uri)
    return _whole(partial(gru.score, TrainedGRU(GRUDescription(**file.description), file.weights), kind=kind))


def _transformer(system: TransformerSystem, setting: str) -> FoundSystem:
    checkpoint = find_checkpoint(system.model, system.revision, setting)
    check_classifier(checkpoint.folder, setting)
    settings = {"operator": classifiers.VERSION, "version": checkpoint.version, "classifier": system.classifier}
    return FoundSystem(settings, partial(_load_transformer, system, checkpoint.version, setting), device=system.device)


def _load_transformer(system: TransformerSystem, version: str, setting: str, device: str) -> Score:
    checkpoint = find_checkpoint(system.model, version, setting)
    model, tokenizer = load_classifier(checkpoint.folder, device, setting)
    return partial(score_texts, model, tokenizer, config=system.classifier)


def _from_file(uri: str, system: ScoresSystem, _: str) -> Score:
    rows = read_records(uri, [system.text, system.sentiment])
    scores = numbers(rows, system.sentiment, redacted(uri)).to_list()
    known: dict[str, float | None] = {}
    for text, score in zip(rows[system.text].cast(str), scores, strict=True):
        if known.setdefault(text, score) != score:
            raise InputError(f"{redacted(uri)}: has several scores for the text {text!r}; give each text one row")
    return _whole(lambda texts: np.array([known.get(text) for text in texts], dtype=np.float64))
