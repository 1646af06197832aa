"""Settings of logs of evaluation harnesses."""

from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.settings.fields import Words
from tiltmeter.jobs.upkeep.compare.systems import Inference
from tiltmeter.storage.item_logs import ScoreColumns


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class Logs(Inference):
    """Logs of two or more systems; a column within others is named with dots, such as ``doc.template``."""

    first: Words = ()
    second: Words = ()
    others: dict[str, Words] = Field(default_factory=dict)
    all_pairs: bool = False
    item: str | None = None
    score: tuple[str, ...] = ()
    repeat: str | None = None
    task: str | None = None
    only: dict[str, str] = Field(default_factory=dict)
    values: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict)
    unscored: Literal["leave_out", "zero"] = "leave_out"
    match: Literal["item", "content"] | None = None
    missing: Literal["refuse", "leave_out"] = "refuse"

    @pydantic.field_validator("first", "second", "score", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else () if value is None else value

    @pydantic.field_validator("only", "values", "others", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @pydantic.field_validator("others", mode="before")
    @classmethod
    def _each_one_or_several(cls, value: Any) -> Any:
        is_map = isinstance(value, dict)
        return {name: (path,) if isinstance(path, str) else path for name, path in value.items()} if is_map else value

    @pydantic.field_validator("others")
    @classmethod
    def _names(cls, value: dict[str, Words]) -> dict[str, Words]:
        if taken := {"first", "second"}.intersection(value):
            raise ValueError(f"{min(taken)} is what logs.{min(taken)} is called; give it another name")
        return value

    @property
    def columns(self) -> ScoreColumns:
        """What is read of each log."""
        named = (self.item, self.score, self.cluster, self.repeat, self.task, self.only)
        return ScoreColumns(*named, is_mapped=bool(self.values), whole=self.match == "content")

    @property
    def is_set(self) -> bool:
        """Whether there are logs to compare."""
        return bool(self.first or self.second)
