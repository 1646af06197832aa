"""Settings of `sentence_pairs`; what each means, and what it usually is, stands in ``conf/job/sentence_pairs.yaml``."""

from typing import Annotated, Literal, Self

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError, each_once
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, Found, find_table
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Count, Name, Text, settings
from tiltmeter.operators.language_models.likelihoods import SCORES, Kind, Score
from tiltmeter.operators.language_models.pairs import Ties
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import language_model_kind
from tiltmeter.storage.records import check_columns, record_columns
from tiltmeter.storage.records.cells import TEXT, Rules, one_of
from tiltmeter.storage.records.stereoset import read_stereoset

Format = Literal["pairs", "crows_pairs", "stereoset"]
Unit = Literal["pair", "template", "author"]

BIAS, CONTROL, MEANING = "bias", "control", "meaning"
"""Kinds of pairs; the last is of sentences of which one makes sense and the other does not."""

_PAIRS = ("more", "less", "id", "template", "author", "kind", "category", "direction", "language", "valid", "pitfalls")
_CROWS_PAIRS = {"author": "anon_writer", "category": "bias_type", "direction": "stereo_antistereo"}
COLUMNS = {
    "pairs": {name: name for name in _PAIRS},
    "crows_pairs": {name: name for name in _PAIRS} | {"more": "sent_more", "less": "sent_less"} | _CROWS_PAIRS,
}
"""What files call each column; those of both sentences must be there."""


@settings
class SentencePairsJob:
    name: Literal["sentence_pairs"]
    unit_pairs: Count


@settings
class PairData:
    path: Text
    format: Format
    control: Text | None
    lowercase: bool


@settings
class LanguageModels:
    checkpoints: Annotated[dict[Name, Text], Field(min_length=1)]
    revisions: dict[Name, Text] | None
    device: Device
    max_tokens: Count

    def setting(self, name: str) -> str:
        """That names a model."""
        return f"models.checkpoints.{name}"

    def revision(self, name: str) -> str | None:
        """Of a model on the hub."""
        return (self.revisions or {}).get(name)


@settings
class Pairing:
    unit: Unit | None
    weigh: Literal["pairs", "units"]
    ties: Ties


@settings
class SentencePairsRun(CommonConfig):
    job: SentencePairsJob
    data: PairData
    models: LanguageModels
    scores: Annotated[tuple[Score, ...], Field(min_length=1), AfterValidator(each_once)]
    pairing: Pairing
    intervals: KeyedResampleSettings

    @pydantic.model_validator(mode="after")
    def _fits_together(self) -> Self:
        if unknown := (self.models.revisions or {}).keys() - self.models.checkpoints.keys():
            raise ValueError(f"models.revisions.{min(unknown)}: models.checkpoints has no such model; name it there")
        if self.data.format == "stereoset" and self.pairing.unit == "author":
            raise ValueError(
                "pairing.unit=author: StereoSet names no authors; set it to template, its term, or to null"
            )
        if self.intervals.interval not in HOLDS_ITS_ESTIMATE and self.pairing.unit != "pair":
            raise ValueError(
                f"intervals.interval={self.intervals.interval}: must be averaged or centred, as of few units resamples "
                "spread too little; set it so, or pairing.unit to pair"
            )
        return self

    def scores_of(self, kind: Kind) -> tuple[Score, ...]:
        """Those that a kind of model has, its main one first."""
        return tuple(score for score in self.scores if SCORES[score].kind == kind)


Running = Run[SentencePairsRun, Found]


def rules_of(columns: dict[str, str]) -> Rules:
    """For the cells of a file: pairs with one sentence, or of no known kind, are left out."""
    rules = {columns["more"]: [TEXT], columns["less"]: [TEXT]}
    return rules | ({columns["kind"]: [one_of((BIAS, CONTROL))]} if "kind" in columns else {})


def columns_of(uri: str, form: Format) -> dict[str, str]:
    """What a file calls each column that it has."""
    names = {*record_columns(uri)}
    return {name: called for name, called in COLUMNS[form].items() if called in names}


def find_sources(config: SentencePairsRun) -> Found:
    """Look for the files and the checkpoints.

    Raises:
        InputError, CheckpointError, ConfigError: if one is missing or can't be read, the unit is not known, or a model
            has none of the scores.
    """
    data, files = config.data, {}
    versions: dict[str, str] = {}
    for name, (path, form) in {"pairs": (data.path, data.format), "control": (data.control, "pairs")}.items():
        if path is not None:
            files[name] = _found_file(path, "data.path" if name == "pairs" else "data.control", form)
    if config.pairing.unit in ("template", "author") and data.format != "stereoset":
        check_columns(
            files["pairs"].uri, [COLUMNS[data.format][config.pairing.unit]], f"pairing.unit={config.pairing.unit}"
        )
    for name, checkpoint in config.models.checkpoints.items():
        setting = config.models.setting(name)
        place = find_checkpoint(checkpoint, config.models.revision(name), setting)
        kind = language_model_kind(place.folder, setting)
        if not config.scores_of(kind):
            known = [score for score, scoring in SCORES.items() if scoring.kind == kind]
            raise ConfigError(f"scores={[*config.scores]}: none is of {kind} models, such as {name}; add {known[0]}")
        versions |= {name: place.version, f"{name} kind": kind}
    return Found(Files(files), versions)


def _found_file(path: str, setting: str, form: Format) -> FoundFile:
    if form == "stereoset":
        file = find_file(path, setting)
        read_stereoset(file.uri, setting)
        return file
    needed = [COLUMNS[form][name] for name in ("more", "less")]
    file = find_file(path, setting)
    check_columns(file.uri, needed, setting)
    columns = columns_of(file.uri, form)
    return find_table(path, setting, [*columns.values()], rules=rules_of(columns))
