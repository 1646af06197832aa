"""Job `prune`: which units of the store no kept run refers to; removes them when told to."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from itertools import chain
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from tiltmeter.jobs.report.wording import some
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.settings.fields import Count, settings
from tiltmeter.jobs.runtime.table import Table, doc, key, schemas, tables_of
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import open_store, require_store
from tiltmeter.storage.store.pruning import StoredUnit, kept_runs, remove, stored_units
from tiltmeter.storage.store.registry import RegisteredRun, Registry

_Moment = Annotated[datetime, pa.timestamp("us", tz="UTC")]


class Runs(Table, name="runs", has_status=False):
    series: str = key("runs that ask the same: <job>/<series>")
    started: _Moment = key("when it started")
    status: str = doc("running, succeeded or failed; a run that was killed says running for ever")
    host: str = doc("the machine that ran it")
    run_dir: str = doc("its run directory there")
    num_units: int = doc("units that it used", "units")
    is_kept: bool = doc("whether its units stay")


class Units(Table, name="units", has_status=False):
    place: str = key("what the unit is: operator, version and digest")
    operator: str = doc("operator and version")
    num_bytes: int = doc("of all its files", "bytes")
    modified: _Moment = doc("when the last of its files was written")
    is_finished: bool = doc("whether the ledger has it")
    num_runs: int = doc("kept runs that use it", "runs")
    action: str = doc("kept; unused: no kept run uses it; removed")


@settings
class PruneJob:
    """``job=prune``"""

    name: Literal["prune"]
    keep: Count
    forget: tuple[Annotated[str, Field(pattern=r"^\w+/\w[\w.-]*$")], ...]
    remove: bool


@settings
class PruneRun(CommonConfig):
    """A run of ``prune``."""

    job: PruneJob


def find_nothing(config: PruneRun) -> Files:
    """There is nothing to look for, as the store itself is what this job is about; it is to be one.

    Raises:
        StorageError: if it is none.
    """
    require_store(Store(config.store))
    return Files({})


def run(run: Run[PruneRun, Files]) -> None:
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
        rows = [*_runs(runs, kept), *_units(units, num_uses, "removed" if config.remove else "unused")]
        for name, table in tables_of(rows, [Runs, Units]):
            run.directory.write_table(name, table)
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


def _runs(runs: Mapping[RegisteredRun, Collection[str]], kept: Collection[RegisteredRun]) -> Iterator[Runs]:
    for entry, places in runs.items():
        yield Runs(
            series=_series(entry),
            started=entry.started,
            status=entry.status,
            host=entry.process.host,
            run_dir=entry.run_dir,
            num_units=len(places),
            is_kept=entry in kept,
        )


def _units(units: Sequence[StoredUnit], num_uses: Mapping[str, int], otherwise: str) -> Iterator[Units]:
    for unit in units:
        yield Units(
            place=unit.place,
            operator=unit.place.rpartition("/")[0],
            num_bytes=unit.num_bytes,
            modified=unit.modified,
            is_finished=unit.is_finished,
            num_runs=num_uses[unit.place],
            action="kept" if unit.place in num_uses else otherwise,
        )


JOB = Job(
    PruneRun,
    find_nothing,
    run,
    schemas(Runs, Units),
    "tiltmeter.jobs.upkeep.prune.page:page",
    has_units=False,
)
