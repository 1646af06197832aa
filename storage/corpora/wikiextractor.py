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
    over: markup that was left in a text, repaired by an HTML library, moves the one behind the other.

    Raises:
        InputError: for a document without an id, text that is in no document, and a file that breaks off within a
            document, naming file and byte.
    """
    lines = Lines(source, span, repairs, document_bytes)
    document: _Document | None = None
    in_earlier = span.start > 0  # the first lines may be those of a document that begins in an earlier span
    for offset, line in lines:
        if line.startswith(_BEGIN) or document is None:
            if document is not None:
                yield document.page()
            if lines.is_beyond(offset):
                return
            document, in_earlier = _begun(lines, offset, line, document_bytes, in_earlier=in_earlier)
        elif line.rstrip().endswith(_END):
            if last := line.rstrip().removesuffix(_END):
                document.add(lines.text(last))
            yield document.page()
            document = None
        else:
            document.add(lines.text(line))
    if document is not None:
        raise InputError(f"{document.where}: the file breaks off within this <doc>")


class _Document:
    """A document whose lines are still coming."""

    def __init__(self, first: str, where: str, most_bytes: int) -> None:
        self.where, self._most_bytes = where, min(most_bytes, _MAX_BYTES)
        if len(first) > _MAX_TAG_CHARACTERS:
            raise InputError(f"{where}: this <doc ...> has {len(first):,} characters, over {_MAX_TAG_CHARACTERS:,}")
        self._attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(first)}
        self._text: list[str] = []
        self._num_bytes = 0
        if not self._attributes.get("id"):
            raise InputError(f"{where}: this <doc> has no id")

    def add(self, line: str) -> None:
        self._num_bytes += len(line) + _LINE_BYTES
        if self._num_bytes > self._most_bytes:
            raise InputError(
                f"{self.where}: this <doc> takes more than {self._most_bytes:,} bytes of memory, the most that a "
                "worker has for it: divide it, or raise cluster.worker_megabytes"
            )
        self._text.append(line)

    def page(self) -> Page:
        title = self._attributes.get("title", "")
        repeats_title = bool(self._text) and html.unescape(self._text[0].strip()) == title.strip()
        return Page(self._attributes["id"], title, html.unescape("\n".join(self._text[repeats_title:])), "article")


def _begun(
    lines: Lines, offset: int, line: bytes, document_bytes: int, *, in_earlier: bool
) -> tuple[_Document | None, bool]:
    """The document that a line outside of documents begins, and whether it may be outside of them."""
    if line.startswith(_BEGIN):
        return _Document(lines.text(line), lines.where(offset), document_bytes), False
    if not in_earlier and not _CLOSING_TAGS.fullmatch(line):
        raise InputError(f"{lines.where(offset)} is in no <doc>: it begins with {lines.text(line)[:40]!r}")
    return None, in_earlier
