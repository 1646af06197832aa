"""Arrow schemas that document themselves, and Parquet files that are either whole or absent."""

import os
import re
import socket
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, Self

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs


class StorageError(OSError):
    """A file could not be read or written; the message names it and the setting that moves it elsewhere."""

    @classmethod
    def writing(cls, place: str | os.PathLike[str], error: OSError, setting: str) -> Self:
        """What to say when ``place`` can't be written: ``setting`` such as ``run_dir=<path>`` chooses another."""
        reason = error.strerror or str(error)
        return cls(f"cannot write {place}: {reason}; choose another place with {setting}")


def column(name: str, kind: pa.DataType, sentence: str, unit: str = "") -> pa.Field:
    """A column with its documentation, which travels in the Parquet file as field metadata."""
    return pa.field(name, kind, metadata={"description": sentence, "unit": unit})


def documentation(schema: pa.Schema) -> list[dict[str, str]]:
    """Name, type, unit and sentence of every column of a schema made with :func:`column`."""
    return [
        {"name": field.name, "type": str(field.type)}
        | {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        for field in schema
    ]


Writer = Callable[[IO[bytes] | pa.NativeFile], object]

_ROWS_PER_GROUP = 32_768
"""Small enough to read a part of a table without the rest, large enough to compress."""

_SPLIT_TYPES = (pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())

_WRITABLE = 0o666
_READ_ONLY = 0o444


def write_table(
    filesystem: fs.FileSystem,
    path: str,
    table: pa.Table,
    *,
    setting: str,
    read_only: bool = False,
    split_numbers: bool = False,
) -> int:
    """Write a Parquet file that becomes visible only when it is complete; returns its size in bytes.

    On a local disk the file is written beside its place, flushed, and renamed over it; on an object store a file
    is visible from the final put of its upload. A write that fails leaves nothing behind.

    Args:
        filesystem: where to write.
        path: the file's path there.
        table: what to write.
        setting: what a user changes to move the file elsewhere, such as ``run_dir=<path>``; the error names it.
        read_only: on a local disk, whether to keep others from changing the file in place; it can be replaced.
        split_numbers: whether to store numbers byte by byte, which is several times as fast for numbers that rarely
            repeat, and which older readers of Parquet do not know for integers.

    Raises:
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    mode = _READ_ONLY if read_only else _WRITABLE
    return _write_whole(filesystem, path, partial(_write_parquet, table, split_numbers), setting=setting, mode=mode)


def write_bytes(filesystem: fs.FileSystem, path: str, content: bytes, *, setting: str) -> int:
    """As :func:`write_table`, for a file of any content."""
    return write_file(filesystem, path, lambda sink: sink.write(content), setting=setting)


def write_file(filesystem: fs.FileSystem, path: str, write: Writer, *, setting: str) -> int:
    """As :func:`write_table`, for a file that a function writes."""
    return _write_whole(filesystem, path, write, setting=setting, mode=_WRITABLE)


def _write_parquet(table: pa.Table, split_numbers: bool, sink: IO[bytes] | pa.NativeFile) -> None:
    numbers = [field.name for field in table.schema if split_numbers and field.type in _SPLIT_TYPES]
    others = [field.name for field in table.schema if field.name not in numbers]
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=_ROWS_PER_GROUP,
        use_byte_stream_split=numbers,
        use_dictionary=others,
    )


def _write_whole(filesystem: fs.FileSystem, path: str, write: Writer, *, setting: str, mode: int) -> int:
    try:
        if isinstance(filesystem, fs.LocalFileSystem):
            return _write_and_rename(path, write, mode)
        # Closing a stream completes its upload, even after an error: everything that can fail comes before it opens.
        buffer = pa.BufferOutputStream()
        write(buffer)
        content = buffer.getvalue()
        with filesystem.open_output_stream(path) as sink:
            sink.write(content)
        return int(content.size)
    except OSError as error:
        raise StorageError.writing(path, error, setting) from error


def _write_and_rename(path: str, write: Writer, mode: int) -> int:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.partial"
    try:
        # A mode given at creation heeds the umask, which a later chmod would not.
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as sink:
            write(sink)
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return os.stat(path).st_size


def sweep_partial_files(folders: Iterable[Path]) -> int:
    """Remove what processes of this host left half-written when they were killed; returns the number of files."""
    ours = re.compile(rf"\.{re.escape(socket.gethostname())}-(\d+)-[0-9a-f]{{8}}\.partial$")
    num_removed = 0
    for folder in folders:
        for path in folder.rglob("*.partial"):
            found = ours.search(path.name)
            if found and not psutil.pid_exists(int(found[1])):
                path.unlink(missing_ok=True)
                num_removed += 1
    return num_removed
