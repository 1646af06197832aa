"""Files of a data set as the package ``datasets`` opens them: of one schema, and the same however their rows come."""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tiltmeter.storage.store.identity import TableDigest, blocks
from tiltmeter.storage.store.tables import write_file

DatasetFormat = Literal["parquet", "jsonl", "jsonl.gz"]

_GROUP_ROWS = 5000
_GROUP_BYTES = 2**26
"""A row group ends with either: rows may be whole books."""


class OtherSchema(TypeError):
    """Rows that are not of the schema of their data set, which no reader would open."""


class DatasetFile(NamedTuple):
    """A file that was written.

    Attributes:
        digest: of what its rows say, however they are packed.
        sha256: of its bytes.
    """

    num_rows: int
    num_bytes: int
    digest: str
    sha256: str


def write_dataset_file(
    place: Path, schema: pa.Schema, pieces: Callable[[], Iterable[pa.Table]], form: DatasetFormat, *, setting: str
) -> DatasetFile:
    """Write a file that becomes visible only when it is complete, as row groups of up to 5,000 rows or 64 MiB.

    Args:
        schema: of all files of the configuration; what is null throughout a file would else lose its type there.
        pieces: gives rows, from the first again if the disk has failed and is tried once more.
        setting: what a user changes to move the file elsewhere.

    Raises:
        OtherSchema: for a piece that has another column, another order or another type.
        StorageError: when the disk is full or the place can't be written.
    """
    num_rows, whole = 0, TableDigest()

    def write(sink: IO[bytes] | pa.NativeFile) -> None:
        nonlocal num_rows, whole
        num_rows, whole = 0, TableDigest()
        with _writing(sink, schema, form) as write_group:
            for group in _groups(_checked(pieces(), schema)):
                for block in blocks([group]):
                    whole.add(block)
                num_rows += group.num_rows
                write_group(group)

    num_bytes = write_file(fs.LocalFileSystem(), str(place), write, setting=setting)
    with place.open("rb") as file:
        return DatasetFile(num_rows, num_bytes, whole.hexdigest(), hashlib.file_digest(file, "sha256").hexdigest())


@contextmanager
def _writing(
    sink: IO[bytes] | pa.NativeFile, schema: pa.Schema, form: DatasetFormat
) -> Iterator[Callable[[pa.Table], None]]:
    """Gives what writes a group of rows."""
    if form == "parquet":
        with pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer:
            yield partial(writer.write_table, row_group_size=_GROUP_ROWS)
    else:
        # Neither the moment nor the name of a file with another name for now may be in what is packed.
        packed = form == "jsonl.gz"
        with gzip.GzipFile("", "wb", fileobj=sink, mtime=0) if packed else nullcontext(sink) as file:
            yield lambda group: file.writelines(_lines(group))


def _lines(group: pa.Table) -> Iterator[bytes]:
    return (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in group.to_pylist())


def _checked(pieces: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    for piece in pieces:
        if not piece.schema.equals(schema):
            raise OtherSchema(f"a piece with {_columns(piece.schema)} is not of the data set's {_columns(schema)}")
        yield piece.cast(schema)  # what lists call their items is no part of being equal


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Rows in groups whose ends depend on the rows alone."""
    waiting: list[pa.Table] = []
    num_rows = num_bytes = 0
    for piece in pieces:
        start = 0
        for row, size in enumerate(_row_bytes(piece)):
            num_rows, num_bytes = num_rows + 1, num_bytes + size
            if num_rows == _GROUP_ROWS or num_bytes >= _GROUP_BYTES:
                yield pa.concat_tables([*waiting, piece.slice(start, row + 1 - start)]).combine_chunks()
                waiting, start, num_rows, num_bytes = [], row + 1, 0, 0
        waiting.append(piece.slice(start))
    if num_rows:  # readers take the rows of the first group for the size of their batches
        yield pa.concat_tables(waiting).combine_chunks()


def _row_bytes(piece: pa.Table) -> Iterator[int]:
    """Of the last column, which holds the text or the words."""
    column = piece.column(piece.num_columns - 1)
    nested = pa.types.is_list(column.type)
    yield from (sum(map(len, value)) if nested else len(value) for value in column.to_pylist())
