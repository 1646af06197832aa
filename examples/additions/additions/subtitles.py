"""Subtitles as SubRip files have them: a file is a document; numbers and times of its captions are left out."""

from collections.abc import Iterator

from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.corpora.readers import Reader


def read_subtitles(source: Source, span: Span, repairs: Repairs, document_bytes: int, _: str | None) -> Iterator[Page]:
    lines = [line.strip() for _, line in Lines(source, span, repairs, document_bytes).of_span()]
    spoken = [line for line in lines if line and not line.isdigit() and "-->" not in line]
    if spoken:
        yield Page(source.name, source.name, "\n".join(spoken), "article")


READER = Reader("subtitles/1", read_subtitles)
