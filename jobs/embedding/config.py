"""The config of the jobs on embeddings: which embeddings, which word lists, and what each job makes of them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.embedding.corpus.reading import ReadingConfig
from tiltmeter.jobs.embedding.corpus.texts import check_language
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.vectors.encoding import EncoderEmbedding
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError, Place, each_once
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.vectors.files import ExportFormat

_MEMORY_PER_TEXT = 10
"""Bytes of memory for each byte of a shard's text while it is tokenised."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
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


Embedding = EmbeddingConfig | FileEmbedding | EncoderEmbedding


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class EmbeddingsRun(CommonConfig):
    """A run of a job that trains or measures embeddings.

    Attributes:
        corpora: what embeddings are trained on, each with a name of its own, which is what the tables tell them apart
            by; none for embeddings that are there already.
        wordset: word lists by language.
        tests: names of association tests; None: all that the word lists have.
    """

    job: EmbeddingsJob
    corpora: tuple[CorpusConfig, ...]
    reading: ReadingConfig
    embedding: Annotated[Embedding, Field(discriminator="kind")]
    wordset: dict[str, WordSets]
    tests: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(each_once)] | None = None

    @property
    def languages(self) -> list[str]:
        """What is measured, by language."""
        if isinstance(self.embedding, EmbeddingConfig):
            return list(dict.fromkeys(corpus.language for corpus in self.corpora))
        return [self.embedding.language]

    @classmethod
    def arranged(cls, composed: Mapping[str, Any], overrides: Sequence[str]) -> Mapping[str, Any]:
        """The composed config with its corpora as a list, none for embeddings that are there already.

        Raises:
            ConfigError: if corpora overwrote each other, if none is chosen, or if some are chosen without need.
        """
        others = {key: value for key, value in composed.items() if key != "corpus"}
        corpora = _corpora_by_key(composed.get("corpus", {}))
        if composed.get("embedding", {}).get("kind") == "trained":
            _check_number(len(corpora), overrides)
        else:
            _refuse_corpora(overrides)
            corpora = {}
        return others | {"corpora": list(corpora.values())}

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
            check_language(corpus)
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
            self.job.check_words(self.wordset.get(language), language)
        return self

    @pydantic.model_validator(mode="after")
    def _tests_are_known(self) -> Self:
        wordsets = [self.wordset[language] for language in self.languages if language in self.wordset]
        known = dict.fromkeys(name for wordset in wordsets for name in (*wordset.associations, *wordset.wefats))
        unknown = [name for name in self.tests or () if name not in known]
        if unknown:
            raise ValueError(f"tests={list(self.tests or ())}: {unknown} not among the association tests {list(known)}")
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BootstrapJob(EmbeddingsJob):
    """``job=bootstrap``

    Attributes:
        export: formats in which the embeddings are written too, beside the table.
    """

    name: Literal["bootstrap"] = "bootstrap"
    export: tuple[ExportFormat, ...] = ()

    def check_embedding(self, embedding: Any) -> None:
        """Refuse embeddings that are there already.

        Raises:
            ValueError: saying what to choose.
        """
        if not isinstance(embedding, EmbeddingConfig):
            raise ValueError("job=bootstrap: trains embeddings; choose embedding=glove, word2vec or fasttext")


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class BootstrapRun(EmbeddingsRun):
    """A run of ``bootstrap``."""

    job: BootstrapJob


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


def has_replicas(embedding: Embedding) -> bool:
    """Whether there are bootstrap replicas of what is measured."""
    return isinstance(embedding, EmbeddingConfig) or (isinstance(embedding, FileEmbedding) and embedding.replicas)


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
