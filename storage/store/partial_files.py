"""Half-written files on a local disk: where they lie, and their removal when whoever wrote them is gone.

A file lies beside its place under the name of the process that writes it, or in a fence. A fence is a folder of the
process that has others write, and ends with its work: whoever outlives that can begin no file there, and leaves none.
Processes on other machines see that it is alive by its renewal.
"""

import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from tiltmeter.storage.store import processes
from tiltmeter.storage.store.processes import Process

FENCES = ".fences"
"""Fences of the files below a folder lie in this one in it: it may be on another disk than the rest of the store."""

_REMOVED = ".removed"
_BESIDE = re.compile(rf".*\.({processes.NAME})-[0-9a-f]{{8}}\.partial")
_FENCE = re.compile(rf"({processes.NAME})-[0-9a-f]{{8}}(?:{re.escape(_REMOVED)})?")


def temporary_path(path: str, fence: str | None = None) -> str:
    """Where to write a file until it is whole: in a fence, or else beside its place."""
    return f"{fence}/{uuid.uuid4().hex}" if fence else f"{path}.{_new_name()}.partial"


@contextmanager
def fenced(folders: Iterable[Path]) -> Iterator[str]:
    """A fence in each folder for the length of a ``with`` block, all of one name.

    Raises:
        OSError: if they can't be made.
    """
    name = _new_name()
    with ExitStack() as fences:
        for folder in folders:
            fences.callback(_remove_fence, folder / FENCES / name)
            (folder / FENCES / name).mkdir(parents=True)
        yield name


def renew_fence(folders: Iterable[Path], name: str) -> None:
    """Let the fence of a name count as new.

    Raises:
        OSError: if it is gone, or its folder can't be written.
    """
    for folder in folders:
        os.utime(folder / FENCES / name)


def sweep_partial_files(folders: Iterable[Path]) -> int:
    """Remove what processes left half-written when they were killed; returns the number of files.

    What :meth:`.Process.is_alive` takes for alive keeps its files; one on another machine is seen by when it wrote, or
    renewed its fence, last.
    """
    return sum(_sweep_files(folder) + _sweep_fences(folder / FENCES) for folder in folders)


def _sweep_files(folder: Path) -> int:
    num_removed = 0
    for place, _, names in os.walk(folder):
        for name in names:
            match, path = _BESIDE.fullmatch(name), Path(place, name)
            if match and _is_abandoned(match[1], path):
                path.unlink(missing_ok=True)
                num_removed += 1
    return num_removed


def _sweep_fences(folder: Path) -> int:
    names = next(os.walk(folder), ("", [], []))[1]
    return sum(_remove_fence(folder / name) for name in names if _is_abandoned_fence(folder / name))


def _is_abandoned_fence(fence: Path) -> bool:
    match = _FENCE.fullmatch(fence.name)
    if match is None or fence.is_symlink():
        return False
    return fence.suffix == _REMOVED or _is_abandoned(match[1], fence)


def _is_abandoned(process: str, path: Path) -> bool:
    try:
        seen = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    except FileNotFoundError:
        return False
    return not Process.named(process).is_alive(seen)


def _remove_fence(fence: Path) -> int:
    """Remove a fence that may be gone; returns the number of files in it."""
    # Under another name it is not found by those who would begin a file in it.
    removed = fence if fence.suffix == _REMOVED else fence.with_name(fence.name + _REMOVED)
    with suppress(FileNotFoundError):
        fence.rename(removed)
    num_files = sum(len(names) for _, _, names in os.walk(removed))
    # A server may keep what is still open: the next run removes it.
    shutil.rmtree(removed, ignore_errors=True)
    return num_files


def _new_name() -> str:
    return f"{Process.current().name}-{uuid.uuid4().hex[:8]}"
