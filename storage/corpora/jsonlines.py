"""JSON lines: one object per line with ``text``, and if known ``id`` (or ``pageid``) and ``title``."""

import json
from collections.abc import Iterator
from itertools import islice

from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.errors import InputError

_NUM_LOOKED_AT = 1000

_MAX_CHARACTERS = 2**26
"""Of a line; in memory its numbers can take ten times as much."""


def read_json_lines(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """Every document of a span, in file order; blank lines are passed over.

    Without an id of its own, a document is called by the place of its line: ``<name of the file>@<byte, unpacked>``.

    Raises:
        InputError: for a line that is not a JSON object, has no ``text`` or an id that is neither text nor a number,
            naming file and byte.
    """
    lines = Lines(source, span, repairs, document_bytes)
    for offset, line in lines.of_span():
        if line.strip():
            where = lines.where(offset)
            fields = _fields(line, where)
            page_id = _id(fields, f"{source.name}@{offset}", where)
            title, text = _text(fields, "title", where, ""), _text(fields, "text", where)
            yield Page(page_id, title, text, "article", None if field is None else fields.get(field))


def json_fields(source: Source) -> list[str]:
    """The keys of the first thousand documents, but for their texts.

    Raises:
        InputError: if they can't be read.
    """
    lines = Lines(source, Span(0, source.num_bytes), Repairs(), _MAX_CHARACTERS)
    first = islice(((offset, line) for offset, line in lines.of_span() if line.strip()), _NUM_LOOKED_AT)
    return sorted({key for offset, line in first for key in _fields(line, lines.where(offset))} - {"text"})


def _fields(line: str, where: str) -> dict[str, object]:
    if len(line) > _MAX_CHARACTERS:
        raise InputError(f"{where} has more than {_MAX_CHARACTERS:,} characters, too many for a document")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:  # of its form, of a number with too many digits, of its depth
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{where} holds a JSON {type(fields).__name__}, not an object with 'text'")
    return fields


def _id(fields: dict[str, object], place: str, where: str) -> str:
    value = fields.get("id", fields.get("pageid", place))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{where}: its id {value!r} is neither text nor a whole number")
    return str(value)


def _text(fields: dict[str, object], key: str, where: str, default: str | None = None) -> str:
    value = fields.get(key, default)
    if not isinstance(value, str):
        raise InputError(f"{where}: {key!r} must be text, but is {value!r}; its keys are {sorted(fields)}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{where}: {key!r} holds half a surrogate pair, which is no character")
    return value
