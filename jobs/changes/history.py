"""What changed since the last run that asked the same, as the store's register remembers it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.comparing import Comparison, common_tables
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.differences import Limits
from tiltmeter.jobs.changes.past_runs import OF_NIGHTS, PastRun, run_under_way
from tiltmeter.jobs.changes.sections import changes_since
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.report.html.elements import Section
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import RegisteredRun, Registry

_DETAIL = Detail(max_megabytes=8.0)
"""A comparison that nobody asked for should not take much of the driver's memory."""


@dataclass(frozen=True)
class History:
    """A run against the last of its series that succeeded before it; nothing where there is none.

    Attributes:
        since: when that run started, in words.
        runs: that run and this one, for closer looks.
        comparison: of the same.
        num_tables: tables that both runs have.
    """

    since: str | None = None
    runs: tuple[PastRun, PastRun] | None = None
    comparison: Comparison | None = None
    num_tables: int = 0

    def changes(self, limits: Limits | None = None) -> pa.Table:
        """See :meth:`.comparing.Comparison.changes`."""
        return Changes.schema().empty_table() if self.comparison is None else self.comparison.changes(limits)


def history(store: Store, registered: RegisteredRun, run: PastRun, *, passed: bool = False) -> History:
    """What changed since the last successful run.

    Args:
        store: where both runs are registered.
        registered: the run, as its store knows it.
        run: the same, as a comparison sees it.
        passed: whether it is to be one whose gates passed on its night.
    """
    last = Registry(store).last_succeeded(registered.job, registered.series, before=registered.started, passed=passed)
    return since(as_past_run(store, last), run) if last else History()


def since(before: PastRun, run: PastRun) -> History:
    """What changed since an earlier run."""
    return History(before.moment, (before, run), Comparison(before, run, _DETAIL), len(common_tables(before, run)))


def as_past_run(store: Store, registered: RegisteredRun) -> PastRun:
    """A registered run as a comparison sees it: its tables that are units of the store, and tell of no runs."""
    record = _of_units(registered.record, registered.tables)
    return PastRun(registered.run_dir, record, registered.settings, partial(registered.read, store))


def _of_units(record: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    kept = {name: table for name, table in record["tables"].items() if name in names and name not in OF_NIGHTS}
    return {**record, "tables": kept}


def changes_of_run(run: Run[Any, Any]) -> list[Section]:
    """What changed since the last run that asked the same; nothing for jobs that no later run looks back at."""
    entry = run.runner.entry
    if entry is None:
        return []
    now = run_under_way(run.directory, entry.run.settings)
    past = history(run.runner.store, entry.run, replace(now, record=_of_units(now.record, run.published)))
    return [changes_since(pl.DataFrame(past.changes()), past.num_tables, past.since)]
