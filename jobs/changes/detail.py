"""How finely the differences of two runs are listed."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

import pydantic
from pydantic import ConfigDict, Field


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Detail:
    """How finely differences are listed; numbers that moved beyond their interval are listed always.

    Attributes:
        max_listed: changes of one column that are listed one by one; if there are more, one row sums them up.
        aliases: values of key columns in the earlier run, and what these are called in the later one.
        max_megabytes: of a table's file or folder; of larger ones only the numbers of rows are compared. A table of
            64 MB takes up to 1.5 GB of memory while it is compared.
    """

    max_listed: Annotated[int, Field(ge=0)] = 10
    max_megabytes: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 64.0
    aliases: Mapping[str, str] = field(default_factory=dict)

    @pydantic.field_validator("aliases", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value
