"""Arrow schemas that document themselves, and Parquet files that are either whole or absent."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.retries import with_retries
from tiltmeter.storage.store.partial_files import partial_file


def column(name: str, kind: pa.DataType, sentence: str, unit: str = "", *, key: bool = False) -> pa.Field:
    """A column with its documentation, which travels in the Parquet file as field metadata.

    Args:
        name: a column ``x`` may have an interval, in columns ``x_low`` and ``x_high``.
        kind: its type.
        sentence: what it holds.
        unit: of its values.
        key: whether it is one of those that together tell the table's rows apart.
    """
    return pa.field(name, kind, metadata={"description": sentence, "unit": unit} | ({"key": "true"} if key else {}))


def key_columns(schema: pa.Schema) -> list[str]:
    """The columns that together tell a table's rows apart.

    >>> key_columns(pa.schema([column("word", pa.string(), "a word", key=True), column("n", pa.int64(), "its count")]))
    ['word']
    """
    return [field.name for field in schema if (field.metadata or {}).get(b"key")]


def documentation(schema: pa.Schema) -> list[dict[str, str]]:
    """Name, type, unit and sentence of every column of a schema made with :func:`column`."""
    return [
        {"name": field.name, "type": str(field.type)}
        | {key.decode(): value.decode() for key, value in (field.metadata or {}).items() if key != b"key"}
        for field in schema
    ]


def label_column(name: str) -> pa.Field:
    """A column that has one value in each part of a table."""
    return column(name, pa.string(), f"name of the {name}", key=True)


def with_labels(table: pa.Table, labels: Mapping[str, str]) -> pa.Table:
    """A part of a table with columns in front that have one value in all rows.

    >>> with_labels(pa.table({"n": [1, 2]}), {"corpus": "letters"}).to_pylist()
    [{'corpus': 'letters', 'n': 1}, {'corpus': 'letters', 'n': 2}]
    """
    for name, value in reversed([*labels.items()]):
        table = table.add_column(0, label_column(name), pa.repeat(value, table.num_rows))
    return table


Writer = Callable[[IO[bytes] | pa.NativeFile], object]

_ROWS_PER_GROUP = 32_768
"""Small enough to read a part of a table without the rest, large enough to compress."""

_SPLIT_TYPES = (pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())

_MOST_IN_MEMORY = 2**26
_PIECE_BYTES = 2**25

_WRITABLE = 0o666
_READ_ONLY = 0o444


def write_table(
    filesystem: fs.FileSystem,
    path: str,
    table: pa.Table,
    *,
    setting: str,
    lease: str | None = None,
    read_only: bool = False,
    split_numbers: bool = False,
) -> int:
    """Write a Parquet file that becomes visible only when it is complete; returns its size in bytes.

    On a local disk the file is written elsewhere, flushed, and renamed into its place; on an object store a file is
    visible from the final put of its upload. A write that fails leaves nothing behind, and is tried again while
    its error is transient (see :mod:`.files.retries`). Pages have checksums.

    Args:
        filesystem: where to write.
        path: the file's path there.
        table: what to write.
        setting: what a user changes to move the file elsewhere, such as ``run_dir=<path>``; the error names it.
        lease: on a local disk, the folder to write in; None: beside its place. See :mod:`.partial_files`.
        read_only: on a local disk, whether to keep others from changing the file in place; it can be replaced.
        split_numbers: whether to store numbers byte by byte, which is several times as fast for numbers that rarely
            repeat, and which older readers of Parquet do not know for integers.

    Raises:
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    mode = _READ_ONLY if read_only else _WRITABLE
    write = partial(write_parquet, [table], split_numbers=split_numbers)
    return _write_whole(filesystem, path, write, setting=setting, lease=lease, mode=mode)


def write_bytes(filesystem: fs.FileSystem, path: str, content: bytes, *, setting: str, lease: str | None = None) -> int:
    """As :func:`write_table`, for a file of any content."""
    return write_file(filesystem, path, lambda sink: sink.write(content), setting=setting, lease=lease)


def write_file(filesystem: fs.FileSystem, path: str, write: Writer, *, setting: str, lease: str | None = None) -> int:
    """As :func:`write_table`, for a file that a function writes."""
    return _write_whole(filesystem, path, write, setting=setting, lease=lease, mode=_WRITABLE)


def write_parquet(tables: Iterable[pa.Table], sink: IO[bytes] | pa.NativeFile, *, split_numbers: bool = False) -> None:
    """Write tables of one schema, one after the other, as one Parquet file; arguments as of :func:`write_table`.

    Args:
        tables: one at least; each is asked for when the one before is written.
    """
    others = iter(tables)
    first = next(others)
    with _parquet_writer(first.schema, sink, split_numbers) as writer:
        for table in chain([first], others):
            writer.write_table(table, row_group_size=_ROWS_PER_GROUP)


def _parquet_writer(schema: pa.Schema, sink: IO[bytes] | pa.NativeFile, split_numbers: bool) -> pq.ParquetWriter:
    numbers = [field.name for field in schema if split_numbers and field.type in _SPLIT_TYPES]
    others = [field.name for field in schema if field.name not in numbers]
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_byte_stream_split=numbers,
        use_dictionary=others,
        write_page_checksum=True,
    )


def _write_whole(
    filesystem: fs.FileSystem, path: str, write: Writer, *, setting: str, lease: str | None, mode: int
) -> int:
    try:
        if isinstance(filesystem, fs.LocalFileSystem):
            return with_retries(lambda: _write_and_rename(path, write, mode, lease))
        # Closing a stream completes its upload, even after an error: everything that can fail comes before it opens.
        with _prepared(write) as content, ThreadPoolExecutor(1) as thread:
            # Nor does an interrupt, which comes to the main thread, end an upload in its midst.
            return with_retries(lambda: thread.submit(_upload, filesystem, path, content).result())
    except StorageError:
        raise
    except OSError as error:
        raise StorageError.writing(path, error, setting) from error


@contextmanager
def _prepared(write: Writer) -> Iterator[IO[bytes]]:
    """What a function writes: in memory or, if it is more, in a file without a name on a local disk."""
    with tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY) as content:
        try:
            write(content)
        except OSError as error:
            raise StorageError.writing(tempfile.gettempdir(), error, "the environment's TMPDIR=<path>") from error
        yield content


def _upload(filesystem: fs.FileSystem, path: str, content: IO[bytes]) -> int:
    content.seek(0)
    with filesystem.open_output_stream(path) as sink:
        while piece := content.read(_PIECE_BYTES):
            sink.write(piece)
            # Arrow uploads in the background, and would hold all that is not yet there.
            sink.flush()
    return content.tell()


def _write_and_rename(path: str, write: Writer, mode: int, lease: str | None) -> int:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with partial_file(path, mode, lease) as sink:
        write(sink)
        sink.flush()
        os.fsync(sink.fileno())
        # While it is open it is locked, and nobody takes it for abandoned.
        os.replace(sink.name, path)
    return os.stat(path).st_size
