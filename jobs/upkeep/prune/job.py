"""Job `prune`: which units of the store no kept run refers to; removes them when told to."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from tiltmeter.jobs.report.wording import some
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.upkeep.prune.config import PruneRun
from tiltmeter.jobs.upkeep.prune.tables import RUNS, TABLES, UNITS
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import EARLIER_VERSION, open_store, require_store
from tiltmeter.storage.store.pruning import StoredUnit, kept_runs, remove, stored_units
from tiltmeter.storage.store.registry import RegisteredRun, Registry


@dataclass(frozen=True)
class NoSources:
    """The store itself is what this job is about."""

    def record(self) -> dict[str, Any]:
        """No inputs."""
        return {}


def find_nothing(config: PruneRun) -> NoSources:
    """There is nothing to look for; the store is to be one.

    Raises:
        StorageError: if it is none.
    """
    require_store(Store(config.store))
    return NoSources()


def run(run: Run[PruneRun, NoSources]) -> None:
    """List runs and units, remove those that are not kept if told to; publish tables.

    Raises:
        ConfigError: for a series to forget that the store does not have.
        StorageError: if units are to be removed while a run is at work, or a folder of the store is a symbolic link.
    """
    config, store = run.config.job, run.runner.store
    if config.remove and open_store(store):
        run.console.print(EARLIER_VERSION.format(store.name), soft_wrap=True, highlight=False, markup=False)
    registry = Registry(store)
    with registry.pruning() if config.remove else nullcontext():
        runs = {entry: registry.units(entry) for entry in registry.runs()}
        kept = _kept(runs, config.keep, config.forget)
        num_uses = Counter(chain.from_iterable(runs[entry] for entry in kept))
        units = stored_units(store)
        unused = [unit for unit in units if unit.place not in num_uses]
        run.directory.write_table("runs", _runs(runs, kept))
        run.directory.write_table("units", _units(units, num_uses, "removed" if config.remove else "unused"))
        if config.remove:
            store.sweep()
            # The table was written first: it says what went, even of a removal that breaks off.
            if left := [*chain.from_iterable(remove(store, unit) for unit in unused)]:
                run.console.print(_foreign(left), soft_wrap=True, highlight=False, markup=False)
            for entry in runs:
                if entry not in kept:
                    registry.forget(entry)


def _foreign(files: Sequence[str]) -> str:
    return f"left alone, as they have the names of files of units and another content: {some(files)}"


def _kept(runs: Iterable[RegisteredRun], num_kept: int, forget: Sequence[str]) -> set[RegisteredRun]:
    known = {_series(entry) for entry in runs}
    if unknown := next((series for series in forget if series not in known), None):
        listed = ", ".join(sorted(known)) or "none"
        raise ConfigError(f"job.forget: the store has no series {unknown}; it has: {listed}")
    return set(kept_runs([entry for entry in runs if _series(entry) not in forget], num_kept))


def _series(entry: RegisteredRun) -> str:
    return f"{entry.job}/{entry.series}"


def _runs(runs: Mapping[RegisteredRun, Collection[str]], kept: Collection[RegisteredRun]) -> pa.Table:
    rows = [
        {
            "series": _series(entry),
            "started": entry.started,
            "status": entry.status,
            "host": entry.process.host,
            "run_dir": entry.run_dir,
            "num_units": len(places),
            "is_kept": entry in kept,
        }
        for entry, places in runs.items()
    ]
    return pa.Table.from_pylist(rows, RUNS)


def _units(units: Sequence[StoredUnit], num_uses: Mapping[str, int], otherwise: str) -> pa.Table:
    rows = [
        {
            "place": unit.place,
            "operator": unit.place.rpartition("/")[0],
            "num_bytes": unit.num_bytes,
            "modified": unit.modified,
            "is_finished": unit.is_finished,
            "num_runs": num_uses[unit.place],
            "action": "kept" if unit.place in num_uses else otherwise,
        }
        for unit in units
    ]
    return pa.Table.from_pylist(rows, UNITS)


JOB = Job(PruneRun, find_nothing, run, TABLES, "tiltmeter.jobs.upkeep.prune.page:page", has_units=False)
