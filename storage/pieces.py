"""Tables read from the store, and written, piece by piece: by what must not hold the whole of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from storage.identity import TableDigest, blocks
from storage.ledger import Store, TableRef
from storage.tables import StorageError, write_parquet


def pieces(store: Store, refs: Iterable[TableRef]) -> Iterator[pa.Table]:
    """The columns that each reference names, one reference after the other, row group by row group.

    Raises:
        StorageError: as :meth:`storage.ledger.Store.read`.
        OSError: if the store failed, and may answer when it is asked again.
    """
    for ref in refs:
        try:
            yield from _row_groups(store, ref)
        except StorageError:
            raise
        except (OSError, pa.ArrowException):
            # The store itself finds out whether the file is damaged, and what follows from that.
            store.read(ref)
            raise


def _row_groups(store: Store, ref: TableRef) -> Iterator[pa.Table]:
    columns = list(ref.columns)
    with store.open(ref) as source:
        file = pq.ParquetFile(source, page_checksum_verification=True)
        for number in range(file.num_row_groups):
            # Each thread would keep memory of its own for what it has decoded.
            yield file.read_row_group(number, columns=columns, use_threads=False).select(columns)


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
