"""What the configs of all jobs share."""

from typing import Annotated, Self

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.connection import ClusterConfig
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.registry import is_series


class ConfigError(Refusal, ValueError):
    """A setting is wrong; the message names the key, the value, what is allowed and how to set it."""


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CommonConfig:
    """Where a run takes place and what it leaves where.

    Attributes:
        store: where finished units are kept, a path or a URI.
        run_dir: where the tables and the report go; None: inside the store, by job and time.
        seed: of every random draw.
        series: what later runs know this one by, to say what changed since; None: by the job and its settings.
    """

    cluster: ClusterConfig
    store: Annotated[str, Field(min_length=1)] = "./store"
    run_dir: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    series: str | None = None

    def redacted(self) -> Self:
        """The config as it may be shown: URIs without the credentials that they may hold, but for the store's."""
        return self

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
