"""Job `prune`: which units of the store no kept run refers to; removes them when told to."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal

import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.report.wording import some
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import open_store, require_store
from tiltmeter.storage.store.pruning import StoredUnit, kept_runs, remove, stored_units
from tiltmeter.storage.store.registry import RegisteredRun, Registry
from tiltmeter.storage.store.tables import column

_RUNS = pa.schema(
    [
        column("series", pa.string(), "runs that ask the same: <job>/<series>", key=True),
        column("started", pa.timestamp("us", tz="UTC"), "when it started", key=True),
        column("status", pa.string(), "running, succeeded or failed; a run that was killed says running for ever"),
        column("host", pa.string(), "the machine that ran it"),
        column("run_dir", pa.string(), "its run directory there"),
        column("num_units", pa.int64(), "units that it used", "units"),
        column("is_kept", pa.bool_(), "whether its units stay"),
    ]
)

_UNITS = pa.schema(
    [
        column("place", pa.string(), "what the unit is: operator, version and digest", key=True),
        column("operator", pa.string(), "operator and version"),
        column("num_bytes", pa.int64(), "of all its files", "bytes"),
        column("modified", pa.timestamp("us", tz="UTC"), "when the last of its files was written"),
        column("is_finished", pa.bool_(), "whether the ledger has it"),
        column("num_runs", pa.int64(), "kept runs that use it", "runs"),
        column("action", pa.string(), "kept; unused: no kept run uses it; removed"),
    ]
)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PruneJob:
    """``job=prune``

    Attributes:
        keep: successful runs of each series that are kept, with every run since.
        forget: series of which no run is kept: ``<job>/<series>``, as the table ``runs`` names them.
        remove: whether to remove what no kept run refers to, or only to list it.
    """

    name: Literal["prune"] = "prune"
    keep: Annotated[int, Field(ge=1)] = 1
    forget: tuple[Annotated[str, Field(pattern=r"^\w+/\w[\w.-]*$")], ...] = ()
    remove: bool = False


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PruneRun(CommonConfig):
    """A run of ``prune``."""

    job: PruneJob


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
    if config.remove:
        open_store(store)
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
            store.clean_up()
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
    return pa.Table.from_pylist(rows, _RUNS)


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
    return pa.Table.from_pylist(rows, _UNITS)


JOB = Job(
    PruneRun,
    find_nothing,
    run,
    {"runs": _RUNS, "units": _UNITS},
    "tiltmeter.jobs.upkeep.prune.page:page",
    has_units=False,
)
