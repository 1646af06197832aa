"""Tables that users bring along: CSV, TSV and Parquet, wherever files lie."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.storage.corpora.packed import check_parquet, unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import file_state, opened
from tiltmeter.storage.files.redaction import redacted

_PARQUET = b"PAR1"
_HEAD_BYTES = 2**20
_REPEATED = "_duplicated_0"
"""What Polars adds to the name of a column of CSV that has come before."""


def record_columns(uri: str, *, header: bool = True) -> list[str]:
    """The names of a file's columns, for which no more of it is read than its beginning, or the footer of Parquet.

    Raises:
        InputError: if it can't be read as a table.
    """
    return _opening(uri, header).columns


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
    if repeated := [name for name in needed if names.count(name) > 1 or f"{name}{_REPEATED}" in names]:
        raise InputError(
            f"{setting}: {redacted(uri)} has column {', '.join(map(repr, repeated))} more than once: rename the others"
        )
    if missing := [name for name in needed if name not in names]:
        raise InputError(
            f"{setting}: {redacted(uri)} has no column {', '.join(map(repr, missing))}; its columns are "
            f"{', '.join(map(repr, names))}"
        )


def check_values(uri: str, columns: Sequence[str], setting: str) -> None:
    """Refuse a file that has names of columns and nothing else, or lists or structs in one of these columns.

    Raises:
        InputError: naming it.
    """
    opening = _opening(uri, header=True)
    if opening.is_empty:
        raise InputError(f"{setting}: {redacted(uri)} has no rows: there must be one at least")
    _check_flat(opening, uri, columns, setting)


def check_flat(uri: str, columns: Sequence[str], setting: str, *, header: bool = True) -> None:
    """Refuse a file that has lists or structs in one of these columns.

    Raises:
        InputError: naming it.
    """
    _check_flat(_opening(uri, header), uri, columns, setting)


def _check_flat(opening: "_Opening", uri: str, columns: Sequence[str], setting: str) -> None:
    if nested := [name for name in columns if name in opening.nested]:
        raise InputError(
            f"{setting}: {redacted(uri)} has lists or structs in column {', '.join(map(repr, nested))}: must have "
            "text, numbers or dates"
        )


class _Opening(NamedTuple):
    """Of a file that is large and not Parquet, it is not known whether it is empty; it is taken not to be."""

    columns: list[str]
    is_empty: bool
    nested: Sequence[str] = ()


def _opening(uri: str, header: bool) -> _Opening:
    with opened(uri) as file:
        head = unpacked(file).read(_HEAD_BYTES)
    if not head.startswith(_PARQUET):
        is_whole = len(head) < _HEAD_BYTES
        with _table_expected(uri):
            rows = _csv(head, uri, header, num_rows=1 if is_whole or not header else 0)
        return _Opening(rows.columns, is_whole and rows.is_empty())
    if not file_state(uri).has_ranges:
        rows = read_records(uri)
        nested = [column.name for column in rows if column.dtype.is_nested()]
        return _Opening(rows.columns, rows.is_empty(), nested)
    with opened(uri) as file:
        footer = pq.read_metadata(file)
    schema = footer.schema.to_arrow_schema()
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    return _Opening(list(schema.names), footer.num_rows == 0, nested)


def read_records(uri: str, columns: Sequence[str] | None = None, *, header: bool = True) -> pl.DataFrame:
    """A file's rows, in its order. Parquet is told by its content; all else is CSV, or TSV, without quotes, if its name
    says so; these may be packed by bzip2, gzip or zstd.

    Args:
        columns: which to read; None: all.
        header: whether CSV and TSV begin with the columns' names; if not, these are column_1, column_2, ...

    Returns:
        Columns of Parquet with their own types, of CSV and TSV as strings, null where there is nothing.

    Raises:
        InputError: if it can't be read as a table.
    """
    with opened(uri) as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    with _table_expected(uri), opened(uri) as file:
        if is_parquet:
            check_parquet(file, pq.read_metadata(file))
            return pl.read_parquet(file, columns=None if columns is None else list(columns))
        rows = _csv(unpacked(file).read(), uri, header)
        return rows if columns is None else rows.select(columns)


@contextmanager
def _table_expected(uri: str) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{redacted(uri)}: cannot be read as CSV, TSV or Parquet: {reason}") from error


def _csv(content: bytes, uri: str, header: bool, num_rows: int | None = None) -> pl.DataFrame:
    is_tabbed = redacted(uri).endswith((".tsv", ".tab"))
    rows = pl.read_csv(
        content,
        n_rows=num_rows,
        has_header=header,
        separator="\t" if is_tabbed else ",",
        quote_char=None if is_tabbed else '"',
        infer_schema=False,
    )
    if not header:
        rows.columns = [f"column_{number}" for number in range(1, rows.width + 1)]
    return rows


def numbers(rows: pl.DataFrame, column: str, where: str) -> pl.Series:
    """A column as numbers; null where a cell is empty or NaN.

    Args:
        where: what names the file, for messages.

    Raises:
        InputError: if a cell is anything else.
    """
    text = rows[column].cast(pl.String).str.strip_chars()
    values = text.cast(pl.Float64, strict=False)
    wrong = text.filter(values.is_null() & text.is_not_null() & (text != ""))
    if wrong.len():
        raise InputError(f"{where}: {column} {wrong[0]!r} is not a number")
    return values.fill_nan(None).alias(column)


def labels(column: pl.Series) -> pl.Series:
    """A column as text that tells things apart: whole numbers as such, whatever the file's type; null where a cell is
    empty or NaN.

    >>> labels(pl.Series([1.0, float("nan")])).to_list(), labels(pl.Series([" user", ""])).to_list()
    (['1', None], ['user', None])
    """
    if column.dtype.is_float() and (column.drop_nulls().drop_nans() % 1 == 0).all():
        column = column.fill_nan(None).cast(pl.Int64)
    return column.cast(pl.String).str.strip_chars().replace({"": None, "nan": None, "NaN": None})
