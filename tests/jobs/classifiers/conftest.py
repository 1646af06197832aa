"""Runs of jobs in this process, which also hold what no table publishes: the units of each stage with their tables."""

import pickle
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from tiltmeter.cluster.dealing import Deck
from tiltmeter.cluster.start import Workers
from tiltmeter.cluster.work import Failure, Outcome, Report, Work
from tiltmeter.storage.store.ledger import Finished, Store, Unit


@dataclass
class PoolHere:
    """Does units as a worker would, with work and units that came through a pickle."""

    store: Store
    done: list[tuple[Unit, Finished]] = field(default_factory=list)
    num_workers, num_gpus = 1, 0

    def num_wide_workers(self, num_cpus: int) -> int:
        return int(num_cpus == 1)

    def run(self, work: Work, deck: Deck, *, on_gpu: bool = False, num_cpus: int = 1) -> Iterator[Outcome]:
        assert (on_gpu, num_cpus) == (False, 1)
        while deck:
            yield from self._batch(*pickle.loads(pickle.dumps((work, deck.take(1)))))

    def _batch(self, work: Work, units: Sequence[Unit]) -> Iterator[Outcome]:
        left = list(units)
        try:
            for unit, tables in work(self.store, units):
                self.done.append((unit, self.store.commit(unit, tables)))
                left.remove(unit)
                yield Report(self.done[-1][1])
        except Exception as error:  # as a worker: whatever it is, the run goes on without this unit
            failed, *others = left
            yield Failure(failed, f"{type(error).__name__}: {error}", traceback.format_exc())
            if others:
                yield from self._batch(work, others)


@dataclass(frozen=True)
class RunHere:
    """What a run left in its directory, and the units that it did."""

    run: Any
    pool: PoolHere

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def units(self, operator: str) -> list[tuple[Unit, dict[str, pa.Table]]]:
        """Those of an operator, whatever its version, with their tables."""
        read = self.pool.store.read
        return [
            (unit, {name: read(ref) for name, ref in finished.tables.items()})
            for unit, finished in self.pool.done
            if unit.operator.split("/")[0] == operator
        ]

    def made(self, operator: str, table: str) -> list[list[dict[str, Any]]]:
        """The rows of a table of each unit of an operator."""
        return [tables[table].to_pylist() for _, tables in self.units(operator)]


@pytest.fixture(scope="session")
def run_here(configured, outcome_of):
    """Runs a job as ``run_job`` does, without Ray."""
    from tiltmeter.jobs.command import execute

    def run(*overrides):
        pools = []

        def started(workers):
            if not pools:
                pools.append(PoolHere(workers.store))
            return pools[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Workers, "_started", started)
            path = execute(configured("cluster.num_cpus=1", *overrides))
        return RunHere(outcome_of(path), pools[0] if pools else PoolHere(None))

    return run
