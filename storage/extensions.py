"""What installed packages bring by entry points: a setting has the name, the package what stands behind it."""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, TypeVar

from tiltmeter.storage.errors import InputError, choices


class Versioned(Protocol):
    """What can be brought: its version, such as ``subtitles/1``, is part of the identity of the units that use it."""

    @property
    def version(self) -> str: ...


Kind = TypeVar("Kind", bound=Versioned)


def names(group: str) -> list[str]:
    """Of all that installed packages bring to a group, such as ``tiltmeter.readers``, sorted."""
    return sorted({point.name for point in entry_points(group=group)})


def load(group: str, name: str, kind: type[Kind], setting: str, version: str = "", ours: Iterable[str] = ()) -> Kind:
    """What stands behind a name.

    Args:
        group: of entry points.
        kind: that it must be of.
        setting: that has the name, such as ``corpus.format``; messages name it.
        version: that was found where the run began; empty: this is where.
        ours: names of what needs no package, for the message.

    Raises:
        InputError: if no package brings it, or several do; if it can't be imported, or is of another kind or version.
    """
    points = entry_points(group=group, name=name)
    if not points:
        there = choices(name, [*ours, *names(group)]) or "none; install a package that brings one, on every node"
        raise InputError(f"{setting}={name}: no installed package brings it; there is {there}")
    if len({point.value for point in points}) > 1:
        rivals = " and ".join(sorted(point.value for point in points))
        raise InputError(f"{setting}={name}: is brought by {rivals}; uninstall one")
    [point, *_] = points
    brought = _imported(point, f"{setting}={name}")
    if not isinstance(brought, kind):
        raise InputError(
            f"{setting}={name}: {point.value} is a {type(brought).__name__}, and must be a {kind.__name__}"
        )
    if version and brought.version != version:
        raise InputError(
            f"{setting}={name}: is {brought.version} here, and {version} where the run began; install one version "
            "of its package on all nodes"
        )
    return brought


def _imported(point: EntryPoint, where: str) -> object:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"{where}: {point.value} can't be imported: {error}; install its package anew") from error
