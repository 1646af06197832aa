"""Tables read from the store, and written, piece by piece: by what must not hold the whole of them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.store.identity import TableDigest, blocks
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import with_labels, write_parquet


def pieces(store: Store, refs: Iterable[TableRef]) -> Iterator[pa.Table]:
    """The columns and labels that each reference names, one reference after the other, row group by row group.

    Raises:
        StorageError: as :meth:`.Store.read`.
    """
    for ref in refs:
        for number in range(store.read_with(ref, _num_row_groups)):
            yield with_labels(store.read_with(ref, partial(_row_group, ref, number)), ref.labels)


def _num_row_groups(source: pa.NativeFile) -> int:
    return int(pq.read_metadata(source).num_row_groups)


def _row_group(ref: TableRef, number: int, source: pa.NativeFile) -> pa.Table:
    columns = list(ref.columns)
    # Each thread would keep memory of its own for what it has decoded.
    file = pq.ParquetFile(source, page_checksum_verification=True)
    return file.read_row_group(number, columns=columns, use_threads=False).select(columns)


class StreamedTable:
    """A table that is counted and digested while it is written.

    Args:
        pieces: gives pieces of one schema, again from the first whenever the table is written.

    Attributes:
        num_rows, digest: of what was written last.
    """

    def __init__(self, pieces: Callable[[], Iterable[pa.Table]]) -> None:
        self._pieces = pieces
        self.num_rows, self.digest = 0, ""

    def write(self, sink: IO[bytes] | pa.NativeFile) -> None:
        """Write it as Parquet."""
        self.num_rows, whole = 0, TableDigest()
        write_parquet(self._digested(whole), sink)
        self.digest = whole.hexdigest()

    def _digested(self, whole: TableDigest) -> Iterator[pa.Table]:
        for block in blocks(self._pieces()):
            whole.add(block)
            self.num_rows += block.num_rows
            yield block
