"""Inputs of a run as a comparison tells them: how large they are, and when they were changed."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tiltmeter.jobs.changes.wording import as_text, change_text

_NAME, _SIZE, _VERSION = "name", "bytes", "version"
_NANOSECONDS = re.compile(r"\d{18,19}")
"""A time of modification, as files on disks and in object stores have it for their version; from 1973 to 2286."""

_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))

Path = tuple[str, ...]


@dataclass(frozen=True)
class Input:
    """What is recorded of an input, such as its ``bytes`` and ``version``."""

    recorded: Mapping[str, Any]

    def __str__(self) -> str:
        """In words, after a verb.

        >>> str(Input({"bytes": 12_345_678, "version": "1763750063000000000"})), str(Input({"version": "3.9"}))
        ('12.3 MB, changed on 2025-11-21 18:34:23 UTC', 'version 3.9')
        """
        return ", ".join(_words(name, value) for name, value in self.recorded.items())

    def change_from(self, before: "Input") -> str:
        """What became of it since it was as before."""
        one, other = before.recorded, self.recorded
        different = {name for name in {**one, **other} if one.get(name) != other.get(name)}
        moment = _moment(other.get(_VERSION))
        sizes = [size for size in (one.get(_SIZE), other.get(_SIZE)) if isinstance(size, int)]
        if not different <= {_SIZE, _VERSION} or len(sizes) < 2:
            return change_text(str(before), str(self))
        if _VERSION not in different:
            return f"has {_growth(*sizes)}"
        return f"changed{f' on {moment}' if moment else ''}, {_growth(*sizes)}"


def inputs(record: Mapping[str, Any]) -> dict[str, Input]:
    """Every input that a run recorded, by its name."""
    places: dict[Path, dict[str, Any]] = defaultdict(dict)
    for path, value in leaves(record):
        place, name = (path[:-1], path[-1]) if path[1:] else (path, _NAME)
        places[place][name] = value
    return {"/".join(path): Input(recorded) for path, recorded in places.items()}


def _words(name: str, value: Any) -> str:
    if name == _SIZE and isinstance(value, int):
        return _size(value)
    if name == _VERSION and (moment := _moment(value)):
        return f"changed on {moment}"
    return f"{'' if name == _NAME else name} {as_text(value)}".lstrip()


def _moment(version: Any) -> str | None:
    """The time that a version says, if it is one."""
    if not isinstance(version, str) or not _NANOSECONDS.fullmatch(version):
        return None
    return f"{datetime.fromtimestamp(int(version) // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _growth(before: int, after: int) -> str:
    """By how much a size differs.

    >>> _growth(10**9, 10**9 + 12_000_000), _growth(20, 17), _growth(5, 5)
    ('12 MB more', '3 bytes less', 'of the same size')
    """
    if before == after:
        return "of the same size"
    return f"{_size(abs(after - before))} {'more' if after > before else 'less'}"


def _size(num_bytes: int) -> str:
    """To three digits.

    >>> _size(12_345_678), _size(999), _size(1), _size(2_000)
    ('12.3 MB', '999 bytes', '1 byte', '2 kB')
    """
    for unit, factor in _UNITS:
        if num_bytes >= factor:
            return f"{float(f'{num_bytes / factor:.3g}'):,g} {unit}"
    return f"{num_bytes} {'byte' if num_bytes == 1 else 'bytes'}"


# --- nested values ------------------------------------------------------------------------------------------------


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of nested mappings and lists with the keys that lead to it; mappings in a list go by their name.

    >>> list(leaves({"corpora": [{"name": "en", "path": ["a", "b"]}], "seed": 0}))
    [(('corpora', 'en', 'path'), ['a', 'b']), (('seed',), 0)]
    """
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(node, list) and node and all(isinstance(item, Mapping) for item in node):
        yield from leaves(_named(node), path)
    else:
        yield path, node


def _named(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [str(item.get("name")) for item in items]
    if len({*names} - {"None"}) < len(items):
        return {str(number): item for number, item in enumerate(items)}
    return {name: _without_name(item) for name, item in zip(names, items, strict=True)}


def _without_name(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "name"}
