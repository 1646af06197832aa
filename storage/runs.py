"""The run directory: what one execution of one job leaves behind."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filelock
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from storage.identity import digest, table_digest
from storage.ledger import Store, TableRef
from storage.tables import StorageError, sweep_partial_files, write_bytes, write_table

_LOCK = ".lock"
_RECORD = "run.json"


class RunDirectoryBusy(ValueError):
    """Another run is writing into the same directory."""


@dataclass
class RunDirectory:
    """A directory with ``<table>.parquet``, ``config.yaml``, ``run.json`` and ``report.html``.

    It shows one run only: what an earlier run left is removed when a new one begins. Every file is whole or
    absent, and ``run.json`` says with ``status`` whether the run is ``running``, ``succeeded`` or ``failed``; a run
    that was killed goes on saying ``running``, and is simply started again.
    """

    path: Path
    record: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def begin(self, tables: Iterable[str], **entries: Any) -> None:
        """Remove what an earlier run left, and record which tables this run is going to write."""
        self._clear()
        self.tables = {name: {} for name in tables}
        self.write_record(status="running", **entries)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Publish a table as one file."""
        num_bytes = write_table(fs.LocalFileSystem(), str(self.path / f"{name}.parquet"), table)
        self.tables[name] = {"rows": table.num_rows, "bytes": num_bytes, "digest": table_digest(table)}

    def link_table(self, name: str, store: Store, parts: Mapping[str, TableRef]) -> None:
        """Publish a large table as a folder with one file per part, without a second copy where the disk allows."""
        folder = self.path / f"{name}.partial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for part, ref in parts.items():
            _link_or_copy(store, ref, folder / f"{part}.parquet")
        os.replace(folder, self.path / name)
        self.tables[name] = {
            "rows": sum(ref.num_rows for ref in parts.values()),
            "bytes": sum(file.stat().st_size for file in (self.path / name).iterdir()),
            "digest": digest([list(ref.columns.items()) for ref in parts.values()]),
        }

    def write_text(self, name: str, content: str) -> None:
        """Write a text file such as the report."""
        write_bytes(fs.LocalFileSystem(), str(self.path / name), content.encode())

    def write_record(self, **entries: Any) -> None:
        """Bring ``run.json`` up to date."""
        self.record |= entries | {"tables": self.tables}
        self.write_text(_RECORD, json.dumps(self.record, indent=2, ensure_ascii=False) + "\n")

    def _clear(self) -> None:
        sweep_partial_files([self.path])
        for name in _published(self.path):
            target = self.path / name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


@contextmanager
def opened(path: Path) -> Iterator[RunDirectory]:
    """Take a run directory for the length of a ``with`` block.

    Raises:
        RunDirectoryBusy: if another process holds it; a process that was killed holds nothing.
        StorageError: if the directory can't be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / _LOCK, timeout=0)
        lock.acquire()
    except filelock.Timeout as error:
        raise RunDirectoryBusy(
            f"run_dir={path}: another run is writing there; wait for it or choose another run_dir=<path>"
        ) from error
    except OSError as error:
        raise StorageError(f"run_dir={path}: {error.strerror}; choose another place with run_dir=<path>") from error
    try:
        yield RunDirectory(path)
    finally:
        lock.release()


def read_run_table(run_dir: Path, name: str) -> pa.Table:
    """A published table, whether it is one file or a folder."""
    file = run_dir / f"{name}.parquet"
    return pq.read_table(file if file.exists() else run_dir / name)


def _published(path: Path) -> list[str]:
    try:
        tables = json.loads((path / _RECORD).read_text())["tables"]
    except FileNotFoundError:
        return []
    except (json.JSONDecodeError, KeyError) as error:
        raise StorageError(
            f"run_dir={path}: its {_RECORD} is not one of ours; choose an empty run_dir=<path>"
        ) from error
    forms = [form for name in tables for form in (name, f"{name}.partial", f"{name}.parquet")]
    return [*forms, "config.yaml", "report.html", _RECORD]


def _link_or_copy(store: Store, ref: TableRef, target: Path) -> None:
    source = store.location(ref)
    if store.local_path is not None:
        try:
            os.link(source, target)
        except OSError:
            _copy(Path(source), target)
        return
    with store.filesystem.open_input_stream(source) as stream, open(target, "xb") as sink:
        shutil.copyfileobj(stream, sink)


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror}; choose another run_dir=<path>") from error
