"""Runs whose units are done by the process of the tests, and what became of each."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl
import pytest

from tests.jobs.conftest import Outcome
from tiltmeter.cluster.stages import Runner
from tiltmeter.storage.store.identity import canonical
from tiltmeter.storage.store.ledger import Finished, Store, Unit


class Done(NamedTuple):
    """A unit, and where its tables are."""

    unit: Unit
    finished: Finished


@dataclass(frozen=True)
class Traced(Outcome):
    """A run with its store, and the units of each stage in their order."""

    store: Store
    stages: dict[str, list[Done]]

    @cached_property
    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        return {}

    def rows(self, name: str, /, **wanted: Any) -> list[dict[str, Any]]:
        """The rows of a table that have these values; a table is read once."""
        if name not in self._rows:
            self._rows[name] = self.table(name).to_pylist()
        return [row for row in self._rows[name] if all(row[key] == value for key, value in wanted.items())]

    def done(self, stage: str, **config: Any) -> list[Done]:
        """The units of a stage whose configs have these values."""
        wanted = canonical(config)
        return [
            done for done in self.stages[stage] if canonical({key: done.unit.config[key] for key in config}) == wanted
        ]

    def part(self, stage: str, table: str, **config: Any) -> pl.DataFrame:
        """A table of the only unit of a stage with such a config."""
        [done] = self.done(stage, **config)
        return pl.DataFrame(self.store.read(done.finished.tables[table]))


@pytest.fixture(scope="session")
def run_here(run_here):
    """Runs a job without a cluster; what each unit was given and made can be looked at."""

    def run(*overrides):
        stages: defaultdict[str, list[Done]] = defaultdict(list)
        stores: list[Store] = []
        whole = Runner.run

        def recorded(runner, stage):
            finished = whole(runner, stage)
            stores.append(runner.store)
            done = {unit.place: unit for units in finished.values() for unit in units}
            stages[stage.name] += [Done(unit, done[unit.place]) for unit in stage.all_units() if unit.place in done]
            return finished

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Runner, "run", recorded)
            outcome = run_here(*map(str, overrides))
        return Traced(outcome.path, stores[0], dict(stages))

    return run
