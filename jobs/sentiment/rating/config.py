"""The config of `sentiment_rating`: sentences, round trips, systems, and how they are rated."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.sentiment.rating.given_scores.logs import ScoreLogs
from tiltmeter.jobs.sentiment.rating.rules import RatingConfig
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL
from tiltmeter.jobs.sentiment.rating.sentences import Sentences
from tiltmeter.jobs.sentiment.rating.systems import System
from tiltmeter.jobs.sentiment.translation.translators import Language, Translator
from tiltmeter.operators.sentiment.deconfounding import Design
from tiltmeter.operators.sentiment.sentences import NEUTRAL
from tiltmeter.operators.sentiment.templates import SyntheticSentences

_NAME = re.compile(r"\w[\w.-]*")


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SentimentRatingJob:
    """``job=sentiment_rating``"""

    name: Literal["sentiment_rating"] = "sentiment_rating"


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class RatingRun(CommonConfig):
    """A run of ``sentiment_rating``.

    Attributes:
        language: of the sentences.
        translator: round trips by the name of their variant.
        sentiment: systems by name.
        scores: a file of scores to rate, instead of scoring sentences.
        logs: of evaluation harnesses with scores to rate, instead of these.
        unit_texts: texts of a unit of translation or scoring, on average.
    """

    job: SentimentRatingJob
    sentences: Annotated[Sentences, Field(discriminator="kind")]
    translator: dict[str, Translator] = Field(default_factory=dict)
    sentiment: dict[str, System] = Field(default_factory=dict)
    rating: RatingConfig
    language: Language = "en"
    scores: Annotated[str, Field(min_length=1)] | None = None
    logs: ScoreLogs = Field(default_factory=ScoreLogs)
    unit_texts: Annotated[int, Field(ge=1)] = 512

    @property
    def has_scores(self) -> bool:
        """Whether scores are brought along."""
        return self.scores is not None or self.logs.is_set

    @property
    def kinds(self) -> dict[str, str]:
        """Of the systems whose scores this run makes, by name."""
        return {} if self.has_scores else {name: system.kind for name, system in self.sentiment.items()}

    @property
    def designed_rating(self) -> RatingConfig:
        """How systems are rated, with what made sentences say of their own design where nothing is set."""
        design = self.rating.design
        if self.has_scores or not isinstance(self.sentences, SyntheticSentences) or isinstance(design, str):
            return self.rating
        groups = self.sentences.groups.items()
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
    def _left_out_values_are_there(self) -> Self:
        if isinstance(self.sentences, SyntheticSentences) and not self.has_scores:
            for name, known in _attributes(self.sentences).items():
                if unknown := [value for value in self.rating.leave_out.values(name) if value not in known]:
                    raise ValueError(
                        f"rating.leave_out.{name}: no sentence has the {name} {', '.join(unknown)}; must be one of "
                        f"{', '.join(known)}"
                    )
        return self

    @pydantic.model_validator(mode="after")
    def _groups_of_a_design_are_there(self) -> Self:
        design, made = self.rating.design, isinstance(self.sentences, SyntheticSentences) and not self.has_scores
        groups = self.sentences.groups if isinstance(self.sentences, SyntheticSentences) else {}
        if made and isinstance(design, dict) and (unknown := sorted(set(design) - set(groups))):
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
