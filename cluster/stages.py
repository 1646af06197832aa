"""Running a stage: reuse what the ledger knows, do the rest, keep count, and never take part of it for all of it."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from tiltmeter.cluster.driver import Driver
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.scheduling import Queue, longest_first, threads_per_unit
from tiltmeter.cluster.work import Failure, FinishedElsewhere, Outcome, Report, Work, WorkerDied
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit
from tiltmeter.storage.store.registry import Entry

_LOOKS_AT_ONCE = 16


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
        batch_size: the most units of a group that one worker takes together; None: as many as are worth it, of units
            of which some are cheap. It is how work is handed out, never what is computed.
        on_gpu: whether each worker needs a GPU.
        most_threads: that are of use to a unit, where there are more CPUs than units.
        on_threads: the same work by so many threads for each unit.
        in_driver: whether the driver does them itself, as they are few and on rows that it has: no worker starts.
    """

    name: str
    work: Work
    units: Mapping[str, Sequence[Unit]]
    batch_size: int | None = 1
    on_gpu: bool = False
    most_threads: int = 1
    on_threads: Callable[[int], Work] | None = None
    in_driver: bool = False

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

    def num_wide_workers(self, num_cpus: int) -> int:
        """Of so many CPUs each, without a GPU."""

    def ask_nodes(self, question: Callable[[], str]) -> dict[str, str]:
        """What every node that may do units answers, by its name; :class:`.start.Workers` alone can be asked."""

    def run(self, work: Work, queue: Queue, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:
        """Do all units of a queue, on workers of so many CPUs each; yields what becomes of each."""


@dataclass
class StageRecord:
    """What a stage did, for ``run.json``.

    Attributes:
        seconds: from its start to its end.
        worker_seconds: that workers were at units, all together.
        num_workers: that could have been.
        num_threads: of each worker.
        busy_share: ``worker_seconds`` of the ``seconds`` of all workers; None if there was nothing to do.
        least_busy_share: that of the worker which did least.
        peak_worker_memory_bytes: the largest worker's up to the end of the stage.
    """

    name: str
    num_done: int = 0
    num_reused: int = 0
    num_failed: int = 0
    num_worker_deaths: int = 0
    seconds: float = 0.0
    worker_seconds: float = 0.0
    num_workers: int = 0
    num_threads: int = 1
    busy_share: float | None = None
    least_busy_share: float | None = None
    num_bytes: int = 0
    peak_worker_memory_bytes: int = 0

    def __post_init__(self) -> None:
        self._seconds_by_worker: defaultdict[str, float] = defaultdict(float)

    def add(self, report: Report) -> None:
        """Count one more finished unit."""
        self.num_done += 1
        self.worker_seconds += report.seconds
        if report.worker:
            self._seconds_by_worker[report.worker] += report.seconds
        self.num_bytes += report.finished.num_bytes
        self.peak_worker_memory_bytes = max(self.peak_worker_memory_bytes, report.peak_memory_bytes)

    def end(self, seconds: float) -> None:
        """The stage took so long."""
        self.seconds = seconds
        if self.num_workers:
            self.busy_share = self.worker_seconds / (seconds * self.num_workers)
            has_idle = len(self._seconds_by_worker) < self.num_workers
            self.least_busy_share = 0.0 if has_idle else min(self._seconds_by_worker.values()) / seconds


@dataclass
class Runner:
    """Runs stages one after the other on a pool of workers, and remembers what they did and what failed.

    Attributes:
        entry: of the run in the store's register, where units are named before they are looked for.
        leave_out: takes the records that units left out of what they read.
        draws: of the units' tables of that name, which no stage asks for, by the place of the unit.
    """

    store: Store
    pool: Pool
    display: Display
    entry: Entry | None = None
    records: list[StageRecord] = field(default_factory=list)
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    draws: dict[str, TableRef] = field(default_factory=dict)
    leave_out: Callable[[BadRecords], None] = field(default_factory=lambda: BadRecords().merge)

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
            record.end(time.monotonic() - started)
            self.display.end()
        for group, units in stage.units.items():
            self.failures.setdefault(group, []).extend(failures[unit.place] for unit in units if unit.place in failures)
        self.draws |= _draws(finished[unit.place] for unit in stage.all_units() if unit.place in finished)
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
        pool = Driver(self.store) if stage.in_driver else self.pool
        work = _widened(stage, pool, sum(map(len, missing.values())), record)
        batches = longest_first(missing.values(), stage.batch_size or 1)
        if self._has_earlier_run:
            batches.reverse()  # the two meet in the middle
        queue = Queue(batches, joins=stage.batch_size is None)
        for outcome in pool.run(work, queue, on_gpu=stage.on_gpu, num_cpus=record.num_threads):
            match outcome:
                case Report(done):
                    finished[done.place] = done
                    record.add(outcome)
                    self.display.advance()
                case FinishedElsewhere(done):
                    finished[done.place] = done
                    record.num_reused += 1
                    self.display.advance()
                case Failure(unit):
                    failures[unit.place] = outcome
                    record.num_failed += 1
                    self.display.advance(failed=True)
                case WorkerDied():
                    record.num_worker_deaths += 1
            self.display.tick()
        return failures


def _widened(stage: Stage, pool: Pool, num_units: int, record: StageRecord) -> Work:
    """The work of a stage by as many threads as suit so many units; notes them, and the workers that there are."""
    record.num_workers = pool.num_workers
    if stage.on_gpu:
        record.num_workers = min(record.num_workers, pool.num_gpus)
    if stage.on_threads is None:
        return stage.work
    record.num_threads = threads_per_unit(num_units, pool.num_wide_workers, stage.most_threads)
    record.num_workers = pool.num_wide_workers(record.num_threads)
    return stage.on_threads(record.num_threads)


def _draws(finished: Iterable[Finished]) -> dict[str, TableRef]:
    return {done.place: done.tables["draws"] for done in finished if "draws" in done.tables}


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
