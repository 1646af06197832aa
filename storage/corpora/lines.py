"""Lines of a span of a text file, with the offsets at which they begin in the unpacked file."""

import codecs
from collections.abc import Iterable, Iterator
from typing import AnyStr

from tiltmeter.storage.corpora.decoding import Decoder, decoded
from tiltmeter.storage.corpora.pages import Repairs, Source, Span
from tiltmeter.storage.corpora.unpacking import Unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted

_MAX_LINE_BYTES = 2**28


class Lines:
    """The lines whose first byte lies in a span, and for who goes on, those after it.

    A file in any encoding but UTF-8, or a compressed one, must be read as a single span.
    """

    def __init__(self, source: Source, span: Span, repairs: Repairs) -> None:
        # One byte earlier: a line that begins with the span is whole, which only the newline before it can tell.
        self._first = max(span.start - 1, 0)
        self._unpacked = Unpacked(source.uri, source.compression, self._first, span.stop)
        self._source, self._span, self._repairs = source, span, repairs
        self._offset = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Offset and content, in UTF-8, of each line of the span and after it, without the newline.

        Raises:
            InputError: if the file can't be read on, or has a line that is too long to be one.
        """
        lines = self._utf8_lines() if self._source.encoding == "utf-8" else self._other_lines()
        if self._span.start:
            next(lines, None)
        for offset, line in lines:
            yield offset, line if offset else line.removeprefix(codecs.BOM_UTF8)

    def of_span(self) -> Iterator[tuple[int, str]]:
        """Offset and text of the lines of the span only."""
        for offset, line in self:
            if self.is_beyond(offset):
                return
            yield offset, self.text(line)

    def text(self, line: bytes) -> str:
        """The text of a line; what is not UTF-8 is replaced."""
        return decoded(line, self._repairs)

    def is_beyond(self, offset: int) -> bool:
        """Whether a line belongs to the next span."""
        return offset >= self._unpacked.limit

    def where(self, offset: int) -> str:
        """File and place of a line, for messages."""
        if self._source.compression == "none":
            return f"{redacted(self._source.uri)}: line at byte {offset:,}"
        place = self._unpacked.place(offset)
        return f"{redacted(self._source.uri)}: line at byte {offset:,} when unpacked (before {place})"

    def _utf8_lines(self) -> Iterator[tuple[int, bytes]]:
        self._offset = self._first
        for line in self._split((chunk for _, chunk in self._unpacked), b"\n"):
            yield self._offset, line
            self._offset += len(line) + 1

    def _other_lines(self) -> Iterator[tuple[int, bytes]]:
        self._offset = 0
        for line in self._split(self._decoded(), "\n"):
            yield self._offset, line.encode()
            self._offset += len(f"{line}\n".encode(self._source.encoding))

    def _decoded(self) -> Iterator[str]:
        decoder = Decoder(self._source.encoding, self._repairs)
        for _, chunk in self._unpacked:
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)

    def _split(self, pieces: Iterable[AnyStr], newline: AnyStr) -> Iterator[AnyStr]:
        """Lines without their newlines; what follows the last newline is one unless it is empty."""
        begun: list[AnyStr] = []
        length = 0
        for piece in pieces:
            begun.append(piece)
            length += len(piece)
            # Joined once only: a line may go on for thousands of pieces.
            if newline in piece:
                lines = newline[:0].join(begun).split(newline)
                yield from lines[:-1]
                begun, length = lines[-1:], len(lines[-1])
            if length > _MAX_LINE_BYTES:
                where = self.where(self._offset)
                raise InputError(f"{where} is longer than {_MAX_LINE_BYTES:,} bytes: this is no text file")
        if length:
            yield newline[:0].join(begun)
