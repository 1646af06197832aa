"""The config of the jobs on embeddings: which embeddings, which word lists, and what each job makes of them.

What a setting means stands in its YAML file: ``conf/embeddings.yaml``, ``conf/embedding/`` and ``conf/job/``.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.embedding.encoders.settings import (
    ContextEmbedding,
    EncoderEmbedding,
    Language,
    TemplateEmbedding,
)
from tiltmeter.jobs.runtime.config import CommonConfig, CommonReading, ConfigError, Place, each_once
from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Count, settings
from tiltmeter.operators.embedding.bootstrap import ResamplingSettings, replica_numbers
from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig
from tiltmeter.operators.embedding.fasttext import FastTextConfig
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.embedding.keyed_words import KeyedBy
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.text.segmentation import segmenter
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.corpora.sources import FoundFile, Paths, find_files, language_extras
from tiltmeter.storage.errors import InputError, Refusal, meant
from tiltmeter.storage.files.listing import file_identity
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.vectors.files import ExportFormat, check_pickle

_MIN_REPLICAS = 2
_ENDINGS = (".bz2", ".gz", ".zst", ".txt", ".bin", ".vec", ".kv", ".parquet", ".model")

Config = TypeVar("Config")

_MEMORY_PER_TEXT = 10
"""Bytes of memory for each byte of a shard's text while it is tokenised."""


@settings
class EmbeddingsJob:
    """What all jobs on embeddings say of themselves.

    Attributes:
        needed_lists: word lists by the names that word sets give them; a job needs one of these groups whole.
    """

    name: str
    needed_lists: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def check_embedding(self, embedding: Any) -> None:
        """Refuse embeddings that the job can't measure.

        Raises:
            ValueError: saying what to choose.
        """

    def check_words(self, wordset: WordSets | None, language: str) -> None:
        """Refuse a language without the word lists of the job.

        Raises:
            ValueError: naming the lists and what to set.
        """
        needed = self.needed_lists
        if needed and not any(all(getattr(wordset, name, None) for name in lists) for lists in needed):
            lists = ", or ".join(" and ".join(lists) for lists in needed)
            raise ValueError(
                f"wordset.{language}: job={self.name} needs {lists} in the language {language}; choose or write a word "
                "set that has them (wordset=[<name>,...])"
            )


# --- embeddings -----------------------------------------------------------------------------------------------------


@settings
class EmbeddingConfig:
    """Embeddings of a corpus and of its bootstrap replicas."""

    kind: Literal["trained"]
    trainer: Annotated[GloveConfig | Word2VecConfig | FastTextConfig, Field(discriminator="name")]
    cooccurrence: CooccurrenceConfig = Field(default_factory=CooccurrenceConfig)  # of GloVe alone
    num_replicas: Annotated[int, Field(ge=2, le=4096)]
    num_starts: Annotated[int, Field(ge=1, le=256)]
    resampling: ResamplingSettings
    keyed_by: KeyedBy
    min_count: Count
    fold_case: bool
    device: Device
    checkpoint_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @property
    def extras(self) -> Mapping[str, str]:
        """Training on a GPU, where it is asked for, needs an extra."""
        return {"device": "models"} if self.device == "cuda" else {}

    @property
    def replicas(self) -> list[int]:
        """What is trained, by number: the corpus, its replicas, and the corpus from further starts."""
        return replica_numbers(self.num_replicas, self.num_starts)

    @pydantic.model_validator(mode="after")
    def _only_glove_takes_fractions(self) -> Self:
        if self.resampling.weights == "exponential" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.resampling.weights=exponential: {self.trainer.name} reads a line a whole number of times; "
                "set it to poisson, or take embedding=glove"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _only_glove_keys_by_words(self) -> Self:
        if self.keyed_by == "word" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.keyed_by=word: {self.trainer.name} goes through lines, whose order no word keys; set it to "
                "rank, or take embedding=glove"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _only_glove_on_cuda(self) -> Self:
        if self.device == "cuda" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.device=cuda: {self.trainer.name} trains on CPUs only; set embedding.device=cpu"
            )
        return self


@settings
class FileEmbedding:
    """Word vectors in files."""

    kind: Literal["file"]
    path: Paths
    language: Language
    format: Literal["auto", ExportFormat]
    allow_pickle: bool
    fold_case: Literal["auto"] | bool
    average_phrases: bool
    replicas: bool

    @property
    def extras(self) -> Mapping[str, str]:
        """That of its language."""
        return language_extras(self.language)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, however many."""
        return (self.path,) if isinstance(self.path, str) else self.path

    def files(self) -> dict[str, list[FoundFile]]:
        """The files of each model, by its name.

        Raises:
            InputError: if a path names no file, or two models have one name.
            EmbeddingFileError: for gensim's format, unless it is allowed.
        """
        files = find_files(self.paths, "embedding.path")
        for file in files:
            check_pickle(file.uri, self.allow_pickle, "embedding.allow_pickle")
        if self.replicas:
            _check_replicas(files)
            return {_file_model(files[0]): files}
        models: dict[str, list[FoundFile]] = {}
        for file in files:
            if models.setdefault(_file_model(file), [file]) != [file]:
                raise InputError(
                    f"embedding.path: two files are called {_file_model(file)!r}, by which the tables tell models "
                    "apart: rename one, run them separately, or set embedding.replicas=true if they are replicas of one"
                )
        return models


def _check_replicas(files: Sequence[FoundFile]) -> None:
    num_different = len({file_identity(file.uri) for file in files})
    if len(files) < _MIN_REPLICAS + 1 or num_different < len(files):
        raise InputError(
            f"embedding.path: {num_different} different files of {len(files)}, but embedding.replicas=true takes the "
            f"original's and those of {_MIN_REPLICAS} replicas or more, each once; name them in this order, or set "
            "embedding.replicas=false"
        )


def _file_model(file: FoundFile) -> str:
    """A file's name without the endings of formats.

    >>> from tiltmeter.storage.files.state import FileState
    >>> _file_model(FoundFile("/data/glove.6B.100d.txt.gz", FileState(1, "", True), True))
    'glove.6B.100d'
    """
    name = PurePosixPath(redacted(file.uri)).name
    while name.endswith(_ENDINGS):
        name = name.rpartition(".")[0]
    return name


Embedding = EmbeddingConfig | FileEmbedding | EncoderEmbedding | TemplateEmbedding | ContextEmbedding

FROM_CORPORA = ("trained", "contexts")
"""Kinds of embeddings that corpora are read for."""


def has_replicas(embedding: Embedding) -> bool:
    """Whether there are bootstrap replicas of what is measured."""
    return isinstance(embedding, EmbeddingConfig) or (isinstance(embedding, FileEmbedding) and embedding.replicas)


# --- runs -----------------------------------------------------------------------------------------------------------


@settings
class Cutting:
    """How work on corpora is cut; no effect on results."""

    span_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 64.0
    # The offsets of an Arrow string column have 32 bits.
    shard_megabytes: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 4.0


@settings
class ReadingConfig(Cutting, CommonReading):
    """How corpora are read."""


@settings
class CorporaRun(CommonConfig):
    """A run of a job that reads corpora.

    Attributes:
        corpora: each with a name of its own, which is what the tables tell them apart by.
    """

    corpora: tuple[CorpusConfig, ...]
    reading: ReadingConfig

    @classmethod
    def arranged(cls, composed: Mapping[str, Any], overrides: Sequence[str]) -> Mapping[str, Any]:
        """The composed config with its corpora as a list.

        Raises:
            ConfigError: if corpora overwrote each other, or none is chosen.
        """
        corpora = _corpora_by_key(composed.get("corpus", {}))
        _check_number(len(corpora), overrides)
        return {key: value for key, value in composed.items() if key != "corpus"} | {"corpora": list(corpora.values())}

    @classmethod
    def place(cls, location: Sequence[int | str], composed: Mapping[str, Any]) -> Place:
        """Of a corpus, its node below ``corpus``."""
        if len(location) < 2 or location[0] != "corpora":
            return super().place(location, composed)
        key, node = list(_corpora_by_key(composed.get("corpus", {})).items())[int(location[1])]
        return Place([key], node, location[2:])

    @pydantic.model_validator(mode="after")
    def _corpora_can_be_told_apart(self) -> Self:
        for name, count in Counter(corpus.name for corpus in self.corpora).items():
            if count > 1:
                raise ValueError(
                    f"corpus: {count} corpora are called {name}, by which tables tell them apart: give each a name of "
                    "its own (corpus.<key>.name=<name>)"
                )
        return self

    @pydantic.model_validator(mode="after")
    def _corpora_can_be_cut(self) -> Self:
        for corpus in self.corpora:
            _check_slices(corpus)
        return self

    @pydantic.model_validator(mode="after")
    def _shards_fit_a_worker(self) -> Self:
        needed = self.reading.shard_megabytes * 1e6 * _MEMORY_PER_TEXT
        if needed > self.cluster.worker_data_bytes:
            most = self.cluster.worker_data_bytes / _MEMORY_PER_TEXT / 1e6
            raise ValueError(
                f"reading.shard_megabytes={self.reading.shard_megabytes:g}: needs {needed / 1e6:,.0f} MB of a worker, "
                f"which has {self.cluster.worker_data_bytes / 1e6:,.0f} for its data; set it to {most:g} at most, or "
                "raise cluster.worker_megabytes"
            )
        return self


@settings
class EmbeddingsRun(CorporaRun):
    """A run of a job that trains or measures embeddings.

    Attributes:
        corpora: what embeddings are trained on; none for embeddings that are there already.
        wordset: word lists by language.
    """

    job: EmbeddingsJob
    embedding: Annotated[Embedding, Field(discriminator="kind")]
    wordset: dict[str, WordSets]
    tests: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(each_once)] | None = None

    @property
    def languages(self) -> list[str]:
        """What is measured, by language."""
        if isinstance(self.embedding, EmbeddingConfig | ContextEmbedding):
            return list(dict.fromkeys(corpus.language for corpus in self.corpora))
        return [self.embedding.language]

    @classmethod
    def arranged(cls, composed: Mapping[str, Any], overrides: Sequence[str]) -> Mapping[str, Any]:
        """The composed config with its corpora as a list, none for embeddings that are there already.

        Raises:
            ConfigError: as :meth:`.CorporaRun.arranged`, and if some are chosen without need.
        """
        if composed.get("embedding", {}).get("kind") in FROM_CORPORA:
            return super().arranged(composed, overrides)
        _refuse_corpora(overrides)
        return {key: value for key, value in composed.items() if key != "corpus"} | {"corpora": []}

    @pydantic.model_validator(mode="after")
    def _words_can_be_told(self) -> Self:
        for corpus in self.corpora:
            check_language(corpus)
        return self

    @pydantic.model_validator(mode="after")
    def _word_sets_are_in_their_language(self) -> Self:
        for language, wordset in self.wordset.items():
            if wordset.language != language:
                raise ValueError(f"wordset.{language}.language={wordset.language}: must be {language}, like its key")
        return self

    @pydantic.model_validator(mode="after")
    def _embeddings_suit_the_job(self) -> Self:
        self.job.check_embedding(self.embedding)
        return self

    @pydantic.model_validator(mode="after")
    def _word_lists_suit_the_job(self) -> Self:
        for language in self.languages:
            try:
                self.job.check_words(self.wordset.get(language), language)
            except ValueError as error:
                hint = "" if language in self.wordset else meant(language, self.wordset)
                raise ValueError(f"{error}{hint}") from error
        return self

    @pydantic.model_validator(mode="after")
    def _tests_are_known(self) -> Self:
        wordsets = [self.wordset[language] for language in self.languages if language in self.wordset]
        known = dict.fromkeys(name for wordset in wordsets for name in (*wordset.associations, *wordset.wefats))
        unknown = [name for name in self.tests or () if name not in known]
        if unknown:
            tests = f"tests={list(self.tests or ())}: {unknown}"
            raise ValueError(f"{tests} not among the association tests {list(known)}{meant(unknown[0], known)}")
        return self


@settings
class BootstrapJob(EmbeddingsJob):
    """``job=bootstrap``"""

    name: Literal["bootstrap"]
    export: Annotated[tuple[ExportFormat | Literal["safetensors"], ...], AfterValidator(each_once)]

    @property
    def extras(self) -> Mapping[str, str]:
        """The card that is written beside what is exported needs an extra."""
        return {"export": "vectors"} if self.export else {}

    def check_embedding(self, embedding: Any) -> None:
        """Refuse embeddings that are there already.

        Raises:
            ValueError: saying what to choose.
        """
        if not isinstance(embedding, EmbeddingConfig):
            raise ValueError("job=bootstrap: trains embeddings; choose embedding=glove, word2vec or fasttext")


@settings
class BootstrapRun(EmbeddingsRun):
    """A run of ``bootstrap``."""

    job: BootstrapJob


# --- corpora --------------------------------------------------------------------------------------------------------


class WordSetError(Refusal, ValueError):
    """Word lists that can't measure anything; the message names the list and what to set."""


def check_language(corpus: CorpusConfig) -> None:
    """Refuse a language whose words can't be told apart.

    Raises:
        WordSetError: saying what to do.
    """
    try:
        segmenter(corpus.language)
    except ValueError as error:
        raise WordSetError(f"corpus.language={corpus.language}, of {corpus.name}: {error}") from error


def _check_slices(corpus: CorpusConfig) -> None:
    chosen = {
        "slice_by": corpus.slice_by != "value",
        "slice_cuts": corpus.slice_cuts,
        "slice_values": corpus.slice_values,
    }
    asked = [name for name, is_set in chosen.items() if is_set]
    if asked and corpus.slices is None:
        raise ValueError(
            f"corpus.{asked[0]}: says how slices are made, and none are: set corpus.slices=<field>, or leave it out"
        )
    if corpus.slice_by in ("decade", "quarter", "month") and corpus.slice_cuts:
        raise ValueError(
            f"corpus.slice_cuts: are numbers or years, and {corpus.slice_by}s are neither: set corpus.slice_by=year"
        )
    if corpus.slices is not None and corpus.format in ("text", "wikiextractor"):
        raise ValueError(
            f"corpus.slices={corpus.slices}: documents of corpus.format={corpus.format} have no fields to be cut by; "
            "give them as JSON lines or Parquet, or leave it out"
        )


def _corpora_by_key(node: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Corpora by the key that they stand under.

    A named corpus has a node of its own below ``corpus``, so that several can be chosen; corpus=file has not.
    """
    named = {f"corpus.{key}": value for key, value in node.items() if isinstance(value, Mapping)}
    unnamed = {key: value for key, value in node.items() if not isinstance(value, Mapping)}
    return ({"corpus": unnamed} if unnamed else {}) | named


def _check_number(num_corpora: int, overrides: Sequence[str]) -> None:
    if not num_corpora:
        raise ConfigError("corpus: none is chosen; set corpus=<name> or corpus=[<name>,...]")
    chosen = [override[8:-1].split(",") for override in overrides if re.fullmatch(r"corpus=\[.*\]", override)]
    if chosen and num_corpora != len(chosen[-1]):
        raise ConfigError(
            f"corpus=[{','.join(chosen[-1])}]: only {num_corpora} corpora remain, since configs of the same place "
            "overwrote each other: the first line of each must be `# @package corpus.<name>`"
        )


def _refuse_corpora(overrides: Sequence[str]) -> None:
    """The corpus that is chosen by default is not asked for."""
    for override in overrides:
        if override.startswith("corpus"):
            raise ConfigError(f"{override}: embeddings that are there already need no corpus; leave it out")


def narrowed(kind: type[Config], config: Config) -> Config:
    """The part of a job's config that a measure knows: with no more of it, every job finds the same units.

    Args:
        kind: the measure's own config.
        config: that of a job, which has more.
    """
    return kind(**{field.name: getattr(config, field.name) for field in fields(cast(Any, kind))})
