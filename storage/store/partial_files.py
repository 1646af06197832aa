"""Half-written files on a local disk: where they lie, and their removal when whoever wrote them is gone.

A file lies beside its place under the name of the process that writes it, or in a write lease. That is a folder of the
process that has others write, and ends with its work: whoever outlives that can begin no file there, and leaves none.
Either is locked meanwhile; where locks don't reach, its renewal shows that a lease is alive.
"""

import os
import re
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

from tiltmeter.storage.files.locks import examined, lock, locked_folder
from tiltmeter.storage.store import processes
from tiltmeter.storage.store.processes import Process

LEASES = ".leases"
"""Leases of the files below a folder lie in this one in it: it may be on another disk than the rest of the store."""

_REMOVED = ".removed"
_BESIDE = re.compile(rf".*\.({processes.NAME})-[0-9a-f]{{8}}\.partial")
_LEASE = re.compile(rf"({processes.NAME})-[0-9a-f]{{8}}(?:{re.escape(_REMOVED)})?")
_LEASED = re.compile(r"[0-9a-f]{32}")


def temporary_path(path: str, lease: str | None = None) -> str:
    """Where to write a file until it is whole: in a lease, or else beside its place."""
    return f"{lease}/{uuid.uuid4().hex}" if lease else f"{path}.{_new_name()}.partial"


@contextmanager
def partial_file(path: str, mode: int, lease: str | None = None) -> Iterator[IO[bytes]]:
    """A new file of a mode, to write and to move to its path when it is whole; if it was not, it goes with the block.

    Raises:
        OSError: if it can't be made.
    """
    temporary = temporary_path(path, lease)
    try:
        # A mode given at creation heeds the umask, which a later chmod would not.
        with _locked_file(temporary, partial(os.open, mode=mode)) as sink:
            yield sink
    finally:
        Path(temporary).unlink(missing_ok=True)


def _locked_file(path: str, opener: Callable[[str, int], int]) -> IO[bytes]:
    while True:
        sink = open(path, "xb", opener=opener)  # noqa: SIM115
        lock(sink.fileno())
        if os.fstat(sink.fileno()).st_nlink:
            return sink
        # Somebody took it for abandoned before it was locked.
        sink.close()


@contextmanager
def leased(folders: Iterable[Path]) -> Iterator[str]:
    """A lease in each folder for the length of a ``with`` block, all of one name.

    Raises:
        OSError: if they can't be made.
    """
    name = _new_name()
    with ExitStack() as leases:
        for folder in folders:
            leases.enter_context(locked_folder(folder / LEASES / name))
            leases.callback(_remove_lease, folder / LEASES / name)
        yield name


def renew_lease(folders: Iterable[Path], name: str) -> None:
    """Let the lease of a name count as new.

    Raises:
        OSError: if it is gone, or its folder can't be written.
    """
    for folder in folders:
        os.utime(folder / LEASES / name)


def clean_up_partial_files(folders: Iterable[Path], *, is_recursive: bool = True) -> int:
    """Remove what processes left half-written when they were killed; returns the number of files.

    What :meth:`.Process.is_alive` takes for alive keeps its files; where locks don't reach, by when it wrote, or
    renewed its lease, last. It is looked for at any depth, or in the folders themselves alone; links are left alone.
    """
    places = [folder for folder in folders if not folder.is_symlink()]
    return sum(_clean_up_files(folder, is_recursive) + _clean_up_leases(folder / LEASES) for folder in places)


def _clean_up_files(folder: Path, is_recursive: bool) -> int:
    levels = os.walk(folder)
    files = (Path(place, name) for place, _, names in (levels if is_recursive else islice(levels, 1)) for name in names)
    return sum(_cleaned_up(path, match[1], _remove_file) for path in files if (match := _BESIDE.fullmatch(path.name)))


def _clean_up_leases(folder: Path) -> int:
    names = [] if folder.is_symlink() else next(os.walk(folder), ("", [], []))[1]
    matches = ((folder / name, _LEASE.fullmatch(name)) for name in names)
    return sum(_cleaned_up(lease, match[1], _remove_lease) for lease, match in matches if match)


def _cleaned_up(path: Path, process: str, remove: Callable[[Path], int]) -> int:
    """Remove what is abandoned; returns the number of files that it was."""
    # Nobody locks it between a look and its removal.
    with examined(path) as is_locked, suppress(FileNotFoundError):
        state = path.lstat()
        seen = datetime.fromtimestamp(state.st_mtime, UTC)
        is_abandoned = path.suffix == _REMOVED or not Process.named(process).is_alive(seen, is_locked)
        if is_abandoned and not stat.S_ISLNK(state.st_mode):
            return remove(path)
    return 0


def _remove_file(path: Path) -> int:
    path.unlink()
    return 1


def _remove_lease(lease: Path) -> int:
    """Remove a lease that may be gone; returns the number of files in it."""
    # Under another name it is not found by those who would begin a file in it.
    removed = lease if lease.suffix == _REMOVED else lease.with_name(lease.name + _REMOVED)
    with suppress(FileNotFoundError):
        lease.rename(removed)
    files = [removed / name for name in next(os.walk(removed), ("", [], []))[2] if _LEASED.fullmatch(name)]
    for path in files:
        path.unlink(missing_ok=True)
    # What others have put there stays, and what a server keeps that is still open: the next run removes that.
    with suppress(OSError):
        removed.rmdir()
    return len(files)


def _new_name() -> str:
    return f"{Process.current().name}-{uuid.uuid4().hex[:8]}"
