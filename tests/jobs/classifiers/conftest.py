"""Runs of jobs in this process, which also hold what no table publishes: the units of each stage with their tables."""

import inspect
import pickle
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tiltmeter.cluster.dealing import Deck
from tiltmeter.cluster.start import Workers
from tiltmeter.cluster.work import Failure, Outcome, Report, Work
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit


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
    """What a run left in its directory, the units that it did, and the calls of functions that were watched."""

    run: Any
    pool: PoolHere
    calls: dict[str, list[dict[str, Any]]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def units(self, operator: str) -> list[tuple[Unit, Finished]]:
        """Those of an operator, whatever its version."""
        return [(unit, done) for unit, done in self.pool.done if unit.operator.split("/")[0] == operator]

    def read(self, ref: TableRef) -> list[dict[str, Any]]:
        """The rows of a table."""
        return self.pool.store.read(ref).to_pylist()

    def made(self, operator: str, table: str) -> list[list[dict[str, Any]]]:
        """The rows of a table of each unit of an operator."""
        return [self.read(done.tables[table]) for _, done in self.units(operator)]


@pytest.fixture(scope="session")
def run_here(configured, outcome_of):
    """Runs a job as ``run_job`` does, without Ray, and notes what functions of modules are given, and their results."""
    from tiltmeter.jobs.command import execute

    def run(*overrides, watched=()):
        pools, calls = [], {}

        def started(workers):
            if not pools:
                pools.append(PoolHere(workers.store))
            return pools[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Workers, "_started", started)
            for module, name in watched:
                _watch(patch, module, name, calls.setdefault(name, []))
            path = execute(configured("cluster.num_cpus=1", *overrides))
        return RunHere(outcome_of(path), pools[0] if pools else PoolHere(None), calls)

    return run


def _watch(patch, module, name, calls):
    function = getattr(module, name)
    signature = inspect.signature(function)

    def watched(*positional, **named):
        bound = signature.bind(*positional, **named)
        bound.apply_defaults()
        calls.append(bound.arguments | {"result": function(*positional, **named)})
        return calls[-1]["result"]

    patch.setattr(module, name, watched)
