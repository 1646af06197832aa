"""What lies in a store, unit by unit, and its removal."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pyarrow import fs

from tiltmeter.storage.files.filesystems import delete_file
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import RegisteredRun

_FOLDERS = ("ledger", "states", "units")


@dataclass(frozen=True)
class StoredUnit:
    """Files of a unit.

    Attributes:
        place: ``<operator>/<version>/<digest>``.
        num_bytes: of all its files.
        modified: when the last of them was written.
        is_finished: whether the ledger has it; what is left of a unit that was never finished has files only.
        files: their paths, the ledger's row first.
    """

    place: str
    num_bytes: int
    modified: datetime
    is_finished: bool
    files: tuple[str, ...]


def stored_units(store: Store) -> list[StoredUnit]:
    """Every unit of which a store has anything, by place.

    Raises:
        StorageError: if a folder of the store is a symbolic link.
    """
    by_place: dict[str, list[fs.FileInfo]] = defaultdict(list)
    for folder in _FOLDERS:
        for place, file in store.unit_files(folder):
            by_place[place].append(file)
    return [_unit(store, place, files) for place, files in sorted(by_place.items())]


def _unit(store: Store, place: str, files: Iterable[fs.FileInfo]) -> StoredUnit:
    row = f"{store.path}/ledger/{place}.json"
    files = sorted(files, key=lambda file: (file.path != row, file.path))
    return StoredUnit(
        place,
        num_bytes=sum(file.size for file in files),
        modified=max(file.mtime for file in files),
        is_finished=files[0].path == row,
        files=tuple(file.path for file in files),
    )


def remove(store: Store, unit: StoredUnit) -> list[str]:
    """Remove a unit, its ledger row first: a removal that breaks off leaves a unit that counts as not done.

    What has not the content of our files stays; its paths are returned.

    Raises:
        StorageError: if a file can't be removed, or a symbolic link has come in the way of it.
    """
    foreign = [file for file in unit.files if not store.has_written(unit.place, file)]
    for file in unit.files:
        if file not in foreign:
            delete_file(store.filesystem, store.inside(file.removeprefix(f"{store.path}/")))
    return foreign


def kept_runs(runs: Iterable[RegisteredRun], num_kept: int) -> list[RegisteredRun]:
    """Of each series the latest ``num_kept`` runs that succeeded, and every run since the earliest of these.

    Args:
        runs: of any jobs and series.
        num_kept: at least 1.
    """
    by_series: dict[tuple[str, str], list[RegisteredRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.started, reverse=True):
        by_series[run.job, run.series].append(run)
    return [run for series in by_series.values() for run in _latest(series, num_kept)]


def _latest(series: list[RegisteredRun], num_kept: int) -> list[RegisteredRun]:
    succeeded = [index for index, run in enumerate(series) if run.status == "succeeded"]
    return series[: succeeded[num_kept - 1] + 1] if len(succeeded) >= num_kept else series
