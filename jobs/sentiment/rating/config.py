"""The config of `sentiment_rating`: sentences, round trips, systems, and how they are rated."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.sentiment.rating.rows import RatingConfig
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL
from tiltmeter.jobs.sentiment.rating.sentences import Sentences
from tiltmeter.jobs.sentiment.rating.systems import System
from tiltmeter.jobs.sentiment.translation.translators import Language, Translator

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
        unit_texts: texts of a unit of translation or scoring, on average.
    """

    job: SentimentRatingJob
    sentences: Annotated[Sentences, Field(discriminator="kind")]
    translator: dict[str, Translator] = Field(default_factory=dict)
    sentiment: dict[str, System] = Field(default_factory=dict)
    rating: RatingConfig
    language: Language = "en"
    scores: Annotated[str, Field(min_length=1)] | None = None
    unit_texts: Annotated[int, Field(ge=1)] = 512

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
        if not self.sentiment and self.scores is None:
            raise ValueError("sentiment: no system is chosen; set sentiment=[<name>,...], or scores=<file>")
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
