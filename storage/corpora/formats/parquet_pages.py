"""Parquet and Arrow with a document per row, as in the data set ``wikimedia/wikipedia``: id, url, title, text."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tiltmeter.storage.corpora.archives import first_bytes, opened, opened_in_parts
from tiltmeter.storage.corpora.decoding import decoded
from tiltmeter.storage.corpora.formats.documents import page_of
from tiltmeter.storage.corpora.packed import check_growth, check_parquet
from tiltmeter.storage.corpora.pages import Format, Page, Repairs, Source, Span, too_large
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import reason, redacted

PARQUET_MAGIC = b"PAR1"
ARROW_MAGICS = (b"ARROW1", b"\xff\xff\xff\xff")
"""Of an Arrow file, and of a stream of Arrow."""

_BATCH_ROWS = 16
"""Few, as one long text that the file holds once can stand in all of them."""

_COLUMNS = ("id", "title", "text")

_TEXTS = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
"""Types of strings, each with that of the same bytes."""

_File: TypeAlias = pq.ParquetFile | pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader


def check_columns(uri: str, form: Format) -> None:
    """Look at what the columns of a file are called and hold, before any row is read.

    Raises:
        InputError: if the file is damaged, or has no column ``text`` of strings.
    """
    with _file(uri, form) as file:
        _check_types(_schema(file), uri)


def row_group_bytes(source: Source) -> list[int]:
    """Bytes that each row group takes in a Parquet file.

    Raises:
        InputError: if the file is no Parquet or its server does not send parts of a file.
    """
    with _file(source.uri, source.format) as file:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        return [sum(group.column(i).total_compressed_size for i in range(group.num_columns)) for group in groups]


def row_fields(source: Source) -> list[str]:
    """The columns of a file, but for its text.

    Raises:
        InputError: if the file is not of its format, or its server does not send parts of a file.
    """
    with _file(source.uri, source.format) as file:
        return [name for name in _schema(file).names if name != "text"]


def read_rows(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The rows of a span of row groups, or of all of Arrow; without an id of its own, a row is called ``<name of the
    file>#<row>``.

    Raises:
        InputError: if the file is damaged, or has no column ``text`` of strings.
    """
    with _file(source.uri, source.format) as file:
        _check_types(_schema(file), source.uri)
        columns = [name for name in _schema(file).names if name in _COLUMNS or name == field]
        row, num_bytes = sum(file.metadata.row_group(index).num_rows for index in range(span.start)), 0
        for batch in _batches(file, span, columns):
            for name in columns:
                if name in _COLUMNS:
                    _check_length(batch.column(name), source.uri, document_bytes)
            values = {name: _values(batch.column(name)) for name in columns}
            for number in range(batch.num_rows):
                record = {name: of_column[number] for name, of_column in values.items()}
                num_bytes += sum(len(v) for name, v in record.items() if name in _COLUMNS and isinstance(v, bytes))
                check_growth(source.num_bytes, num_bytes)
                plain = {name: decoded(v, repairs) if isinstance(v, bytes) else v for name, v in record.items()}
                page = page_of(plain, repairs, f"row {row:,}", f"{source.name}#{row}", field)
                row += 1
                if page:
                    yield page


@contextmanager
def _file(uri: str, form: Format) -> Iterator[_File]:
    is_stream = form == "arrow" and first_bytes(uri).startswith(ARROW_MAGICS[1])
    try:
        # The footer lies at the end. A server that sends whole files only would be found out too late: ask for a part.
        with opened(uri) if is_stream else opened_in_parts(uri) as raw:
            if form == "arrow":
                yield pa.ipc.open_stream(raw) if is_stream else pa.ipc.open_file(raw)
            else:
                with pq.ParquetFile(raw) as file:
                    check_parquet(raw, file.metadata)
                    yield file
    except UnicodeDecodeError as error:  # of names of columns, and of values of a field
        raise InputError(f"{redacted(uri)}: cannot be read: {reason(error)}", is_unreadable=True) from error


def _schema(file: _File) -> pa.Schema:
    return file.schema_arrow if isinstance(file, pq.ParquetFile) else file.schema


def _batches(file: _File, span: Span, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Some rows after the other."""
    if isinstance(file, pq.ParquetFile):
        groups = [*range(span.start, min(span.stop, file.num_row_groups))]
        yield from file.iter_batches(_BATCH_ROWS, groups, columns=columns, use_threads=False)
        return
    is_stream = isinstance(file, pa.ipc.RecordBatchStreamReader)
    for batch in file if is_stream else map(file.get_batch, range(file.num_record_batches)):
        checked = _checked(batch.select(columns))
        yield from (checked.slice(start, _BATCH_ROWS) for start in range(0, checked.num_rows, _BATCH_ROWS))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch whose offsets lie within it, as nobody has looked when it was read; UTF-8 is not asked for.

    Raises:
        ArrowInvalid: if they do not.
    """
    for column in batch.columns:
        column.validate()
        column.view(_TEXTS.get(column.type, column.type)).validate(full=True)
    return batch


def _check_types(schema: pa.Schema, uri: str) -> None:
    if "text" not in schema.names:
        raise InputError(f"{redacted(uri)}: has no column 'text'; its columns are {schema.names}")
    for name in filter(schema.names.__contains__, _COLUMNS):
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        others = {"id": _is_number, "title": pa.types.is_null}.get(name, lambda _: False)
        if not (_is_text(kind) or others(kind)):
            raise InputError(f"{redacted(uri)}: column {name!r} must hold strings, but is of type {kind}")


def _is_text(kind: pa.DataType) -> bool:
    return kind in _TEXTS or kind in _TEXTS.values()


def _is_number(kind: pa.DataType) -> bool:
    """Whole numbers; pandas writes them as floats where some are missing."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _check_length(column: pa.Array, uri: str, document_bytes: int) -> None:
    words = column.dictionary if pa.types.is_dictionary(column.type) else column
    longest = pc.max(pc.binary_length(words.cast(pa.large_binary()))).as_py() if _is_text(words.type) else None
    if (longest or 0) > document_bytes:
        raise too_large(f"{redacted(uri)}: a row has {longest:,} bytes of text, over {document_bytes:,}")


def _values(column: pa.Array) -> list[object]:
    """Strings as bytes, as nobody has checked that they are UTF-8, and dates as text. What many rows take from a
    dictionary is held once."""
    if pa.types.is_dictionary(column.type):
        words = [*_values(column.dictionary), None]
        return [words[index] for index in column.indices.cast(pa.int64()).fill_null(-1).to_pylist()]
    values = (column.cast(pa.large_binary()) if _is_text(column.type) else column).to_pylist()
    return [value.isoformat() if isinstance(value, date) else value for value in values]
