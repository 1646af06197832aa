"""Cutting a file into spans that many workers read."""

from itertools import pairwise

from tiltmeter.storage.corpora.formats.parquet_pages import row_group_bytes
from tiltmeter.storage.corpora.pages import ReaderSource, Source, Span
from tiltmeter.storage.corpora.unpacking import bz2_stream_starts
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import file_state, opened

_SECOND_STREAM_BYTES = 2**22
"""Multistream dumps and parallel compressors begin a second stream long before."""


def split(source: Source, span_megabytes: float) -> list[Span]:
    """Spans of about the same size that cover a file; only one where the file can't be divided.

    Plain UTF-8 text and XML can be divided anywhere, a MediaWiki dump in bzip2 at its streams, Parquet at its row
    groups. Whatever the spans, each page belongs to exactly one of them.

    Args:
        source: the file.
        span_megabytes: size of a span, in millions of bytes of the file as it lies there.

    Raises:
        InputError: if the file can't be read.
        ValueError: if ``span_megabytes`` is not above 0.
    """
    if not span_megabytes > 0:
        raise ValueError(f"span_megabytes={span_megabytes}: must be above 0; set a larger span_megabytes")
    span_bytes = max(int(span_megabytes * 1e6), 1)
    if source.format == "parquet":
        return _row_groups(source, span_bytes)
    num_spans = -(-source.num_bytes // span_bytes)
    if num_spans < 2 or not is_divisible(source) or not _has_parts(source):
        return [Span(0, source.num_bytes)]
    return [Span(*ends) for ends in pairwise(source.num_bytes * part // num_spans for part in range(num_spans + 1))]


def is_divisible(source: Source) -> bool:
    """Whether a span of a text file may begin elsewhere than at byte 0."""
    if source.format == "json" or (isinstance(source, ReaderSource) and not source.is_divisible):
        return False
    packed_streams = source.compression == "bz2" and source.format == "mediawiki"
    return source.encoding == "utf-8" and (source.compression == "none" or packed_streams)


def _has_parts(source: Source) -> bool:
    """Whether the server sends parts of the file, and a compressed one has more streams than the first."""
    if not file_state(source.uri).has_ranges:
        return False
    if source.compression == "none":
        return True
    with opened(source.uri, 1) as file:
        return next(bz2_stream_starts(file, 1, min(_SECOND_STREAM_BYTES, source.num_bytes)), None) is not None


def _row_groups(source: Source, span_bytes: int) -> list[Span]:
    sizes = row_group_bytes(source)
    if not sizes:
        raise InputError(f"{source.name}: this Parquet file has no rows")
    spans, start, num_bytes = [], 0, 0
    for group, size in enumerate(sizes):
        if num_bytes and num_bytes + size > span_bytes:
            spans.append(Span(start, group))
            start, num_bytes = group, 0
        num_bytes += size
    return [*spans, Span(start, len(sizes))]
