"""Packed content, unpacked while it is read, and how far it may grow.

bzip2, gzip and xz are unpacked by Python's own libraries, which tell where a stream ends: Arrow's stops at an empty
bzip2 stream among others, and can't say where damage begins. zstd goes through Arrow, which reads frame after frame.

A file of some kilobytes can hold a terabyte of zeros. Text is packed to a third or a tenth of its size, templates to a
fiftieth; what claims to have been packed far more tightly is no text, and is refused before it fills memory or disk.
"""

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.errors import Refusal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Codec = Literal["bz2", "gzip", "xz", "zstd"]

_MAGIC: dict[bytes, Codec] = {b"BZh": "bz2", b"\x1f\x8b": "gzip", b"\xfd7zXZ\0": "xz"}
_MAGIC |= {b"\x28\xb5\x2f\xfd": "zstd"}
_MAGIC |= {bytes([start]) + b"\x2a\x4d\x18": "zstd" for start in range(0x50, 0x60)}  # frames that are to be skipped
MAGIC_BYTES = 6
_BUFFER_BYTES = 2**20
_CHUNK_BYTES = 2**17
_STEP_BYTES = 2**14
"""Unpacked at once: what comes before damage is lost to no more than that."""

_DICTIONARY_BYTES = 2**28
"""Of memory that an xz file may ask for; its highest preset takes a quarter."""

_MOST_TIMES = 250
_ALWAYS_ALLOWED = 2**28
_LEAST_VALUE_BYTES = 4
"""What a value takes in memory at least, however it was encoded."""


class TooTightlyPacked(Refusal, OSError):
    """Content that grows beyond measure when it is unpacked."""


def codec_of(start: bytes) -> Codec | None:
    """How content is packed that begins so; None if it is not."""
    return next((codec for magic, codec in _MAGIC.items() if start.startswith(magic)), None)


def unpacked(file: BinaryIO) -> BinaryIO:
    """The content of a plain, bzip2, gzip, xz or zstd file, unpacked while it is read; its first bytes tell which.

    Args:
        file: at its beginning.
    """
    codec = codec_of(file.read(MAGIC_BYTES))
    file.seek(0)
    return unpacked_by(file, codec)


def unpacked_by(file: BinaryIO, codec: Codec | None) -> BinaryIO:
    """The same where it is known how it is packed; nothing is read twice, which some servers do not allow."""
    return cast(BinaryIO, io.BufferedReader(_UnpackedStream(file, codec), _BUFFER_BYTES)) if codec else file


class _UnpackedStream(io.RawIOBase):
    def __init__(self, packed: BinaryIO, codec: Codec) -> None:
        self._packed = packed
        self._chunks = (chunk for _, chunks in streams(packed, codec) for chunk in chunks)
        self._rest = memoryview(b"")
        self._num_unpacked = 0

    def readable(self) -> bool:
        """It is, and nothing else."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """The next bytes.

        Raises:
            TooTightlyPacked: if there are far more than what was read of the file.
        """
        self._rest = self._rest or memoryview(next(self._chunks, b""))
        destination = memoryview(buffer)
        num_bytes = min(len(destination), len(self._rest))
        if num_bytes:  # at the end, the packed file is closed
            self._num_unpacked += num_bytes
            check_growth(self._packed.tell(), self._num_unpacked)
        destination[:num_bytes], self._rest = self._rest[:num_bytes], self._rest[num_bytes:]
        return num_bytes


def streams(file: BinaryIO, codec: Codec) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Where each stream of a packed file begins, and its content in chunks that are not empty.

    Take all chunks of a stream before the next one. Of zstd, everything counts as one stream.

    Args:
        file: at the beginning of a stream.
        codec: how it is packed.

    Raises:
        OSError, EOFError: from within the chunks, if they are damaged or break off.
    """
    first, rest = file.tell(), b""
    if codec == "zstd":
        yield first, iter(partial(pa.CompressedInputStream(file, codec).read, _STEP_BYTES), b"")
        return
    while rest := rest or file.read(_STEP_BYTES):
        if codec == "xz" and file.tell() - len(rest) > first and not (rest := rest.lstrip(b"\0")):
            continue  # its streams may be padded
        rest += file.read(_STEP_BYTES) if len(rest) < MAGIC_BYTES else b""
        start = file.tell() - len(rest)
        if start > first and codec_of(rest) != codec:
            yield start, iter(())
            raise OSError(f"its {codec} data end at byte {start:,}, and what follows is something else")
        stream = _DECOMPRESSORS[codec]()
        yield start, _chunks(file, codec, stream, rest)
        rest = stream.unused_data


def _chunks(file: BinaryIO, codec: Codec, stream: "_Stream", rest: bytes) -> Iterator[bytes]:
    while not stream.eof:
        wants_more = stream.needs_input and not rest
        rest = file.read(_STEP_BYTES) if wants_more else rest
        try:
            chunk = stream.decompress(rest, _CHUNK_BYTES)
        except (zlib.error, lzma.LZMAError) as error:
            raise OSError(f"the {codec} data are damaged: {error}") from error
        if chunk:
            yield chunk
        elif wants_more and not rest and not stream.eof:
            raise EOFError("the packed data break off")
        rest = b""


class _GzipStream:
    """One stream of gzip, with what :class:`bz2.BZ2Decompressor` has."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    def decompress(self, content: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + content, max_length)


_Stream = bz2.BZ2Decompressor | lzma.LZMADecompressor | _GzipStream

_DECOMPRESSORS: dict[Codec, Callable[[], "_Stream"]] = {
    "bz2": bz2.BZ2Decompressor,
    "gzip": _GzipStream,
    "xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _DICTIONARY_BYTES),
}


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
        ArrowException or OSError: if what the file says of a column can't be.
    """
    # Where a record of a column can't be, to look at it ends the process; to begin to read the column says why.
    parquet = pq.ParquetFile(file, metadata=metadata, buffer_size=io.DEFAULT_BUFFER_SIZE)
    for number in range(metadata.num_row_groups):
        next(parquet.reader.iter_batches(0, row_groups=[number], column_indices=None, use_threads=False), None)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    sizes = (max(column.total_uncompressed_size, column.num_values * _LEAST_VALUE_BYTES) for column in columns)
    num_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    check_growth(num_bytes, sum(sizes))
