"""Records as JSON: an object in each line, or an array of them."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import normalize

import polars as pl

from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.formats.jsonlines import json_value
from tiltmeter.storage.errors import InputError

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_START = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*("|\})|\[\s*\{)')
_HALVES = re.compile("[\ud800-\udfff]")


def is_json(head: bytes, name: str) -> bool:
    """Whether content begins as objects do, or the file is called as JSON is."""
    return bool(_START.match(head)) or (name.endswith(_SUFFIXES) and not head.startswith(b"PAR1"))


def read_objects(
    content: bytes, file: str, bad: BadRecords, columns: Sequence[str] | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """The records of a file, null where one lacks a key and text where values are of several types; and their places.

    Args:
        file: its name, for messages and for what is counted.
        bad: counts what is left out.
        columns: that are read; None: all keys that there are.

    Raises:
        InputError: for an array that is no JSON.
    """
    kept: list[dict[str, Any]] = []
    places: list[str] = []
    records = [*_records(content.removeprefix(codecs.BOM_UTF8), file)]
    for place, record, fault in records:
        named = {} if fault else {normalize("NFC", key): value for key, value in record.items()}
        if reason := fault or _fault(named, columns):
            bad.add(file, reason, place)
        else:
            kept.append(named)
            places.append(place)
    bad.read(file, len(records))
    names = list(dict.fromkeys(key for record in kept for key in record)) if columns is None else columns
    return pl.DataFrame([_column(name, [record.get(name) for record in kept]) for name in names]), places


def _records(content: bytes, file: str) -> Iterator[tuple[str, Any, str]]:
    """Where each record is, what it is, and why it is none."""
    if content.lstrip()[:1] == b"[":
        try:
            records = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}: cannot be read as a JSON array: {error}") from error
        yield from ((f"item {number:,}", record, _kind(record)) for number, record in enumerate(records, start=1))
        return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield json_line(line, f"line {number:,}")


def json_line(line: bytes, place: str) -> tuple[str, Any, str]:
    """Where in a line the record is, or where it breaks off; what it is; and why it is none, or nothing.

    >>> json_line(b'{"a": 1}', "line 3"), json_line(b'{"a": 1,', "line 4")
    (('line 3', {'a': 1}, ''), ('line 4, column 9', None, 'no JSON'))
    """
    record, column = json_value(line)
    return f"{place}{column or ''}", record, _kind(record) if column is None else "no JSON"


def _kind(record: object) -> str:
    return "" if isinstance(record, dict) else "JSON, but no object"


def _fault(record: dict[str, Any], columns: Sequence[str] | None) -> str:
    """Why a record can't be read; empty if it can."""
    values = [*record, *record.values()] if columns is None else [record.get(name) for name in columns]
    if any(isinstance(value, dict | list) for value in values):
        return "a list or an object in a column"
    is_half = any(isinstance(value, str) and _HALVES.search(value) for value in values)
    return "half a surrogate pair, which is no character" if is_half else ""


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and all(abs(value) < 2**63 for value in values if value is not None):
        return pl.Series(name, values, pl.Float64 if float in kinds else pl.Int64 if kinds else pl.String)
    if kinds <= {str} or kinds == {bool}:
        return pl.Series(name, values, pl.Boolean if bool in kinds else pl.String)
    shown = [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, shown, pl.String)
