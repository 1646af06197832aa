"""The run directory: what one execution of one job leaves behind."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import filelock
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tiltmeter.storage.errors import Refusal, StorageError
from tiltmeter.storage.files.files import in_utf8
from tiltmeter.storage.files.links import unlinked
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.local_copies import fetch
from tiltmeter.storage.store.partial_files import clean_up_partial_files
from tiltmeter.storage.store.streaming import StreamedTable
from tiltmeter.storage.store.tables import with_labels, write_bytes, write_file

LOCK = ".lock"
EXPORTS, FIGURES = "exports", "figures"
_DATASET = "dataset"
_PLAIN_NAME = r"\w[\w.-]*"
_EXPORT_NAME = rf"(?:{FIGURES}/)?{_PLAIN_NAME}"
RECORD = "run.json"
REPORT = "report.html"
METHODS, REFERENCES = "methods.md", "references.bib"
_PAGES = ("config.yaml", REPORT)
_TEXTS = (METHODS, REFERENCES)
_SETTING = "run_dir=<path>"


class RunDirectoryBusy(Refusal, ValueError):
    """Another run is writing into the same directory."""


@dataclass
class RunDirectory:
    """A directory with ``<table>.parquet``, ``config.yaml``, ``run.json`` and ``report.html``.

    It shows one run only: what an earlier run left is removed when a new one begins. Every file is whole or
    absent, and ``run.json`` says with ``status`` whether the run is ``running``, ``succeeded``, ``failed`` or
    ``interrupted``; a run that was killed goes on saying ``running``, and is simply started again.
    """

    path: Path
    record: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def begin(self, tables: Iterable[str], *, job: str, versions: Mapping[str, str], **entries: Any) -> None:
        """Remove what an earlier run left, and record which tables this run is going to write.

        Args:
            tables: their names.
            job: its name.
            versions: of the packages; with ``job`` and ``tables`` it is what the next run knows a record by.
            entries: what else to record.

        Raises:
            StorageError: if the directory holds the record of another program, or something else in the place of a
                table or another file of a run; nothing is removed then.
        """
        self.tables = {name: {} for name in tables}
        self._clear()
        self.write_record(status="running", job=job, versions=versions, **entries)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Publish a table as one file."""
        self.write_pieces(name, lambda: [table])

    def write_pieces(self, name: str, pieces: Callable[[], Iterable[pa.Table]]) -> None:
        """Publish pieces of one schema, one after the other, as one file; a few of them are held at a time.

        Args:
            pieces: gives them from the first, again if the disk has failed and is tried once more.
        """
        published = StreamedTable(pieces)
        path = str(self.path / f"{name}.parquet")
        num_bytes = write_file(fs.LocalFileSystem(), path, published.write, setting=_SETTING)
        # Arrow keeps what it has freed, on top of which others would allocate.
        pa.default_memory_pool().release_unused()
        self.tables[name] = {"rows": published.num_rows, "bytes": num_bytes, "digest": published.digest}

    def link_table(self, name: str, store: Store, parts: Sequence[tuple[str, TableRef]]) -> None:
        """Publish a large table as a folder with one file per part, without a second copy where the disk allows.

        Labels of a part are the names of the folders around its file, such as ``corpus=letters``, as Hive, Polars,
        DuckDB and Arrow know them.

        Raises:
            StorageError: if a part is missing from the store or damaged, or the folder can't be written; nothing of it
                stays.
        """
        with _whole_folder(self.path / name) as folder:
            num_bytes = sum(fetch(store, ref, _place(folder, part, ref.labels)) for part, ref in parts)
        self.tables[name] = {
            "rows": sum(ref.num_rows for _, ref in parts),
            "bytes": num_bytes,
            "digest": digest([list(ref.columns.items()) for _, ref in parts]),
        }

    def export(self, name: str) -> Path:
        """Where to write a file beside the tables; it is noted first, so that the next run removes it.

        Raises:
            StorageError: if something that is not of this run lies there.
        """
        place, exports = self.inside(f"{EXPORTS}/{name}"), self.record.get("exports", [])
        if name not in exports and place.exists():
            raise _foreign(self.path, f"{EXPORTS}/{name}")
        with _errors_naming(place.parent):
            place.parent.mkdir(parents=True, exist_ok=True)
        self.write_record(exports=[*exports, name])
        return place

    @contextmanager
    def dataset(self) -> Iterator[Path]:
        """The folder ``dataset`` to fill, which takes its place when the block ends; nothing stays after an error.

        Its files are noted, so that the next run removes it if it holds no others.

        Raises:
            StorageError: if something that is not of this run lies there, or it can't be written.
        """
        place = self.inside(_DATASET)
        if os.path.lexists(place):
            raise _foreign(self.path, _DATASET)
        self.write_record(dataset=[])
        with _whole_folder(place) as folder:
            yield folder
            self.write_record(dataset=_files_in(folder))

    def inside(self, place: str) -> Path:
        """Path of something in the directory.

        Raises:
            StorageError: if a part of it is a symbolic link.
        """
        return Path(unlinked(self.path, place))

    def export_bytes(self, name: str, content: bytes) -> None:
        """Write a file beside the tables."""
        write_bytes(fs.LocalFileSystem(), str(self.export(name)), content, setting=_SETTING)

    def write_text(self, name: str, content: str) -> None:
        """Write a text file such as the report."""
        write_bytes(fs.LocalFileSystem(), str(self.path / name), content.encode(), setting=_SETTING)

    def write_record(self, **entries: Any) -> None:
        """Bring ``run.json`` up to date."""
        self.record |= entries | {"tables": self.tables}
        self.write_text(RECORD, json.dumps(self.record, indent=2, ensure_ascii=False) + "\n")

    def _clear(self) -> None:
        with _errors_naming(self.path):
            folders = [EXPORTS, f"{EXPORTS}/{FIGURES}"]
            if foreign_folder := next((name for name in folders if not _is_plain_folder(self.path / name)), None):
                raise _foreign(self.path, foreign_folder)
            published = _published(self.path)
            existing = (place for place in self._places() if os.path.lexists(place))
            if foreign := next((place for place in existing if place not in published), None):
                raise _foreign(self.path, foreign.name)
            clean_up_partial_files([self.path, *(self.path / name for name in folders)], is_recursive=False)
            for target in published:
                shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)

    def _places(self) -> list[Path]:
        """Where this run is going to write."""
        tables = [f"{name}{ending}" for name in self.tables for ending in ("", ".parquet", ".partial")]
        return [self.path / name for name in (*_PAGES, *_TEXTS, *tables)]


@contextmanager
def opened(path: Path) -> Iterator[RunDirectory]:
    """Take a run directory for the length of a ``with`` block.

    Raises:
        RunDirectoryBusy: if another process holds it; a process that was killed holds nothing.
        StorageError: if the directory can't be made.
        InputError: if its path is not in UTF-8.
    """
    in_utf8(str(path))
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / LOCK, timeout=0)
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


def _place(folder: Path, part: str, labels: Mapping[str, str]) -> Path:
    inner = folder.joinpath(*(f"{name}={quote(value, safe='')}" for name, value in labels.items()))
    inner.mkdir(parents=True, exist_ok=True)
    return inner / f"{part}.parquet"


class Part(NamedTuple):
    """A file of a published table, and what labels all of its rows."""

    path: Path
    labels: Mapping[str, str]


def parts_of(run_dir: Path, name: str) -> list[Part]:
    """The files of a published table: one, or those of a folder."""
    file, folder = run_dir / f"{name}.parquet", run_dir / name
    if file.exists():
        return [Part(file, {})]
    return [Part(path, _labels(path.relative_to(folder).parts[:-1])) for path in sorted(folder.rglob("*.parquet"))]


def _labels(folders: Sequence[str]) -> dict[str, str]:
    """What the names of folders say.

    >>> _labels(["corpus=letters%2F1999"])
    {'corpus': 'letters/1999'}
    """
    return {name: unquote(value) for name, _, value in (folder.partition("=") for folder in folders)}


def read_run_table(run_dir: Path, name: str) -> pa.Table:
    """A published table, whether it is one file or a folder."""
    parts = parts_of(run_dir, name)
    return pa.concat_tables([with_labels(pq.read_table(part.path, partitioning=None), part.labels) for part in parts])


def _published(path: Path) -> list[Path]:
    """What an earlier run left, its record last, so that a removal broken off can be taken up again."""
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (RecursionError, ValueError):
        record = None
    if not is_record(record):
        raise _foreign(path, RECORD)
    files = [path / f"{name}.parquet" for name in record["tables"]]
    files += [path / EXPORTS / name for name in record.get("exports", []) if re.fullmatch(_EXPORT_NAME, name)]
    folders = [path / form for name in record["tables"] for form in (name, f"{name}.partial")]
    existing = [place for place in (*files, *folders) if os.path.lexists(place)]
    for place in existing:
        if not (_is_plain_file(place) if place in files else _holds_parts_only(place)):
            raise _foreign(path, place.name)
    pages = [path / name for name in (*_PAGES, *(_TEXTS if "papers" in record else ()))]
    return [*existing, *_dataset_of(path, record.get("dataset")), *pages, path / RECORD]


def _dataset_of(path: Path, noted: Sequence[str] | None) -> list[Path]:
    """A data set that holds what is noted and nothing else, and one that was not finished."""
    places = [] if noted is None else [path / f"{_DATASET}{ending}" for ending in ("", ".partial")]
    for place in places:
        if not _is_plain_folder(place) or (place.suffix == "" and not {*_files_in(place)} <= {*(noted or ())}):
            raise _foreign(path, place.name)
    return [place for place in places if place.exists()]


def _files_in(folder: Path) -> list[str]:
    """What it holds, but for folders, by the way there."""
    inner = (place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir())
    return sorted(str(place.relative_to(folder)) for place in inner)


def _foreign(path: Path, name: str) -> StorageError:
    return StorageError(f"run_dir={path}: its {name} is not one of ours; choose an empty {_SETTING}")


def is_record(record: object) -> bool:
    """Whether what a ``run.json`` holds is the record of a run."""
    if not isinstance(record, dict) or not {"job", "versions", "tables"} <= record.keys():
        return False
    tables, exports, dataset = record["tables"], record.get("exports", []), record.get("dataset", [])
    if not (isinstance(tables, dict) and isinstance(exports, list) and isinstance(dataset, list)):
        return False
    return all(isinstance(name, str) for name in (*exports, *dataset)) and all(
        re.fullmatch(_PLAIN_NAME, name) and isinstance(entry, dict) for name, entry in tables.items()
    )


def _is_plain_file(place: Path) -> bool:
    return place.is_file() and not place.is_symlink()


def _is_plain_folder(place: Path) -> bool:
    """Whether it is one, or could be made."""
    return not os.path.lexists(place) or (place.is_dir() and not place.is_symlink())


def _holds_parts_only(place: Path) -> bool:
    return _is_plain_folder(place) and all(
        (_is_plain_folder(inner) and "=" in inner.name)
        if inner.is_dir()
        else (inner.suffix == ".parquet" and _is_plain_file(inner))
        for inner in place.rglob("*")
    )


@contextmanager
def _whole_folder(target: Path) -> Iterator[Path]:
    """A folder to fill; it takes its place when the block ends, and after an error nothing of it stays."""
    folder = target.with_name(f"{target.name}.partial")
    with _errors_naming(target):
        folder.mkdir(parents=True)
        try:
            yield folder
            os.replace(folder, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _errors_naming(place: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError.writing(place, error, _SETTING) from error
