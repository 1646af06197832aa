"""The config of `gender_adversary`: texts, classifiers, directions, and how changes are searched for."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.adversary.classes import check_file
from tiltmeter.jobs.adversary.victims import FoundVictim, Victim, find_victim
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_labelled_data
from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun, EncoderEmbedding
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.sources import find_sources as find_embedding
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig
from tiltmeter.operators.classifiers.adversary.words import GenderedWords, gendered_words
from tiltmeter.operators.embedding.counter_fitting import CounterFittingConfig
from tiltmeter.operators.statistics.designs.controls import controls_needed
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records.cells import GIVEN
from tiltmeter.storage.vectors.files import look_through_embedding

_CONFIG = ConfigDict(extra="forbid")
_Path = Annotated[str, Field(min_length=1)]
_Word = Annotated[str, Field(min_length=1)]
_Pair = tuple[_Word, _Word]

DirectionKind = Literal["pair", "component", "swap", "names", "neighbours"]
_WORD_LISTS = ("antonyms", "parts_of_speech", "synonyms")
SHIFTS: tuple[DirectionKind, ...] = ("pair", "component")
"""Along a direction of the embedding, which alone have controls."""


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class GenderAdversaryJob(EmbeddingsJob):
    """``job=gender_adversary``.

    Attributes:
        level: coverage of intervals.
        num_resamples: of the texts, which are kept so that later runs are compared text by text.
    """

    name: Literal["gender_adversary"] = "gender_adversary"
    needed_lists: ClassVar = ()
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.95
    num_resamples: Annotated[int, Field(ge=2)] = 200

    def check_embedding(self, embedding: Any) -> None:
        """Refuse encoders, which have no vocabulary of candidates.

        Raises:
            ValueError: saying what to choose.
        """
        if isinstance(embedding, EncoderEmbedding):
            raise ValueError(
                "embedding=encoder: has no vocabulary in which words are near each other; choose embedding=glove, "
                "word2vec, fasttext or file"
            )


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Directions:
    """What words are replaced along.

    Attributes:
        kinds: ``pair``: the difference of one pair; ``component``: the first principal component of several;
            ``swap``: gendered words by their counterparts; ``names``: names by those of the other gender;
            ``neighbours``: the nearest words, whatever their gender.
        pair: of a man's and a woman's word.
        pairs: of ``component``.
        both: whether the way to men is searched as well as that to women.
        unit_vectors: whether vectors are of length 1 before they are shifted; False: as they are stored.
    """

    kinds: Annotated[tuple[DirectionKind, ...], Field(min_length=1), AfterValidator(each_once)] = ("pair", "swap")
    pair: _Pair = ("man", "woman")
    pairs: Annotated[tuple[_Pair, ...], Field(min_length=1)]
    both: bool = True
    unit_vectors: bool = False

    def pairs_of(self, kind: DirectionKind) -> tuple[_Pair, ...]:
        """Of a direction of the embedding."""
        return (self.pair,) if kind == "pair" else self.pairs

    @property
    def shifts(self) -> list[DirectionKind]:
        return [kind for kind in self.kinds if kind in SHIFTS]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Words:
    """Words that tell gender, in pairs of a man's and a woman's.

    Attributes:
        pairs: nouns and titles; pronouns are known.
        names: by which names are swapped, and texts told apart.
    """

    pairs: tuple[_Pair, ...]
    names: tuple[_Pair, ...]

    def gendered(self) -> GenderedWords:
        """All of them, and the pronouns."""
        return gendered_words([*self.pairs, *self.names])

    @pydantic.model_validator(mode="after")
    def _are_in_one_pair(self) -> Self:
        self.gendered()
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class CandidateConfig:
    """Which words may stand in the place of others.

    Attributes:
        top: k, of the nearest to the shifted word.
        exclude: m, nearest to the word itself, that are left out.
        min_count: times that a candidate along a direction of the embedding occurs in the texts, as published.
        neighbours: of each word, for ``neighbours``.
        neighbour_vectors: file of vectors that these are near in, such as counter-fitted ones; None: the embedding.
        max_vocabulary: words of the embedding that may be candidates, the first, which are the most frequent.
        min_cosine: with the word; None: any.
        inflections: whether a word's own forms may replace it, such as its plural.
        antonyms: file with a pair of opposites on each line, which may not replace each other.
        parts_of_speech: file with a word and a part of speech on each line, as often as it can be several; words that
            share none may not replace each other.
        synonyms: file with a pair of synonyms on each line; with it, the vectors that neighbours are near in are
            counter-fitted to these and to the antonyms.
        counter_fitting: how.
        keep_counterparts: whether a word of the other gender may be taken along gender though it is one of the m
            nearest to the word itself, as *woman* is to *man*; False: it is left out, as published.
    """

    top: Annotated[int, Field(ge=1)] = 2
    exclude: Annotated[int, Field(ge=1)] = 4
    min_count: Annotated[int, Field(ge=0)] = 5
    neighbours: Annotated[int, Field(ge=1)] = 8
    neighbour_vectors: _Path | None = None
    max_vocabulary: Annotated[int, Field(ge=10)] = 100_000
    min_cosine: Annotated[float, Field(ge=-1.0, le=1.0)] | None = None
    inflections: bool = True
    antonyms: _Path | None = None
    parts_of_speech: _Path | None = None
    synonyms: _Path | None = None
    counter_fitting: CounterFittingConfig = Field(default_factory=CounterFittingConfig)
    keep_counterparts: bool = True


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class LanguageModel:
    """The language model of n-grams, of the training texts, that leaves unlikely replacements out.

    Attributes:
        order: words of the longest n-gram.
        discount: of Kneser and Ney.
        ratio: of the probabilities of the text with the replacement and without; less is unlikely. None: no filter.
        context: ``both`` sides of the word, or the ``prefix`` alone, as published.
    """

    order: Annotated[int, Field(ge=1, le=6)] = 3
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.75
    ratio: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = 0.25
    context: Literal["both", "prefix"] = "both"


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Controls:
    """Directions that have nothing to do with gender.

    Attributes:
        number: of them; no p-value is below 1 / (number + 1), or as many times that as there are tests.
        few: whether there may be so few that nothing could be significant after Holm.
        kind: ``word_pairs``, differences of words as frequent as the pair; ``neutral_pairs``, the same made orthogonal
            to gender, along which no word becomes one of the other gender; or drawn from a ``sphere``.
        window: words of like frequency that each of a pair is drawn from.
    """

    number: Annotated[int, Field(ge=1, le=10_000)] = 99
    kind: Literal["neutral_pairs", "word_pairs", "sphere"] = "neutral_pairs"
    window: Annotated[int, Field(ge=2)] = 200
    few: bool = False


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class ReportConfig:
    """What the page shows of texts.

    Attributes:
        mask: whether slurs are masked.
        slurs: beginnings of words that are.
        num_texts: before and after.
    """

    mask: bool = True
    slurs: tuple[_Word, ...]
    num_texts: Annotated[int, Field(ge=0)] = 10


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class GenderAdversaryRun(EmbeddingsRun):
    """A run of ``gender_adversary``.

    Attributes:
        victim: classifiers by name.
        max_texts: test texts that are attacked at most, drawn by their content; None: all.
        unit_texts: texts of a unit of work; None: as few as give every worker of a large cluster some.
    """

    job: GenderAdversaryJob
    data: LabelledData
    victim: Annotated[dict[str, Annotated[Victim, Field(discriminator="kind")]], Field(min_length=1)]
    direction: Directions
    words: Words
    candidates: CandidateConfig
    language_model: LanguageModel
    search: SearchConfig
    controls: Controls
    report: ReportConfig
    max_texts: Annotated[int, Field(ge=1)] | None = None
    unit_texts: Annotated[int, Field(ge=1)] | None = None

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

    @property
    def num_tests(self) -> int:
        """Of victims along directions that have controls."""
        return len(self.victim) * len(self.direction.shifts) * (2 if self.direction.both else 1)

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


@dataclass(frozen=True)
class AdversarySources(Sources):
    """Attributes:
    labelled: files of labelled texts.
    victims: classifiers by name.
    lists: the files of ``candidates``.
    """

    labelled: Files = field(default_factory=lambda: Files({}))
    victims: dict[str, FoundVictim] = field(default_factory=dict)
    lists: Files = field(default_factory=lambda: Files({}))

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``."""
        victims = {f"victim.{name}": victim.record for name, victim in self.victims.items()}
        return super().record() | self.labelled.record() | self.lists.record() | victims


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
    check_file(config.data, labelled)
    return AdversarySources(
        embedding.texts,
        embedding.files,
        embedding.checkpoints,
        labelled,
        {name: find_victim(name, victim, config.seed) for name, victim in config.victim.items()},
        Files(_lists(config.candidates)),
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
