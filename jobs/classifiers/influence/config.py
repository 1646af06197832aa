"""The config of `word_influence`: texts, teachers, their students, and what these are asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING, EncoderSources, TrainedModels
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_classified_data
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.operators.classifiers.influence.parts_of_speech import TAGS
from tiltmeter.operators.classifiers.influence.probes import MIN_RANDOM
from tiltmeter.operators.classifiers.influence.records import StudentConfig
from tiltmeter.operators.classifiers.small import SmallEncoderConfig
from tiltmeter.operators.classifiers.training import TrainingConfig
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import check_classifier

_CONFIG = ConfigDict(extra="forbid")
_Words = tuple[Annotated[str, Field(min_length=1)], ...]
_Share = Annotated[float, Field(ge=0.0, lt=1.0)]
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]

CHECKPOINT = "checkpoint"
"""The name of the teacher that ``models.checkpoint`` is."""


def _known_tag(tag: str) -> str:
    if tag not in TAGS:
        raise ValueError(f"{tag!r} is no part of speech: choose of {', '.join(TAGS)}")
    return tag


Tag = Annotated[str, AfterValidator(_known_tag)]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class WordInfluenceJob:
    """``job=word_influence``"""

    name: Literal["word_influence"] = "word_influence"


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class TaggedData(LabelledData):
    """Labelled texts that may bring parts of speech along.

    Attributes:
        tags: column with the part of speech of all that stands between the spaces of a text; None: they are told here.
    """

    tags: Annotated[str, Field(min_length=1)] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What the files call each column of ``TAGGED`` that they have."""
        return super().columns | ({} if self.tags is None else {"tags": self.tags})


class Located(NamedTuple):
    """Where a checkpoint is, its revision, and the setting that names it."""

    checkpoint: str
    revision: str | None
    setting: str


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Teachers:
    """Classifiers that are asked about.

    Attributes:
        number: of small ones that are trained and differ in their random numbers.
        checkpoint: a classifier of transformers that is taken as it is, in place of small ones.
        revision: of it, on the hub.
        checkpoints: more of them by names of their own, such as versions of one model.
        device: where these judge texts; small ones are trained and judge on the CPU.
        masked: share of the words that small ones do not see in training, so that a text without a word is nothing new.
        encoder, training: of small ones.
    """

    number: Annotated[int, Field(ge=1)] = 1
    checkpoint: Annotated[str, Field(min_length=1)] | None = None
    revision: str | None = None
    checkpoints: dict[_Name, Annotated[str, Field(min_length=1)]] | None = None
    device: Device = "cpu"
    masked: _Share = 0.05
    encoder: SmallEncoderConfig
    training: TrainingConfig

    @pydantic.field_validator("checkpoints")
    @classmethod
    def _of_other_names(cls, checkpoints: dict[str, str] | None) -> dict[str, str] | None:
        if checkpoints and CHECKPOINT in checkpoints:
            raise ValueError(f"models.checkpoint is called {CHECKPOINT!r}: choose another name")
        return checkpoints

    @property
    def located(self) -> dict[str, Located]:
        """Checkpoints by the names of teachers."""
        one = (
            {} if self.checkpoint is None else {CHECKPOINT: Located(self.checkpoint, self.revision, CHECKPOINT_SETTING)}
        )
        more = {
            name: Located(checkpoint, None, f"{CHECKPOINT_SETTING}s.{name}")
            for name, checkpoint in (self.checkpoints or {}).items()
        }
        return one | more

    @property
    def trained(self) -> TrainedModels:
        """What makes small ones."""
        return TrainedModels(encoder=self.encoder, training=self.training)


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Ratios:
    """Contexts of test texts whose words are replaced.

    Attributes:
        num_contexts: drawn from all of these parts of speech.
        parts_of_speech: of the words that are replaced, each by words of its own.
        max_words: of a part of speech, the most frequent ones.
        unit_contexts: in a unit of work.
        sureness: that the student must have of a counterfactual, by what it is wrong about on development texts; 0.5:
            any word that it calls unlike is one, as published.
        most: counterfactuals of a context that the teacher checks.
        num_checked: words of a context that a teacher checks where it can't judge all, half of them such as the student
            calls unlike.
    """

    num_contexts: Annotated[int, Field(ge=1)] = 1000
    parts_of_speech: Annotated[tuple[Tag, ...], Field(min_length=1), AfterValidator(each_once)] = (
        "NOUN",
        "VERB",
        "ADJ",
        "ADV",
    )
    max_words: Annotated[int, Field(ge=2)] = 3000
    unit_contexts: Annotated[int, Field(ge=1)] = 250
    sureness: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.95
    most: Annotated[int, Field(ge=1)] = 10
    num_checked: Annotated[int, Field(ge=2)] = 40


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Probes:
    """Pairs of a control and a probe in contexts of training texts.

    Attributes:
        control, probe: every control is compared with every probe.
        part_of_speech: of the words that they replace.
        positive: the class that contexts have; None: the last one.
        clearly_positive, clearly_negative: words by which contexts are filtered; empty: they are not.
        max_contexts: drawn by what they say; None: all.
        unit_contexts: in a unit of work.
        num_random: words of the part of speech that a pair is ranked among.
        num_random_checked: of these, that a teacher judges in its sample where it can't judge all; 0: none, and no
            pair is called a finding.
        num_checked: contexts that a teacher checks where it can't judge all.
        most_claims: of the student, the surest ones, that the teacher checks.
        confidence: that claims are sure by: ``published``, p'', or ``calibrated`` by the student's error on
            development texts.
    """

    control: Annotated[_Words, AfterValidator(each_once)] = ()
    probe: Annotated[_Words, AfterValidator(each_once)] = ()
    part_of_speech: Tag = "ADJ"
    positive: Annotated[str | None, BeforeValidator(as_labels)] = None
    clearly_positive: _Words = ()
    clearly_negative: _Words = ()
    max_contexts: Annotated[int, Field(ge=2)] | None = None
    unit_contexts: Annotated[int, Field(ge=1)] = 5000
    num_random: Annotated[int, Field(ge=MIN_RANDOM)] = 200
    num_random_checked: Annotated[int, Field(ge=0)] = MIN_RANDOM
    num_checked: Annotated[int, Field(ge=2)] = 1000
    most_claims: Annotated[int, Field(ge=1)] = 100
    confidence: Literal["published", "calibrated"] = "published"

    @pydantic.field_validator("num_random_checked")
    @classmethod
    def _none_or_enough(cls, num: int) -> int:
        if 0 < num < MIN_RANDOM:
            raise ValueError(f"so few words say nothing of others: set it to 0, or to {MIN_RANDOM} at least")
        return num

    @property
    def words(self) -> tuple[str, ...]:
        """All that are asked about, each once."""
        return tuple(dict.fromkeys((*self.control, *self.probe)))


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Masking:
    """Words that are left out of test texts until the teacher's class changes.

    Attributes:
        max_texts: that the teacher gets wrong, at most.
        budget: words that may be left out.
        num_samples: of LIME.
        max_words: that ratios are over.
        by_word: whether all places of a word in a text have the largest of the student's scores there, as published.
    """

    max_texts: Annotated[int, Field(ge=0)] = 400
    budget: Annotated[int, Field(ge=1)] = 10
    num_samples: Annotated[int, Field(ge=2)] = 200
    max_words: Annotated[int, Field(ge=2)] = 500
    by_word: bool = True


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class WordInfluenceRun(CommonConfig):
    """A run of ``word_influence``.

    Attributes:
        num_students: of each teacher, that differ in their random numbers; the first is asked about ratios and probes.
        influence_bias: whether scores take the bias of the teacher's last layer, as published.
        exact: whether teachers with a small encoder judge every word themselves: ``auto``, or ``never``.
        intervals: of rates, over resamples of sentences; their level is that of all intervals.
    """

    job: WordInfluenceJob
    data: TaggedData
    models: Teachers
    student: StudentConfig
    num_students: Annotated[int, Field(ge=1)] = 3
    influence_bias: bool = False
    exact: Literal["auto", "never"] = "auto"
    ratios: Ratios
    probes: Probes
    masking: Masking
    intervals: KeyedResampleSettings

    @pydantic.model_validator(mode="after")
    def _has_both_sides(self) -> Self:
        if bool(self.probes.control) != bool(self.probes.probe):
            raise ValueError("probes.control and probes.probe: set both, or none of them")
        if both := set(self.probes.control) & set(self.probes.probe):
            raise ValueError(f"probes.probe={min(both)!r}: is among probes.control too; leave it out of one of them")
        return self


@dataclass(frozen=True)
class InfluenceSources:
    """Attributes:
    texts: files of labelled texts.
    checkpoints: versions of teachers that were there before, by their names.
    """

    texts: Files
    checkpoints: Mapping[str, str]

    @property
    def encoder(self) -> EncoderSources:
        """Of teachers that are trained."""
        return EncoderSources(None, None)

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return self.texts.record() | dict(self.checkpoints)


def find_sources(config: WordInfluenceRun) -> InfluenceSources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    versions = {}
    for name, (checkpoint, revision, setting) in config.models.located.items():
        located = find_checkpoint(checkpoint, revision, setting)
        check_classifier(located.folder, setting)
        versions[name] = located.version
    return InfluenceSources(find_classified_data(config.data), versions)
