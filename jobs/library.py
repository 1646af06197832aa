"""Jobs from a notebook: ``tiltmeter.jobs.run("survey")`` runs one, ``tiltmeter.jobs.read_run(path)`` opens one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tiltmeter.jobs.catalogue import settings_packages
from tiltmeter.jobs.changes.past_runs import recorded
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.resolution.records.lookup import Answer, StandingRecords
from tiltmeter.jobs.runtime.published import Frames, PublishedTable
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition, quoted
from tiltmeter.jobs.upkeep.plan.config import read_command


@dataclass(frozen=True)
class FinishedRun(Mapping[str, pl.DataFrame]):
    """What a run left in its directory: its tables by name, as Polars frames that are read when they are asked for.

    Attributes:
        path: the directory; ``report.html`` in it is the page.
        record: what ``run.json`` says.
        frames: the tables.
    """

    path: Path
    record: Mapping[str, Any]
    frames: Frames

    def __getitem__(self, name: str) -> pl.DataFrame:
        """A table, whole."""
        if name not in self.frames:
            raise KeyError(f"{self.path} has no table {name}; it has {', '.join(self.frames)}")
        return self.frames[name]

    def scan(self, name: str) -> pl.LazyFrame:
        """A table, of which a query reads what it needs."""
        return self.frames.scan(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the tables."""
        return iter(self.frames)

    def __len__(self) -> int:
        """How many tables there are."""
        return len(self.frames)


def run(job: str, settings: Mapping[str, Any] | None = None, **more: Any) -> FinishedRun:
    """Run a job in this process, as the command ``tiltmeter job=<job> key=value ...`` would.

    Args:
        job: its name.
        settings: by their keys, such as ``{"embedding.num_replicas": 8}``; values may be lists and dictionaries.
        more: further settings whose keys have no dot, such as ``seed=1``.

    Returns:
        What the run left in its directory.

    Raises:
        Refusal: for wrong settings or inputs, before any work.
        UnitsFailed: if units failed; ``run.json`` names them.
    """
    return read_run(execute(_configured({"job": job} | dict(settings or {}) | more)))


def read_run(path: str | Path) -> FinishedRun:
    """Open a run directory.

    Raises:
        ConfigError: if it is none.
    """
    place = Path(path).expanduser().absolute()
    record = recorded(place)
    names = [name for name, entry in record["tables"].items() if entry]
    frames = Frames({name: PublishedTable.read(place, name).rows for name in names})
    return FinishedRun(place, record, frames)


def lookup(run: str | Path | StandingRecords, record: Mapping[str, Any]) -> Answer:
    """What a run of ``entity_resolution`` on messy records would do with one more record.

    Args:
        run: its directory; or, for many look-ups, what ``StandingRecords.of(<directory>)`` has read of it.
        record: values by column.

    Raises:
        Refusal: for what is no such run, and a record that can't be compared.
    """
    return (run if isinstance(run, StandingRecords) else StandingRecords.of(run)).lookup(record)


def _configured(settings: Mapping[str, Any]) -> Any:
    confine_composition(settings_packages())
    command = read_command([f"{key}={_value(value)}" for key, value in settings.items()])
    return command.config(compose(command.words))


def _value(value: Any) -> str:
    """A value as Hydra reads it in a word.

    >>> _value({"a": ["it's", 1, None, True]})
    "{a:['it\\\\'s',1,null,true]}"
    """
    if isinstance(value, str | Path):
        return quoted(str(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(_value, value)) + "]"
    return json.dumps(value)
