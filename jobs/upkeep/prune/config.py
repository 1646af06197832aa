"""The config of `prune`."""

from typing import Annotated, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.config import CommonConfig


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PruneJob:
    """``job=prune``

    Attributes:
        keep: successful runs of each series that are kept, with every run since.
        forget: series of which no run is kept: ``<job>/<series>``, as the table ``runs`` names them.
        remove: whether to remove what no kept run refers to, or only to list it.
    """

    name: Literal["prune"] = "prune"
    keep: Annotated[int, Field(ge=1)] = 1
    forget: tuple[Annotated[str, Field(pattern=r"^\w+/\w[\w.-]*$")], ...] = ()
    remove: bool = False


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PruneRun(CommonConfig):
    """A run of ``prune``."""

    job: PruneJob
