"""Lines of a span of a text file, with the offsets at which they begin in the unpacked file."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice
from typing import AnyStr

from tiltmeter.storage.corpora.decoding import Decoder, decoded
from tiltmeter.storage.corpora.pages import Repairs, Source, Span, too_large
from tiltmeter.storage.corpora.unpacking import Unpacked
from tiltmeter.storage.files.redaction import redacted

PART_LENGTH = 2**20
"""Bytes, or characters in any encoding but UTF-8, up to which a line stays whole."""


class Lines:
    """The lines whose first byte lies in a span, and for who goes on, those after it.

    A file in any encoding but UTF-8, or a compressed one, must be read as a single span.

    Args:
        source: the file.
        span: part of it.
        repairs: keeps count of what is replaced.
        line_bytes: above which a line is refused; None: longer ones than 1 MiB are cut into parts, behind a space
            where there is one, which are read one by one.
    """

    def __init__(self, source: Source, span: Span, repairs: Repairs, line_bytes: int | None) -> None:
        # One byte earlier: a line that begins with the span is whole, which only the newline before it can tell.
        self._first = max(span.start - 1, 0)
        self._unpacked = Unpacked(source.uri, source.compression, self._first, span.stop)
        self._source, self._span, self._repairs, self._line_bytes = source, span, repairs, line_bytes
        self._offset = self._number = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Offset and content, in UTF-8, of each line of the span and after it, without the newline.

        Raises:
            InputError: if the file can't be read on, or has a line that is too long to be one.
        """
        return ((offset, content) for _, offset, content in self._parts())

    def of_span(self) -> Iterator[tuple[int, str]]:
        """Offset and text of the lines of the span only, or of their parts."""
        for begins, offset, content in self._parts():
            if begins and self.is_beyond(offset):
                return
            yield offset, self.text(content)

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

    def place(self, offset: int) -> str:
        """The place of the last line that was read, within the file: by number where the span begins with the file."""
        return f"line at byte {offset:,}" if self._span.start else f"line {self._number:,}"

    def _parts(self) -> Iterator[tuple[bool, int, bytes]]:
        """Whether a line begins, offset, and content up to the newline or a cut."""
        parts = self._utf8_parts() if self._source.encoding == "utf-8" else self._other_parts()
        if self._span.start:
            parts = dropwhile(lambda part: not part[0], islice(parts, 1, None))
        for begins, offset, content in parts:
            self._number += begins
            yield begins, offset, content if offset else content.removeprefix(codecs.BOM_UTF8)

    def _utf8_parts(self) -> Iterator[tuple[bool, int, bytes]]:
        self._offset = self._first
        for begins, content, end in self._split((chunk for _, chunk in self._unpacked), b"\n", b" "):
            yield begins, self._offset, content
            self._offset += len(content) + len(end)

    def _other_parts(self) -> Iterator[tuple[bool, int, bytes]]:
        self._offset = 0
        for begins, content, end in self._split(self._decoded(), "\n", " "):
            yield begins, self._offset, content.encode()
            self._offset += len(f"{content}{end}".encode(self._source.encoding))

    def _decoded(self) -> Iterator[str]:
        decoder = Decoder(self._source.encoding, self._repairs)
        for _, chunk in self._unpacked:
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)

    def _split(self, pieces: Iterable[AnyStr], newline: AnyStr, space: AnyStr) -> Iterator[tuple[bool, AnyStr, AnyStr]]:
        """Whether a line begins, what there is of it, and the newline behind it or nothing.

        What follows the last newline is a line unless it is empty. Where lines are cut depends on their content alone.
        """
        waiting: list[AnyStr] = []
        length, begins = 0, True
        for piece in pieces:
            waiting.append(piece)
            length += len(piece)
            # Joined once only: a line may go on for thousands of pieces.
            if newline in piece or self._is_cut(length):
                lines: list[AnyStr] = newline[:0].join(waiting).split(newline)
                for number, line in enumerate(lines, start=1):
                    parts = self._cut(line, space)
                    for part in parts[:-1]:
                        yield begins, part, newline[:0]
                        begins = False
                    if number < len(lines):
                        yield begins, parts[-1], newline
                        begins = True
                waiting, length = parts[-1:], len(parts[-1])
            if self._line_bytes is not None and length > self._line_bytes:
                raise too_large(f"{self.where(self._offset)} is longer than {self._line_bytes:,} bytes")
        if length:
            yield begins, newline[:0].join(waiting), newline[:0]

    def _is_cut(self, length: int) -> bool:
        return self._line_bytes is None and length > PART_LENGTH

    def _cut(self, line: AnyStr, space: AnyStr) -> list[AnyStr]:
        """The parts of a line, the last of which may go on."""
        parts: list[AnyStr] = []
        start = 0
        while self._is_cut(len(line) - start):
            stop = line.rfind(space, start, start + PART_LENGTH) + 1 or _character_end(line, start + PART_LENGTH)
            parts.append(line[start:stop])
            start = stop
        parts.append(line[start:])
        return parts


def _character_end(line: AnyStr, stop: int) -> int:
    """The same place, or the beginning of the character of UTF-8 that it is in."""
    if isinstance(line, bytes):
        return next((place for place in range(stop, stop - 4, -1) if line[place] & 0xC0 != 0x80), stop)
    return stop
