"""JSON lines: one object per line with ``text``, and if known ``id`` (or ``pageid``) and ``title``."""

import json
from collections.abc import Iterator

from tiltmeter.storage.corpora.formats.documents import keys_of, page_of
from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.errors import InputError

_MAX_CHARACTERS = 2**26
"""Of a line; in memory its numbers can take ten times as much."""

_BLANK = "\ufeff \t\r\n\f\v"
"""Passed over around a line: files that were joined have marks of byte order within."""


def read_json_lines(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """Every document of a span, in file order; blank lines are passed over, and bad ones left out and counted.

    Without an id of its own, a document is called by the place of its line: ``<name of the file>@<byte, unpacked>``.

    Raises:
        InputError: for a line that is too long, or if the file can't be read on.
    """
    lines = Lines(source, span, repairs, document_bytes)
    for offset, line in lines.of_span():
        if content := line.strip(_BLANK):
            record, problem = _record(content, lines.where(offset))
            place = f"{lines.place(offset)}{problem or ''}"
            if page := page_of(record, repairs, place, f"{source.name}@{offset}", field):
                yield page


def line_fields(source: Source) -> list[str]:
    """The keys of the first documents, but for their texts.

    Raises:
        InputError: if they can't be read.
    """
    lines = Lines(source, Span(0, source.num_bytes), Repairs(), _MAX_CHARACTERS)
    contents = ((offset, line.strip(_BLANK)) for offset, line in lines.of_span())
    return keys_of(_record(content, lines.where(offset))[0] for offset, content in contents if content)


def _record(line: str, where: str) -> tuple[object, str | None]:
    if len(line) > _MAX_CHARACTERS:
        raise InputError(f"{where} has more than {_MAX_CHARACTERS:,} characters, too many for a document")
    return json_value(line)


def json_value(line: str | bytes) -> tuple[object, str | None]:
    """What a line holds and None; or, if it is no JSON, None and the column in which that shows, if in one.

    >>> json_value('{"a": 1}'), json_value('{"a": 1,')
    (({'a': 1}, None), (None, ', column 9'))
    """
    try:
        return json.loads(line), None
    except json.JSONDecodeError as error:
        return None, f", column {error.colno:,}"
    except (ValueError, RecursionError):  # of its encoding, of a number with too many digits, of its depth
        return None, ""
