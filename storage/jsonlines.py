"""JSON lines: one object per line with ``text``, and if known ``id`` (or ``pageid``) and ``title``."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

from storage.pages import CorpusError, Page, head, opened


def read_json_lines(path: Path) -> Iterator[Page]:
    """Every document of a file, in file order; without an id of its own, its line number, from 1, is the id.

    Blank lines count and are passed over. The file is UTF-8, or UTF-16 or UTF-32.

    Raises:
        CorpusError: for a line that is not a JSON object, has no ``text`` or an id that is neither text nor a number,
            naming file and line.
    """
    encoding = json.detect_encoding(head(path, 4))
    with opened(path) as stream:
        for number, line in _numbered_lines(io.TextIOWrapper(stream, encoding=encoding, newline="\n"), path):
            if line.strip():
                yield _document(line, number, f"{path}: line {number}")


def _numbered_lines(lines: io.TextIOWrapper, path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, line
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not {error.encoding} soon after line {number}: {error.reason}") from error


def _document(line: str, number: int, where: str) -> Page:
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{where} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise CorpusError(f"{where} holds a JSON {type(fields).__name__}, not an object with 'text'")
    return Page(_id(fields, number, where), _text(fields, "title", where, ""), _text(fields, "text", where), "article")


def _id(fields: dict[str, object], number: int, where: str) -> str:
    value = fields.get("id", fields.get("pageid", number))
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CorpusError(f"{where}: its id {value!r} is neither text nor a whole number")
    return str(value)


def _text(fields: dict[str, object], key: str, where: str, default: str | None = None) -> str:
    value = fields.get(key, default)
    if not isinstance(value, str):
        raise CorpusError(f"{where}: {key!r} must be text, but is {value!r}; its keys are {sorted(fields)}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise CorpusError(f"{where}: {key!r} holds half a surrogate pair, which is no character")
    return value
