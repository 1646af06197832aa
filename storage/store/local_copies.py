"""Tables of the store as files on a local disk: the same file where the disk allows, else a copy, and whole."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.retries import with_retries
from tiltmeter.storage.store.ledger import Store, TableRef

_COPY_BYTES = 1 << 20


def fetch(store: Store, ref: TableRef, target: Path) -> int:
    """Make a local file of a table, and look through its pages; returns its size in bytes.

    Raises:
        StorageError: as :meth:`.Store.read`.
        OSError: if the local disk can't be written.
    """
    if store.local_path is None or not _linked(store.location(ref), target):
        with_retries(lambda: _copy(store, ref, target))
    if not _is_whole(target):
        # The store itself finds out whether its file is damaged, and what follows from that.
        store.read(ref)
        raise StorageError(f"{target}: the copy of {store.location(ref)} is damaged: run again")
    return target.stat().st_size


def _linked(source: str, target: Path) -> bool:
    """Whether the disk allowed it: other disks, and some file systems, do not."""
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _copy(store: Store, ref: TableRef, target: Path) -> None:
    with store.open(ref) as source, open(target, "wb") as sink:
        shutil.copyfileobj(source, sink, _COPY_BYTES)


def _is_whole(target: Path) -> bool:
    try:
        with pq.ParquetFile(target, page_checksum_verification=True) as file:
            for number in range(file.num_row_groups):
                # Each thread would keep memory of its own for what it has decoded.
                file.read_row_group(number, use_threads=False)
    except (OSError, pa.ArrowException):
        return False
    return True
