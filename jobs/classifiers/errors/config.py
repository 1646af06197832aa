"""The config of `error_characterisation`: texts with predictions, or a base model, and how errors are characterised."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.errors.promises.earlier import find_earlier
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.operators.classifiers.errors.forest import ForestConfig
from tiltmeter.operators.classifiers.errors.rounds import RoundsConfig
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.bad_records import note
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import file_state
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.records.cells import LABEL, TEXT, Rules, between, spelled

_CONFIG = ConfigDict(extra="forbid")
_Path = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(gt=0.0, lt=1.0)]


_Names = Annotated[dict[str, str], BeforeValidator(as_labels)]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class ErrorCharacterisationJob:
    """``job=error_characterisation``; the level of all intervals, and how much work is in a unit."""

    name: Literal["error_characterisation"] = "error_characterisation"
    unit_texts: Annotated[int, Field(ge=1)] = 2000
    level: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.95
    unit_permutations: Annotated[int, Field(ge=1)] = 250


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class LabelledFile:
    """A file of labelled texts.

    Attributes:
        path: CSV, TSV or Parquet.
        header: whether the first line of CSV and TSV has names.
        text: what the file calls its column.
        classes: of labels that go by other names.
        limit: rows that are taken, drawn by their content.
    """

    path: _Path | None = None
    header: bool = True
    text: _Path = "text"
    classes: _Names | None = None
    limit: Annotated[int, Field(ge=1)] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What the file calls each column that is read, by what tables call it."""
        names = ("text", "label", "prediction", "previous", "group", "id")
        return {name: called for name in names if (called := getattr(self, name, None)) is not None}


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class CharacterisedData(LabelledFile):
    """Texts on which a model is characterised.

    Attributes:
        label: column of the class; None: texts have none, and an earlier run scores them.
        prediction, previous: columns of what the model, and its version before, have predicted.
        probabilities: columns of the probabilities of its classes.
        group: column of what ties rows together; None: the normal form of the text.
        id: column by which parses name texts; None: the number of the row.
        scored_by: run directory of an earlier run, by whose forest and thresholds texts are scored and flagged.
    """

    prediction: _Path | None = None
    previous: _Path | None = None
    probabilities: _Names | None = None
    group: _Path | None = None
    id: _Path | None = None
    label: _Path | None = "label"
    scored_by: _Path | None = None

    @pydantic.model_validator(mode="after")
    def _of_labels(self) -> Self:
        if self.label is None and self.scored_by is None:
            raise ValueError("data.label: null is for texts that an earlier run scores; name the column of labels")
        return self

    @pydantic.model_validator(mode="after")
    def _of_predictions(self) -> Self:
        for name in ("previous", "probabilities"):
            if getattr(self, name) is not None and self.prediction is None:
                raise ValueError(f"data.{name}: is about predictions of the file; set data.prediction, or leave it out")
        if self.probabilities is not None and len(self.probabilities) < 2:
            raise ValueError("data.probabilities: must name the columns of two classes or more")
        return self


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class BaseModel(LabelledFile):
    """What a base model is trained on.

    Attributes:
        label: column of the class.
        model: the network of ``models``, or TF-IDF and logistic regression.
        development: share of the texts that tells when training stops.
    """

    label: _Path = "label"
    model: Literal["encoder", "words"] = "encoder"
    development: _Share = 0.1


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Features:
    """Readable features.

    Attributes:
        min_share: of the texts that must have a feature, for the forest to see it.
        tags: whether tags and pairs of them are counted.
        lexicon: file of words and their categories.
        conllu: file of parses.
    """

    min_share: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.01
    tags: bool = True
    lexicon: _Path | None = None
    conllu: _Path | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Splits:
    """How often, and into what, texts are split; whether as many texts without an error are taken as with one."""

    number: Annotated[int, Field(ge=2)] = 10
    test: _Share = 0.2
    balance: bool = False


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Precision:
    """At which K precision is measured."""

    sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1), AfterValidator(each_once)]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Slices(SliceConfig):
    """As for :class:`SliceConfig`; ``tags``: whether tags are predicates, too."""

    tags: bool = False


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Guarantees:
    """What is promised.

    Attributes:
        missed: share of all errors that may lie outside the flagged set.
        unflagged: error rate that may be left outside.
        delta: probability that a promise is broken.
        joint: whether that is the probability that any of them is, or that each is.
    """

    missed: tuple[_Share, ...] = (0.05, 0.1, 0.2)
    unflagged: tuple[_Share, ...] = (0.1, 0.2)
    delta: _Share = 0.1
    joint: bool = True

    @property
    def num_joint(self) -> int:
        """Promises that share delta."""
        return len(self.missed) + len(self.unflagged) if self.joint else 1


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class ErrorCharacterisationRun(CommonConfig):
    """A run of ``error_characterisation``.

    Attributes:
        readable_words: words and phrases of readable features, by their names.
    """

    job: ErrorCharacterisationJob
    data: CharacterisedData
    base: BaseModel
    models: TrainedModels
    features: Features
    splits: Splits
    forest: ForestConfig
    precision: Precision
    slices: Slices
    guarantees: Guarantees
    rounds: RoundsConfig
    readable_words: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]

    @pydantic.model_validator(mode="after")
    def _has_predictions(self) -> Self:
        if self.data.path is None:
            raise ValueError("data.path: must name a CSV, TSV or Parquet file")
        if (self.data.prediction is None) == (self.base.path is None):
            given = "neither is" if self.base.path is None else "both are"
            raise ValueError(
                f"data.prediction and base.path: {given} given; set data.prediction to the column of what a model has "
                "predicted, or base.path to a file that a base model is trained on"
            )
        return self


@dataclass(frozen=True)
class ErrorSources:
    """Attributes:
    texts: the file of texts, and that of the base model's, by ``data`` and ``base``.
    others: the lexicon and the parses, by the name of their setting.
    encoder: what a base model starts from.
    earlier: tables of an earlier run that scores texts; none without one.
    """

    texts: Files
    others: Files
    encoder: EncoderSources
    earlier: Files

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return self.texts.record() | self.others.record() | self.encoder.record() | self.earlier.record()


def find_sources(config: ErrorCharacterisationRun) -> ErrorSources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    data, base = config.data, config.base
    given = list((data.probabilities or {}).values())
    columns = list(dict.fromkeys([*data.columns.values(), *given]))
    rules: Rules = {data.text: [TEXT]} | dict.fromkeys(given, (between(0, 1),))
    files = {"data": find_table(str(data.path), "data.path", columns, header=data.header, rules=rules)}
    if data.probabilities:
        check_probabilities(data, files["data"].uri, rules)
    if base.path is not None:
        columns, rules = list(base.columns.values()), {base.text: [TEXT], base.label: [LABEL]}
        files["base"] = find_table(base.path, "base.path", columns, header=base.header, rules=rules)
    others = {"lexicon": config.features.lexicon, "conllu": config.features.conllu}
    more = {name: _readable(path, f"features.{name}") for name, path in others.items() if path is not None}
    uses_encoder = base.path is not None and base.model == "encoder"
    encoder = find_encoder(config.models) if uses_encoder else EncoderSources(None, None)
    return ErrorSources(Files(files), Files(more), encoder, _earlier(config))


def check_probabilities(data: CharacterisedData, uri: str, rules: Rules) -> None:
    """Whether a file has the probabilities of all classes, and says if these are hardly ever largest for what is
    predicted; a tie says nothing.

    Raises:
        InputError: if no row has them all.
    """
    names = sorted(data.probabilities or {})
    rows = read_records(uri, header=data.header, rules=rules)
    given = pl.DataFrame([numbers(rows, (data.probabilities or {})[name]).alias(name) for name in names])
    is_whole = given.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    if not is_whole.any():
        raise InputError(
            f"data.probabilities: no row of {redacted(uri)} has a number in each of {', '.join(map(repr, names))}; a "
            "pipeline gives those of all classes with top_k=None, and of the first alone by default; or leave it out"
        )
    renamed = data.classes or {}
    predicted = spelled(rows[str(data.prediction)], [*renamed, *names]).replace(renamed)
    values = given.filter(is_whole).to_numpy()
    is_untied = (values == values.max(axis=1, keepdims=True)).sum(axis=1) == 1
    largest = np.array(names)[values[is_untied].argmax(axis=1)]
    if is_untied.any() and np.mean(largest == predicted.filter(is_whole).to_numpy()[is_untied]) < 0.1:
        reason = (
            "fewer than one prediction in ten has the largest probability: are the columns of data.probabilities "
            "interchanged?"
        )
        note(redacted(uri), reason, f"column {data.prediction!r}", rows.height)


def _earlier(config: ErrorCharacterisationRun) -> Files:
    data = config.data
    if data.scored_by is None:
        return Files({})
    classes = list(data.probabilities or {}) if config.base.path is None else None
    return find_earlier(data.scored_by, config.readable_words, asdict(config.features), classes)


def _readable(path: str, setting: str) -> FoundFile:
    file = find_file(path, setting)
    file_state(file.uri)
    return file
