"""Readers of corpora that other packages bring, as entry points of the group ``tiltmeter.readers``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.storage import extensions
from tiltmeter.storage.corpora.pages import Page, ReaderSource, Repairs, Source, Span

GROUP = "tiltmeter.readers"
SETTING = "corpus.format"

ReadPages = Callable[[Source, Span, Repairs, int, str | None], Iterator[Page]]
"""From a file, a part of it, what counts records that are left out, the bytes above which a document is refused and the
field that is asked for, to the pages that begin in the part; each has an id that no other of the corpus has."""


@dataclass(frozen=True)
class Reader:
    """How documents of a format are read.

    Attributes:
        version: such as ``subtitles/1``; another one reads anew what was read before.
        pages: reads them; :mod:`.plain_text` is an example.
        fields: of a document, by which a corpus may be cut (``corpus.slices``).
        is_divisible: whether a part of a file of plain UTF-8 may begin at any byte; else it is read as a whole.
    """

    version: str
    pages: ReadPages
    fields: Sequence[str] = ()
    is_divisible: bool = False


def find_reader(name: str, version: str = "") -> Reader:
    """The reader of a name; arguments and errors as of :func:`.extensions.load`."""
    return extensions.load(GROUP, name, Reader, SETTING, version)


def read_as_found(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The pages of a span, by the reader that was found before any work.

    Raises:
        InputError: if this node has another version of it, or none.
    """
    version = source.reader if isinstance(source, ReaderSource) else ""
    return find_reader(source.format, version).pages(source, span, repairs, document_bytes, field)
