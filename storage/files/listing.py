"""The files under a folder, or that match a path with wildcards: each once, whatever links lead to it."""

import os
import re
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from pyarrow import fs

from tiltmeter.storage.files.files import in_utf8

_ANY_DEPTH = "**"
_HIDDEN = (".", "_")
_HIDDEN_FROM_WILDCARDS = (".",)


class _Step(NamedTuple):
    """What the next name of a path has to be, or that any number of folders may come."""

    wildcard: str
    hidden: tuple[str, ...]

    def shows(self, name: str) -> bool:
        """Whether a wildcard may stand for the name: hidden ones have to be named."""
        return not (self.wildcard.startswith("*") and name.startswith(self.hidden))

    def matches(self, name: str) -> bool:
        expression = "[^/]*".join(map(re.escape, self.wildcard.split("*")))
        return self.shows(name) and re.fullmatch(expression, name, re.DOTALL) is not None


_Steps = tuple[_Step, ...]


def listed_files(filesystem: fs.FileSystem, place: str, *, is_pattern: bool = True) -> list[fs.FileInfo]:
    """The files under a folder, or that match a path, by name.

    ``*`` stands for any part of a name, ``**`` between slashes for any number of folders, at the end for whatever is
    below. On a disk, links are followed; of several paths that lead to one file, the one without links is taken, or
    else the first by name. What a folder hides is passed over.

    Args:
        filesystem: where.
        place: path of the folder, or with wildcards.
        is_pattern: whether ``*`` is one; a folder may be called so.

    Raises:
        OSError: if a folder can't be read.
        InputError: if a name is not UTF-8.
    """
    folder, steps = _taken_apart(place, is_pattern=is_pattern)
    if isinstance(filesystem, fs.LocalFileSystem):
        return list(filesystem.get_file_info([in_utf8(path) for path in _on_disk(folder, steps)]))
    is_deep = len(steps) > 1
    infos = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=is_deep))
    inside = len(folder.rstrip("/")) + 1
    matching = [info for info in infos if info.is_file and _match(info.path[inside:].split("/"), steps)]
    return sorted(matching, key=lambda info: info.path)


def file_identity(uri: str) -> tuple[int, int] | str:
    """What two paths have in common that lead to one file."""
    return uri if "://" in uri else _identity(uri)


def _taken_apart(place: str, *, is_pattern: bool) -> tuple[str, _Steps]:
    """The folder that holds all files, and what has to lie below it."""
    if "*" not in place or not is_pattern:
        return place.rstrip("/") or "/", (_Step(_ANY_DEPTH, _HIDDEN), _Step("*", _HIDDEN))
    folder, _, first = place.partition("*")[0].rpartition("/")
    names = (first + place[len(folder) + 1 + len(first) :]).split("/")
    if names[-1] == _ANY_DEPTH:
        names.append("*")
    return folder or "/", tuple(_Step(name, _HIDDEN_FROM_WILDCARDS) for name in names)


def _match(names: Sequence[str], steps: _Steps) -> bool:
    if not steps or not names:
        return not steps and not names
    if steps[0].wildcard == _ANY_DEPTH:
        goes_on = len(names) > 1 and steps[0].shows(names[0]) and _match(names[1:], steps)
        return goes_on or _match(names, steps[1:])
    return steps[0].matches(names[0]) and _match(names[1:], steps[1:])


def _on_disk(folder: str, steps: _Steps) -> list[str]:
    paths: dict[tuple[int, int], str] = {}
    for _, path in sorted(_matches(folder, steps)):
        paths.setdefault(_identity(path), path)
    return sorted(paths.values())


def _matches(folder: str, steps: _Steps) -> Iterator[tuple[bool, str]]:
    """Paths that match, and whether a link is on the way.

    What matches below a folder depends on the folder and on the steps that are left: with the same ones it is entered
    once, so that loops of links end.
    """
    entered = set()
    pending = [(False, folder, steps)] if os.path.isdir(folder) else []
    while pending:
        is_linked, place, left = heappop(pending)
        if (state := (_identity(place), len(left))) in entered:
            continue
        entered.add(state)
        if left[0].wildcard == _ANY_DEPTH:
            heappush(pending, (is_linked, place, left[1:]))
        with os.scandir(place) as entries:
            for entry in entries:
                below = _left(left, entry.name)
                if below == () and os.path.isfile(entry.path):
                    yield is_linked or entry.is_symlink(), entry.path
                elif below and os.path.isdir(entry.path):
                    heappush(pending, (is_linked or entry.is_symlink(), entry.path, below))


def _left(steps: _Steps, name: str) -> _Steps | None:
    """The steps behind a name; None where it does not match."""
    if steps[0].wildcard == _ANY_DEPTH:
        return steps if steps[0].shows(name) else None
    return steps[1:] if steps[0].matches(name) else None


def _identity(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_dev, state.st_ino
