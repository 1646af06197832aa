"""The config of `privacy_metrics`: texts with a valence and a gender, the models, and how they are explained."""

import dataclasses
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.attributions import Explain
from tiltmeter.jobs.classifiers.config import TrainedModels
from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.privacy.swaps import swaps
from tiltmeter.operators.text.word_checks import check_words
from tiltmeter.storage.files.redaction import redacted

ModelName = Literal["General", "PrivAdv", "PrivAug", "PrivBias", "GenderCtrl", "ArtNoise", "PrivEP", "PrivAdvEP"]
_CONFIG = ConfigDict(extra="forbid")
_Path = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(gt=0.0, lt=1.0)]


_VALENCE = {"negative": "low", "neutral": "mid", "positive": "high"}


def _named(values: object) -> object:
    """YAML takes a label such as 0 for a number."""
    return {str(label): value for label, value in values.items()} if isinstance(values, dict) else values


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class PrivacyMetricsJob:
    """``job=privacy_metrics``"""

    name: Literal["privacy_metrics"] = "privacy_metrics"


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class SpokenData(LabelledData):
    """Labelled texts, and who speaks them.

    Attributes:
        valence: the class of each label that is not itself the name of a class; None: negative, neutral and positive
            are low, mid and high.
        genders: of groups, where rows do not say.
    """

    valence: Annotated[dict[str, str], BeforeValidator(_named)] | None = None
    genders: Annotated[dict[str, str], BeforeValidator(_named)] | None = None

    @pydantic.model_validator(mode="after")
    def _some_gender(self) -> Self:
        if self.gender is None and not (self.genders and self.group is not None):
            raise ValueError("data.gender: nothing says who is of which gender; set it, or data.group and data.genders")
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class OtherCorpus:
    """A further corpus with the columns of ``data``.

    Attributes:
        path: None: there is none.
        limit: rows that are taken at most.
        shares_groups: whether a group of the same name in ``data`` is the same speaker.
    """

    path: _Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    shares_groups: bool = True


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Splits:
    """Shares of the texts that no model is trained with, of each gender's."""

    development: _Share = 0.2
    test: _Share = 0.2


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Noise:
    """Words that the training texts of ArtNoise have by their class.

    Attributes:
        words: for each class, those of which a text gets one.
        share: of the texts that get one.
        times: how often.
    """

    words: Annotated[tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=2)]
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    times: Annotated[int, Field(ge=1)] = 1


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class PrivacyModels(TrainedModels):
    """The models.

    Attributes:
        names: which.
        num_seeds: of each, that differ in their random numbers.
        gender_weight: of the loss of gender in what the encoder learns, or unlearns.
        gender_hidden: units between the representation and gender, in training.
        ep_weight: of EP, where it is minimised.
        noise: of ArtNoise.
    """

    names: Annotated[tuple[ModelName, ...], Field(min_length=1)]
    noise: Noise
    num_seeds: Annotated[int, Field(ge=1)] = 3
    gender_weight: Annotated[float, Field(gt=0.0)] = 1.0
    gender_hidden: Annotated[int, Field(ge=0)] = 16
    ep_weight: Annotated[float, Field(gt=0.0)] = 1.0

    @pydantic.field_validator("names")
    @classmethod
    def _different(cls, names: tuple[ModelName, ...]) -> tuple[ModelName, ...]:
        check_words("models.names", names)
        return names


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class PrivacyExplanations:
    """How models are explained.

    Attributes:
        attribution: the method.
        max_sentences: of each corpus that are explained at most.
        explained: the class whose output is explained.
        listed: names of the lists that make up L; None: all.
    """

    attribution: AttributionConfig
    max_sentences: Annotated[int, Field(ge=2)] = 300
    explained: Explain = "predicted"
    listed: Annotated[tuple[str, ...], Field(min_length=1)] | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class ValenceLexicon:
    """A file of words and their valence.

    Attributes:
        path: CSV, TSV or Parquet; None: there is none.
        header: whether the first line of CSV and TSV has names.
        word, valence: what the file calls its columns.
        low, high: ends of the scale.
        least: how far from the middle a word must be to count; 1 is an end.
    """

    path: _Path | None = None
    header: bool = True
    word: _Path = "Word"
    valence: _Path = "Valence"
    low: float = 0.0
    high: float = 1.0
    least: Annotated[float, Field(ge=0.0, le=1.0)] = 0.25

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"lexicon.low={self.low:g}: must be less than lexicon.high={self.high:g}; set both")
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class ExplanationWords:
    """Word lists of a language.

    Attributes:
        lists: words by which people tell a speaker's gender, by the name of the list.
        swaps: pairs of words that are each other's counterpart.
    """

    lists: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]
    swaps: Annotated[tuple[tuple[str, str], ...], Field(min_length=1)]

    def __post_init__(self) -> None:
        for name, words in self.lists.items():
            check_words(f"explanation_words.lists.{name}", words)
        swaps(self.swaps)


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Resamples:
    """Bootstrap intervals over texts."""

    num_resamples: Annotated[int, Field(ge=2)] = 1000
    level: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.95


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class PrivacyMetricsRun(CommonConfig):
    """A run of ``privacy_metrics``.

    Attributes:
        classes: of valence, from the lowest to the highest.
        across: a corpus that models are tested on besides.
        unbiased: a corpus that PrivBias is first trained with.
    """

    job: PrivacyMetricsJob
    classes: Annotated[tuple[str, ...], Field(min_length=2)]
    data: SpokenData
    across: OtherCorpus
    unbiased: OtherCorpus
    splits: Splits
    models: PrivacyModels
    explanations: PrivacyExplanations
    explanation_words: ExplanationWords
    lexicon: ValenceLexicon
    intervals: Resamples

    @property
    def listed(self) -> tuple[str, ...]:
        """The lists that make up L."""
        return self.explanations.listed or tuple(self.explanation_words.lists)

    @property
    def valence(self) -> dict[str, str]:
        """The class of each label that is not itself the name of a class."""
        if self.data.valence is not None:
            return self.data.valence
        return {label: name for label, name in _VALENCE.items() if name in self.classes}

    @pydantic.model_validator(mode="after")
    def _checked(self) -> Self:
        if self.splits.development + self.splits.test >= 1:
            raise ValueError("splits.development and splits.test add up to 1 or more: lower one, for training texts")
        if unknown := sorted(set(self.valence.values()) - set(self.classes)):
            raise ValueError(f"data.valence: {unknown[0]!r} is no class; classes are {', '.join(self.classes)}")
        if unknown := sorted(set(self.listed) - self.explanation_words.lists.keys()):
            names = ", ".join(self.explanation_words.lists)
            raise ValueError(f"explanations.listed: there is no list {unknown[0]!r}; lists are {names}")
        if "ArtNoise" in self.models.names and len(self.models.noise.words) != len(self.classes):
            raise ValueError(f"models.noise.words: must have {len(self.classes)} items, one for each of classes")
        return self


def _hidden(record: Any) -> Any:
    return record if record.path is None else dataclasses.replace(record, path=redacted(record.path))
