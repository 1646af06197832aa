"""Settings of `sentiment_posterior`; what each means and usually is stands in ``conf/job/sentiment_posterior.yaml``."""

from collections import Counter
from dataclasses import fields
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Least2, Text, settings
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.sentiment.posterior.distances import Distance
from tiltmeter.operators.sentiment.posterior.priors import Name
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig
from tiltmeter.operators.sentiment.posterior.training import ClassifierConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.vectors.files import ExportFormat

_Draws = Annotated[int, Field(ge=100)]
_Words = Annotated[tuple[Text, ...], Field(min_length=1)]
_Groups = Annotated[dict[Text, _Words], Field(min_length=2, max_length=2)]


@settings
class SentimentPosteriorJob:
    name: Literal["sentiment_posterior"]
    level: Annotated[float, Field(gt=0, lt=1)]


@settings
class Reviews:
    path: Text | None
    header: bool
    text: Text
    label: Text
    positive: Annotated[Text | None, BeforeValidator(as_labels)]
    limit: Count | None
    made_up: Annotated[int, Field(ge=40)]

    def labelled(self, path: str) -> LabelledData:
        """The same for what reads files."""
        return LabelledData(path=path, header=self.header, text=self.text, label=self.label, limit=self.limit)


@settings
class Vectors:
    path: Text | None
    format: Literal["auto", ExportFormat]
    allow_pickle: bool
    min_count: Count
    trainer: Word2VecConfig
    leak: bool


@settings
class Classifiers(ClassifierConfig):
    seeds: Count
    folds: Least2
    calibrated: bool

    @property
    def of_training(self) -> ClassifierConfig:
        """Without the number of classifiers and folds, which change none of them."""
        return ClassifierConfig(**{field.name: getattr(self, field.name) for field in fields(ClassifierConfig)})


@settings
class Exact:
    draws: _Draws
    proposals: _Draws


@settings
class LexiconFile:
    path: Text | None
    word: Text
    polarity: Text


@settings
class FrequentWords:
    min_count: Count
    max_words: Least0


@settings
class Cues:
    pairs: tuple[tuple[Text, Text], ...]
    texts: Least2


@settings
class SentimentPosteriorRun(CommonConfig):
    job: SentimentPosteriorJob
    data: Reviews
    vectors: Vectors
    classifier: Classifiers
    priors: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(each_once)]
    samplers: Annotated[tuple[Literal["exact", "nuts"], ...], Field(min_length=1), AfterValidator(each_once)]
    power: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    distance: Distance
    exact: Exact
    nuts: NutsConfig
    chain_classifiers: Count
    lexicon: LexiconFile
    words: FrequentWords
    groups: dict[Text, _Groups]
    lemmas: dict[Text, Text]
    cues: Cues

    @pydantic.field_validator("lemmas", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @pydantic.model_validator(mode="after")
    def _has_a_lexicon(self) -> Self:
        if self.data.path is not None and self.lexicon.path is None:
            raise ValueError(
                "lexicon.path: texts of your own need a lexicon, as the words of made-up reviews say nothing of them; "
                "name a file with the columns word and polarity (positive or negative)"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _exact_draws_are_there(self) -> Self:
        if "exact" not in self.samplers:
            raise ValueError(
                f"samplers={list(self.samplers)}: exact draws are what chains are held against, and cost next to "
                "nothing; add exact"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _words_are_of_one_group(self) -> Self:
        for name, groups in self.groups.items():
            (first, words), (second, others) = ((side, [*map(str.lower, listed)]) for side, listed in groups.items())
            if both := sorted(set(words) & set(others)):
                raise ValueError(f"groups.{name}: {both[0]!r} is in {first} and in {second}; leave it out of one")
            if twice := sorted(word for word, number in Counter(words + others).items() if number > 1):
                raise ValueError(f"groups.{name}: {twice[0]!r} is there twice, and words are counted; leave one out")
        return self
