"""Settings of `word_influence`; what each means, and what it usually is, stands in ``conf/job/word_influence.yaml``."""

from typing import Annotated, Literal, NamedTuple, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING, TrainedModels
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_classified_data
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.files import Found
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import (
    Count,
    Least0,
    Least2,
    Name,
    Share,
    Text,
    UniqueWords,
    Words,
    one_of,
    settings,
)
from tiltmeter.operators.classifiers.influence.parts_of_speech import TAGS
from tiltmeter.operators.classifiers.influence.probes import MIN_RANDOM
from tiltmeter.operators.classifiers.influence.records import StudentConfig
from tiltmeter.operators.classifiers.small import SmallEncoderConfig
from tiltmeter.operators.classifiers.training import TrainingConfig
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import check_classifier

CHECKPOINT = "checkpoint"
"""The name of the teacher that ``models.checkpoint`` is."""


Tag = Annotated[str, one_of(TAGS, "part of speech")]
Exact = Literal["auto", "never"]


@settings
class WordInfluenceJob:
    name: Literal["word_influence"]


@settings
class TaggedData(LabelledData):
    tags: Text | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What the files call each column of ``TAGGED`` that they have."""
        return super().columns | ({} if self.tags is None else {"tags": self.tags})


class Located(NamedTuple):
    """Where a checkpoint is, its revision, and the setting that names it."""

    checkpoint: str
    revision: str | None
    setting: str


@settings
class Teachers:
    number: Count
    checkpoint: Text | None
    revision: str | None
    checkpoints: dict[Name, Text] | None
    device: Device
    masked: Share
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
        one = {CHECKPOINT: Located(self.checkpoint, self.revision, CHECKPOINT_SETTING)} if self.checkpoint else {}
        more = (self.checkpoints or {}).items()
        return one | {name: Located(folder, None, f"{CHECKPOINT_SETTING}s.{name}") for name, folder in more}

    @property
    def trained(self) -> TrainedModels:
        """What makes small ones."""
        return TrainedModels(encoder=self.encoder, training=self.training)


@settings
class Ratios:
    num_contexts: Count
    parts_of_speech: Annotated[tuple[Tag, ...], Field(min_length=1), AfterValidator(each_once)]
    max_words: Least2
    unit_contexts: Count
    confidence: Annotated[float, Field(ge=0.5, lt=1.0)]
    max_checked: Count
    num_checked: Least2


@settings
class Probes:
    control: UniqueWords
    probe: UniqueWords
    part_of_speech: Tag
    positive: Annotated[str | None, BeforeValidator(as_labels)]
    clearly_positive: Words
    clearly_negative: Words
    max_contexts: Least2 | None
    unit_contexts: Count
    num_random: Annotated[int, Field(ge=MIN_RANDOM)]
    num_random_checked: Least0
    num_checked: Least2
    max_claims: Count
    confidence: Literal["published", "calibrated"]

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

    @property
    def listed(self) -> dict[str, Words]:
        """Words that are no random ones, by kind."""
        return {"probed": self.words, "positive": self.clearly_positive, "negative": self.clearly_negative}


@settings
class Masking:
    max_texts: Least0
    budget: Count
    num_samples: Least2
    max_words: Least2
    by_word: bool


@settings
class WordInfluenceRun(CommonConfig):
    job: WordInfluenceJob
    data: TaggedData
    models: Teachers
    student: StudentConfig
    num_students: Count
    influence_bias: bool
    exact: Exact
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


def find_sources(config: WordInfluenceRun) -> Found:
    """Look for the files and the checkpoints.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    versions = {}
    for name, where in config.models.located.items():
        checkpoint = find_checkpoint(*where)
        check_classifier(checkpoint.folder, where.setting)
        versions[name] = checkpoint.version
    return Found(find_classified_data(config.data), versions)
