"""Settings of `privacy_metrics`; what each means and usually is stands in ``conf/job/privacy_metrics.yaml``."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tiltmeter.jobs.classifiers.attributions import Explain
from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.intervals import check_method
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_labelled_data
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Least2, Text, settings
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.privacy.bins import check_bins
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig
from tiltmeter.operators.classifiers.privacy.noise import check_noise
from tiltmeter.operators.classifiers.privacy.swaps import swaps
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.operators.text.word_checks import check_words
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.records.cells import GIVEN, between

ModelName = Literal["General", "PrivAdv", "PrivAug", "PrivBias", "GenderCtrl", "ArtNoise", "PrivEP", "PrivAdvEP"]
Copies = Literal["each", "changed"]
PENALISED = ("PrivEP", "PrivAdvEP")
"""Models that are trained for EP."""

_VALENCE = {"negative": "low", "neutral": "mid", "positive": "high"}

_Part = Annotated[float, Field(gt=0.0, lt=1.0)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Lists = Annotated[tuple[str, ...], Field(min_length=1)]
_Names = Annotated[dict[str, str], BeforeValidator(as_labels)]
_Bins = Annotated[dict[str, tuple[_Finite, _Finite]], BeforeValidator(as_labels)]


def _by_name(swaps: object) -> object:
    if isinstance(swaps, list | tuple):
        raise ValueError("pairs stand in lists with a name: set it as in 'explanation_words.swaps={mine: [[he, she]]}'")
    return swaps


def _that_fit(setting: str, check: Callable[[str, Any], None]) -> AfterValidator:
    def checked(words: Any) -> Any:
        check(setting, words)
        return words

    return AfterValidator(checked)


@settings
class PrivacyMetricsJob:
    name: Literal["privacy_metrics"]


@settings
class Meaning:
    """What labels and genders of a corpus mean."""

    valence: _Names | None
    bins: _Bins | None
    gender_codes: _Names | None
    genders: _Names | None


@settings
class SpokenData(Meaning, LabelledData):
    """Labelled texts, and who speaks them."""

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
        """Refuse what does not fit the classes, from the lowest to the highest; the name is that of the corpus."""
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


@settings
class OtherCorpus(Meaning):
    """A further corpus; what is None is as in ``data``."""

    path: Text | None
    limit: Count | None
    shares_groups: bool
    header: bool | None
    text: Text | None
    label: Text | None
    gender: Text | None
    group: Text | None

    def read_as(self, data: SpokenData) -> SpokenData:
        """With what ``data`` says and this does not."""
        fields = ("header", "text", "label", "gender", "group", "valence", "bins", "gender_codes", "genders")
        differing = {name: value for name in fields if (value := getattr(self, name)) is not None}
        if differing.keys() & {"valence", "bins"}:
            differing = {"valence": None, "bins": None} | differing
        single: dict[str, Any] = {"path": self.path, "development": None, "test": None, "limit": self.limit}
        return dataclasses.replace(data, **single, **differing)


@settings
class Splits:
    development: _Part
    test: _Part


@settings
class Noise:
    words: Annotated[tuple[tuple[str, ...], ...], Field(min_length=2), _that_fit("models.noise.words", check_noise)]
    share: Annotated[float, Field(gt=0.0, le=1.0)]
    times: Count


@settings
class Augmentation:
    copies: Copies
    swaps: _Lists | None
    in_context: bool


@settings
class PrivacyModels(TrainedModels):
    names: Annotated[tuple[ModelName, ...], Field(min_length=1), _that_fit("models.names", check_words)]
    augmentation: Augmentation
    noise: Noise
    num_seeds: Count
    gender_weight: _Positive
    gender_hidden: Least0
    ep_weight: _Positive


@settings
class PrivacyExplanations:
    attribution: AttributionConfig
    metrics: MetricConfig
    max_sentences: Least2
    explained: Explain
    listed: _Lists | None
    num_random_lists: Least0


@settings
class ValenceLexicon:
    path: Text | None
    header: bool
    word: Text
    valence: Text
    low: _Finite
    high: _Finite
    bins: tuple[_Finite, ...] | None
    least: Annotated[float, Field(ge=0.0, le=1.0)]

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


@settings
class ExplanationWords:
    lists: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]
    swaps: Annotated[dict[str, tuple[tuple[str, str], ...]], BeforeValidator(_by_name), Field(min_length=1)]

    def __post_init__(self) -> None:
        for name, words in self.lists.items():
            check_words(f"explanation_words.lists.{name}", words)
        swaps([pair for pairs in self.swaps.values() for pair in pairs])


@settings
class PrivacyMetricsRun(CommonConfig):
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
    def listed(self) -> dict[str, tuple[str, ...]]:
        """The lists that make up L, with their words."""
        lists = self.explanation_words.lists
        return {name: lists[name] for name in self.explanations.listed or lists}

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
        words = self.explanation_words
        _check_lists("explanations.listed", self.explanations.listed, words.lists)
        _check_lists("models.augmentation.swaps", self.models.augmentation.swaps, words.swaps)
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


def _check_lists(setting: str, names: Sequence[str] | None, lists: Mapping[str, object]) -> None:
    if unknown := sorted(set(names or ()) - lists.keys()):
        raise ValueError(f"{setting}: there is no list {unknown[0]!r}; lists are {', '.join(lists)}")


@dataclass(frozen=True)
class PrivacySources:
    """Files of texts by the corpus that they are of, a lexicon of valence, and what models start from."""

    texts: Mapping[str, Files]
    lexicon: FoundFile | None
    encoder: EncoderSources

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        others = {name: corpus.files["training"] for name, corpus in self.texts.items() if name != "data"}
        single = others if self.lexicon is None else {"lexicon": self.lexicon, **others}
        return self.texts["data"].record() | Files(single).record() | self.encoder.record()


PrivacyRun = Run[PrivacyMetricsRun, PrivacySources]


def find_sources(config: PrivacyMetricsRun) -> PrivacySources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    texts = {name: find_labelled_data(corpus, name) for name, corpus in config.corpora.items()}
    return PrivacySources(texts, _find_lexicon(config.lexicon), find_encoder(config.models))


def _find_lexicon(lexicon: ValenceLexicon) -> FoundFile | None:
    if lexicon.path is None:
        return None
    scale = between(lexicon.low, lexicon.high)._replace(
        reason=f"no valence from {lexicon.low:g} to {lexicon.high:g}, as lexicon.low and lexicon.high say"
    )
    columns, rules = [lexicon.word, lexicon.valence], {lexicon.valence: [GIVEN, scale]}
    return find_table(lexicon.path, "lexicon.path", columns, header=lexicon.header, rules=rules)
