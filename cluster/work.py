"""The work on units, as a job gives it and a worker does it, and what becomes of each unit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tiltmeter.storage.store.ledger import Finished, Store, Unit

Tables = Iterable[tuple[str, pa.Table]]
"""Named tables of a unit; a generator is written table by table and never held whole."""

Work = Callable[[Store, Sequence[Unit]], Iterator[tuple[Unit, Tables]]]
"""Does a batch of units that share a costly preparation; yields each unit with its tables, in the given order."""


@dataclass(frozen=True)
class Report:
    """What a worker tells about a unit that it finished.

    Attributes:
        seconds: that it was at the unit.
        peak_memory_bytes: its process's peak since it started.
        worker: its host and process; empty if it died with its report.
    """

    finished: Finished
    seconds: float = 0.0
    peak_memory_bytes: int = 0
    worker: str = ""


@dataclass(frozen=True)
class FinishedElsewhere:
    """Another run has finished a unit since this one looked for it."""

    finished: Finished


@dataclass(frozen=True)
class Failure:
    """A unit that could not be done, and why."""

    unit: Unit
    error: str
    traceback: str


@dataclass(frozen=True)
class WorkerDied:
    """A worker died while it was at this unit, which will be tried again."""

    unit: Unit


@dataclass(frozen=True)
class Heartbeat:
    """Nothing was finished for a few seconds."""


Outcome = Report | FinishedElsewhere | Failure | WorkerDied | Heartbeat


def each(work: Callable[[Store, Unit], Tables]) -> Work:
    """Work on units one by one, for stages where a batch shares nothing."""
    return _Each(work)


@dataclass(frozen=True)
class _Each:
    work: Callable[[Store, Unit], Tables]

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            yield unit, self.work(store, unit)
