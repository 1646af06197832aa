"""Settings of this job; what each means and usually is stands in ``conf/job/error_characterisation.yaml``."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
import pydantic
import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.errors.slice_files import CountedFeatures, SliceFile, read_slices
from tiltmeter.jobs.classifiers.errors.tables import ErrorForest, Guarantees
from tiltmeter.jobs.classifiers.errors.texts import cells_of
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError, each_once
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.settings.fields import Count, Least2, Share, Text, UniqueWords, settings
from tiltmeter.operators.classifiers.errors.examples import probability_classes
from tiltmeter.operators.classifiers.errors.forest import ForestConfig
from tiltmeter.operators.classifiers.errors.rounds import RoundsConfig
from tiltmeter.operators.classifiers.errors.slices.columns import OPERATORS, days_since, holds, numbers_of, part_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Condition
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.bad_records import note
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.files import file_state
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import labels, numbers, read_records
from tiltmeter.storage.records.cells import LABEL, TEXT, Rules, between, spelled

Part = Annotated[float, Field(gt=0.0, lt=1.0)]
Names = Annotated[dict[str, str], BeforeValidator(as_labels)]

Edges = Annotated[
    tuple[Annotated[float, Field(allow_inf_nan=False)], ...] | tuple[date, ...], Field(union_mode="left_to_right")
]

_SHOWN = 10
_SCORED_BY = "data.scored_by"


@settings
class JobSettings:
    name: Literal["error_characterisation"]
    unit_texts: Count
    level: Part
    unit_permutations: Count


@settings
class LabelledFile:
    path: Text | None
    header: bool
    text: Text | None
    label: Text | None
    classes: Names | None
    limit: Count | None

    @property
    def names(self) -> dict[str, str]:
        """What the file calls each column that is read, by what tables call it."""
        names = ("text", "label", "prediction", "previous", "group", "id")
        return {name: called for name in names if (called := getattr(self, name, None)) is not None}


@settings
class CharacterisedData(LabelledFile):
    prediction: Text | None
    previous: Text | None
    probabilities: Names | None
    group: Text | None
    id: Text | None
    scored_by: Text | None
    slices: Text | None
    columns: UniqueWords
    edges: dict[Text, Edges] | None
    loss: Text | None
    previous_loss: Text | None
    high_is_good: bool

    @property
    def losses(self) -> dict[str, str]:
        """Columns of losses, by what tables call them."""
        named = {"loss": self.loss, "previous_loss": self.previous_loss}
        return {name: called for name, called in named.items() if called is not None}

    @property
    def by_prediction(self) -> bool:
        """Whether rows are compared with those of the same prediction."""
        return self.loss is None or self.prediction is not None

    @property
    def cuts(self) -> dict[str, tuple[float, ...]]:
        """The edges as numbers, of days since 1970."""
        return {
            name: tuple(days_since(edge.isoformat()) if isinstance(edge, date) else edge for edge in edges)
            for name, edges in (self.edges or {}).items()
        }

    @pydantic.model_validator(mode="after")
    def _of_columns(self) -> Self:
        if unknown := sorted({*(self.edges or {})} - {*self.columns}):
            raise ValueError(f"data.edges: {', '.join(unknown)}: is none of data.columns; add it there")
        for name, edges in self.cuts.items():
            if not edges or list(edges) != sorted(set(edges)) or not np.isfinite(edges).all():
                raise ValueError(f"data.edges: those of {name} must be numbers or days that rise, such as [18, 30, 65]")
        for name in ("previous_loss", "high_is_good"):
            if getattr(self, name) and self.loss is None:
                raise ValueError(f"data.{name}: is about losses of the file; set data.loss, or leave it out")
        if self.text is None and (self.loss is None or not self.columns):
            raise ValueError("data.text: null is for losses of rows by columns alone; set data.loss and data.columns")
        if self.loss is not None and self.scored_by is not None:
            raise ValueError("data.loss: what data.scored_by names scores errors; leave out one of them")
        return self

    @pydantic.model_validator(mode="after")
    def _of_labels(self) -> Self:
        if self.label is None and self.scored_by is None and self.loss is None:
            raise ValueError("data.label: null is for texts that an earlier run scores; name the column of labels")
        if self.label is None and self.loss is None and self.slices is not None:
            raise ValueError("data.slices: needs errors or losses; set data.label to the column of labels")
        return self

    @pydantic.model_validator(mode="after")
    def _of_predictions(self) -> Self:
        for name in ("previous", "probabilities"):
            if getattr(self, name) is not None and self.prediction is None:
                raise ValueError(f"data.{name}: is about predictions of the file; set data.prediction, or leave it out")
        if self.probabilities is not None and len(self.probabilities) < 2:
            raise ValueError("data.probabilities: must name the columns of two classes or more")
        return self


@settings
class BaseModel(LabelledFile):
    text: Text
    label: Text
    model: Literal["encoder", "words"]
    development: Part


@settings
class FeatureSettings:
    min_share: Share
    tags: bool
    lexicon: Text | None
    conllu: Text | None


@settings
class Splits:
    number: Least2
    test: Part
    balance: bool


@settings
class Precision:
    sizes: Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(each_once)]


@settings
class SliceSettings(SliceConfig):
    tags: bool

    @property
    def searched(self) -> SliceConfig:
        """Without what predicates are."""
        return SliceConfig(**{name: getattr(self, name) for name in SliceConfig.__dataclass_fields__})


@settings
class Promises:
    missed: tuple[Part, ...]
    unflagged: tuple[Part, ...]
    delta: Part
    joint: bool

    @property
    def num_joint(self) -> int:
        """Promises that share delta."""
        return len(self.missed) + len(self.unflagged) if self.joint else 1


@settings
class ErrorCharacterisationRun(CommonConfig):
    job: JobSettings
    data: CharacterisedData
    base: BaseModel
    models: TrainedModels
    features: FeatureSettings
    splits: Splits
    forest: ForestConfig
    precision: Precision
    slices: SliceSettings
    guarantees: Promises
    rounds: RoundsConfig
    readable_words: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]

    @pydantic.model_validator(mode="after")
    def _has_predictions(self) -> Self:
        if self.data.path is None:
            raise ValueError("data.path: must name a CSV, TSV or Parquet file")
        if self.data.loss is not None:
            if self.base.path is not None:
                raise ValueError(
                    "base.path: a base model makes errors, and data.loss has losses; leave out one of them"
                )
            return self
        if (self.data.prediction is None) == (self.base.path is None):
            given = "neither is" if self.base.path is None else "both are"
            raise ValueError(
                f"data.prediction and base.path: {given} given; set data.prediction to the column of what a model has "
                "predicted, or base.path to a file that a base model is trained on"
            )
        return self


@dataclass(frozen=True)
class ErrorSources:
    """What a run starts from.

    Attributes:
        texts: the file of texts, and that of the base model's, by ``data`` and ``base``.
        others: the lexicon and the parses, by the name of their setting.
        encoder: what a base model starts from.
        earlier: tables of an earlier run that scores texts; none without one.
        slices: of an earlier run, that are tested again.
    """

    texts: Files
    others: Files
    encoder: EncoderSources
    earlier: Files
    slices: SliceFile | None

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return self.texts.record() | self.others.record() | self.encoder.record() | self.earlier.record()


def find_sources(config: ErrorCharacterisationRun) -> ErrorSources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
        ConfigError: if an earlier run does not fit.
    """
    data, base = config.data, config.base
    given = list((data.probabilities or {}).values())
    columns = list(dict.fromkeys([*data.names.values(), *given, *data.columns, *data.losses.values()]))
    rules: Rules = ({} if data.text is None else {data.text: [TEXT]}) | dict.fromkeys(given, (between(0, 1),))
    files = {"data": find_table(str(data.path), "data.path", columns, header=data.header, rules=rules)}
    if data.probabilities:
        check_probabilities(data, files["data"].uri, rules)
    if data.loss is not None:
        check_losses(data, files["data"].uri, is_share=config.slices.score == "sliceline")
    if base.path is not None:
        columns, rules = list(base.names.values()), {base.text: [TEXT], base.label: [LABEL]}
        files["base"] = find_table(base.path, "base.path", columns, header=base.header, rules=rules)
    others = {
        "features.lexicon": config.features.lexicon,
        "features.conllu": config.features.conllu,
        "data.slices": data.slices,
    }
    more = {name.split(".")[1]: _readable(path, name) for name, path in others.items() if path is not None}
    slices = read_slices(more["slices"].uri) if "slices" in more else None
    if slices is not None:
        check_slices(slices, config, files["data"].uri)
    uses_encoder = base.path is not None and base.model == "encoder"
    encoder = find_encoder(config.models) if uses_encoder else EncoderSources(None, None)
    earlier = Files({}) if data.scored_by is None else _find_earlier(data.scored_by, config)
    return ErrorSources(Files(files), Files(more), encoder, earlier, slices)


def check_probabilities(data: CharacterisedData, uri: str, rules: Rules) -> None:
    """Whether a file has the probabilities of all classes, and says if these are hardly ever largest for what is
    predicted; a tie says nothing.

    Raises:
        InputError: if no row has them all.
    """
    names = sorted(data.probabilities or {})
    rows = read_records(uri, header=data.header, rules=rules)
    given = pl.DataFrame([numbers(rows, (data.probabilities or {})[name]).alias(name) for name in names])
    is_complete = given.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    if not is_complete.any():
        raise InputError(
            f"data.probabilities: no row of {redacted(uri)} has a number in each of {', '.join(map(repr, names))}; a "
            "pipeline gives those of all classes with top_k=None, and of the first alone by default; or leave it out"
        )
    renamed = data.classes or {}
    predicted = spelled(rows[str(data.prediction)], [*renamed, *names]).replace(renamed)
    values = given.filter(is_complete).to_numpy()
    is_untied = (values == values.max(axis=1, keepdims=True)).sum(axis=1) == 1
    largest = np.array(names)[values[is_untied].argmax(axis=1)]
    if is_untied.any() and np.mean(largest == predicted.filter(is_complete).to_numpy()[is_untied]) < 0.1:
        reason = (
            "fewer than one prediction in ten has the largest probability: are the columns of data.probabilities "
            "interchanged?"
        )
        note(redacted(uri), reason, f"column {data.prediction!r}", rows.height)


def check_losses(data: CharacterisedData, uri: str, *, is_share: bool) -> None:
    """Whether losses are numbers that have a mean.

    Args:
        is_share: whether their score is SliceLine's, which compares with the mean of losses that are not negative.

    Raises:
        InputError: if one is infinite, with its rows; if none is a number, or one is negative where none may be.
    """
    rows = read_records(uri, list(data.losses.values()), header=data.header)
    for name, called in data.losses.items():
        values = numbers(rows, called)
        if bad := np.flatnonzero(values.is_infinite().fill_null(value=False).to_numpy()).tolist():
            shown = ", ".join(map(str, bad[:_SHOWN])) + (", ..." if len(bad) > _SHOWN else "")
            raise InputError(
                f"data.{name}: column {called!r} of {redacted(uri)} is infinite in {len(bad):,} of {rows.height:,} "
                f"rows (counted from 0: {shown}); bound it, such as probabilities of a log loss away from 0"
            )
        if values.null_count() == rows.height:
            raise InputError(f"data.{name}: column {called!r} of {redacted(uri)} has no number")
        least = float(values.drop_nulls().to_numpy().min()) * (-1.0 if data.high_is_good else 1.0)
        if is_share and (data.high_is_good or least < 0.0):
            raise InputError(f"slices.score=sliceline: is for losses of 0 and more; data.{name} has others: use max_t")


def check_slices(known: SliceFile, config: ErrorCharacterisationRun, uri: str) -> None:
    """Whether a file has what slices of an earlier run are about, by the same loss.

    Raises:
        ConfigError: if the loss is another, or a column or feature is not asked for.
        InputError: if no row has a value that a slice is about, or a number where it compares numbers.
    """
    data, path = config.data, redacted(str(config.data.slices))
    ours, theirs = (
        f"data.loss={one.loss or 'null'}, data.high_is_good={str(one.high_is_good).lower()} and "
        f"{'a' if one.by_prediction else 'no'} prediction"
        for one in (data, known)
    )
    if ours != theirs:
        raise ConfigError(f"data.slices={path}: is about {theirs}, and this run has {ours}: that is another hypothesis")
    parts = [(one.slice, part) for one in known.slices for part in one.conditions]
    if lacking := sorted({part.name for _, part in parts if part.of == "column"} - {*data.columns}):
        raise ConfigError(f"data.columns: lacks {', '.join(lacking)}, which slices of {path} are about; add it there")
    if features := {part.name for _, part in parts if part.of == "feature"}:
        if data.text is None:
            raise ConfigError(f"data.text: is null, and slices of {path} are about texts; name their column")
        if "confidence" in features and data.probabilities is None and config.base.path is None:
            raise ConfigError(f"data.probabilities: slices of {path} are about the largest; name the columns")
        if known.features is not None:
            _check_features(known.features, config, f"data.slices={path}")
    rows = read_records(uri, [*data.columns, *([data.prediction] if data.prediction else [])], header=data.header)
    cells = {("column", name): cells_of(rows, name) for name in data.columns}
    if data.prediction is not None:
        cells["prediction", ""] = labels(rows[data.prediction]).replace(data.classes or {})
    for name, part in parts:
        if (column := cells.get((part.of, part.name))) is not None:
            called = part.name or data.prediction
            _check_value(part, column, f"slice {name!r} of {path}: column {called!r} of {redacted(uri)}")


def _check_value(condition: Condition, cells: pl.Series, column: str) -> None:
    """Whether a condition is about something that a column has."""
    if condition.operator == "=" and not holds(condition, cells).any():
        known = part_of(cells, condition.part).drop_nulls().unique().sort().to_list()
        names = choices(str(condition.value), known, repr)
        raise InputError(
            f"data.slices: {column} has no {condition.part or 'value'} {condition.value!r}; it has {names}"
        )
    if condition.operator in OPERATORS and np.isnan(numbers_of(cells, is_date=condition.part == "day")).all():
        raise InputError(f"data.slices: {column} has no {'day' if condition.part else 'number'}")


def _readable(path: str, setting: str) -> FoundFile:
    file = find_file(path, setting)
    file_state(file.uri)
    return file


def _find_earlier(path: str, config: ErrorCharacterisationRun) -> Files:
    """The tables ``error_forest`` and ``guarantees`` of a run directory, whose forest knows features by their names."""
    run = Path(path).expanduser().absolute()
    files = {
        table.table_name: find_table(str(run / f"{table.table_name}.parquet"), _SCORED_BY, table.schema().names)
        for table in (ErrorForest, Guarantees)
    }
    _check_features(_features_of(run), config, f"{_SCORED_BY}={run}")
    if config.base.path is None:
        seen = read_records(files["error_forest"].uri, ["feature"])["feature"].drop_nulls().unique().sort()
        if missing := sorted({*probability_classes(seen.to_list())} - {*(config.data.probabilities or {})}):
            raise ConfigError(
                f"data.probabilities: the forest of {_SCORED_BY}={path} looks at those of {', '.join(missing)}; name "
                "their columns"
            )
    return Files(files)


def _features_of(run: Path) -> CountedFeatures:
    try:
        before = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        known = {name: before["features"][name] for name in ("tags", "lexicon", "conllu")}
        return CountedFeatures(**known, readable_words=before["readable_words"])
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{_SCORED_BY}={run}: is no run of error_characterisation with a config.yaml") from error


def _check_features(known: CountedFeatures, config: ErrorCharacterisationRun, origin: str) -> None:
    """Whether features are counted as in the run of an origin, a setting with its value."""
    for name in ("tags", "lexicon", "conllu"):
        ours, theirs = getattr(config.features, name), getattr(known, name)
        if (ours != theirs) if name == "tags" else ((ours is None) != (theirs is None)):
            raise ConfigError(f"features.{name}={ours}: {origin} has features.{name}={theirs}; set it so")
    if known.readable_words != config.readable_words:
        raise ConfigError(f"readable_words: are not those of {origin}; choose the same with readable_words=...")
