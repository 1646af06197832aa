"""From composed YAML to one frozen, checked record; nothing of Hydra goes further than this."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import pydantic
from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from pydantic import ConfigDict, Field
from pydantic_core import ErrorDetails

from cluster.connection import ClusterConfig
from jobs.embedding import EmbeddingConfig
from jobs.measuring import SurveyConfig
from operators.wordsets import WordSets
from storage.corpora import CorpusConfig


class ConfigError(ValueError):
    """A setting is wrong; the message names the key, the value, what is allowed and how to set it."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BootstrapJob:
    """``job=bootstrap``"""

    name: Literal["bootstrap"]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SurveyJob(SurveyConfig):
    """``job=survey``"""

    name: Literal["survey"] = "survey"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class RunConfig:
    """Everything that one run was asked to do.

    Attributes:
        store: where finished units are kept, a path or a URI.
        run_dir: where the tables and the report go; None: inside the store, by job and time.
        seed: of every random draw.
    """

    job: Annotated[BootstrapJob | SurveyJob, Field(discriminator="name")]
    corpus: CorpusConfig
    embedding: EmbeddingConfig
    wordset: WordSets
    cluster: ClusterConfig
    store: Annotated[str, Field(min_length=1)] = "./store"
    run_dir: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0

    @pydantic.field_validator("run_dir")
    @classmethod
    def _local(cls, value: str | None) -> str | None:
        if value is not None and "://" in value:
            raise ValueError("must be a local path; the store may be an object store, the run directory may not")
        return value

    @pydantic.model_validator(mode="after")
    def _one_language(self) -> Self:
        if self.job.name == "survey" and self.wordset.language != self.corpus.language:
            raise ValueError(
                f"wordset.language={self.wordset.language} but corpus.language={self.corpus.language}: choose a word "
                "set in the corpus's language with wordset=<name>"
            )
        return self


def build(composed: DictConfig) -> RunConfig:
    """Check a composed config and turn it into plain records.

    Raises:
        ConfigError: naming every wrong key at once.
    """
    try:
        plain = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
        return pydantic.TypeAdapter(RunConfig).validate_python(plain)
    except MissingMandatoryValue as error:
        key = error.full_key or str(error)
        raise ConfigError(f"{key} has no value: set it with {key}=<value>") from error
    except pydantic.ValidationError as error:
        raise ConfigError("\n".join(_explain(details, composed) for details in error.errors())) from error


def _explain(details: ErrorDetails, composed: Mapping[Any, Any]) -> str:
    message = details["msg"].removeprefix("Value error, ")
    # A union adds its member's name to the location; only what is in the composed config is a key.
    keys, node = [], composed
    for part in details["loc"]:
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
