"""The actors that do units, and the loop that keeps them busy."""

import gc
import os
import re
import resource
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import ray
from ray.exceptions import RayError, RayTaskError

from tiltmeter.cluster.capacity import Room, num_wide_workers
from tiltmeter.cluster.scheduling import Queue
from tiltmeter.cluster.work import Failure, FinishedElsewhere, Heartbeat, Outcome, Report, Work, WorkerDied
from tiltmeter.storage.store.ledger import Store, Unit

_COLOUR = re.compile(r"\x1b\[\d+m")
_OTHER_PROCESSES = re.compile(r"Top \d+ memory users|PID\s+MEM")
_SECONDS_PER_TICK = 5.0
_SECONDS_PER_RENEWAL = 3600.0


class Kind(NamedTuple):
    """What the workers of a stage hold each."""

    on_gpu: bool = False
    num_cpus: int = 1


_USUAL = Kind()


@dataclass
class Pool:
    """Worker actors, one CPU each (or as many as a stage says), the memory that they keep to, and a GPU where asked
    for, kept alive across stages so that what they imported and compiled stays warm.

    Only a worker that has started receives a batch, one at a time, so that a worker for which the cluster has no room
    holds nothing up. A worker that dies is replaced. As a batch is done in order, its first unfinished unit is the one
    that a death or an error is charged to: an error is final for this unit, a death after ``max_retries`` more of
    them; the rest of the batch goes on elsewhere.
    """

    store: Store
    max_retries: int
    num_workers: int = 0
    num_gpus: int = 0
    worker_bytes: int = 0
    gpu_worker_bytes: int = 0
    rooms: Sequence[Room] = ()
    _lease: str | None = None
    _renewed: float = -_SECONDS_PER_RENEWAL
    _kind: Kind = _USUAL
    _idle: list[Any] = field(default_factory=list)
    _starting: dict[Any, Any] = field(default_factory=dict)
    _running: dict[Any, "_Batch"] = field(default_factory=dict)
    _waiting: Queue = field(default_factory=Queue)
    _num_deaths: Counter[str] = field(default_factory=Counter)
    _num_lost_starts: int = 0

    @contextmanager
    def started(
        self,
        num_workers: int,
        num_gpus: int = 0,
        worker_bytes: int = 0,
        gpu_worker_bytes: int = 0,
        rooms: Sequence[Room] = (),
    ) -> Iterator[None]:
        """Keep up to this many workers for the length of a ``with`` block.

        Args:
            num_workers: without a GPU.
            num_gpus: those with a GPU, one each.
            worker_bytes, gpu_worker_bytes: memory that each of them asks Ray for, so that no node gets more of them
                than it has memory for; 0 asks for none. Ray holds nobody to it.
            rooms: that nodes have for workers of more CPUs; none for such.
        """
        self.num_workers, self.num_gpus = num_workers, num_gpus
        self.worker_bytes, self.gpu_worker_bytes, self.rooms = worker_bytes, gpu_worker_bytes, rooms
        with self.store.leased() as self._lease:
            try:
                yield
            finally:
                self._dismiss()

    def num_wide_workers(self, num_cpus: int) -> int:
        """Of so many CPUs each, without a GPU."""
        return self.num_workers if num_cpus == 1 else num_wide_workers(self.rooms, num_cpus)

    def run(self, work: Work, queue: Queue, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:
        """Do all units of a queue, on workers that hold a GPU or on such that do not, of so many CPUs each; yields what
        becomes of each."""
        if queue and (kind := Kind(on_gpu, num_cpus)) != self._kind:
            self._dismiss()
            self._kind = kind
        self._waiting = queue
        # A node may have been lost since the last stage: a worker is asked for a sign of life before it is relied on.
        self._starting |= {worker.ready.remote(): worker for worker in self._idle}
        self._idle.clear()
        while self._waiting or self._running:
            self._renew_lease()
            self._assign(work)
            events = [*self._starting, *self._running]
            ready, _ = ray.wait(events, num_returns=1, timeout=_SECONDS_PER_TICK)
            if not ready:
                yield Heartbeat()
            elif ready[0] in self._starting:
                yield from self._add(ready[0])
            else:
                yield from self._advance(ready[0])

    def _renew_lease(self) -> None:
        if self._lease and time.monotonic() - self._renewed >= _SECONDS_PER_RENEWAL:
            self.store.renew(self._lease)
            self._renewed = time.monotonic()

    def _dismiss(self) -> None:
        for worker in [*self._idle, *self._starting.values(), *(batch.worker for batch in self._running.values())]:
            ray.kill(worker)
        self._idle.clear()
        self._starting.clear()

    def _assign(self, work: Work) -> None:
        most_workers = self.num_wide_workers(self._kind.num_cpus)
        if self._kind.on_gpu:
            most_workers = min(most_workers, self.num_gpus)
        while self._waiting and self._idle:
            worker = self._idle.pop()
            units = self._waiting.take(most_workers)
            self._running[worker.run.remote(work, units)] = _Batch(units, worker)
        for _ in range(min(len(self._waiting), most_workers - len(self._running)) - len(self._starting)):
            worker = self._new_worker()
            self._starting[worker.ready.remote()] = worker

    def _new_worker(self) -> Any:
        options: dict[str, Any] = {"num_cpus": self._kind.num_cpus, "memory": self.worker_bytes}
        if self._kind.on_gpu:
            options |= {"num_gpus": 1, "memory": self.gpu_worker_bytes}
        # Ray would restart a dead actor by itself, but could not resume the stream of reports where it broke off.
        options |= {"max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return ray.remote(_Worker).options(**options).remote(self.store.root, self._lease)

    def _add(self, ready: Any) -> Iterator[Outcome]:
        worker = self._starting.pop(ready)
        try:
            ray.get(ready)
        except RayError as error:
            # It is gone; the next round starts another, unless none has come to anything for long.
            self._num_lost_starts += 1
            if not self._running and self._num_lost_starts > (1 + self.max_retries) * self.num_workers:
                yield from self._give_up(error)
        else:
            self._num_lost_starts = 0
            self._idle.append(worker)

    def _give_up(self, error: RayError) -> Iterator[Outcome]:
        """Workers die before they are at any unit: what waits for one can't be done."""
        while self._waiting:
            for unit in self._waiting.take(self.num_workers):
                yield _unit_lost(unit, f"{self._num_lost_starts} workers died as they started", error)
        self._num_lost_starts = 0

    def _advance(self, stream: Any) -> Iterator[Outcome]:
        batch = self._running[stream]
        try:
            outcome = ray.get(next(stream))
        except StopIteration:
            del self._running[stream]
            self._idle.append(batch.worker)
        except RayTaskError as error:
            del self._running[stream]
            self._idle.append(batch.worker)
            if batch.units:
                yield _unit_failed(batch.units.pop(0), error)
            self._waiting.add(batch.units)
        except RayError as error:
            del self._running[stream]
            ray.kill(batch.worker)
            yield from self._remove(batch, error)
        else:
            batch.units = [unit for unit in batch.units if unit.place != outcome.finished.place]
            yield outcome

    def _remove(self, batch: "_Batch", error: RayError) -> Iterator[Outcome]:
        # What a worker says last can be lost with it; the ledger knows what it finished.
        while batch.units and (finished := self.store.find(batch.units[0])):
            batch.units.pop(0)
            yield Report(finished)
        if not batch.units:
            return
        unit, *others = batch.units
        self._waiting.add(others)
        self._num_deaths[unit.place] += 1
        if self._num_deaths[unit.place] > self.max_retries:
            yield _unit_lost(unit, f"its worker died {self._num_deaths[unit.place]} times", error)
        else:
            yield WorkerDied(unit)
            self._waiting.add([unit])


@dataclass
class _Batch:
    units: list[Unit]
    worker: Any


def _unit_failed(unit: Unit, error: RayTaskError) -> Failure:
    cause = error.cause
    return Failure(unit, f"{type(cause).__name__}: {cause}", _COLOUR.sub("", str(error)))


def _unit_lost(unit: Unit, what: str, error: RayError) -> Failure:
    advice = "raise cluster.max_retries, or give it more memory"
    # When memory is short, Ray lists the command lines of all processes, whatever credentials they may hold.
    message = _OTHER_PROCESSES.split(str(error))[0].rstrip()
    return Failure(unit, f"{what} ({advice}): {message}", f"{type(error).__name__}: {message}")


class _Worker:
    _num_modules, _is_batch_frozen = 0, False
    """What the garbage collector no longer looks through: so many modules, and perhaps what a batch had then."""

    def __init__(self, store_root: str, lease: str | None = None) -> None:
        self.store, self.name = Store(store_root, lease), f"{socket.gethostname()} {os.getpid()}"

    def ready(self) -> None:
        """Returns as soon as the worker runs."""

    def run(self, work: Work, units: Sequence[Unit]) -> Iterator[Report | FinishedElsewhere]:
        """Do a batch, but for what another run has finished meanwhile."""
        finished_elsewhere = {unit.place: finished for unit in units if (finished := self.store.find(unit))}
        for finished in finished_elsewhere.values():
            yield FinishedElsewhere(finished)
        if missing := [unit for unit in units if unit.place not in finished_elsewhere]:
            yield from self._do(work, missing)

    def _do(self, work: Work, units: Sequence[Unit]) -> Iterator[Report]:
        started = time.monotonic()
        self._free_last_batch()
        for unit, tables in work(self.store, units):
            finished = self.store.commit(unit, tables)
            self._free_unit()
            now = time.monotonic()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            yield Report(finished, now - started, peak, self.name)
            started = now

    @classmethod
    def _free_last_batch(cls) -> None:
        """Free what was frozen in the midst of a batch, when its modules were; without them nothing is left of it."""
        if cls._is_batch_frozen:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            cls._is_batch_frozen = False

    @classmethod
    def _free_unit(cls) -> None:
        """Free what a unit needed; modules that it imported are looked through once, and not after each of the others.

        A function that numba compiles stays in a cycle of references with the arguments of its call. Arrow keeps what
        it has freed, on top of which the next unit would allocate.
        """
        gc.collect()
        if cls._num_modules != len(sys.modules):
            gc.freeze()
            cls._num_modules, cls._is_batch_frozen = len(sys.modules), True
        pa.default_memory_pool().release_unused()
