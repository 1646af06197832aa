"""A JSON array of documents, read one after the other, so that memory stays flat however long it is."""

import json
import re
from collections.abc import Iterator

from tiltmeter.storage.corpora.decoding import Decoder
from tiltmeter.storage.corpora.formats.documents import keys_of, page_of
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span, too_large
from tiltmeter.storage.corpora.unpacking import Unpacked
from tiltmeter.storage.files.redaction import redacted

_DECODER = json.JSONDecoder()
_BEGIN = re.compile(r"[\s\ufeff]*\[?")
_BETWEEN = re.compile(r"[\s,\ufeff]*")
_NEXT = re.compile(r"\}\s*,\s*(?=\{)")
_GAP_CHARACTERS = 1000
"""That may lie between two items."""

_PIECE_CHARACTERS = 2**20
_CUT_CHARACTERS = 16
"""From the end of what has been read, where an error may come of what has not been."""


def read_json_array(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The objects of an array; a bad one is left out and counted, and reading goes on with the next.

    Without an id of its own, a document is called ``<name of the file>#<number>``.

    Raises:
        InputError: for an object that is too long, or if the file can't be read on.
    """
    for number, (line, item) in enumerate(_Items(source, span, repairs, document_bytes)):
        if page := page_of(item, repairs, f"line {line:,}, item {number:,}", f"{source.name}#{number}", field):
            yield page


def array_fields(source: Source) -> list[str]:
    """The keys of the first documents, but for their texts.

    Raises:
        InputError: if they can't be read.
    """
    items = _Items(source, Span(0, source.num_bytes), Repairs(), _PIECE_CHARACTERS)
    return keys_of(item for _, item in items)


class _Items:
    """The line and the value of each item of an array; None for one that is broken."""

    def __init__(self, source: Source, span: Span, repairs: Repairs, most_characters: int) -> None:
        decoder = Decoder(source.encoding, repairs)
        unpacked = Unpacked(source.uri, source.compression, span.start, span.stop)
        self._pieces = (decoder.decode(chunk) for _, chunk in unpacked)
        self._most_characters, self._file = most_characters, redacted(source.uri)
        self._text, self._at, self._line = "", 0, 1

    def __iter__(self) -> Iterator[tuple[int, object]]:
        self._skip(_BEGIN)
        while True:
            self._skip(_BETWEEN)
            if self._text[self._at : self._at + 1] in ("", "]"):
                return
            yield self._line, self._item()

    def _skip(self, pattern: re.Pattern[str]) -> None:
        while (match := pattern.match(self._text, self._at)) and match.end() == len(self._text) and self._reads_on():
            pass
        self._go(match.end() if match else self._at)

    def _go(self, place: int) -> None:
        self._line += self._text.count("\n", self._at, place)
        self._at = place

    def _reads_on(self) -> bool:
        """Read as much again as is left: what is looked through repeatedly is then no more than twice all."""
        parts = [self._text[self._at :]]
        wanted = num_left = len(parts[0])
        for piece in self._pieces:
            parts.append(piece)
            wanted -= len(piece)
            if wanted < 0:
                break
        self._text, self._at = "".join(parts), 0
        return len(self._text) > num_left

    def _item(self) -> object:
        while True:
            problem = self._at + 1
            try:
                item, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _CUT_CHARACTERS
                if is_cut and self._reads_on():
                    if len(self._text) > 2 * self._most_characters + _PIECE_CHARACTERS:
                        where = f"{self._file}: the item at line {self._line:,} of its JSON array"
                        raise too_large(f"{where} has more than {self._most_characters:,} characters") from error
                    continue
                problem = max(error.pos, problem)
            except (ValueError, RecursionError):  # of a number with too many digits, of its depth
                pass
            else:
                self._go(end)
                return item
            self._go_to_next(problem)
            return None

    def _go_to_next(self, place: int) -> None:
        """Behind a broken item; the next one is taken to begin behind the next closing brace and comma."""
        self._go(place)
        while not (match := _NEXT.search(self._text, self._at)):
            self._go(max(len(self._text) - _GAP_CHARACTERS, self._at))
            if not self._reads_on():
                self._go(len(self._text))
                return
        self._go(match.end())
