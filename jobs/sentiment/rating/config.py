"""The config of `sentiment_rating`: sentences, round trips, systems, and how they are rated."""

import dataclasses
from typing import Annotated, Literal, Self

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.sentiment.rating.rows import RatingConfig
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL
from tiltmeter.jobs.sentiment.rating.sentences import FileSentences, Sentences
from tiltmeter.jobs.sentiment.rating.systems import GRUSystem, ScoresSystem, System
from tiltmeter.jobs.sentiment.translation.translators import Language, Translator
from tiltmeter.storage.files.redaction import redacted


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

    def redacted(self) -> Self:
        """The config as it may be shown."""
        sentences, scores = self.sentences, self.scores
        if isinstance(sentences, FileSentences):
            sentences = dataclasses.replace(sentences, path=redacted(sentences.path))
        systems = {
            name: dataclasses.replace(system, path=redacted(system.path))
            if isinstance(system, GRUSystem | ScoresSystem)
            else system
            for name, system in self.sentiment.items()
        }
        scores = None if scores is None else redacted(scores)
        return dataclasses.replace(self, sentences=sentences, sentiment=systems, scores=scores)

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
