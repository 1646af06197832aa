"""The config of `privacy_metrics`: texts with a valence and a gender, the models, and how they are explained."""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.attributions import Explain
from tiltmeter.jobs.classifiers.config import TrainedModels
from tiltmeter.jobs.classifiers.intervals import check_method
from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.privacy.bins import check_bins
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig
from tiltmeter.operators.classifiers.privacy.noise import check_noise
from tiltmeter.operators.classifiers.privacy.swaps import swaps
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.operators.text.word_checks import check_words

ModelName = Literal["General", "PrivAdv", "PrivAug", "PrivBias", "GenderCtrl", "ArtNoise", "PrivEP", "PrivAdvEP"]
Copies = Literal["each", "changed"]
PENALISED = ("PrivEP", "PrivAdvEP")
"""Models that are trained for EP."""

_CONFIG = ConfigDict(extra="forbid")
_Path = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(gt=0.0, lt=1.0)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


_VALENCE = {"negative": "low", "neutral": "mid", "positive": "high"}


def _by_name(swaps: object) -> object:
    if isinstance(swaps, list | tuple):
        raise ValueError("pairs stand in lists with a name: set it as in 'explanation_words.swaps={mine: [[he, she]]}'")
    return swaps


_Names = Annotated[dict[str, str], BeforeValidator(as_labels)]
_Bins = Annotated[dict[str, tuple[_Finite, _Finite]], BeforeValidator(as_labels)]


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
        bins: of each class, where labels are ratings: the lowest and the highest, which is still of the class.
        gender_codes: the gender of each code in the column of genders; None: genders are as they are written.
        genders: of groups, where rows do not say.
    """

    valence: _Names | None = None
    bins: _Bins | None = None
    gender_codes: _Names | None = None
    genders: _Names | None = None

    def valence_of(self, classes: Sequence[str]) -> dict[str, str]:
        """The class of each label that is not itself the name of a class."""
        if self.valence is not None:
            return self.valence
        return {label: name for label, name in _VALENCE.items() if name in classes}

    @pydantic.model_validator(mode="after")
    def _some_gender(self) -> Self:
        if self.gender is None and not (self.genders and self.group is not None):
            raise ValueError("data.gender: nothing says who is of which gender; set it, or data.group and data.genders")
        return self

    def check(self, name: str, classes: Sequence[str]) -> None:
        """Refuse what does not fit the classes.

        Args:
            name: of the corpus.
            classes: from the lowest to the highest.
        """
        if unknown := sorted(set(self.valence_of(classes).values()) - set(classes)):
            raise ValueError(f"{name}.valence: {unknown[0]!r} is no class; classes are {', '.join(classes)}")
        if self.bins is None:
            return
        if self.valence is not None:
            raise ValueError(f"{name}.valence: is for labels that are names, {name}.bins for ratings; leave one out")
        if tuple(self.bins) != tuple(classes):
            raise ValueError(
                f"{name}.bins: has {', '.join(self.bins)}; must have the classes in their order, {', '.join(classes)}"
            )
        check_bins(f"{name}.bins", self.bins)


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class OtherCorpus:
    """A further corpus; what is None is as in ``data``.

    Attributes:
        path: None: there is none.
        limit: rows that are taken at most; None: all.
        shares_groups: whether a group of the same name in ``data`` is the same speaker.
        header, text, label, gender, group: as for :class:`.LabelledData`.
        valence, bins, gender_codes, genders: as for :class:`SpokenData`.
    """

    path: _Path | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    shares_groups: bool = True
    header: bool | None = None
    text: _Path | None = None
    label: _Path | None = None
    gender: _Path | None = None
    group: _Path | None = None
    valence: _Names | None = None
    bins: _Bins | None = None
    gender_codes: _Names | None = None
    genders: _Names | None = None

    def read_as(self, data: SpokenData) -> SpokenData:
        """With what ``data`` says and this does not."""
        fields = ("header", "text", "label", "gender", "group", "valence", "bins", "gender_codes", "genders")
        differing = {name: value for name in fields if (value := getattr(self, name)) is not None}
        if differing.keys() & {"valence", "bins"}:
            differing = {"valence": None, "bins": None} | differing
        single: dict[str, Any] = {"path": self.path, "development": None, "test": None, "limit": self.limit}
        return dataclasses.replace(data, **single, **differing)


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Splits:
    """Shares of the texts that no model is trained with, of each gender's."""

    development: _Share = 0.2
    test: _Share = 0.2


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Noise:
    """Artificial words of the texts of ArtNoise, by class and gender.

    Attributes:
        words: of each gender, in alphabetical order, one for each class.
        share: of the texts that get theirs.
        times: how often.
    """

    words: Annotated[tuple[tuple[str, ...], ...], Field(min_length=2)]
    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    times: Annotated[int, Field(ge=1)] = 1

    @pydantic.field_validator("words")
    @classmethod
    def _different(cls, words: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        check_noise("models.noise.words", words)
        return words


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Augmentation:
    """Copies with the words of one gender in place of the other's, that PrivAug is trained with besides.

    Attributes:
        copies: ``each``: of every text, which doubles them, as published; ``changed``: of those that have such a word.
        swaps: names of the lists of pairs that are swapped; None: all.
        in_context: whether "her" and "his" become what fits their sentences ("his book" becomes "her book"); False:
            what the lists have, as published ("hers book").
    """

    copies: Copies = "each"
    swaps: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    in_context: bool = True


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class PrivacyModels(TrainedModels):
    """The models.

    Attributes:
        names: which.
        num_seeds: of each, that differ in their random numbers.
        gender_weight: of the loss of gender in what the encoder learns, or unlearns.
        gender_hidden: units between the representation and gender, in training.
        ep_weight: of EP, where it is maximised.
        augmentation: of PrivAug.
        noise: of ArtNoise.
    """

    names: Annotated[tuple[ModelName, ...], Field(min_length=1)]
    augmentation: Augmentation
    noise: Noise
    num_seeds: Annotated[int, Field(ge=1)] = 3
    gender_weight: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    gender_hidden: Annotated[int, Field(ge=0)] = 16
    ep_weight: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0

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
        metrics: what the equations of EP and EG leave open.
        num_random_lists: of as many words that are not in L, whose EP is that of words that nobody listed.
    """

    attribution: AttributionConfig
    metrics: MetricConfig = MetricConfig()
    max_sentences: Annotated[int, Field(ge=2)] = 300
    explained: Explain = "predicted"
    listed: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    num_random_lists: Annotated[int, Field(ge=0)] = 20


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class ValenceLexicon:
    """A file of words and their valence.

    Attributes:
        path: CSV, TSV or Parquet; None: there is none.
        header: whether the first line of CSV and TSV has names.
        word, valence: what the file calls its columns.
        low, high: ends of the scale.
        bins: the highest valence of each class but the last; None: the scale is divided into equal parts.
        least: how far from the middle a word must be to count in the share with the right sign; 1 is an end.
    """

    path: _Path | None = None
    header: bool = True
    word: _Path = "Word"
    valence: _Path = "Valence"
    low: _Finite = 0.0
    high: _Finite = 1.0
    bins: tuple[_Finite, ...] | None = None
    least: Annotated[float, Field(ge=0.0, le=1.0)] = 0.25

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"lexicon.low={self.low:g}: must be less than lexicon.high={self.high:g}; set both")
        ends = [self.low, *(self.bins or ()), self.high]
        if any(first >= second for first, second in pairwise(ends)):
            raise ValueError(
                f"lexicon.bins={list(self.bins or ())}: must rise between lexicon.low={self.low:g} and "
                f"lexicon.high={self.high:g}"
            )
        return self

    def upper_ends(self, num_classes: int) -> tuple[float, ...]:
        """The highest valence of each class but the last."""
        step = (self.high - self.low) / num_classes
        return self.bins or tuple(self.low + step * number for number in range(1, num_classes))


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class ExplanationWords:
    """Word lists of a language.

    Attributes:
        lists: words by which people tell a speaker's gender, by the name of the list.
        swaps: pairs of words that are each other's counterpart, by the name of the list.
    """

    lists: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]
    swaps: Annotated[dict[str, tuple[tuple[str, str], ...]], BeforeValidator(_by_name), Field(min_length=1)]

    def __post_init__(self) -> None:
        for name, words in self.lists.items():
            check_words(f"explanation_words.lists.{name}", words)
        swaps([pair for pairs in self.swaps.values() for pair in pairs])


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
    intervals: KeyedResampleSettings

    @property
    def listed(self) -> tuple[str, ...]:
        """The lists that make up L."""
        return self.explanations.listed or tuple(self.explanation_words.lists)

    @property
    def swaps(self) -> tuple[tuple[str, str], ...]:
        """The pairs that are swapped for PrivAug."""
        lists = self.explanation_words.swaps
        return tuple(pair for name in self.models.augmentation.swaps or lists for pair in lists[name])

    @property
    def corpora(self) -> dict[str, SpokenData]:
        """How each corpus that there is is read."""
        others = {"across": self.across, "unbiased": self.unbiased}
        return {"data": self.data} | {name: o.read_as(self.data) for name, o in others.items() if o.path is not None}

    @pydantic.model_validator(mode="after")
    def _checked(self) -> Self:
        has_groups = any(data.group is not None for data in self.corpora.values())
        check_method(self.intervals.interval, has_groups=has_groups)
        if self.splits.development + self.splits.test >= 1:
            raise ValueError("splits.development and splits.test add up to 1 or more: lower one, for training texts")
        for name, data in self.corpora.items():
            data.check(name, self.classes)
        if unknown := sorted(set(self.listed) - self.explanation_words.lists.keys()):
            names = ", ".join(self.explanation_words.lists)
            raise ValueError(f"explanations.listed: there is no list {unknown[0]!r}; lists are {names}")
        if unknown := sorted(set(self.models.augmentation.swaps or ()) - self.explanation_words.swaps.keys()):
            names = ", ".join(self.explanation_words.swaps)
            raise ValueError(f"models.augmentation.swaps: there is no list {unknown[0]!r}; lists are {names}")
        if "ArtNoise" in self.models.names and {len(self.classes)} != set(map(len, self.models.noise.words)):
            raise ValueError(
                f"models.noise.words: must have a list for each gender, of {len(self.classes)} words, one for each of "
                "classes; set it as in 'models.noise.words=[[zx0, zx1, zx2], [zq0, zq1, zq2]]'"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _has_metrics(self) -> Self:
        bins, names = self.lexicon.bins, self.models.names
        if bins is not None and len(bins) != len(self.classes) - 1:
            raise ValueError(
                f"lexicon.bins={list(bins)}: must have {len(self.classes) - 1} items, one fewer than classes"
            )
        for name in (name for name in PENALISED if name in names):
            if "General" not in names:
                raise ValueError(f"models.names: {name} is trained for EP, which compares with General; add General")
            if self.explanations.metrics.scale == "count":
                raise ValueError(
                    f"explanations.metrics.scale=count: has no gradient, by which {name} is trained; leave it out of "
                    "models.names, or take raw, maximum or share"
                )
        return self
