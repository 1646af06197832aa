"""From composed YAML to one frozen, checked record; nothing of Hydra goes further than this."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

import pydantic
from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from cluster.connection import ClusterConfig
from jobs.embedding import EmbeddingConfig
from jobs.encoding import EncoderEmbedding
from jobs.measures.association_rows import AssociationConfig, each_once
from jobs.measures.genders import GenderConfig
from jobs.measures.psychometrics import PsychophysicsConfig
from jobs.reading import ReadingConfig
from jobs.vector_files import FileEmbedding
from operators.wordsets import WordSets
from storage.corpora import CorpusConfig
from storage.embedding_files import ExportFormat

_MEMORY_PER_TEXT = 10
"""Bytes of memory for each byte of a shard's text while it is tokenised."""


class ConfigError(ValueError):
    """A setting is wrong; the message names the key, the value, what is allowed and how to set it."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BootstrapJob:
    """``job=bootstrap``

    Attributes:
        export: formats in which the embeddings are written too, beside the table.
    """

    name: Literal["bootstrap"]
    export: tuple[ExportFormat, ...] = ()


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AssociationJob(AssociationConfig):
    """``job=association``"""

    name: Literal["association"] = "association"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PsychophysicsJob(PsychophysicsConfig):
    """``job=psychophysics``"""

    name: Literal["psychophysics"] = "psychophysics"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GenderSurveyJob(GenderConfig):
    """``job=gender_survey``"""

    name: Literal["gender_survey"] = "gender_survey"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SurveyJob(AssociationConfig, PsychophysicsConfig, GenderConfig):
    """``job=survey``, which has the settings of all three."""

    name: Literal["survey"] = "survey"


Job = AssociationJob | BootstrapJob | GenderSurveyJob | PsychophysicsJob | SurveyJob

Embedding = EmbeddingConfig | FileEmbedding | EncoderEmbedding


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class RunConfig:
    """Everything that one run was asked to do.

    Attributes:
        corpora: what embeddings are trained on, each in a language of its own, which is what the tables tell them apart
            by; none for embeddings that are there already.
        wordset: word lists by language.
        tests: names of association tests; None: all that the word lists have.
        store: where finished units are kept, a path or a URI.
        run_dir: where the tables and the report go; None: inside the store, by job and time.
        seed: of every random draw.
    """

    job: Annotated[Job, Field(discriminator="name")]
    corpora: tuple[CorpusConfig, ...]
    reading: ReadingConfig
    embedding: Annotated[Embedding, Field(discriminator="kind")]
    wordset: dict[str, WordSets]
    cluster: ClusterConfig
    tests: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(each_once)] | None = None
    store: Annotated[str, Field(min_length=1)] = "./store"
    run_dir: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @property
    def languages(self) -> list[str]:
        """What is measured, by language."""
        if isinstance(self.embedding, EmbeddingConfig):
            return [corpus.language for corpus in self.corpora]
        return [self.embedding.language]

    @pydantic.field_validator("run_dir")
    @classmethod
    def _local(cls, value: str | None) -> str | None:
        if value is not None and "://" in value:
            raise ValueError("must be a local path; the store may be an object store, the run directory may not")
        return value

    @pydantic.model_validator(mode="after")
    def _corpora_can_be_told_apart(self) -> Self:
        for language, count in Counter(corpus.language for corpus in self.corpora).items():
            if count > 1:
                raise ValueError(
                    f"corpus: {len(self.corpora)} corpora, of which {count} are in the language {language}, by which "
                    "tables tell them apart: give one corpus several files (corpus.path=[a,b]), or run them separately"
                )
        for name, count in Counter(corpus.name for corpus in self.corpora).items():
            if count > 1:
                raise ValueError(f"corpus: {count} corpora are called {name}, by which messages tell them apart")
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
        trained = isinstance(self.embedding, EmbeddingConfig)
        if self.job.name == "bootstrap" and not trained:
            raise ValueError("job=bootstrap: trains embeddings; choose embedding=glove, word2vec or fasttext")
        if isinstance(self.job, PsychophysicsJob) and not has_replicas(self.embedding):
            raise ValueError(
                f"job={self.job.name}: its observers are bootstrap replicas, which embedding={self.embedding.kind} "
                "has not; train some (embedding=glove), or give the files of one model's replicas, the original's "
                "first (embedding=file embedding.replicas=true)"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _word_lists_suit_the_job(self) -> Self:
        for language in self.languages:
            check_words(self.job, self.wordset.get(language), language)
        return self

    @pydantic.model_validator(mode="after")
    def _tests_are_known(self) -> Self:
        wordsets = [self.wordset[language] for language in self.languages if language in self.wordset]
        known = dict.fromkeys(name for wordset in wordsets for name in (*wordset.associations, *wordset.wefats))
        unknown = [name for name in self.tests or () if name not in known]
        if unknown:
            raise ValueError(f"tests={list(self.tests or ())}: {unknown} not among the association tests {list(known)}")
        return self


def has_replicas(embedding: Embedding) -> bool:
    """Whether there are bootstrap replicas of what is measured."""
    return isinstance(embedding, EmbeddingConfig) or (isinstance(embedding, FileEmbedding) and embedding.replicas)


def check_words(job: Job, wordset: WordSets | None, language: str) -> None:
    """Refuse a language without the word lists of a job.

    Raises:
        ValueError: naming the lists and what to set.
    """
    needed = _NEEDED_LISTS[job.name]
    if needed and not any(all(getattr(wordset, name, None) for name in lists) for lists in needed):
        lists = ", or ".join(" and ".join(lists) for lists in needed)
        raise ValueError(
            f"wordset.{language}: job={job.name} needs {lists} in the language {language}; choose or write a word set "
            "that has them (wordset=[<name>,...])"
        )


_FORCED_CHOICE = ("cue_pairs", "occupations")
_TESTS: tuple[tuple[str, ...], ...] = (("associations",), ("wefats",))
_NEEDED_LISTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "association": _TESTS,
    "bootstrap": (),
    "gender_survey": (("gender_survey",),),
    "psychophysics": (_FORCED_CHOICE,),
    "survey": (*_TESTS, _FORCED_CHOICE, ("gender",), ("gender_survey",)),
}
"""Lists of which a job needs one group whole."""


def build(composed: DictConfig, overrides: Sequence[str] = ()) -> RunConfig:
    """Check a composed config and turn it into plain records.

    Args:
        composed: by Hydra.
        overrides: what the user asked for, to notice corpora that overwrote each other.

    Raises:
        ConfigError: naming every wrong key at once.
    """
    try:
        plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True, throw_on_missing=True))
        corpora = _corpora(plain.pop("corpus", {}))
        if plain.get("embedding", {}).get("kind") == "trained":
            _check_number(len(corpora), overrides)
        else:
            _refuse_corpora(overrides)
            corpora = {}
        return pydantic.TypeAdapter(RunConfig).validate_python(plain | {"corpora": list(corpora.values())})
    except MissingMandatoryValue as error:
        key = error.full_key or str(error)
        raise ConfigError(f"{key} has no value: set it with {key}=<value>") from error
    except pydantic.ValidationError as error:
        # A list that is too short only says again that its items are wrong.
        wrong = [details for details in error.errors() if details["type"] != "too_short" or error.error_count() == 1]
        raise ConfigError("\n".join(_explain(details, composed) for details in wrong)) from error


def _corpora(node: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
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


def _explain(details: ErrorDetails, composed: Mapping[Any, Any]) -> str:
    message = details["msg"].removeprefix("Value error, ")
    keys, parts = [], list(details["loc"])
    if parts[:1] == ["corpora"] and len(parts) > 1:
        keys.append(list(_corpora(composed.get("corpus", {})))[int(parts[1])])
        parts[:2] = []
        node = OmegaConf.select(cast(DictConfig, composed), keys[0])
    else:
        node = composed
    # A union adds its member's name to the location; only what is in the composed config is a key.
    for part in parts:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
            keys.append(str(part))
    if details["type"] == "missing":
        keys.append(str(details["loc"][-1]))
    key, value = ".".join(keys), details["input"]
    if not key or "=" in message.split(":")[0] or message.startswith(key):
        return message
    shown = "" if isinstance(value, Mapping) or dataclasses.is_dataclass(value) else f"={value}"
    return f"{key}{shown}: {message[0].lower()}{message[1:]}; set it with {key}=<value>"
