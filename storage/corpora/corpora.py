"""Corpora: their files, the spans of a file, and the pages of a span one after the other."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tiltmeter.storage.corpora.formats.dump_parser import FIELDS
from tiltmeter.storage.corpora.formats.jsonarrays import array_fields, read_json_array
from tiltmeter.storage.corpora.formats.jsonlines import line_fields, read_json_lines
from tiltmeter.storage.corpora.formats.mediawiki import read_dump
from tiltmeter.storage.corpora.formats.parquet_pages import read_rows, row_fields
from tiltmeter.storage.corpora.formats.plain_text import read_plain_text
from tiltmeter.storage.corpora.formats.wikiextractor import read_wikiextractor
from tiltmeter.storage.corpora.pages import Format, Page, PageKind, Repairs, Source, Span
from tiltmeter.storage.corpora.readers import ReadPages, find_reader, read_as_found
from tiltmeter.storage.corpora.sources import CorpusConfig, archived, find_sources, read_unreadable
from tiltmeter.storage.corpora.spans import is_divisible, split
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import file_state, is_web
from tiltmeter.storage.files.redaction import redacted

__all__ = [
    "CorpusConfig",
    "Page",
    "PageKind",
    "Pages",
    "Source",
    "Span",
    "check_any_readable",
    "downloaded",
    "fields_of",
    "find_sources",
    "nothing_copied",
    "pages_of",
    "read_pages",
    "split",
]

_DOCUMENT_BYTES = 2**28

_READERS: Mapping[Format, ReadPages] = {
    "mediawiki": read_dump,
    "wikiextractor": read_wikiextractor,
    "jsonl": read_json_lines,
    "json": read_json_array,
    "parquet": read_rows,
    "arrow": read_rows,
    "text": read_plain_text,
    "unreadable": read_unreadable,
}


_ONLY_KNOWN = ContextVar("only known", default=False)


@contextmanager
def nothing_copied() -> Iterator[None]:
    """Inside of the block, a file of which the store has no copy is refused and not copied."""
    token = _ONLY_KNOWN.set(True)
    try:
        yield
    finally:
        _ONLY_KNOWN.reset(token)


def downloaded(config: CorpusConfig, store: str) -> CorpusConfig:
    """The corpus with copies in the store in place of what web servers have, if ``corpus.download`` is set.

    A copy is made once per version of the file. It becomes visible when it is whole.

    Args:
        config: the corpus.
        store: root of the store, a path or URI; copies go to the folder ``downloads`` in it.

    Raises:
        InputError: if a file is missing, its size is not announced, or the connection keeps breaking; of a file that
            would be copied where :func:`nothing_copied` says so.
        StorageError: if the store can't be written.
    """
    if not config.download:
        return config
    from tiltmeter.storage.files.downloads import copy_of, has_copy  # its libraries take 0.2 s to import

    for path in config.paths if _ONLY_KNOWN.get() else ():
        if is_web(path) and not has_copy(path, store):
            raise InputError(
                f"{config.name}: {redacted(path)} is not in the store, and a plan fetches nothing: set corpus.path to "
                "a copy that you have, or start the job, which fetches it first"
            )
    paths = tuple(copy_of(path, store) if is_web(path) else path for path in config.paths)
    return dataclasses.replace(config, path=paths[0] if isinstance(config.path, str) else paths)


class Pages(Repairs):
    """The pages of a span, to be iterated once, and what was replaced or left out of them so far."""

    def __init__(self, source: Source, span: Span, document_bytes: int, field: str | None = None) -> None:
        super().__init__()
        self._pages = pages_of(source, span, self, document_bytes, field)

    def __iter__(self) -> Iterator[Page]:
        """As :func:`pages_of`."""
        return self._pages


def pages_of(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The pages that begin in a span, in file order; memory stays flat. Arguments as of :func:`read_pages`.

    Raises:
        InputError: if the span is damaged, naming file and place, or the file is not the one that was found.
    """
    repairs.file = redacted(source.uri)
    try:
        for part, part_span in _parts(source, span, repairs):
            num = 0
            read = _READERS.get(part.format, read_as_found)
            for page in read(part, part_span, repairs, document_bytes, field):
                num += 1
                yield page
            repairs.bad.read(repairs.file, num)
    except InputError:
        _check_unchanged(source)
        raise
    _check_unchanged(source)


def _parts(source: Source, span: Span, repairs: Repairs) -> Iterator[tuple[Source, Span]]:
    """What is to be read: of an archive, its members."""
    if source.format != "parquet" and not is_divisible(source):
        if span.start:
            return  # all of it belongs to the span that holds byte 0
        span = Span(0, source.num_bytes)
    if source.format != "archive":
        yield source, span
        return
    for member in archived(source, repairs):
        if (member.markup, member.media_prefixes) != (source.markup, source.media_prefixes):
            raise InputError(
                f"{redacted(member.uri)}: has other markup, or other namespaces, than the first file of its archive; "
                "put dumps of different kinds into archives of their own"
            )
        yield member, Span(0, member.num_bytes)


def read_pages(source: Source, span: Span, document_bytes: int = _DOCUMENT_BYTES, field: str | None = None) -> Pages:
    """The pages of a span only: of all spans together, each page of the file once, with the same id.

    Pages are read as they are asked for; what may go wrong does so then.

    Args:
        source: the file.
        span: part of it.
        document_bytes: above which a page is refused, or the row or line that holds it; lines of plain text are cut.
        field: whose value each page comes with; pages of a dump of which the namespace is asked are all articles but
            redirects.
    """
    return Pages(source, span, document_bytes, field)


def fields_of(source: Source) -> list[str]:
    """The fields by which documents of a file can be told apart, as far as its first documents have them.

    Raises:
        InputError: if the file is damaged.
    """
    match source.format:
        case "mediawiki":
            return list(FIELDS)
        case "parquet" | "arrow":
            return row_fields(source)
        case "jsonl":
            return line_fields(source)
        case "json":
            return array_fields(source)
        case "archive":
            return next((fields_of(member) for member in archived(source, Repairs())), [])
        case "wikiextractor" | "text" | "unreadable":
            return []
        case brought:
            return list(find_reader(brought).fields)


def check_any_readable(sources: Sequence[Source]) -> None:
    """Refuse files of which every one is damaged from its beginning: nothing would be left to work on.

    Raises:
        InputError: saying what is wrong with the first.
    """
    if all(source.format == "unreadable" for source in sources):
        next(iter(read_pages(sources[0], Span(0, sources[0].num_bytes))))


def _check_unchanged(source: Source) -> None:
    num_bytes, version, _ = file_state(source.uri)
    if (num_bytes, version) != (source.num_bytes, source.version):
        raise InputError(f"{redacted(source.uri)}: changed while it was read: leave it alone and run again")
