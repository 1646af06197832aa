"""Running a stage: reuse what the ledger knows, do the rest, keep count, and never take part of it for all of it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.work import Death, Failure, FinishedElsewhere, Outcome, Report, Work
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.store.ledger import Finished, Store, Unit
from tiltmeter.storage.store.registry import Entry

T = TypeVar("T")

_LOOKS_AT_ONCE = 16
_BATCHES_PER_WORKER = 8
_MOST_AT_ONCE = 16


class UnitsFailed(WorkFailed):
    """Some units could not be done; everything that needs them was left undone."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = list(failures)
        listed = "".join(f"\n  {failure.unit.name}: {failure.error}" for failure in failures[:10])
        more = f"\n  and {len(failures) - 10} more" if len(failures) > 10 else ""
        super().__init__(f"{len(failures):,} {'unit' if len(failures) == 1 else 'units'} failed:{listed}{more}")


@dataclass(frozen=True)
class Stage:
    """Units of one kind.

    Attributes:
        name: for people.
        work: what does a batch of them.
        units: all of them, whether done before or not, in groups such as the corpora: what fails in one group leaves
            the others alone.
        batch_size: the most units of a group that one worker takes together; None: so many that workers end together.
            It is how work is dealt out, never what is computed.
        on_gpu: whether each worker needs a GPU.
    """

    name: str
    work: Work
    units: Mapping[str, Sequence[Unit]]
    batch_size: int | None = 1
    on_gpu: bool = False

    def all_units(self) -> Iterator[Unit]:
        """The units of all groups."""
        return (unit for units in self.units.values() for unit in units)


class Pool(Protocol):
    """What does batches of units: :class:`.workers.Pool`, or :class:`.start.Workers`, which starts one when asked."""

    @property
    def num_workers(self) -> int:
        """Without a GPU."""

    @property
    def num_gpus(self) -> int:
        """Workers with a GPU."""

    def run(self, work: Work, batches: Sequence[Sequence[Unit]], *, on_gpu: bool = False) -> Iterator[Outcome]:
        """Do all batches; yields what becomes of each unit."""


@dataclass
class StageRecord:
    """What a stage did, for ``run.json``; the memory is the largest worker's peak up to the end of the stage."""

    name: str
    num_done: int = 0
    num_reused: int = 0
    num_failed: int = 0
    num_worker_deaths: int = 0
    seconds: float = 0.0
    worker_seconds: float = 0.0
    num_bytes: int = 0
    peak_worker_memory_bytes: int = 0

    def add(self, done: Finished, seconds: float, peak_memory_bytes: int) -> None:
        """Count one more finished unit."""
        self.num_done += 1
        self.worker_seconds += seconds
        self.num_bytes += done.num_bytes
        self.peak_worker_memory_bytes = max(self.peak_worker_memory_bytes, peak_memory_bytes)


@dataclass
class Runner:
    """Runs stages one after the other on a pool of workers, and remembers what they did and what failed.

    Attributes:
        entry: of the run in the store's register, where units are named before they are looked for.
    """

    store: Store
    pool: Pool
    display: Display
    entry: Entry | None = None
    records: list[StageRecord] = field(default_factory=list)
    failures: dict[str, list[Failure]] = field(default_factory=dict)

    def run(self, stage: Stage) -> dict[str, list[Finished]]:
        """The finished units of each group, in their order; those that failed are missing, and in ``failures``."""
        started = time.monotonic()
        if self.entry:
            self.entry.uses(unit.place for unit in stage.all_units())
        finished = self._find(stage)
        missing = _missing(stage, finished)
        num_missing = sum(map(len, missing.values()))
        record = StageRecord(stage.name, num_reused=len(finished))
        self.records.append(record)
        self.display.start(stage.name, total=len(finished) + num_missing, reused=len(finished))
        try:
            failures = self._do(stage, missing, finished, record)
        finally:
            record.seconds = time.monotonic() - started
            self.display.end()
        for group, units in stage.units.items():
            self.failures.setdefault(group, []).extend(failures[unit.place] for unit in units if unit.place in failures)
        return {
            group: [finished[unit.place] for unit in units if unit.place in finished]
            for group, units in stage.units.items()
        }

    def _find(self, stage: Stage) -> dict[str, Finished]:
        # In a bucket each look takes a while.
        with ThreadPoolExecutor(_LOOKS_AT_ONCE) as pool:
            return {row.place: row for row in pool.map(self.store.find, stage.all_units()) if row}

    def run_whole(self, stage: Stage) -> dict[str, list[Finished]]:
        """As :meth:`run`, of the groups of which nothing has failed so far; the others would lack a part.

        Raises:
            UnitsFailed: if no group is whole.
        """
        finished = self.run(stage)
        whole = {group: done for group, done in finished.items() if not self.failures[group]}
        if not whole:
            self.check()
        return whole

    @cached_property
    def _has_earlier_run(self) -> bool:
        return self.entry is not None and self.entry.has_earlier_run()

    def _even_batch(self, num_units: int) -> int:
        """For units of which some are cheap: that workers end together matters more than the overhead of a batch."""
        return min(max(num_units // (_BATCHES_PER_WORKER * self.pool.num_workers), 1), _MOST_AT_ONCE)

    def check(self) -> None:
        """Raise what has failed.

        Raises:
            UnitsFailed: if something has.
        """
        if failures := [failure for group in self.failures.values() for failure in group]:
            raise UnitsFailed(failures)

    def _do(
        self, stage: Stage, missing: Mapping[str, Sequence[Unit]], finished: dict[str, Finished], record: StageRecord
    ) -> dict[str, Failure]:
        failures: dict[str, Failure] = {}
        if not any(missing.values()):
            return failures
        batch_size = stage.batch_size or self._even_batch(sum(map(len, missing.values())))
        batches = [batch for units in missing.values() for batch in evenly(units, batch_size)]
        if self._has_earlier_run:
            batches.reverse()  # the two meet in the middle
        for outcome in self.pool.run(stage.work, batches, on_gpu=stage.on_gpu):
            match outcome:
                case Report(done, seconds, peak_memory_bytes):
                    finished[done.place] = done
                    record.add(done, seconds, peak_memory_bytes)
                    self.display.advance()
                case FinishedElsewhere(done):
                    finished[done.place] = done
                    record.num_reused += 1
                    self.display.advance()
                case Failure(unit):
                    failures[unit.place] = outcome
                    record.num_failed += 1
                    self.display.advance(failed=True)
                case Death():
                    record.num_worker_deaths += 1
            self.display.tick()
        return failures


def _missing(stage: Stage, finished: Mapping[str, Finished]) -> dict[str, list[Unit]]:
    """The units to be done, each once even if several groups have it."""
    groups: dict[str, list[Unit]] = {group: [] for group in stage.units}
    seen = set(finished)
    for group, units in stage.units.items():
        for unit in units:
            if unit.place not in seen:
                seen.add(unit.place)
                groups[group].append(unit)
    return groups


def evenly(units: Sequence[T], batch_size: int) -> list[Sequence[T]]:
    """As few batches as possible of at most ``batch_size`` units, whose sizes differ by at most one, larger first.

    >>> [len(batch) for batch in evenly(range(33), 8)]
    [7, 7, 7, 6, 6]
    """
    num_batches = -(-len(units) // batch_size)
    if not num_batches:
        return []
    size, larger = divmod(len(units), num_batches)
    starts = [index * size + min(index, larger) for index in range(num_batches + 1)]
    return [units[start:stop] for start, stop in pairwise(starts)]
