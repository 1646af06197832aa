"""The store: tables of finished units, found again by what they are, and the ledger that says which are finished."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Self, cast
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from storage.identity import column_digests, digest
from storage.tables import StorageError, sweep_partial_files, write_bytes, write_file, write_table

_SETTING = "store=<path or URI>"


@dataclass(frozen=True)
class TableRef:
    """Some or all columns of a table in the store.

    Attributes:
        unit: the finished unit's place, ``<operator>/<digest>``.
        name: the table's name within the unit.
        num_rows: rows of the table.
        columns: digest of each column; these, and not the place, are what a later unit's identity takes in, so that
            a recomputed but unchanged table changes nothing downstream.
    """

    unit: str
    name: str
    num_rows: int
    columns: Mapping[str, str]

    def select(self, *names: str) -> Self:
        """The same table with these columns only."""
        return dataclasses.replace(self, columns={name: self.columns[name] for name in names})


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work that is scheduled, retried and cached.

    Attributes:
        operator: name and version, such as ``glove/1``.
        name: for people, such as ``en replica 7``; not part of the identity.
        config: whatever changes the result; see :func:`storage.identity.canonical` for what it may hold.
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
    far a long unit has come. On a local disk the data is read-only,
    because the run directories share it.

    Args:
        root: a local path, which may begin with ``~``, or a URI that Arrow knows (``s3://``, ``gs://``, ``file://``).

    Attributes:
        root: the absolute path, or the URI as it was given, keys and options included: what makes the same store.
        name: the same for people: of a URI, neither keys nor options.

    Raises:
        StorageError: if the root is empty or of no known file system.
    """

    def __init__(self, root: str) -> None:
        self.filesystem, self.path = _resolve(root)
        # Workers have working directories of their own: they must receive an absolute path.
        scheme, is_uri, _ = root.partition("://")
        self.root = root if is_uri else self.path
        self.name = f"{scheme}://{self.path}" if is_uri else self.path
        self._with_state: set[str] = set()

    @property
    def local_path(self) -> Path | None:
        """The root as a local path, or None for an object store."""
        return Path(self.path) if isinstance(self.filesystem, fs.LocalFileSystem) else None

    def find(self, unit: Unit) -> Finished | None:
        """The ledger's row of a unit, or None when the unit is to be done.

        It is to be done when the row or a file is missing, or when the files have not the size that the row gives.
        """
        try:
            with self.filesystem.open_input_file(self._ledger_path(unit.place)) as source:
                row = json.loads(source.read())
        except FileNotFoundError:
            return None
        tables = {name: TableRef(**ref) for name, ref in row.pop("tables").items()}
        files = self.filesystem.get_file_info([self.location(ref) for ref in tables.values()])
        unchanged = all(file.is_file for file in files) and sum(file.size for file in files) == row["num_bytes"]
        return Finished(**row, tables=tables) if unchanged else None

    def commit(self, unit: Unit, tables: Iterable[tuple[str, pa.Table]]) -> Finished:
        """Write a unit's tables as they come, then its ledger row.

        Raises:
            StorageError: if the store can't be written; the unit then counts as not done.
        """
        num_bytes = 0
        refs = {}
        for name, table in tables:
            path = self._table_path(unit.place, name)
            num_bytes += write_table(self.filesystem, path, table, setting=_SETTING, read_only=True, split_numbers=True)
            refs[name] = TableRef(unit.place, name, table.num_rows, column_digests(table))
            # The next table is made in the memory of this one.
            del table
        finished = Finished(unit.place, unit.name, num_bytes, refs)
        row = json.dumps(dataclasses.asdict(finished), indent=1, ensure_ascii=False)
        write_bytes(self.filesystem, self._ledger_path(unit.place), row.encode(), setting=_SETTING)
        self._drop_state(unit)
        return finished

    def save_state(self, unit: Unit, state: Mapping[str, NDArray[Any]]) -> None:
        """Keep the state of a unit that is at work, so that whoever takes it up after a death goes on from there.

        Raises:
            StorageError: if the store can't be written; the former state then stays.
        """
        self._with_state.add(unit.place)
        write_file(self.filesystem, self._state_path(unit.place), partial(_write_state, state), setting=_SETTING)

    def load_state(self, unit: Unit) -> dict[str, NDArray[Any]] | None:
        """The state that was saved last of a unit that is not finished.

        Raises:
            StorageError: if it is damaged.
        """
        path = self._state_path(unit.place)
        try:
            with self.filesystem.open_input_file(path) as source:
                state = dict(np.load(source, allow_pickle=False))
        except FileNotFoundError:
            return None
        except (ValueError, BadZipFile) as error:
            raise StorageError(f"{path}: the saved state is damaged ({error}); remove it to start anew") from error
        self._with_state.add(unit.place)
        return state

    def _drop_state(self, unit: Unit) -> None:
        if unit.place in self._with_state:
            # Another run on the same unit may have been faster.
            with suppress(FileNotFoundError):
                self.filesystem.delete_file(self._state_path(unit.place))

    def read(self, ref: TableRef) -> pa.Table:
        """The columns that the reference names.

        Raises:
            StorageError: if the file is not there, although a worker said that it wrote it.
        """
        with self.open(ref) as source:
            return pq.read_table(source, columns=list(ref.columns))

    def read_between(self, ref: TableRef, column: str, low: int, high: int) -> pa.Table:
        """Of a table that is sorted by a column, the rows whose value v has low <= v < high.

        Only the row groups that hold them are read.

        Raises:
            StorageError: as :meth:`read`.
        """
        with self.open(ref) as source:
            file = pq.ParquetFile(source)
            index = file.schema_arrow.get_field_index(column)
            ends = [file.metadata.row_group(group).column(index).statistics for group in range(file.num_row_groups)]
            groups = [group for group, end in enumerate(ends) if end is not None and end.max >= low and end.min < high]
            table = file.read_row_groups(groups, columns=list(ref.columns))
        # A slice would keep the whole row groups in memory.
        return table.filter(pc.and_(pc.greater_equal(table[column], low), pc.less(table[column], high)))

    def open(self, ref: TableRef) -> pa.NativeFile:
        """A table's file, to be read.

        Raises:
            StorageError: as :meth:`read`.
        """
        try:
            return self.filesystem.open_input_file(self.location(ref))
        except FileNotFoundError as error:
            raise StorageError(
                f"{self.location(ref)} is missing: was it removed, or is store={self.name} not shared by all nodes? "
                f"Choose a shared place with {_SETTING}"
            ) from error

    def location(self, ref: TableRef) -> str:
        """Path of a table's file within the store's file system."""
        return self._table_path(ref.unit, ref.name)

    def sweep(self) -> int:
        """Remove half-written files of killed processes, and states of finished units; returns their number."""
        if self.local_path is None:
            return 0
        states = self.local_path / "states"
        outlived = [state for state in states.rglob("*.npz") if self._is_finished(state.relative_to(states))]
        for state in outlived:
            state.unlink(missing_ok=True)
        return len(outlived) + sweep_partial_files([self.local_path / name for name in ("units", "ledger", "states")])

    def _is_finished(self, state: Path) -> bool:
        return Path(self._ledger_path(str(state.with_suffix("")))).exists()

    def _table_path(self, place: str, name: str) -> str:
        return f"{self.path}/units/{place}/{name}.parquet"

    def _ledger_path(self, place: str) -> str:
        return f"{self.path}/ledger/{place}.json"

    def _state_path(self, place: str) -> str:
        return f"{self.path}/states/{place}.npz"


def _write_state(state: Mapping[str, NDArray[Any]], sink: IO[bytes] | pa.NativeFile) -> None:
    # A state may be as large as memory allows: on a disk it goes straight into the file.
    np.savez(cast(IO[bytes], sink), allow_pickle=False, **state)


def _resolve(root: str) -> tuple[fs.FileSystem, str]:
    if not root.strip():
        raise StorageError(f"store={root!r} is empty: set {_SETTING}")
    try:
        if "://" in root:
            filesystem, path = fs.FileSystem.from_uri(root)
            return filesystem, path
        return fs.LocalFileSystem(), str(Path(root).expanduser().absolute())
    except (pa.ArrowException, OSError, RuntimeError) as error:
        name = _without_keys(root)
        reason = str(error).replace(root, name)
        # The error itself quotes the URI, and a traceback would show it.
        raise StorageError(
            f"store={name}: not a path or a URI of a known file system ({reason}); set {_SETTING}"
        ) from None


def _without_keys(root: str) -> str:
    """Of a URI that could not be parsed: rather too little than a part of a key."""
    scheme, is_uri, rest = root.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if is_uri else root
