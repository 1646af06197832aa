"""Symbolic links, which lead out of a store or a run directory, and are not followed there."""

import os
from itertools import accumulate

from tiltmeter.storage.errors import StorageError


def unlinked(root: str | os.PathLike[str], inside: str) -> str:
    """The path of something below a root, which may be a link itself, if no other part of the path is one.

    Raises:
        StorageError: naming the link.
    """
    *parts, path = accumulate([str(root), *inside.split("/")], lambda folder, name: f"{folder}/{name}")
    if link := next((part for part in [*parts[1:], path] if os.path.islink(part)), None):
        raise StorageError(
            f"{link}: is a symbolic link, which is followed neither in a store nor in a run directory; remove it, or "
            "mount in its place what it leads to"
        )
    return path
