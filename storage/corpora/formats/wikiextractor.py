"""WikiExtractor's text: ``<doc id="..." url="..." title="...">``, lines of HTML-escaped text, ``</doc>``."""

import html
import re
from collections.abc import Iterator

from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.errors import InputError

_BEGIN = b"<doc "
_END = b"</doc>"

_MAX_TAG_CHARACTERS = 2**13
"""Of a line with many quotation marks, finding attributes takes the square of its length."""

_MAX_BYTES = 2**28
_LINE_BYTES = 64
"""What a line takes in memory besides its characters."""

_CLOSING_TAGS = re.compile(rb"\s*(?:</[^<>]*>\s*)*")
_ATTRIBUTE = re.compile(r'([\w:-]+)="(.*?)"(?=\s+[\w:-]+="|\s*>\s*\Z)')
"""A title may hold quotation marks: its value ends at one that another attribute or the end follows."""


def read_wikiextractor(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, _field: str | None = None
) -> Iterator[Page]:
    """Every document that begins in a span, in file order, without the title that is repeated as its first line.

    A document whose ``</doc>`` is missing ends where the next one begins, and closing tags between documents are passed
    over: markup that was left in a text, repaired by an HTML library, moves the one behind the other. A document
    without an id and text that is in no document are left out and counted.

    Raises:
        InputError: for a document that is too long, and a file that breaks off within one, naming file and byte.
    """
    lines = Lines(source, span, repairs, document_bytes)
    document: _Document | None = None
    # The first lines may be those of a document that begins in an earlier span.
    is_counted = span.start > 0
    for offset, line in lines:
        if line.startswith(_BEGIN) or document is None:
            if document is not None:
                yield from document.pages(repairs)
            if lines.is_beyond(offset):
                return
            if line.startswith(_BEGIN):
                document, is_counted = _Document(lines, offset, line, document_bytes), False
            elif not is_counted and not _CLOSING_TAGS.fullmatch(line):
                repairs.leave_out("text that is in no <doc>", lines.place(offset))
                is_counted = True
        elif line.rstrip().endswith(_END):
            if last := line.rstrip().removesuffix(_END):
                document.add(lines.text(last))
            yield from document.pages(repairs)
            document = None
        else:
            document.add(lines.text(line))
    if document is not None:
        raise InputError(f"{document.where}: the file breaks off within this <doc>")


class _Document:
    """A document whose lines are still coming."""

    def __init__(self, lines: Lines, offset: int, line: bytes, most_bytes: int) -> None:
        self.where, self._place = lines.where(offset), lines.place(offset)
        self._most_bytes, first = min(most_bytes, _MAX_BYTES), lines.text(line)
        if len(first) > _MAX_TAG_CHARACTERS:
            raise InputError(
                f"{self.where}: this <doc ...> has {len(first):,} characters, over {_MAX_TAG_CHARACTERS:,}"
            )
        self._attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(first)}
        self._text: list[str] = []
        self._num_bytes = 0

    def add(self, line: str) -> None:
        self._num_bytes += len(line) + _LINE_BYTES
        if self._num_bytes > self._most_bytes:
            raise InputError(
                f"{self.where}: this <doc> takes more than {self._most_bytes:,} bytes of memory, the most that a "
                "worker has for it: divide it, or raise cluster.worker_megabytes"
            )
        self._text.append(line)

    def pages(self, repairs: Repairs) -> Iterator[Page]:
        """The page that it is, if it has an id; or else it is counted."""
        title, page_id = self._attributes.get("title", ""), self._attributes.get("id")
        if page_id:
            repeats_title = bool(self._text) and html.unescape(self._text[0].strip()) == title.strip()
            yield Page(page_id, title, html.unescape("\n".join(self._text[repeats_title:])), "article")
        else:
            repairs.leave_out("a <doc> without an id", self._place)
