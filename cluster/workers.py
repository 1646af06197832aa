"""The actors that do units, and the loop that keeps them busy."""

import re
import resource
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import RayError, RayTaskError

from storage.ledger import Finished, Store, Unit

_COLOUR = re.compile(r"\x1b\[\d+m")

Tables = Iterable[tuple[str, pa.Table]]
"""Named tables of a unit; a generator is written table by table and never held whole."""

Work = Callable[[Store, Sequence[Unit]], Iterator[tuple[Unit, Tables]]]
"""Does a batch of units that share a costly preparation; yields each unit with its tables, in the given order."""


@dataclass(frozen=True)
class Report:
    """What a worker tells about a unit that it finished."""

    finished: Finished
    seconds: float
    peak_memory_bytes: int


@dataclass(frozen=True)
class Failure:
    """A unit that could not be done, and why."""

    unit: Unit
    error: str
    traceback: str


@dataclass
class Pool:
    """Worker actors, one CPU each, kept alive across stages so that what they imported and compiled stays warm.

    Batches go to whichever worker is free, one at a time. A worker that dies is replaced, and what it had not finished
    is tried again up to ``max_retries`` times. An error that a unit raises itself is final for this unit; the others
    of its batch are then done one by one.
    """

    store_root: str
    max_retries: int
    num_workers: int = 0
    _idle: list[Any] = field(default_factory=list)

    def run(self, work: Work, batches: Sequence[Sequence[Unit]]) -> Iterator[Report | Failure]:
        """Do all batches; yields a report for each finished unit and a failure for each other, as they come."""
        waiting = deque(_Batch(list(units)) for units in batches)
        running: dict[Any, _Batch] = {}
        while waiting or running:
            while waiting and len(running) < self.num_workers:
                batch = waiting.popleft()
                batch.worker = self._idle.pop() if self._idle else _new_worker(self.store_root)
                running[batch.worker.run.remote(work, batch.units)] = batch
            ready, _ = ray.wait(list(running), num_returns=1)
            yield from self._advance(ready[0], running, waiting)

    def _advance(
        self, stream: Any, running: dict[Any, "_Batch"], waiting: deque["_Batch"]
    ) -> Iterator[Report | Failure]:
        batch = running[stream]
        try:
            report = ray.get(next(stream))
        except StopIteration:
            del running[stream]
            self._idle.append(batch.worker)
        except RayTaskError as error:
            del running[stream]
            self._idle.append(batch.worker)
            if len(batch.units) > 1:
                waiting.extend(_Batch([unit], batch.num_deaths) for unit in batch.units)
            else:
                yield _unit_failed(batch.units[0], error)
        except RayError as error:
            del running[stream]
            if batch.num_deaths < self.max_retries:
                waiting.append(_Batch(batch.units, batch.num_deaths + 1))
            else:
                yield from _worker_died(batch, error)
        else:
            batch.units = [unit for unit in batch.units if unit.place != report.finished.place]
            yield report

    @contextmanager
    def started(self, num_workers: int) -> Iterator[None]:
        """Keep up to this many workers for the length of a ``with`` block."""
        self.num_workers = num_workers
        try:
            yield
        finally:
            for worker in self._idle:
                ray.kill(worker)
            self._idle.clear()


@dataclass
class _Batch:
    units: list[Unit]
    num_deaths: int = 0
    worker: Any = None


def _unit_failed(unit: Unit, error: RayTaskError) -> Failure:
    cause = error.cause
    return Failure(unit, f"{type(cause).__name__}: {cause}", _COLOUR.sub("", str(error)))


def _worker_died(batch: _Batch, error: RayError) -> Iterator[Failure]:
    reason = (
        f"its worker died {batch.num_deaths + 1} times (raise cluster.max_retries, or give it more memory): {error}"
    )
    for unit in batch.units:
        yield Failure(unit, reason, "".join(traceback.format_exception(error)))


def _new_worker(store_root: str) -> Any:
    # Ray would restart a dead actor by itself, but could not resume the stream of reports where it broke off.
    return ray.remote(_Worker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote(store_root)


class _Worker:
    def __init__(self, store_root: str) -> None:
        self.store = Store(store_root)

    def run(self, work: Work, units: Sequence[Unit]) -> Iterator[Report]:
        started = time.monotonic()
        for unit, tables in work(self.store, units):
            finished = self.store.commit(unit, tables)
            now = time.monotonic()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            yield Report(finished, now - started, peak)
            started = now


def each(work: Callable[[Store, Unit], Tables]) -> Work:
    """Work on units one by one, for stages where a batch shares nothing."""
    return _Each(work)


@dataclass(frozen=True)
class _Each:
    work: Callable[[Store, Unit], Tables]

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            yield unit, self.work(store, unit)
