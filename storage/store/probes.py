"""Probes: small files by which nodes learn whether they reach the same store, each under the name of its process."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow import fs

from tiltmeter.storage.files.filesystems import SETTING, delete_file, files_below
from tiltmeter.storage.store import processes
from tiltmeter.storage.store.processes import Process
from tiltmeter.storage.store.tables import write_bytes

_NAME = re.compile(rf"probe-({processes.NAME})-[0-9a-f]{{16}}.*")
"""Of a probe, of what a node answers, and of either while it is half written."""


@contextmanager
def probe_in(filesystem: fs.FileSystem, root: str) -> Iterator[str]:
    """A file in a store that holds its name, by this name, and which is gone after the ``with`` block.

    Raises:
        StorageError: if the store can't be written.
    """
    probe = f"probe-{Process.current().name}-{secrets.token_hex(8)}"
    write_bytes(filesystem, f"{root}/{probe}", probe.encode(), setting=SETTING)
    try:
        yield probe
    finally:
        delete_file(filesystem, f"{root}/{probe}")


def sweep_probes(filesystem: fs.FileSystem, root: str) -> int:
    """Remove probes of processes that were killed, and what nodes answered; returns the number of files."""
    abandoned = []
    for file in files_below(filesystem, root, is_recursive=False):
        match = _NAME.fullmatch(file.base_name)
        if file.is_file and match and not Process.named(match[1]).is_alive(file.mtime):
            abandoned.append(file.path)
    for path in abandoned:
        delete_file(filesystem, path)
    return len(abandoned)
