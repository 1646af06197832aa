"""The bytes of a file, unpacked while they are read, from the beginning of a span on."""

import math
import re
from collections.abc import Iterator
from typing import BinaryIO

from tiltmeter.storage.corpora.archives import opened
from tiltmeter.storage.corpora.packed import Codec, check_growth, streams
from tiltmeter.storage.corpora.pages import Compression
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import read_errors
from tiltmeter.storage.files.redaction import reason, redacted

_CHUNK_BYTES = 2**17
_SCAN_BYTES = 2**20

_STREAM_START = re.compile(rb"BZh[1-9]1AY&SY")
"""Header of a bzip2 stream and mark of its first block: 80 bits that packed data hold by chance never."""

_START_BYTES = 10


class Unpacked:
    """What a file holds, chunk after chunk; it goes on past the end of the span for as long as it is asked.

    Args:
        uri: of the file.
        compression: of the file.
        start: first byte of the span in the file as it lies there. Of a bzip2 file, unpacking begins with the first
            stream at or after it; a file packed otherwise is read from its beginning.
        stop: end of the span.

    Attributes:
        limit: offset, among the offsets of the chunks, at which the next span begins; infinite while it is not known.
    """

    def __init__(self, uri: str, compression: Compression, start: int, stop: int) -> None:
        self.limit: float = stop if compression == "none" else math.inf
        self._uri, self._compression, self._start, self._stop = uri, compression, start, stop
        self._position = start if compression == "none" else 0
        self._packed_position = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Offset and content of each chunk; of a bzip2 file, offsets count from the first stream that is unpacked.

        Raises:
            InputError: if the file can't be read on, or is damaged there.
        """
        first = self._start if self._compression in ("none", "bz2") else 0
        with opened(self._uri, first) as file:
            chunks = self._chunks(file)  # without a name, it would close the file before an error is told
            try:
                for chunk in chunks:
                    if self._compression != "none":
                        check_growth(self._packed_position - first, self._position + len(chunk))
                    yield self._position, chunk
                    self._position += len(chunk)
            except read_errors(self._uri) as error:
                if isinstance(error, EOFError):
                    self._packed_position = file.tell()
                where = self.place(self._position)
                message = f"{redacted(self._uri)}: cannot be read on from {where}: {reason(error)}"
                raise InputError(message, is_unreadable=True) from error

    @property
    def is_beyond(self) -> bool:
        """Whether all that belongs to the span has been read."""
        return self._position >= self.limit

    def place(self, offset: int) -> str:
        """Where a chunk's byte lies, for messages: of a compressed file, up to where that has been read."""
        if self._compression == "none":
            return f"byte {offset:,}"
        return f"byte {self._packed_position:,} of the compressed file"

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        if self._compression == "none":
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
        elif not self._start or self._compression != "bz2":
            yield from self._unpacked_chunks(file, self._compression)
        elif (begin := next(bz2_stream_starts(file, self._start, self._stop), None)) is not None:
            file.seek(begin)
            yield from self._unpacked_chunks(file, "bz2")

    def _unpacked_chunks(self, file: BinaryIO, codec: Codec) -> Iterator[bytes]:
        for start, chunks in streams(file, codec):
            self._packed_position = start
            if start >= self._stop:
                self.limit = min(self.limit, self._position)
            for chunk in chunks:
                self._packed_position = file.tell()
                yield chunk


def bz2_stream_starts(file: BinaryIO, start: int, stop: int) -> Iterator[int]:
    """Offsets in [start, stop) at which a bzip2 stream begins; the file must have been sought to ``start``."""
    window, offset = b"", start
    while offset < stop and (block := file.read(_SCAN_BYTES)):
        window += block
        for match in _STREAM_START.finditer(window):
            if offset + match.start() < stop:
                yield offset + match.start()
        overlap = min(len(window), _START_BYTES - 1)
        offset += len(window) - overlap
        window = window[len(window) - overlap :]
