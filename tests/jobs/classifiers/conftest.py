"""Runs of jobs in this process, which also hold what no table publishes: the units of each stage with their tables."""

import inspect
import os
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tests.jobs import conftest
from tiltmeter.cluster.work import Report
from tiltmeter.storage.store.ledger import Finished, TableRef, Unit


class NotingPool(conftest.PoolHere):
    """Does units as a worker would, with work and units that came through a pickle, and notes them."""

    def __init__(self, store):
        super().__init__(store)
        self.done: list[tuple[Unit, Finished]] = []

    def num_wide_workers(self, num_cpus):
        return int(num_cpus == 1)

    def run(self, work, queue, *, on_gpu=False, num_cpus=1):
        assert (on_gpu, num_cpus) == (False, 1)
        asked = []

        def noted(store, units):
            asked.extend(units)
            came, of = pickle.loads(pickle.dumps((work, units)))
            return came(store, of)

        for outcome in super().run(noted, queue):
            if isinstance(outcome, Report):
                self.done.append((asked[-1], outcome.finished))
            yield outcome


@dataclass(frozen=True)
class RunHere:
    """What a run left in its directory, the units that it did, and the calls of functions that were watched."""

    run: Any
    pool: NotingPool | None
    calls: dict[str, list[dict[str, Any]]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)

    def grouped(self, table: str, column: str, /, **wanted: Any) -> dict[Any, list[dict[str, Any]]]:
        """The rows of a table that have these values, by what they have in a column."""
        parts: dict[Any, list[dict[str, Any]]] = {}
        for row in self.rows(table, **wanted):
            parts.setdefault(row[column], []).append(row)
        return parts

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
def run_here(run_here):
    """Runs a job as ``run_job`` does, without Ray, and notes what functions of modules are given, and their results."""

    def run(*overrides, watched=()):
        pools, calls = [], {}

        def pool(store):
            pools[:] = pools or [NotingPool(store)]
            return pools[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(conftest, "PoolHere", pool)
            for module, name in watched:
                _watch(patch, module, name, calls.setdefault(name, []))
            outcome = run_here(*overrides)
        return RunHere(outcome, pools[0] if pools else None, calls)

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


@pytest.fixture
def check_sentences(request):
    """Holds sentences by case against ``models/<test file>.txt``, which ``TILTMETER_MODELS=write`` writes."""

    def check(cases):
        model = request.path.parent / "models" / f"{request.path.stem.removeprefix('test_')}.txt"
        text = [line for case, said in cases.items() for line in (f"# {case}", *said)]
        if os.environ.get("TILTMETER_MODELS") == "write":
            model.parent.mkdir(exist_ok=True)
            model.write_text("\n".join(text) + "\n")
        assert text == model.read_text().splitlines()

    return check
