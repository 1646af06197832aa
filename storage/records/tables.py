"""A file's rows, whatever its format, which its content tells: Parquet, Arrow, JSON, or else CSV and its dialects."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple
from unicodedata import normalize

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.corpora.packed import check_growth, check_parquet, unpacked
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.files import file_state, opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records.cells import NO_RULES, Rules, broken, plain
from tiltmeter.storage.records.delimited import read_delimited
from tiltmeter.storage.records.objects import is_json, read_objects

_PARQUET, _ARROW = b"PAR1", b"ARROW1"
_PACKINGS = (".gz", ".bz2", ".zst", ".xz")
_HEAD_BYTES = 2**20
_SHOWN = 40
"""Characters of a cell that makes a record bad."""

_REPEATED = "_duplicated_0"
"""What Polars adds to the name of a column of CSV that has come before."""


class Records(NamedTuple):
    """What a file holds.

    Attributes:
        file: its name, without credentials.
        rows: in its order; of CSV and TSV as strings, null where there is nothing.
        place: where a row, from 0, is in the file.
        bad: the records that were left out.
    """

    file: str
    rows: pl.DataFrame
    place: Callable[[int], str]
    bad: BadRecords


def record_columns(uri: str, *, header: bool = True) -> list[str]:
    """The names of a file's columns, for which no more of it is read than its beginning, or the footer of Parquet.

    Raises:
        InputError: if it can't be read as a table.
    """
    with opened(uri) as file:
        head = unpacked(file).read(_HEAD_BYTES)
    if head.startswith(_PARQUET) and file_state(uri).has_ranges:
        with opened(uri) as file:
            return _composed(pq.read_metadata(file).schema.to_arrow_schema().names)
    if len(head) < _HEAD_BYTES or head.lstrip()[:1] == b"[" or head.startswith((_PARQUET, _ARROW)):
        return _records(uri, None, header).rows.columns
    return _text_records(head[: head.rfind(b"\n") + 1] or head, uri, None, header).rows.columns


def check_columns(uri: str, needed: Sequence[str], setting: str, *, header: bool = True) -> None:
    """Refuse a file without the columns, or with several of one name.

    Args:
        needed: their names.
        setting: what names the file.
        header: as for :func:`read_records`.

    Raises:
        InputError: naming what is missing, and what there is, or what is repeated.
    """
    names = record_columns(uri, header=header)
    needed = [normalize("NFC", name) for name in needed]
    if repeated := [name for name in needed if names.count(name) > 1 or f"{name}{_REPEATED}" in names]:
        raise InputError(
            f"{setting}: {redacted(uri)} has column {', '.join(map(repr, repeated))} more than once: rename the others"
        )
    if missing := [name for name in needed if name not in names]:
        raise InputError(
            f"{setting}: {redacted(uri)} has no column {', '.join(map(repr, missing))}; its columns are "
            f"{choices(missing[0], names, repr)}"
        )


def read_records(
    uri: str, columns: Sequence[str] | None = None, *, header: bool = True, rules: Rules = NO_RULES
) -> pl.DataFrame:
    """The rows of a file that can be read, in its order; what :func:`look_through` counts is left out.

    Args:
        columns: which to read; None: all.
        header: whether CSV and TSV begin with the columns' names; if not, these are column_1, column_2, ...
        rules: rows that break one are left out, too.

    Returns:
        Columns of Parquet, Arrow and JSON with types of their own, of CSV and TSV as strings, null where there is
        nothing; strings in Unicode's normal form C.

    Raises:
        InputError: if it can't be read as a table.
    """
    rows = _records(uri, columns, header).rows
    with _table_expected(uri):
        return rows.filter(~broken(rows, rules)[1]) if rules else rows


def look_through(
    uri: str,
    columns: Sequence[str],
    setting: str,
    *,
    header: bool = True,
    rules: Rules = NO_RULES,
    once: Sequence[str] = (),
) -> int:
    """Count the records of a file that are left out, for the run and before its work; returns how many there are else.

    Args:
        columns, header: as for :func:`read_records`.
        setting: that names the file.
        rules: for cells.
        once: a column of which no value may come again, or may not with another value in the columns after it.

    Raises:
        InputError: if it can't be read as a table, has lists or structs in one of the columns, none of its records can
            be used, or a value comes again.
    """
    file, rows, place, bad = _records(uri, columns, header)
    if nested := [column.name for column in rows if column.dtype.is_nested()]:
        raise InputError(
            f"{setting}: {file} has lists or structs in column {', '.join(map(repr, nested))}: must have text, numbers "
            "or dates"
        )
    faults, is_broken = broken(rows, rules)
    for name, rule, breaks in faults:
        if places := breaks.arg_true().to_list():
            first = f"{place(places[0])}, column {name!r}{_shown(rows[name][places[0]])}"
            bad.add(file, rule.reason, first, len(places), rule.kind)
    num_left = rows.height - int(is_broken.sum())
    if not num_left and bad.reasons(file):
        raise InputError(f"{file}: none of its records can be used: {bad.reasons(file)}")
    if once:
        _check_once(rows, once, file, place)
    collect(bad)
    return num_left


def _shown(cell: object) -> str:
    """What is wrong in a cell, unless nothing is there."""
    content = "" if cell is None else str(cell).strip()
    return f": {content[:_SHOWN]!r}{'...' if len(content) > _SHOWN else ''}" if content else ""


def _check_once(rows: pl.DataFrame, once: Sequence[str], file: str, place: Callable[[int], str]) -> None:
    number = "".join(rows.columns) + "#"  # which no column is called
    ids = rows.select(once).with_row_index(number).drop_nulls(once[0])
    ids = ids if len(once) == 1 else ids.unique(once, keep="first", maintain_order=True)
    if (twice := ids.filter(pl.col(once[0]).is_duplicated())).height:
        value = twice[once[0]][0]
        first, second = map(place, twice.filter(pl.col(once[0]) == value)[number][:2])
        others = f" with another {once[1]}" if len(once) > 1 else ""
        raise InputError(f"{file}: {once[0]} {value!r} comes again{others}, in {first} and {second}: give it one row")


def _records(uri: str, columns: Sequence[str] | None, header: bool) -> Records:
    """In Unicode's normal form C; the columns are called as they are asked for."""
    names = {normalize("NFC", name): name for name in columns or ()}
    records = _as_written(uri, None if columns is None else [*names], header)
    rows = records.rows.with_columns(pl.col(pl.String).str.normalize("NFC"))
    return records._replace(rows=rows.rename(names, strict=False))


def _composed(names: Sequence[str]) -> list[str]:
    """In normal form C, unless two would be one."""
    composed = [normalize("NFC", name) for name in names]
    return composed if len(set(composed)) == len(set(names)) else [*names]


def _as_written(uri: str, columns: Sequence[str] | None, header: bool) -> Records:
    with _table_expected(uri), opened(uri) as file:
        start = file.read(len(_ARROW))
        file.seek(0)
        if start.startswith(_PARQUET):
            parquet = pq.ParquetFile(file)
            check_parquet(file, parquet.metadata)
            names = parquet.schema_arrow.names
            there = zip(names, _composed(names), strict=True)
            rows = _sound(parquet.read([name for name, composed in there if columns is None or composed in columns]))
        elif start == _ARROW:
            rows = _arrow(file)
        else:
            return _text_records(unpacked(file).read(), uri, columns, header)
    rows = rows if columns is None else rows.select(columns)
    name, bad = redacted(uri), BadRecords()
    bad.read(name, rows.height)
    rows = rows.with_columns(plain(column, name) for column in rows)
    return Records(name, rows, lambda row: f"row {row + 1:,}", bad)


def _arrow(file: BinaryIO) -> pl.DataFrame:
    """Batch by batch, as these may be packed."""
    num_bytes = file.seek(0, io.SEEK_END)
    reader, batches = pa.ipc.open_file(file), []
    for number in range(reader.num_record_batches):
        batches.append(reader.get_batch(number))
        check_growth(num_bytes, sum(batch.nbytes for batch in batches))
    return _sound(pa.Table.from_batches(batches, reader.schema))


def _sound(table: pa.Table) -> pl.DataFrame:
    """A table whose offsets, places in dictionaries and UTF-8 are looked at before Polars takes them as they are.

    Raises:
        ArrowInvalid: if they can't be.
    """
    table.validate(full=True)
    # What Polars has written beside the columns may be damaged, and is not needed.
    return pl.DataFrame(pl.from_arrow(pa.table(table.columns, _composed(table.column_names))))


def _text_records(content: bytes, uri: str, columns: Sequence[str] | None, header: bool) -> Records:
    name, bad = redacted(uri), BadRecords()
    inner = next((name.removesuffix(packing) for packing in _PACKINGS if name.endswith(packing)), name)
    if is_json(content[:_HEAD_BYTES], inner):
        rows, places = read_objects(content, name, bad, columns)
        return Records(name, rows, places.__getitem__, bad)
    is_tabbed = inner.endswith((".tsv", ".tab"))
    rows, lines = read_delimited(content, name, bad, is_tabbed=is_tabbed, header=header)
    return Records(name, rows if columns is None else rows.select(columns), lambda row: f"line {lines[row]:,}", bad)


@contextmanager
def _table_expected(uri: str) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeDecodeError) as error:  # of a name, too
        reason = str(error).partition("\n")[0]
        raise InputError(f"{redacted(uri)}: cannot be read as CSV, TSV, JSON, Parquet or Arrow: {reason}") from error
