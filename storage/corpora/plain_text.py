"""Plain text: every line that is not blank is a document."""

from collections.abc import Iterator

from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span


def read_plain_text(source: Source, span: Span, repairs: Repairs) -> Iterator[Page]:
    """The lines of a span; each is called by its place: ``<name of the file>@<byte, unpacked>``.

    Raises:
        InputError: if the file can't be read on.
    """
    for offset, line in Lines(source, span, repairs).of_span():
        if line.strip():
            yield Page(f"{source.name}@{offset}", "", line.rstrip("\r"), "article")
