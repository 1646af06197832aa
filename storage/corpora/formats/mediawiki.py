"""MediaWiki XML dumps, as made by Special:Export and dumps.wikimedia.org, of any schema version.

A page belongs to the span in which its ``<page>`` begins. Markup is escaped in a dump, so that these six characters are
nothing else, and a span needs no index to find its first page.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from xml.parsers import expat

from tiltmeter.storage.corpora.decoding import REPLACEMENT, Decoder
from tiltmeter.storage.corpora.formats.dump_parser import DumpParser, Header
from tiltmeter.storage.corpora.pages import Compression, Page, Repairs, Source, Span
from tiltmeter.storage.corpora.unpacking import Unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted

_PAGE = b"<page>"
_ROOT, _END = b"<mediawiki>", b"</mediawiki>"

_GROWS = expat.errors.codes[expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH]
"""What entities that fill the memory end with."""

_END_BYTES = 64
"""In which the end of a dump has to be, with some space."""

_NO_XML_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))


def read_header(uri: str, compression: Compression, encoding: str) -> Header:
    """What a dump says before its first page.

    Raises:
        InputError: if the file is no MediaWiki dump or breaks off in its header.
    """
    unpacked = Unpacked(uri, compression, 0, 1)
    parser = DumpParser(uri, Header(), Repairs())
    try:
        for text in _texts((chunk for _, chunk in unpacked), Decoder(encoding, Repairs()), Repairs()):
            parser.feed(text.encode())
            if parser.header_ended:
                return parser.header
        parser.finish()
    except expat.ExpatError as error:
        if not parser.header_ended:  # damage behind the header is for those who read the pages
            raise _damage(uri, unpacked.place(parser.num_bytes), error) from error
    except InputError:
        if not parser.header_ended:
            raise
    return parser.header


def read_dump(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """Every page that begins in a span, in file order, with the text of its newest revision; memory stays flat.

    A page that is not well-formed or has no id is left out and counted; reading goes on with the next one.

    Raises:
        InputError: if the file breaks off before the last of these pages ends.
    """
    header = _header_of(source) if span.start else Header()
    unpacked = Unpacked(source.uri, source.compression, span.start, span.stop)
    pieces = _Pieces(unpacked, at_page=span.start > 0)
    parser = _Parser(lambda: DumpParser(source.uri, header, repairs, document_bytes, field), pieces, repairs)
    pieces.parser = parser
    try:
        for text in _texts(pieces, Decoder(source.encoding, repairs), repairs):
            parser.feed(text.encode())
            yield from parser.take()
        parser.finish()
    except expat.ExpatError as error:
        raise _damage(source.uri, parser.place, error) from error


@lru_cache(maxsize=64)
def _header_of(source: Source) -> Header:
    """Many spans need the same one."""
    return read_header(source.uri, source.compression, source.encoding)


def _texts(pieces: Iterable[bytes], decoder: Decoder, repairs: Repairs) -> Iterator[str]:
    """Text that XML allows."""
    for piece in pieces:
        text = decoder.decode(piece)
        # The quick look takes a tenth of the time of the thorough one.
        if len(piece.translate(None, _CONTROL_BYTES)) < len(piece) or "\ufffe" in text or "\uffff" in text:
            text, num_replaced = _NO_XML_CHARACTER.subn(REPLACEMENT, text)
            repairs.num_replaced += num_replaced
        yield text
    yield decoder.decode(b"", final=True)


def _damage(uri: str, place: str, error: expat.ExpatError) -> InputError:
    reason = expat.errors.messages[error.code]
    message = f"{redacted(uri)}: the XML breaks off or is damaged near {place}: {reason}"
    return InputError(message, is_unreadable=True)


class _Pieces:
    """The bytes of a span's pages: from its first ``<page>``, or the beginning of the file, to that of the next span.

    Attributes:
        at_page: whether they begin with a page.
        ended_at_page: whether it is the next span that ended them, and not the file.
    """

    parser: "_Parser"

    def __init__(self, unpacked: Unpacked, *, at_page: bool) -> None:
        self.at_page, self.ended_at_page = at_page, False
        self._unpacked = unpacked
        self._first = 0

    def __iter__(self) -> Iterator[bytes]:
        return self._up_to_next(self._readable(self._from_first() if self.at_page else iter(self._unpacked)))

    def place(self, num_bytes: int) -> str:
        """Where the byte lies after so many that were parsed, for messages."""
        return self._unpacked.place(self._first + num_bytes)

    def _from_first(self) -> Iterator[tuple[int, bytes]]:
        rest, chunks = b"", iter(self._unpacked)
        for offset, chunk in chunks:
            window, begin = rest + chunk, offset - len(rest)
            position = window.find(_PAGE)
            if position >= 0 and begin + position < self._unpacked.limit:
                self._first = begin + position - len(_ROOT)
                yield begin + position, window[position:]
                yield from chunks
                return
            rest = window[1 - len(_PAGE) :]
            if begin + len(window) - len(rest) >= self._unpacked.limit:
                break
        self.ended_at_page = True

    def _readable(self, chunks: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """What can be read; damage beyond the last page of this span is for the next."""
        try:
            yield from chunks
        except InputError:
            if not self._unpacked.is_beyond or self.parser.is_in_page:
                raise
            self.ended_at_page = True

    def _up_to_next(self, chunks: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        rest = b""
        for offset, chunk in chunks:
            window, begin = rest + chunk, offset - len(rest)
            num_beyond = begin + len(window) - self._unpacked.limit
            rest = b""
            if num_beyond > 0:
                position = window.find(_PAGE, max(len(window) - int(num_beyond), 0))
                if position >= 0:
                    yield window[:position]
                    self.ended_at_page = True
                    return
                rest = window[-min(len(_PAGE) - 1, int(num_beyond)) :]
            yield window[: len(window) - len(rest)]
        if not self.ended_at_page:
            yield rest


class _Parser:
    """Parses the pieces of a span; behind damage it begins again with the next page."""

    def __init__(self, new: Callable[[], DumpParser], pieces: _Pieces, repairs: Repairs) -> None:
        self._new, self._pieces, self._repairs = new, pieces, repairs
        self._parser = new()
        self._num_bytes = self._base = 0
        self._damage: expat.ExpatError | None = None
        self._tail = self._last = b""
        if pieces.at_page:
            self.feed(_ROOT)

    @property
    def is_in_page(self) -> bool:
        """Whether a page has begun that has not ended."""
        return self._damage is None and self._parser.is_in_page

    @property
    def place(self) -> str:
        """Where the last damage is, for messages."""
        return self._pieces.place(self._base + self._parser.num_bytes)

    def take(self) -> list[Page]:
        """The pages that were completed since."""
        pages, self._parser.pages = self._parser.pages, []
        return pages

    def feed(self, content: bytes) -> None:
        """Parse on; damage before the first page is raised, and what fills the memory."""
        start = self._num_bytes
        self._num_bytes += len(content)
        self._last = (self._last + content[-_END_BYTES:])[-_END_BYTES:]
        while True:
            if self._damage is not None:
                content, start = self._tail + content, start - len(self._tail)
                position = content.find(_PAGE)
                if position < 0:
                    self._tail = content[1 - len(_PAGE) :]
                    return
                content, start = content[position:], start + position
                self._restart(start)
            try:
                self._parser.feed(content)
            except expat.ExpatError as error:
                if not self._parser.header_ended or error.code == _GROWS:
                    raise
                self._damage, self._tail = error, b""
                self._leave_out()
                behind = max(self._base + self._parser.num_bytes - start, 0)
                content, start = content[behind:], start + behind
            else:
                return

    def _restart(self, start: int) -> None:
        pages, self._parser = self._parser.pages, self._new()
        self._parser.pages, self._parser.header_ended = pages, True
        self._parser.feed(_ROOT)
        self._damage, self._base = None, start - len(_ROOT)

    def finish(self) -> None:
        """Nothing follows any more.

        Raises:
            ExpatError: if the dump breaks off.
        """
        if self._damage is not None:
            if not (self._pieces.ended_at_page or self._last.rstrip().endswith(_END)):
                raise self._damage
        elif self._pieces.ended_at_page and self._parser.is_in_page:
            self._leave_out()
        else:
            self._parser.feed(_END if self._pieces.ended_at_page else b"")
            self._parser.finish()

    def _leave_out(self) -> None:
        self._repairs.leave_out("a page whose XML is not well-formed", f"near {self.place}")
