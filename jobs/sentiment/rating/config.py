"""Settings of `sentiment_rating`: what each means, and usually is, stands in ``conf/job/sentiment_rating.yaml``, and of
those of texts that are brought along, in ``conf/sentences/file.yaml``.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, cast

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Text, settings
from tiltmeter.jobs.sentiment.rating.systems import System
from tiltmeter.jobs.sentiment.rating.tables import ORIGINAL
from tiltmeter.jobs.sentiment.translation.round_trips import Language, Translator
from tiltmeter.operators.sentiment.deconfounding import Design, EmptyCells
from tiltmeter.operators.sentiment.protected_words import GENDERS
from tiltmeter.operators.sentiment.ranking import Cut
from tiltmeter.operators.sentiment.sentences import NEUTRAL
from tiltmeter.operators.sentiment.templates import SyntheticSentences
from tiltmeter.operators.statistics.intervals import Method
from tiltmeter.operators.statistics.text_intervals import KeyedBy
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED, Convention
from tiltmeter.storage.corpora.sources import Paths
from tiltmeter.storage.records.cells import TEXT, Rule, Rules, one_of

EVERY = "every"
"""Instead of a gender: a text whose gender is not known comes once with every proxy."""

ATTRIBUTES = ("gender", "race", "emotion", "conversation")
"""Columns of logs that tell something of an item."""

_NAME = re.compile(r"\w[\w.-]*")
_CODES = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

_Alphas = Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=3, max_length=3)]
_Weights = Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Field(min_length=3, max_length=3)]

_CONVENTIONS = {"definition": DEFINITION, "published": PUBLISHED}
_PUBLISHED_DECIMALS: Mapping[str, int] = {"textblob": 2, "random": 2}
"""Of systems by kind, in the program that was published with the paper; its GRU's are thirds, unrounded."""


# --- texts of one's own ---------------------------------------------------------------------------------------------


@settings
class Columns:
    text: Text
    gender: Text | None
    race: Text | None
    emotion: Text | None
    group: Text | None
    dataset: Text | None
    conversation: Text | None
    speaker: Text | None

    @property
    def named(self) -> dict[str, str]:
        """Those that the file has, by what they are called here."""
        return {name: called for name, called in dataclasses.asdict(cast(Any, self)).items() if called is not None}


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CODES)
class FileSentences:
    kind: Literal["file"]
    path: Text
    columns: Columns
    genders: Annotated[dict[str, str | None], Field(min_length=1)] | None
    speakers: Annotated[tuple[str, ...], Field(min_length=1)] | None
    proxies: Annotated[dict[str, str], Field(min_length=2)] | None
    proxy_speakers: Annotated[tuple[str, ...], Field(min_length=1)] | None
    proxies_per: Literal["text", "conversation"]
    unknown_gender: str

    @pydantic.model_validator(mode="after")
    def _can_be_rated(self) -> Self:
        if self.columns.gender is None and self.columns.race is None and self.proxies is None:
            raise ValueError(
                "sentences.columns: the file gives neither gender nor race: name a column (sentences.columns.gender="
                "<name>), or take sentences=human, which puts words before texts that tell a gender"
            )
        for setting, (is_set, column) in {
            "speakers": (self.speakers is not None, "speaker"),
            "proxy_speakers": (self.proxy_speakers is not None, "speaker"),
            "proxies_per=conversation": (self.proxies_per == "conversation", "conversation"),
            "genders": (self.genders is not None, "gender"),
        }.items():
            if is_set and getattr(self.columns, column) is None:
                raise ValueError(f"sentences.{setting} needs sentences.columns.{column}=<name of the column>")
        return self

    @pydantic.model_validator(mode="after")
    def _proxies_have_their_place(self) -> Self:
        if self.proxies is None:
            if self.proxy_speakers is not None:
                raise ValueError("sentences.proxy_speakers needs sentences.proxies, as sentences=human has them")
            return self
        has_sides = self.columns.speaker is not None and len(self.speakers or (None, None)) > 1
        if has_sides and self.proxy_speakers is None:
            raise ValueError(
                "sentences.proxy_speakers: must name the speakers whose turns get a proxy, for example [user]: turns "
                "of the others, such as a chatbot's, are rated by the gender of those whom they speak with"
            )
        allowed = [*self.proxies, EVERY]
        if self.columns.gender is not None and self.unknown_gender not in allowed:
            raise ValueError(f"sentences.unknown_gender={self.unknown_gender}: must be one of {', '.join(allowed)}")
        if unknown := sorted({gender for gender in (self.genders or {}).values() if gender} - self.proxies.keys()):
            raise ValueError(
                f"sentences.genders: {', '.join(unknown)} must be one of {', '.join(self.proxies)}, or null; or give "
                "it a prefix in sentences.proxies"
            )
        return self

    @property
    def meanings(self) -> Mapping[str, str | None]:
        """The gender that each code stands for."""
        return self.genders or {gender: gender for gender in self.proxies or GENDERS}

    @property
    def rules(self) -> Rules:
        """Of the cells of its columns."""
        rules: dict[str, list[Rule]] = {self.columns.text: [TEXT]}
        if self.columns.gender is not None:
            known = one_of([*self.meanings])
            advice = (
                "sentences.genders={0: null, 1: male, 2: female} says what codes mean, null of what is not disclosed"
            )
            rules[self.columns.gender] = [known._replace(reason=f"a gender that is {known.reason} ({advice})")]
        return rules


# --- scores that harnesses logged -----------------------------------------------------------------------------------


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CODES)
class ScoreLogs:
    systems: dict[str, Paths]
    item: Text
    score: Text
    gender: Text | None
    race: Text | None
    emotion: Text | None
    conversation: Text | None
    group: Text | None
    dataset: Text | None
    only: dict[str, str]

    @pydantic.field_validator("systems", "only", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @pydantic.model_validator(mode="after")
    def _can_be_rated(self) -> Self:
        if self.systems and self.gender is None and self.race is None:
            raise ValueError(
                "logs.gender and logs.race: none is set; name the column that tells whom an item is about, for example "
                "logs.gender=doc.gender"
            )
        return self

    @property
    def is_set(self) -> bool:
        """Whether there are logs to rate."""
        return bool(self.systems)

    @property
    def paths(self) -> dict[str, str]:
        """The columns that are read, by what they are called here."""
        named = {name: getattr(self, name) for name in ("item", "score", *ATTRIBUTES, "group", "dataset")}
        return {name: path for name, path in named.items() if path is not None}


# --- ratings --------------------------------------------------------------------------------------------------------


@settings
class LeaveOut:
    gender: tuple[str, ...]
    race: tuple[str, ...]

    def values(self, column: str) -> tuple[str, ...]:
        """Values of one attribute whose texts have no part in the rating by it."""
        return {"gender": self.gender, "race": self.race}[column]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CODES)
class RawScoreConfig:
    """How raw scores and their resamples come from scores."""

    convention: Literal["definition", "published"]
    weights: _Weights | None
    alphas: _Alphas | None
    decimals: Annotated[int, Field(ge=0, le=15)] | None
    design: Design | dict[str, Design] | None
    leave_out: LeaveOut
    measure: Literal["auto", "wrs", "die"]
    empty_cells: EmptyCells
    num_resamples: Least0
    keyed_by: KeyedBy

    @pydantic.field_validator("alphas")
    @classmethod
    def _alphas_ascend(cls, alphas: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if alphas is not None and list(alphas) != sorted(alphas):
            raise ValueError(
                f"{list(alphas)} must ascend, as [0.05,0.30,0.40]: what rejects at the 95 % level does so at the others"
            )
        return alphas

    @property
    def rules(self) -> Convention:
        """What the convention means, with what is set beside it."""
        return _CONVENTIONS[self.convention]._replace(**self.deviations)

    @property
    def deviations(self) -> dict[str, Any]:
        """What is set beside the convention, by the names of the settings."""
        settings = {name: getattr(self, name) for name in ("weights", "alphas", "decimals")}
        return {name: value for name, value in settings.items() if value is not None}

    def design_of(self, group: str) -> Design | None:
        """Whether the emotions of a group depend on its protected attributes; None: nobody knows."""
        return self.design.get(group) if isinstance(self.design, dict) else self.design

    def rounding(self, kind: str | None) -> int | None:
        """Decimals that the scores of a kind of system are rounded to; None as a kind: they were brought."""
        if self.decimals is not None:
            return self.decimals
        return _PUBLISHED_DECIMALS.get(kind or "") if self.convention == "published" else None


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CODES)
class RatingConfig(RawScoreConfig):
    num_levels: Count
    cut: Cut
    level: Annotated[float, Field(gt=0, lt=1)]
    interval: Method

    @property
    def of_raw_scores(self) -> RawScoreConfig:
        """The part that raw scores depend on: with other intervals or levels, the same units are found."""
        fields = dataclasses.fields(RawScoreConfig)
        return RawScoreConfig(**{field.name: getattr(self, field.name) for field in fields})


# --- the run --------------------------------------------------------------------------------------------------------


@settings
class JobName:
    name: Literal["sentiment_rating"]


@settings
class RatingRun(CommonConfig):
    job: JobName
    sentences: Annotated[SyntheticSentences | FileSentences, Field(discriminator="kind")]
    translator: dict[str, Translator] = Field(default_factory=dict)
    sentiment: dict[str, System] = Field(default_factory=dict)
    rating: RatingConfig
    language: Language
    scores: Text | None
    logs: ScoreLogs
    unit_texts: Count

    @property
    def has_scores(self) -> bool:
        """Whether scores are brought along."""
        return self.scores is not None or self.logs.is_set

    @property
    def kinds(self) -> dict[str, str]:
        """Of the systems whose scores this run makes, by name."""
        return {} if self.has_scores else {name: system.kind for name, system in self.sentiment.items()}

    @property
    def synthetic(self) -> SyntheticSentences | None:
        """What sentences are made from; None if texts, or scores, are brought along."""
        return self.sentences if isinstance(self.sentences, SyntheticSentences) and not self.has_scores else None

    @property
    def designed_rating(self) -> RatingConfig:
        """How systems are rated, with what made sentences say of their own design where nothing is set."""
        design = self.rating.design
        if self.synthetic is None or isinstance(design, str):
            return self.rating
        groups = self.synthetic.groups.items()
        made: dict[str, Design] = {name: "confounded" if group.confounded else "independent" for name, group in groups}
        return dataclasses.replace(self.rating, design=made | (design or {}))

    @pydantic.field_validator("translator", "sentiment", mode="before")
    @classmethod
    def _are_named(cls, parts: Any, info: pydantic.ValidationInfo) -> Any:
        """A config file says in its first line what it is called; without one, its settings lie where names belong."""
        for name, part in parts.items() if isinstance(parts, Mapping) else ():
            if not _NAME.fullmatch(name) or (part is None or isinstance(part, str | int | float | list)):
                raise ValueError(
                    f"{name!r} is no name with settings: must be letters, digits, '_', '-' and '.', as in "
                    f"'+{info.field_name}.mine={{kind: ...}}'; a config file begins with "
                    f"'# @package {info.field_name}.<name>'"
                )
        return parts

    @pydantic.model_validator(mode="after")
    def _has_systems(self) -> Self:
        if not self.sentiment and not self.has_scores:
            raise ValueError(
                "sentiment: no system is chosen; set sentiment=[<name>,...], scores=<file>, or logs.systems={<name>: "
                "<file>}"
            )
        if self.scores is not None and self.logs.is_set:
            raise ValueError("scores and logs.systems: both are set: leave one out")
        if self.scores is not None and self.rating.keyed_by == "text":
            raise ValueError(
                "rating.keyed_by=text: a file of scores does not tell what the texts say; must be place with "
                "scores=<file>"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _left_out_values_and_groups_are_there(self) -> Self:
        if self.synthetic is None:
            return self
        for name, known in _attributes(self.synthetic).items():
            if unknown := [value for value in self.rating.leave_out.values(name) if value not in known]:
                raise ValueError(
                    f"rating.leave_out.{name}: no sentence has the {name} {', '.join(unknown)}; must be one of "
                    f"{', '.join(known)}"
                )
        design, groups = self.rating.design, self.synthetic.groups
        if isinstance(design, dict) and (unknown := sorted(set(design) - set(groups))):
            raise ValueError(f"rating.design: there is no group {', '.join(unknown)}; must be of {', '.join(groups)}")
        return self

    @pydantic.model_validator(mode="after")
    def _variants_can_be_told_apart(self) -> Self:
        if ORIGINAL in self.translator:
            raise ValueError(f"translator.{ORIGINAL}: the sentences themselves are called so; give it another name")
        for name, translator in self.translator.items():
            if translator.language == self.language:
                raise ValueError(
                    f"translator.{name}.language={translator.language}: the sentences are in this language; a round "
                    "trip goes through another"
                )
        return self


def _attributes(sentences: SyntheticSentences) -> dict[str, list[str]]:
    """The genders and races of whom the groups are about."""
    persons = [these for group in sentences.groups.values() for these in sentences.persons[group.persons].values()]
    neutral = [NEUTRAL] if sentences.neutral else []
    genders, races = [these.gender for these in persons], [these.race for these in persons if these.race]
    return {"gender": [*dict.fromkeys([*genders, *neutral])], "race": [*dict.fromkeys([*races, *neutral])]}
