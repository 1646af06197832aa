"""Lines of fields between separators, in the dialects of CSV and TSV that programs write.

A line with more or fewer fields than there are columns is a bad record, and so is one whose quotes do not match or that
is not UTF-8; reading goes on with the next line. Polars reads what is left.
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple
from unicodedata import normalize

import numpy as np
import polars as pl

from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.decoding import encoding_of

csv.field_size_limit(2**31 - 1)

_HEAD_BYTES = 2**16
_HEAD_RECORDS = 50
_MOST_LINES = 1000
"""Of a record: a quote that nobody closed costs its own line, and not the rest of the file."""

_RAGGED, _OPEN, _NO_TEXT = "not as many fields as columns", "quotes that do not match", "bytes that are no text"


class Dialect(NamedTuple):
    """How fields are divided.

    Attributes:
        separator: one character; of a single column, one that no text has.
        has_quotes: whether separators and ends of lines between quotes are part of a field.
        is_spaced: whether a space follows every separator, and is no part of a field.
    """

    separator: str
    has_quotes: bool = True
    is_spaced: bool = False


_ONE_COLUMN = "\x1f"
_TABBED = (Dialect("\t", has_quotes=False), Dialect("\t"))
_DIALECTS = (Dialect(","), Dialect(";"), Dialect("|"), *_TABBED)
_NAMES = {";": "semicolons", "|": "vertical bars", "\t": "tabs"}

_Read = tuple[pl.DataFrame, Sequence[int]]
"""Rows of text, null where there is nothing, and the lines in which they begin, from 1."""

_Fields = list[str] | str
"""Of a record, or why it is bad."""


def read_delimited(content: bytes, file: str, bad: BadRecords, *, is_tabbed: bool, header: bool) -> _Read:
    """The records of a file and their lines; it has a header, or columns that are called column_1, column_2, ...

    Args:
        file: its name, for what is counted.
        bad: counts what is left out, and says which dialect was read if that is not the usual.
        is_tabbed: whether the name says that there are tabs, which are the usual then.
    """
    content = _as_utf8(content)
    dialect, first = _dialect(content, is_tabbed)
    names = _names(first, header)
    if not names:
        raise pl.exceptions.NoDataError("empty CSV")
    divided = _even(content, dialect, names, header) or _scanned(content, dialect, names, header, file, bad)
    if dialect.separator in _NAMES and dialect.separator != "\t" * is_tabbed:
        bad.add(file, f"fields divided by {_NAMES[dialect.separator]}", "line 1", divided[0].height, "kept")
    bad.read(file, divided[0].height + sum(row.num for row in bad.left_out.values() if row.kind == "bad"))
    return divided


def _as_utf8(content: bytes) -> bytes:
    """In UTF-8, with line feeds, from UTF-16 and UTF-32 and from files whose lines end in carriage returns."""
    encoding = encoding_of(content) or _guessed(content[:_HEAD_BYTES])
    if encoding != "utf-8":
        content = content.decode(encoding, "replace").encode()
    content = content.removeprefix(codecs.BOM_UTF8)
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def _guessed(head: bytes) -> str:
    """UTF-16 without a mark of the order of its bytes has a null for every letter of ASCII."""
    if 4 * head[1::2].count(0) > len(head):
        return "utf-16-le"
    return "utf-16-be" if 4 * head[::2].count(0) > len(head) else "utf-8"


def _dialect(content: bytes, is_tabbed: bool) -> tuple[Dialect, list[_Fields]]:
    """The one by which most records have as many fields as the first, of the usual ones the first; and such records."""
    # Whole lines, one at least.
    head = content[: content.rfind(b"\n", 0, _HEAD_BYTES) + 1 or content.find(b"\n") + 1 or len(content)]
    firsts = {dialect: _first_records(head, dialect) for dialect in [*(_TABBED if is_tabbed else ()), *_DIALECTS]}
    best = max(firsts, key=lambda dialect: _consistency(firsts[dialect]))
    if _consistency(firsts[best]):
        best = best._replace(is_spaced=best.has_quotes and all(name.startswith(" ") for name in firsts[best][0][1:]))
    else:
        best = Dialect(_ONE_COLUMN, has_quotes=not is_tabbed)
    return best, _first_records(head, best)


def _first_records(head: bytes, dialect: Dialect) -> list[_Fields]:
    return [*islice((fields for _, fields in _records(head, dialect) if fields), _HEAD_RECORDS)]


def _consistency(records: Sequence[_Fields]) -> float:
    """The share of records with as many fields as the first; 0 where it has one."""
    widths = [len(fields) if isinstance(fields, list) else 0 for fields in records]
    return widths.count(widths[0]) / len(widths) if widths and widths[0] > 1 else 0.0


def _names(records: Sequence[_Fields], header: bool) -> list[str]:
    """Of the columns, each once: one that comes again is called as Polars does."""
    first = [fields for fields in records if isinstance(fields, list)]
    if not header:
        [(width, _)] = Counter(map(len, first)).most_common(1) or [(0, 0)]
        return [f"column_{number}" for number in range(1, width + 1)]
    names: list[str] = []
    for name in (normalize("NFC", name.strip()) for name in (first[0] if first else [])):
        again = sum(known == name or known.startswith(f"{name}_duplicated_") for known in names)
        names.append(f"{name}_duplicated_{again - 1}" if again else name)
    return names


def _even(content: bytes, dialect: Dialect, names: Sequence[str], header: bool) -> _Read | None:
    """What has no quotes, and in each line, unless it is empty, as many fields as columns; None for anything else."""
    if (dialect.has_quotes and b'"' in content) or dialect.is_spaced or b"\0" in content or content[:1] == b"\n":
        return None
    data = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate([[0], ends[ends < data.size - 1] + 1])
    counts = np.add.reduceat(data == ord(dialect.separator), starts, dtype=np.int32)
    is_blank = (data[starts] == ord("\n")) | (data[starts] == ord("\r"))
    if ((counts != len(names) - 1) & ~is_blank).any():
        return None
    rows = _parsed(content, dialect, names, header)
    return None if rows is None else (rows, range(1 + header, 1 + header + rows.height))


def _parsed(content: bytes, dialect: Dialect, names: Sequence[str], header: bool) -> pl.DataFrame | None:
    """What Polars reads; None where it can't."""
    quote = '"' if dialect.has_quotes else None
    try:
        rows = pl.read_csv(
            content, has_header=header, separator=dialect.separator, quote_char=quote, infer_schema=False
        )
    except pl.exceptions.PolarsError:
        return None
    return rows.rename(dict(zip(rows.columns, names, strict=True))) if rows.width == len(names) else None


def _scanned(content: bytes, dialect: Dialect, names: Sequence[str], header: bool, file: str, bad: BadRecords) -> _Read:
    """Record by record."""
    lines, written = [], io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    scanned = ((line, _fitting(fields, names)) for line, fields in _records(content, dialect, names))
    if header:
        next((fields for _, fields in scanned if isinstance(fields, list) and any(fields)), None)
    for line, fields in scanned:
        if isinstance(fields, str):
            bad.add(file, fields, f"line {line:,}")
        else:
            lines.append(line)
            writer.writerow(fields)
    is_whole = not any(row.kind == "bad" for row in bad.left_out.values()) and not dialect.is_spaced
    rows = _parsed(content, dialect, names, header) if is_whole else None
    if rows is None or rows.height != len(lines):
        schema, source = dict.fromkeys(names, pl.String), written.getvalue().encode()
        rows = pl.read_csv(source, has_header=False, schema=schema) if lines else pl.DataFrame(schema=schema)
        rows = rows.with_columns(pl.all().replace("", None))
    return rows, lines


def _fitting(fields: _Fields, names: Sequence[str]) -> _Fields:
    """As many fields as columns: only what is empty may be added or left out."""
    if isinstance(fields, str) or len(fields) == len(names):
        return fields
    if not "".join(fields[len(names) :]).strip() and (not "".join(fields).strip() or not any(names[len(fields) :])):
        return [*fields[: len(names)], *[""] * (len(names) - len(fields))]
    return _RAGGED


# --- records --------------------------------------------------------------------------------------------------------


def _records(content: bytes, dialect: Dialect, names: Sequence[str] | None = None) -> Iterator[tuple[int, _Fields]]:
    """The line in which each record begins, and its fields, none of an empty line, or why it is bad.

    Args:
        names: of the columns; a record of several lines that does not fit them is bad in its first line alone.
    """
    source, number = io.BytesIO(content), 1
    ends: list[int] = []
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if dialect.has_quotes else csv.QUOTE_NONE
    while source.tell() < len(content):
        reason = _RAGGED
        try:
            lines, is_spaced = _lines(source, ends), dialect.is_spaced
            reader = csv.reader(
                lines, delimiter=dialect.separator, quoting=quoting, skipinitialspace=is_spaced, strict=True
            )
            for fields in reader:
                if len(ends) > 1 and names is not None and _fitting(fields, names) == _RAGGED:
                    break
                yield number, fields
                number += len(ends)
                ends.clear()
        except (csv.Error, UnicodeError) as error:
            reason = _OPEN if isinstance(error, csv.Error) or len(ends) > 1 else _NO_TEXT
        if ends:
            yield number, reason
            number += 1
            source.seek(ends[0])
            ends.clear()


def _lines(source: io.BytesIO, ends: list[int]) -> Iterator[str]:
    """The lines of a record, of which each end is noted.

    Raises:
        UnicodeError: if one is no text.
    """
    while len(ends) < _MOST_LINES and (line := source.readline()):
        ends.append(source.tell())
        if b"\0" in line:
            raise UnicodeError(_NO_TEXT)
        yield line.decode().rstrip("\r\n").replace("\r", " ") + "\n"
