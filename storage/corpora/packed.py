"""Packed content, and how far it may grow while it is unpacked.

A file of some kilobytes can hold a terabyte of zeros. Text is packed to a third or a tenth of its size, templates to a
fiftieth; what claims to have been packed far more tightly is no text, and is refused before it fills memory or disk.
"""

import io
import os
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.errors import Refusal

_MAGIC = {b"BZh": "bz2", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MAGIC_BYTES = 4
_BUFFER_BYTES = 2**20

_MOST_TIMES = 250
_ALWAYS_ALLOWED = 2**28
_LEAST_VALUE_BYTES = 4
"""What a value takes in memory at least, however it was encoded."""


class TooTightlyPacked(Refusal, OSError):
    """Content that grows beyond measure when it is unpacked."""


def unpacked(file: BinaryIO) -> BinaryIO:
    """The content of a plain, bzip2, gzip or zstd file, unpacked while it is read; which it is tell its first bytes.

    Args:
        file: at its beginning.
    """
    magic = file.read(_MAGIC_BYTES)
    file.seek(0)
    codec = next((codec for start, codec in _MAGIC.items() if magic.startswith(start)), None)
    return cast(BinaryIO, io.BufferedReader(_UnpackedStream(file, codec), _BUFFER_BYTES)) if codec else file


class _UnpackedStream(io.RawIOBase):
    def __init__(self, packed: BinaryIO, codec: str) -> None:
        self._packed, self._stream = packed, pa.CompressedInputStream(packed, codec)
        self._num_unpacked = 0

    def readable(self) -> bool:
        """It is, and nothing else."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The next bytes.

        Raises:
            TooTightlyPacked: if there are far more than what was read of the file.
        """
        chunk = self._stream.read(len(buffer))
        self._num_unpacked += len(chunk)
        check_growth(self._packed.tell(), self._num_unpacked)
        buffer[: len(chunk)] = chunk
        return len(chunk)


def check_growth(num_packed: int, num_unpacked: int) -> None:
    """Refuse content that grows to more than 250 times its size and 256 MiB.

    Raises:
        TooTightlyPacked: if it does.
    """
    if num_unpacked > max(_ALWAYS_ALLOWED, _MOST_TIMES * num_packed):
        raise TooTightlyPacked(
            f"{num_packed:,} bytes unpack to {num_unpacked:,} or more, over {_MOST_TIMES} times their size, as no text "
            "does; if you trust the file, unpack it yourself and name the result"
        )


def check_parquet(file: BinaryIO, metadata: pq.FileMetaData) -> None:
    """Refuse a Parquet file with far more values than its size allows: a few bytes can stand for billions of rows.

    The file is left at its beginning.

    Raises:
        TooTightlyPacked: as :func:`check_growth`.
    """
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    sizes = (max(column.total_uncompressed_size, column.num_values * _LEAST_VALUE_BYTES) for column in columns)
    num_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    check_growth(num_bytes, sum(sizes))
