"""The config of `compare`: which two runs, and how finely their differences are listed."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import Field

from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings.fields import Words, settings
from tiltmeter.jobs.upkeep.compare.gates import Gate
from tiltmeter.jobs.upkeep.compare.log_settings import Logs


@settings
class CompareJob(Detail):
    """``job=compare``"""

    name: Literal["compare"]
    allow_failed: bool


@settings
class ComparisonRun(CommonConfig):
    """A run of ``compare``: of two runs, or of logs of two systems on the same items."""

    job: CompareJob
    runs: Annotated[Words, Field(examples=[["nights/1", "nights/2"]])]
    logs: Logs
    gates: Annotated[tuple[Gate, ...], Field(examples=[[{"score": "acc", "fall": 0.02}]])]

    @property
    def places(self) -> list[Path]:
        """The run directories as absolute paths."""
        return [Path(path).expanduser().resolve() for path in self.runs]

    @pydantic.field_validator("runs", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return () if value is None else value

    @pydantic.model_validator(mode="after")
    def _runs_or_logs(self) -> Self:
        if bool(self.runs) == self.logs.is_set:
            both = "both are set: leave one out" if self.runs else "set one of them"
            raise ValueError(f"runs=[<earlier run>,<later run>], or logs.first and logs.second: {both}")
        if self.logs.is_set and not (self.logs.first and self.logs.second):
            lacking = "second" if self.logs.first else "first"
            raise ValueError(f"logs.{lacking}: is not set; two systems are compared, each by its files")
        if self.gates and self.runs:
            raise ValueError("gates: judge logs.first and logs.second, not runs; leave them out, or see job=overnight")
        return self

    @pydantic.field_validator("runs")
    @classmethod
    def _two_local_ones(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) not in (0, 2):
            raise ValueError("must be two run directories, the earlier one first")
        if any("://" in path for path in value):
            raise ValueError("must be local paths, as run directories are")
        return value

    @pydantic.model_validator(mode="after")
    def _leaves_them_alone(self) -> Self:
        # A run begins by removing what is in its directory.
        if self.run_dir is not None and Path(self.run_dir).expanduser().resolve() in self.places:
            raise ValueError(f"run_dir={self.run_dir}: is one of the runs to compare; choose another directory")
        return self
