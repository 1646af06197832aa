"""Plain text: every line that is not blank is a document, and of a line above 1 MiB every part of about that size."""

from collections.abc import Iterator

from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span


def read_plain_text(
    source: Source, span: Span, repairs: Repairs, _document_bytes: int, _field: str | None = None
) -> Iterator[Page]:
    """The lines of a span, or their parts; each is called by its place: ``<name of the file>@<byte, unpacked>``.

    Raises:
        InputError: if the file can't be read on.
    """
    for offset, line in Lines(source, span, repairs, None).of_span():
        if line.strip():
            yield Page(f"{source.name}@{offset}", "", line.rstrip("\r"), "article")
