"""What the configs of all jobs share."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.redaction import redacted_values
from tiltmeter.storage.store.identity import canonical
from tiltmeter.storage.store.registry import is_series

T = TypeVar("T")
TableFormat = Literal["csv", "markdown", "latex"]


class ConfigError(Refusal, ValueError):
    """A setting is wrong; the message names the key, the value, what is allowed and how to set it."""


def each_once(names: tuple[T, ...]) -> tuple[T, ...]:
    """The names or numbers, if none of them comes twice.

    Raises:
        ValueError: naming those that do.
    """
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{repeated} named more than once: name each once")
    return names


class Place(NamedTuple):
    """Where in a composed config a value is.

    Attributes:
        keys: that lead to ``node``.
        node: of the composed config.
        rest: the way from there to the value.
    """

    keys: Sequence[str]
    node: Any
    rest: Sequence[int | str]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CommonReading:
    """How the files of a job are read.

    Attributes:
        max_bad_share: of a file's records that may be bad, where more than ten are; they are left out and counted.
    """

    max_bad_share: Annotated[float, Field(ge=0, le=1)] = 0.01


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Exports:
    """What a run leaves in ``exports/`` beside what its job does.

    Attributes:
        tables: formats of the tables that its page shows.
        figures: whether each figure that its page shows is drawn as SVG and PDF.
        summary: whether its page is put into a few lines of Markdown, as for a pull request.
        mlflow: the tracking URI, or a folder, of MLflow to which the run is sent when it has succeeded.
        wandb: the project of Weights & Biases to which it is sent.
    """

    tables: Annotated[tuple[TableFormat, ...], AfterValidator(each_once)] = ()
    figures: bool = False
    summary: bool = False
    mlflow: Annotated[str, Field(min_length=1)] | None = None
    wandb: Annotated[str, Field(min_length=1)] | None = None

    @property
    def extras(self) -> Mapping[str, str]:
        """Each of these that is set needs the extra of its name."""
        return {name: name for name in ("figures", "mlflow", "wandb") if getattr(self, name)}


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CommonConfig:
    """Where a run takes place and what it leaves where.

    Attributes:
        job: settings of the job alone; its config says which there are.
        store: where finished units are kept, a path or a URI.
        run_dir: where the tables and the report go; None: inside the store, by job and time.
        seed: of every random draw.
        series: what later runs know this one by, to say what changed since; None: by the job and its settings.
    """

    job: Any
    cluster: ClusterConfig
    store: Annotated[str, Field(min_length=1)] = "./store"
    run_dir: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    series: str | None = None
    reading: CommonReading = CommonReading()
    exports: Exports = Exports()

    @classmethod
    def arranged(cls, composed: Mapping[str, Any], overrides: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG003
        """The composed config with the fields of this record, where these differ.

        Args:
            composed: by Hydra, as plain mappings.
            overrides: what the user asked for.
        """
        return composed

    @classmethod
    def place(cls, location: Sequence[int | str], composed: Mapping[str, Any]) -> Place:
        """Where in the composed config the field of a location is, as far as :meth:`arranged` moved it."""
        return Place([], composed, location)

    @pydantic.field_validator("series")
    @classmethod
    def _plain(cls, value: str | None) -> str | None:
        if value is not None and not is_series(value):
            raise ValueError("must be a name of letters, digits, dots, hyphens and underscores")
        return value

    @pydantic.field_validator("run_dir")
    @classmethod
    def _local(cls, value: str | None) -> str | None:
        if value is not None and "://" in value:
            raise ValueError("must be a local path; the store may be an object store, the run directory may not")
        return value


_NOT_ASKED = ("cluster", "export", "exports", "previous", "reading", "run_dir", "series", "store")
"""Settings that say where and how a run works, not what it asks."""


def recorded_settings(config: CommonConfig, store: str) -> dict[str, Any]:
    """The config as it is written down: plain, and of URIs without the credentials that they may hold.

    Args:
        store: name of the store.
    """
    plain = redacted_values(dataclasses.asdict(config)) | {"store": store}
    return cast(dict[str, Any], canonical(plain))


def asked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the recorded settings that say what a run asks: runs that share them are of one series."""
    return {key: value for key, value in settings.items() if key not in _NOT_ASKED}
