"""The register of a store's runs: what each asked, how it ended, which units it uses, what it published."""

import dataclasses
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, delete_file, files_below, read_bytes
from tiltmeter.storage.files.locks import examined, locked_folder
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.processes import Process
from tiltmeter.storage.store.tables import with_labels, write_bytes

_MARK = "pruning.json"
_PLAIN = re.compile(r"\w[\w.-]*")
_UNITS = re.compile(r"units-\d+\.txt")
_KEY_PARTS = 3

_WHOLE = "# digest of all units: "
"""First line of a list of units, by which one that was cut is told."""

_PRUNERS = ".pruning"
"""Folder that a process has locked while it prunes."""

_OF_A_RUN = (
    "it is what the register knows of one run. Removing its folder is safe: the run directory keeps the results; units "
    "that no other run uses then go with the next job=prune job.remove=true, and are done again if they are asked for"
)
_OF_A_PRUNING = "it says who prunes the store. Removing it is safe if no job=prune is at work"

Status = Literal["running", "succeeded", "failed", "interrupted"]


@dataclass(frozen=True, eq=False)
class RegisteredRun:
    """A run as its store remembers it.

    Attributes:
        key: ``<job>/<series>/<moment>``.
        process: what runs or ran it.
        run_dir: on that machine.
        started: in UTC.
        settings: the resolved config, without credentials.
        record: what ``run.json`` said last.
        tables: what each published table is made of, in this order.
        has_passed: whether a night has judged it, and all of its gates passed.
    """

    key: str
    process: Process
    run_dir: str
    started: datetime
    settings: Mapping[str, Any]
    status: Status = "running"
    record: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Sequence[TableRef]] = field(default_factory=dict)
    has_passed: bool = False

    @property
    def job(self) -> str:
        """Its job."""
        return self.key.split("/")[0]

    @property
    def series(self) -> str:
        """What it shares with the runs that ask the same."""
        return self.key.split("/")[1]

    def read(self, store: Store, name: str) -> pa.Table:
        """A table that it published.

        Raises:
            StorageError: if a unit of it has been removed.
        """
        return pa.concat_tables([with_labels(store.read(ref), ref.labels) for ref in self.tables[name]])


class Registry:
    """The runs of a store, under ``registry/<job>/<series>/<moment>/``.

    A run is entered before it looks for its first unit, and names the units of each stage before it uses them: so
    :meth:`pruning`, which allows no run at work, removes nothing that a run relies on.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = store.inside("registry")

    def enter(self, job: str, series: str, *, run_dir: str, settings: Mapping[str, Any]) -> "Entry":
        """Enter a run that begins.

        Raises:
            StorageError: if the store is being pruned, or can't be written.
        """
        started = datetime.now(UTC)
        key = f"{job}/{series}/{started:%Y-%m-%dT%H-%M-%S-%fZ}-{uuid.uuid4().hex[:8]}"
        entry = Entry(self, RegisteredRun(key, Process.current(), run_dir, started, settings))
        entry.closing.enter_context(self._locked(key))
        self._write(f"{key}/run.json", _to_json(entry.run))
        # In this order: whichever of a run and a pruning comes second sees the other.
        if pruner := self._pruner():
            self.forget(entry.run)
            entry.closing.close()
            raise self._busy(pruner)
        return entry

    def runs(self, job: str | None = None, series: str | None = None) -> list[RegisteredRun]:
        """All runs, or those of a job, or of a series of it; the latest first."""
        below = "/".join(part for part in (self._root, job, series) if part)
        files = files_below(self._store.filesystem, below, self._root)
        names = [file.path.removeprefix(f"{self._root}/") for file in files if file.base_name == "run.json"]
        names = [name for name in names if name.count("/") == _KEY_PARTS]
        rows = ((name, self._read(name)) for name in sorted(names, key=lambda name: name.split("/")[2], reverse=True))
        return [self._run(name, row) for name, row in rows if row]

    def last_succeeded(
        self, job: str, series: str, before: datetime | None = None, *, passed: bool = False
    ) -> RegisteredRun | None:
        """The latest run of a series that succeeded, and whose gates passed if asked; of those before a moment."""
        past = (run for run in self.runs(job, series) if before is None or run.started < before)
        return next((run for run in past if run.status == "succeeded" and (run.has_passed or not passed)), None)

    def note_gates(self, run: RegisteredRun, *, passed: bool) -> None:
        """Note whether all gates passed that a night has of a run."""
        self._write(f"{run.key}/run.json", _to_json(dataclasses.replace(run, has_passed=passed)))

    def units(self, run: RegisteredRun) -> set[str]:
        """The places of all units that a run named."""
        files = files_below(self._store.filesystem, f"{self._root}/{run.key}", self._root)
        listed = [file.path for file in files if _UNITS.fullmatch(file.base_name)]
        return set(chain.from_iterable(self._places(path) for path in listed))

    def _places(self, path: str) -> list[str]:
        """The units that a file lists."""
        content = read_bytes(self._store.filesystem, path)
        try:
            first, *places = content.decode().split("\n")
            if first != _WHOLE + digest(places):
                raise ValueError("not all of it is there")
        except ValueError as error:
            raise _damaged(path, error, _OF_A_RUN) from error
        return places

    def forget(self, run: RegisteredRun) -> None:
        """Remove a run from the register; its directory stays, and so does what others have put there."""
        for file in files_below(self._store.filesystem, f"{self._root}/{run.key}", self._root):
            if file.base_name == "run.json" or _UNITS.fullmatch(file.base_name):
                delete_file(self._store.filesystem, file.path)

    def is_at_work(self, run: RegisteredRun) -> bool:
        """Whether a run is running, and not the trace of one that was killed."""
        if run.status != "running":
            return False
        with self._examined(run.key) as is_locked:
            return run.process.is_alive(run.started, is_locked)

    def _locked(self, name: str) -> AbstractContextManager[None]:
        """Keep a folder locked, which tells whoever looks at it that this process is at work."""
        return locked_folder(Path(self._path(name))) if self._store.local_path else nullcontext()

    def _examined(self, name: str) -> AbstractContextManager[bool | None]:
        return examined(self._path(name)) if self._store.local_path else nullcontext()

    @contextmanager
    def pruning(self) -> Iterator[None]:
        """Keep runs from beginning for the length of a ``with`` block.

        Raises:
            StorageError: if a run is at work, or another process prunes.
        """
        if pruner := self._pruner():
            raise self._busy(pruner)
        with self._locked(_PRUNERS):
            self._write(_MARK, json.dumps(dataclasses.asdict(Process.current())))
            try:
                if busy := [run for run in self.runs() if self.is_at_work(run)]:
                    raise self._at_work(busy)
                yield
            finally:
                delete_file(self._store.filesystem, self._path(_MARK))

    def _at_work(self, runs: Sequence[RegisteredRun]) -> StorageError:
        listed = ", ".join(f"{run.job} on {run.process.host} into {run.run_dir}" for run in runs)
        return StorageError(
            f"store={self._store.name}: units can't be removed while runs are at work: {listed}; if it is known to be "
            f"dead, remove {self._root}/{runs[0].key}"
        )

    def _run(self, name: str, row: dict[str, Any]) -> RegisteredRun:
        try:
            # Where a run lies is its key, whatever the file says: a key is a folder that is removed.
            return _from_json(row | {"key": name.removesuffix("/run.json")})
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise _damaged(f"{self._root}/{name}", error, _OF_A_RUN) from error

    def _pruner(self) -> Process | None:
        """The process that prunes the store; one on another machine may have died."""
        mark = self._read(_MARK)
        if mark is None:
            return None
        try:
            pruner = Process(**mark)
        except TypeError as error:
            raise _damaged(self._path(_MARK), error, _OF_A_PRUNING) from error
        with self._examined(_PRUNERS) as is_locked:
            return pruner if pruner.is_alive(datetime.now(UTC), is_locked) else None

    def _busy(self, pruner: Process) -> StorageError:
        return StorageError(
            f"store={self._store.name}: units are being removed by process {pruner.number} on {pruner.host}; wait for "
            f"it, or if it died, remove {self._root}/{_MARK}"
        )

    def _write(self, name: str, text: str) -> None:
        write_bytes(self._store.filesystem, self._path(name), text.encode(), setting=SETTING)

    def _path(self, name: str) -> str:
        return self._store.inside(f"registry/{name}")

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._path(name)
        try:
            return dict(json.loads(read_bytes(self._store.filesystem, path)))
        except FileNotFoundError:
            return None
        except (RecursionError, TypeError, ValueError) as error:
            raise _damaged(path, error, _OF_A_PRUNING if name == _MARK else _OF_A_RUN) from error


@dataclass
class Entry:
    """The register's entry of a run at work; ``closing`` is what ends with it."""

    registry: Registry
    run: RegisteredRun
    closing: ExitStack = field(default_factory=ExitStack)
    _num_stages: int = 0

    def uses(self, places: Iterable[str]) -> None:
        """Name units before they are looked for."""
        listed = sorted(set(places))
        text = "\n".join([_WHOLE + digest(listed), *listed])
        self.registry._write(f"{self.run.key}/units-{self._num_stages:03d}.txt", text)
        self._num_stages += 1

    def has_earlier_run(self) -> bool:
        """Whether a run that began earlier is at work on the same."""
        others = self.registry.runs(self.run.job, self.run.series)
        return any(other.started < self.run.started and self.registry.is_at_work(other) for other in others)

    def end(self, status: Status, record: Mapping[str, Any], tables: Mapping[str, Sequence[TableRef]]) -> None:
        """Note how the run ended, and what it published."""
        self.run = dataclasses.replace(self.run, status=status, record=record, tables=tables)
        self.registry._write(f"{self.run.key}/run.json", _to_json(self.run))
        if status != "running":
            self.closing.close()


def is_series(name: str) -> bool:
    """Whether a name can be that of a series: a letter, a digit or an underscore, then these, dots and hyphens.

    >>> is_series("nightly-9.wikis"), is_series("../other")
    (True, False)
    """
    return bool(_PLAIN.fullmatch(name))


def _damaged(path: str, error: Exception, safety: str) -> StorageError:
    return StorageError(f"{path}: is damaged ({error}); {safety}")


def _to_json(run: RegisteredRun) -> str:
    plain = dataclasses.asdict(run) | {"started": run.started.isoformat()}
    return json.dumps(plain, indent=1, ensure_ascii=False)


def _from_json(row: dict[str, Any]) -> RegisteredRun:
    tables = {name: [TableRef(**ref) for ref in refs] for name, refs in row["tables"].items()}
    moment = datetime.fromisoformat(row["started"])
    return RegisteredRun(**row | {"process": Process(**row["process"]), "started": moment, "tables": tables})
