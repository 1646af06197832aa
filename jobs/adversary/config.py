"""Settings of `gender_adversary`; what each means and usually is stands in ``conf/job/gender_adversary.yaml``."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import polars as pl
import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.adversary.victims import FoundVictim, LinearVictim, Victim, find_victim
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_labelled_data
from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.jobs.embedding.encoders.settings import Encoders
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.sources import find_sources as find_embedding
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Least2, Text, settings
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig
from tiltmeter.operators.classifiers.adversary.words import Gender, GenderedWords, gendered_words
from tiltmeter.operators.classifiers.characters import CharacterConfig
from tiltmeter.operators.embedding.counter_fitting import CounterFittingConfig
from tiltmeter.operators.statistics.designs.controls import controls_needed
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import Checkpoint, find_checkpoint
from tiltmeter.storage.models.load import check_masked_model
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import GIVEN
from tiltmeter.storage.vectors.files import look_through_embedding

Pair = tuple[Text, Text]
"""A man's and a woman's word."""

DirectionKind = Literal["pair", "component", "swap", "names", "neighbours", "masked"]
SHIFTS: tuple[DirectionKind, ...] = ("pair", "component")
"""Along a direction of the embedding, which have controls."""

NEIGHBOURS: DirectionKind = "neighbours"
MASKED: DirectionKind = "masked"
"""What a masked language model has in a word's place, which has controls too: random words."""

MASKED_SETTING = "masked_model.model"
_WORD_LISTS = ("antonyms", "parts_of_speech", "synonyms")


@settings
class GenderAdversaryJob(EmbeddingsJob):
    name: Literal["gender_adversary"]
    needed_lists: ClassVar = ()
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    num_resamples: Least2

    def check_embedding(self, embedding: Any) -> None:
        """Refuse encoders, which have no vocabulary of candidates.

        Raises:
            ValueError: saying what to choose.
        """
        if isinstance(embedding, Encoders):
            raise ValueError(
                "embedding=encoder: has no vocabulary in which words are near each other; choose embedding=glove, "
                "word2vec, fasttext or file"
            )


def direction_name(kind: str, gender: str) -> str:
    """What tables call a direction.

    >>> direction_name("pair", "female")
    'pair_to_female'
    """
    return f"{kind}_to_{gender}"


def has_controls(direction: str) -> bool:
    """Whether it is a direction of the embedding, or that of a masked language model."""
    return direction == MASKED or direction.startswith(tuple(f"{kind}_to_" for kind in SHIFTS))


@settings
class Directions:
    kinds: Annotated[tuple[DirectionKind, ...], Field(min_length=1), AfterValidator(each_once)]
    pair: Pair
    pairs: Annotated[tuple[Pair, ...], Field(min_length=1)]
    both: bool
    unit_vectors: bool

    def pairs_of(self, kind: DirectionKind) -> tuple[Pair, ...]:
        """Of a direction of the embedding."""
        return (self.pair,) if kind == "pair" else self.pairs

    @property
    def shifts(self) -> list[DirectionKind]:
        return [kind for kind in self.kinds if kind in SHIFTS]

    @property
    def genders(self) -> list[Gender]:
        """Towards which words are replaced, in order."""
        return ["female", "male"] if self.both else ["female"]

    @property
    def names(self) -> list[str]:
        """Of all directions, by the names of the tables, in order."""
        both = {kind: [direction_name(kind, gender) for gender in self.genders] for kind in self.kinds}
        return [name for kind in self.kinds for name in ([kind] if kind in (NEIGHBOURS, MASKED) else both[kind])]


@settings
class Words:
    pairs: tuple[Pair, ...]
    names: tuple[Pair, ...]

    def gendered(self) -> GenderedWords:
        """All of them, and the pronouns."""
        return gendered_words([*self.pairs, *self.names])

    @pydantic.model_validator(mode="after")
    def _are_in_one_pair(self) -> Self:
        self.gendered()
        return self


@settings
class CandidateConfig:
    top: Count
    exclude: Count
    min_count: Least0
    neighbours: Count
    neighbour_vectors: Text | None
    max_vocabulary: Annotated[int, Field(ge=10)]
    min_cosine: Annotated[float, Field(ge=-1.0, le=1.0)] | None
    inflections: bool
    antonyms: Text | None
    parts_of_speech: Text | None
    synonyms: Text | None
    counter_fitting: CounterFittingConfig
    keep_counterparts: bool


@settings
class MaskedConfig:
    model: Text | None
    revision: str | None
    device: Device
    top: Count


@settings
class LanguageModel:
    order: Annotated[int, Field(ge=1, le=6)]
    discount: Annotated[float, Field(gt=0.0, lt=1.0)]
    ratio: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None
    context: Literal["both", "prefix"]


@settings
class Controls:
    number: Annotated[int, Field(ge=1, le=10_000)]
    kind: Literal["neutral_pairs", "word_pairs", "sphere"]
    window: Least2
    few: bool


@settings
class ReportConfig:
    mask: bool
    slurs: tuple[Text, ...]
    num_texts: Least0


@settings
class AugmentationConfig:
    sample: bool
    per_source: Count
    retrain: bool
    seeds: Annotated[int, Field(ge=2, le=1000)]


@settings
class GenderAdversaryRun(EmbeddingsRun):
    job: GenderAdversaryJob
    data: LabelledData
    victim: Annotated[dict[str, Annotated[Victim, Field(discriminator="kind")]], Field(min_length=1)]
    direction: Directions
    words: Words
    candidates: CandidateConfig
    masked_model: MaskedConfig
    language_model: LanguageModel
    search: SearchConfig
    controls: Controls
    augmentation: AugmentationConfig
    characters: CharacterConfig
    report: ReportConfig
    max_texts: Count | None
    unit_texts: Count | None

    @pydantic.model_validator(mode="after")
    def _has_one_embedding_in_english(self) -> Self:
        if self.languages != ["en"]:
            raise ValueError(
                f"corpus: embeddings in {', '.join(self.languages)}; gendered words are swapped in English, so choose "
                "one corpus, or file of vectors, in English"
            )
        if len(self.corpora) > 1:
            names = ", ".join(corpus.name for corpus in self.corpora)
            raise ValueError(f"corpus: embeddings of {names}; candidates are words of one embedding: choose one corpus")
        for corpus in self.corpora:
            if corpus.slices is not None:
                raise ValueError(
                    f"corpus.slices={corpus.slices}: makes several embeddings, and candidates are words of one; leave "
                    "it out"
                )
        return self

    @pydantic.model_validator(mode="after")
    def _can_retrain(self) -> Self:
        if self.augmentation.retrain and not self.linear_victims:
            raise ValueError(
                f"augmentation.retrain=true: retrains victims of the kind linear, and victim=[{','.join(self.victim)}] "
                "has none; add linear, or set augmentation.retrain=false"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _has_masked_model_for_its_direction(self) -> Self:
        model, is_asked = self.masked_model.model, MASKED in self.direction.kinds
        if is_asked and model is None:
            raise ValueError(
                "direction.kinds: masked words are those of masked_model.model, and there is none; set it to a name on "
                "the hub or a folder, or leave masked out"
            )
        if model is not None and not is_asked:
            raise ValueError(
                f"masked_model.model={model}: nothing asks it; add masked to direction.kinds, or leave the model out"
            )
        return self

    @property
    def linear_victims(self) -> dict[str, LinearVictim]:
        """Those that can be trained again at once."""
        return {name: victim for name, victim in self.victim.items() if isinstance(victim, LinearVictim)}

    @property
    def num_tests(self) -> int:
        """Of victims along directions that have controls."""
        return len(self.victim) * len([name for name in self.direction.names if has_controls(name)])

    @pydantic.model_validator(mode="after")
    def _can_be_significant(self) -> Self:
        number, needed = self.controls.number, controls_needed(self.num_tests)
        if self.num_tests and number < needed and not self.controls.few:
            raise ValueError(
                f"controls.number={number}: {self.num_tests} tests, of {len(self.victim)} victims along "
                f"{self.num_tests // len(self.victim)} directions, are corrected by Holm, so that no p-value could be "
                f"below {self.num_tests / (number + 1):.2g}; set it to {needed} or more, or controls.few=true, or take "
                "fewer victims, direction.kinds, or direction.both=false"
            )
        return self


# --- what a run starts from -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AdversarySources(Sources):
    """Also files of labelled texts, classifiers by name, the files of ``candidates``, and the masked model."""

    labelled: Files
    victims: dict[str, FoundVictim]
    lists: Files
    masked: Checkpoint | None = None

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``."""
        victims = {f"victim.{name}": victim.record for name, victim in self.victims.items()}
        masked = {} if self.masked is None else {"masked_model": {"version": self.masked.version}}
        return super().record() | self.labelled.record() | self.lists.record() | victims | masked


AdversaryRun = Run[GenderAdversaryRun, AdversarySources]


def find_sources(config: GenderAdversaryRun) -> AdversarySources:
    """Look for whatever the run starts from.

    Raises:
        InputError, CheckpointError: if something is missing, can't be read, or can't be asked.
        WordSetError: for word lists that normalisation makes meaningless.
    """
    embedding = find_embedding(config)
    if len(embedding.files) > 1:
        raise InputError(
            f"embedding.path: names {len(embedding.files)} embeddings; give one, or set embedding.replicas=true if the "
            "files are replicas of one"
        )
    labelled = find_labelled_data(config.data)
    _check_classes(config.data, labelled)
    return AdversarySources(
        embedding.texts,
        embedding.files,
        embedding.checkpoints,
        labelled=labelled,
        victims={name: find_victim(name, victim, config.seed) for name, victim in config.victim.items()},
        lists=Files(_lists(config.candidates)),
        masked=_masked(config.masked_model),
    )


def _masked(config: MaskedConfig) -> Checkpoint | None:
    if config.model is None:
        return None
    checkpoint = find_checkpoint(config.model, config.revision, MASKED_SETTING)
    check_masked_model(checkpoint.folder, MASKED_SETTING)
    return checkpoint


def _check_classes(data: LabelledData, files: Files) -> None:
    """Refuse a file of training texts with one class, for which no more than its column is read."""
    column = read_records(files.files["training"].uri, [data.label], header=data.header)[data.label]
    classes = {label for label in column.cast(pl.String).str.strip_chars().drop_nulls() if label}
    if not classes:
        raise InputError("data.label: no text has a class; choose another column, or a file with rows")
    if len(classes) < 2:
        raise InputError(
            f"data.label: all texts that a victim learns are of the class {', '.join(sorted(classes))!r}, so that "
            "nothing could flip it; choose another column, or a file with several classes"
        )


def _lists(config: CandidateConfig) -> dict[str, FoundFile]:
    columns = ["column_1", "column_2"]
    lists = {
        name: find_table(path, f"candidates.{name}", columns, header=False, rules=dict.fromkeys(columns, (GIVEN,)))
        for name in _WORD_LISTS
        if (path := getattr(config, name)) is not None
    }
    if config.neighbour_vectors is None:
        return lists
    vectors = find_file(config.neighbour_vectors, "candidates.neighbour_vectors")
    look_through_embedding(vectors.uri)
    return {"neighbour_vectors": vectors, **lists}
