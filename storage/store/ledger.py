"""The store: tables of finished units, found again by what they are, and the ledger that says which are finished."""

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.arrays import read_state, write_state
from tiltmeter.storage.files.filesystems import (
    SETTING,
    delete_file,
    file_information,
    files_below,
    filesystem_of,
    open_file,
    read_bytes,
    read_file,
)
from tiltmeter.storage.files.links import unlinked
from tiltmeter.storage.files.retries import is_transient, with_retries
from tiltmeter.storage.store import partial_files
from tiltmeter.storage.store.identity import column_digests, digest
from tiltmeter.storage.store.partial_files import LEASES, clean_up_partial_files
from tiltmeter.storage.store.probes import sweep_probes
from tiltmeter.storage.store.tables import write_bytes, write_file, write_table

T = TypeVar("T")

_PLAIN = r"\w[\w.-]{,199}"
_PLACE = re.compile(rf"{_PLAIN}(/{_PLAIN})*")

_LEASED = ("units", "ledger", "states")
"""Folders in which workers write."""

ACCOUNTS = "accounts"
"""Folder of what was spent, which nothing may remove."""

_UNLEASED = ("registry", "runs", ACCOUNTS)
"""Folders in which a run writes for itself."""

FOLDERS = (*_LEASED, *_UNLEASED, "downloads")

MARK = "tiltmeter-store.json"
"""File that says that a folder is a store, and of which format."""

_UNIT = rf"(?P<place>{_PLAIN}/{_PLAIN}/[0-9a-f]{{32}})"
_FILES = {
    "ledger": re.compile(rf"{_UNIT}\.json"),
    "states": re.compile(rf"{_UNIT}\.npz"),
    "units": re.compile(rf"{_UNIT}/{_PLAIN}\.parquet"),
}
"""What files of units are called in each folder."""

_BEGINNINGS = {"npz": b"PK", "parquet": b"PAR1"}


@dataclass(frozen=True)
class TableRef:
    """Some or all columns of a table in the store.

    Attributes:
        unit: the finished unit's place, ``<operator>/<digest>``.
        name: the table's name within the unit.
        num_rows: rows of the table.
        columns: digest of each column; these, and not the place, are what a later unit's identity takes in, so that
            a recomputed but unchanged table changes nothing downstream.
        labels: columns that it has besides where it is published, each with one value in all rows, such as the corpus
            that it is of; no part of any unit's identity.

    Raises:
        ValueError: if the unit and the name lead out of a store.
    """

    unit: str
    name: str
    num_rows: int
    columns: Mapping[str, str]
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (_PLACE.fullmatch(self.unit) and re.fullmatch(_PLAIN, self.name)):
            raise ValueError(f"{self.unit!r}, {self.name!r}: must be the place of a table within a store, and its name")

    def select(self, *names: str) -> Self:
        """The same table with these columns only."""
        return dataclasses.replace(self, columns={name: self.columns[name] for name in names})

    def labelled(self, **labels: str) -> Self:
        """The same table with labels."""
        return dataclasses.replace(self, labels=labels)


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work that is scheduled, retried and cached.

    Attributes:
        operator: name and version, such as ``glove/1``.
        name: for people, such as ``en replica 7``; not part of the identity.
        config: whatever changes the result; see :func:`.identity.canonical` for what it may hold.
        inputs: the tables that it reads.
    """

    operator: str
    name: str
    config: Any
    inputs: Mapping[str, Sequence[TableRef]] = dataclasses.field(default_factory=dict)

    @cached_property
    def place(self) -> str:
        """``<operator>/<digest>``: where the unit's tables are, or will be."""
        inputs = {role: [list(ref.columns.items()) for ref in refs] for role, refs in self.inputs.items()}
        return f"{self.operator}/{digest({'operator': self.operator, 'config': self.config, 'inputs': inputs})}"

    def input(self, role: str) -> TableRef:
        """The only table in a role."""
        [ref] = self.inputs[role]
        return ref


@dataclass(frozen=True)
class Finished:
    """A row of the ledger: a unit whose tables are all in the store."""

    place: str
    name: str
    num_bytes: int
    tables: Mapping[str, TableRef]


class Store:
    """Finished units under one root, on a local disk or an object store.

    ``units/<operator>/<digest>/<table>.parquet`` holds the data, ``ledger/<operator>/<digest>.json`` says that all of
    it is there. The ledger row is written last: data without a row is redone. ``states/<operator>/<digest>.npz`` is how
    far a long unit has come. On a local disk the data is read-only, because the run directories share it.
    What workers have half written lies in ``.leases`` of these folders (see :mod:`.partial_files`). Transient errors,
    as of a server that is away, are waited for (see :mod:`.files.retries`). The root may be a symbolic link; none is
    followed below it, and what has not the name, the depth and the content of our files is never removed.

    Args:
        root: a local path, which may begin with ``~``, or a URI that Arrow knows (``s3://``, ``gs://``, ``file://``).
        lease: name of the lease to write units in, as :meth:`leased` gives it; None: each file is its process's own.

    Attributes:
        root: the absolute path, or the URI as it was given, with credentials and options: what makes the same store.
        name: the same for people: of a URI, neither credentials nor options.

    Raises:
        StorageError: if the root is empty or of no known file system.
    """

    def __init__(self, root: str, lease: str | None = None) -> None:
        self._lease = lease
        self.filesystem, self.path = filesystem_of(root)
        self._is_on_disk = isinstance(self.filesystem, fs.LocalFileSystem)
        # Workers have working directories of their own: they must receive an absolute path.
        scheme, is_uri, _ = root.partition("://")
        self.root = root if is_uri else self.path
        self.name = f"{scheme}://{self.path}" if is_uri else self.path
        self._with_state: set[str] = set()

    @property
    def local_path(self) -> Path | None:
        """The root as a local path, or None for an object store."""
        return Path(self.path) if isinstance(self.filesystem, fs.LocalFileSystem) else None

    @property
    def free_bytes(self) -> int | None:
        """What is free where it is or will be, or None for an object store."""
        place = self.local_path
        while place is not None and not place.exists():
            place = place.parent
        return None if place is None else shutil.disk_usage(place).free

    @property
    def mark(self) -> bytes | None:
        """What it says of itself as a store; nothing is removed where there is None. See :mod:`.marks`."""
        # A server says why it lists nothing; of one file, it says only that it is denied.
        files = files_below(self.filesystem, self.path, is_recursive=False)
        is_there = any(file.base_name == MARK for file in files)
        return read_bytes(self.filesystem, self.inside(MARK)) if is_there else None

    def inside(self, place: str) -> str:
        """Path of something in the store.

        Raises:
            StorageError: if a part of it is a symbolic link.
        """
        return unlinked(self.path, place) if self._is_on_disk else f"{self.path}/{place}"

    def unit_files(self, folder: str) -> Iterator[tuple[str, fs.FileInfo]]:
        """What has the name and the depth of a unit's files in ``ledger``, ``states`` or ``units``, with its place.

        Raises:
            StorageError: if the folder is a link, or the store does not answer.
        """
        below = self.inside(folder)
        for file in files_below(self.filesystem, below):
            match = _FILES[folder].fullmatch(file.path.removeprefix(f"{below}/"))
            if match and file.is_file and not (self._is_on_disk and os.path.islink(file.path)):
                yield match["place"], file

    def has_written(self, place: str, path: str) -> bool:
        """Whether a file that has the name of a unit's has the content of one, too, or is gone."""
        try:
            if path.endswith(".json"):
                return _row(place, read_bytes(self.filesystem, path)) is not None
            beginning = _BEGINNINGS[path.rpartition(".")[2]]
            return bool(read_file(self.filesystem, path, lambda file: file.read(len(beginning))) == beginning)
        except FileNotFoundError:
            return True

    def find(self, unit: Unit) -> Finished | None:
        """The ledger's row of a unit, or None when the unit is to be done.

        It is to be done when the row or a file is missing, when the row is damaged, or when the files have not the size
        that the row gives.

        Raises:
            StorageError: if the store does not answer.
        """
        return self.find_at(unit.place)

    def find_at(self, place: str) -> Finished | None:
        """The same by the unit's place.

        Raises:
            StorageError: if the store does not answer.
        """
        try:
            finished = _row(place, read_bytes(self.filesystem, self._ledger_path(place)))
        except FileNotFoundError:
            return None
        return finished if finished and self._has_all(finished) else None

    def _has_all(self, finished: Finished) -> bool:
        files = file_information(self.filesystem, [self.location(ref) for ref in finished.tables.values()])
        return all(file.is_file for file in files) and sum(file.size for file in files) == finished.num_bytes

    def commit(self, unit: Unit, tables: Iterable[tuple[str, pa.Table]]) -> Finished:
        """Write a unit's tables as they come, then its ledger row.

        Raises:
            StorageError: if the store can't be written; the unit then counts as not done.
        """
        num_bytes = 0
        refs = {}
        for name, table in tables:
            path = self._table_path(unit.place, name)
            num_bytes += write_table(
                self.filesystem,
                path,
                table,
                setting=SETTING,
                lease=self._lease_in("units"),
                read_only=True,
                split_numbers=True,
            )
            refs[name] = TableRef(unit.place, name, table.num_rows, column_digests(table))
            # The next table is made in the memory of this one.
            del table
        finished = Finished(unit.place, unit.name, num_bytes, refs)
        row = json.dumps(dataclasses.asdict(finished), indent=1, ensure_ascii=False)
        path, lease = self._ledger_path(unit.place), self._lease_in("ledger")
        write_bytes(self.filesystem, path, row.encode(), setting=SETTING, lease=lease)
        self._drop_state(unit)
        return finished

    def save_state(self, unit: Unit, state: Mapping[str, NDArray[Any]]) -> None:
        """Keep the state of a unit that is at work, so that whoever takes it up after a death goes on from there.

        Raises:
            StorageError: if the store can't be written; the former state then stays.
        """
        self._with_state.add(unit.place)
        path, lease = self._state_path(unit.place), self._lease_in("states")
        write_file(self.filesystem, path, partial(write_state, state), setting=SETTING, lease=lease)

    def load_state(self, unit: Unit) -> dict[str, NDArray[Any]] | None:
        """The state that was saved last of a unit that is not finished; a damaged one is as good as none.

        Raises:
            StorageError: if the store does not answer.
        """
        try:
            state = read_file(self.filesystem, self._state_path(unit.place), read_state)
        except FileNotFoundError:
            return None
        self._with_state.add(unit.place)
        return state

    def _drop_state(self, unit: Unit) -> None:
        if unit.place in self._with_state:
            delete_file(self.filesystem, self._state_path(unit.place))

    def read(self, ref: TableRef) -> pa.Table:
        """The columns that the reference names.

        Raises:
            StorageError: if the file is not there, although a worker said that it wrote it; if it is damaged, and then
                the ledger no longer has its unit; if the store does not answer.
        """
        columns = list(ref.columns)
        return self.read_with(ref, partial(pq.read_table, columns=columns, page_checksum_verification=True))

    def read_between(self, ref: TableRef, column: str, low: int, high: int) -> pa.Table:
        """Of a table that is sorted by a column, the rows whose value v has low <= v < high.

        Only the row groups that hold them are read.

        Raises:
            StorageError: as :meth:`read`.
        """
        table = self.read_with(ref, partial(_groups_between, ref, column, low, high))
        # A slice would keep the whole row groups in memory.
        return table.filter(pc.and_(pc.greater_equal(table[column], low), pc.less(table[column], high)))

    def open(self, ref: TableRef) -> pa.NativeFile:
        """A table's file, to be read.

        Raises:
            StorageError: as :meth:`read`, but for damage.
        """
        try:
            return open_file(self.filesystem, self.location(ref))
        except FileNotFoundError as error:
            raise self._missing(ref) from error

    def read_with(self, ref: TableRef, read: Callable[[pa.NativeFile], T]) -> T:
        """What a function makes of a table's file; it is called again where that may help.

        Raises:
            StorageError: as :meth:`read`.
        """
        path = self.location(ref)
        try:
            return read_file(self.filesystem, path, read)
        except FileNotFoundError as error:
            raise self._missing(ref) from error
        except (StorageError, pa.ArrowException) as error:
            if is_transient(error.__cause__):
                raise
        # What can't be made of bytes in memory either is no fault of the connection.
        content = read_bytes(self.filesystem, path)
        try:
            return read(pa.BufferReader(content))
        except (OSError, pa.ArrowException) as error:
            delete_file(self.filesystem, self._ledger_path(ref.unit))
            raise StorageError(
                f"{path} is damaged ({error}); its unit is out of the ledger now: run again, and it is done anew"
            ) from error

    def _missing(self, ref: TableRef) -> StorageError:
        return StorageError(
            f"{self.location(ref)} is missing: was it removed, or is store={self.name} not shared by all nodes? "
            f"Choose a shared place with {SETTING}"
        )

    def location(self, ref: TableRef) -> str:
        """Path of a table's file within the store's file system."""
        return self._table_path(ref.unit, ref.name)

    @contextmanager
    def leased(self) -> Iterator[str | None]:
        """The name of a lease for the stores of workers: none of them leaves a half-written file after the block.

        Whoever is still at work then, because nobody knows of it any more, can write nothing. On an object store there
        are no half-written files, and no lease.

        Raises:
            StorageError: if the store can't be written.
        """
        with ExitStack() as leases:
            try:
                name = leases.enter_context(partial_files.leased(self._folders(*_LEASED))) if self.local_path else None
            except OSError as error:
                raise StorageError.writing(self.path, error, SETTING) from error
            yield name

    def renew(self, lease: str) -> None:
        """Show runs on other machines that this one is alive: they remove a lease that is ``ABANDONED``.

        Raises:
            StorageError: if the lease is gone, or can't be written.
        """
        try:
            with_retries(lambda: partial_files.renew_lease(self._folders(*_LEASED), lease))
        except OSError as error:
            raise StorageError.writing(self.path, error, SETTING) from error

    def clean_up(self) -> int:
        """Remove what killed processes left half-written, and states of finished units; returns their number.

        Nothing goes that is not in a marked store.
        """
        if self.mark is None:
            return 0
        states = list(self.unit_files("states"))
        rows = file_information(self.filesystem, [self._ledger_path(place) for place, _ in states])
        finished = compress(states, [row.is_file for row in rows])
        outlived = [state.path for place, state in finished if self.has_written(place, state.path)]
        for state in outlived:
            delete_file(self.filesystem, state)
        num_partial = clean_up_partial_files(self._folders(*_LEASED, *_UNLEASED)) if self.local_path else 0
        return len(outlived) + num_partial + sweep_probes(self.filesystem, self.path)

    def _folders(self, *names: str) -> list[Path]:
        return [Path(self.inside(f"{name}/{LEASES}")).parent for name in names]

    def _lease_in(self, folder: str) -> str | None:
        return self.inside(f"{folder}/{LEASES}/{self._lease}") if self._lease else None

    def _table_path(self, place: str, name: str) -> str:
        return self.inside(f"units/{place}/{name}.parquet")

    def _ledger_path(self, place: str) -> str:
        return self.inside(f"ledger/{place}.json")

    def _state_path(self, place: str) -> str:
        return self.inside(f"states/{place}.npz")


def _row(place: str, content: bytes) -> Finished | None:
    """What the ledger says of a unit, or None if that is not what the content is."""
    try:
        row = json.loads(content)
        finished = Finished(**row | {"tables": {name: TableRef(**ref) for name, ref in row["tables"].items()}})
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    return finished if finished.place == place else None


def _groups_between(ref: TableRef, column: str, low: int, high: int, source: pa.NativeFile) -> pa.Table:
    file = pq.ParquetFile(source, page_checksum_verification=True)
    index = file.schema_arrow.get_field_index(column)
    ends = [file.metadata.row_group(group).column(index).statistics for group in range(file.num_row_groups)]
    groups = [group for group, end in enumerate(ends) if end is not None and end.max >= low and end.min < high]
    return file.read_row_groups(groups, columns=list(ref.columns))
