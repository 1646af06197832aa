"""Parquet and Arrow with a document per row, as in the data set ``wikimedia/wikipedia``: id, url, title, text."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tiltmeter.storage.corpora.archives import first_bytes, opened, opened_in_parts
from tiltmeter.storage.corpora.decoding import decoded
from tiltmeter.storage.corpora.formats.documents import page_of
from tiltmeter.storage.corpora.packed import check_growth, check_parquet
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import reason, redacted

MAGIC = b"PAR1"
ARROW_MAGICS = (b"ARROW1", b"\xff\xff\xff\xff")
"""Of an Arrow file, and of a stream of Arrow."""

_BATCH_ROWS = 16
"""Few, as one long text that the file holds once can stand in all of them."""

_COLUMNS = ("id", "title", "text")


def row_group_bytes(uri: str) -> list[int]:
    """Bytes that each row group takes in the file.

    Raises:
        InputError: if the file is no Parquet or its server does not send parts of a file.
    """
    with _parquet(uri) as file:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
        return [sum(group.column(i).total_compressed_size for i in range(group.num_columns)) for group in groups]


def parquet_fields(uri: str) -> list[str]:
    """The columns of a file, but for its text.

    Raises:
        InputError: if the file is no Parquet or its server does not send parts of a file.
    """
    with _parquet(uri) as file:
        return [name for name in file.schema_arrow.names if name != "text"]


def arrow_fields(uri: str) -> list[str]:
    """The same of Arrow."""
    with _arrow(uri) as reader:
        return [name for name in reader.schema.names if name != "text"]


def read_parquet(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The rows of a span of row groups; without an id of its own, a row is called ``<name of the file>#<row>``.

    Raises:
        InputError: if the file is damaged, or has no column ``text`` of strings.
    """
    with _parquet(source.uri) as file:
        columns = _columns(file.schema_arrow, source.uri, field)
        sizes = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
        groups = list(range(span.start, min(span.stop, len(sizes))))
        batches = file.iter_batches(_BATCH_ROWS, groups, columns=columns, use_threads=False)
        first = [0, *accumulate(sizes)][span.start]
        yield from _pages(batches, first, source, repairs, document_bytes, field)


def read_arrow(
    source: Source, _span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The rows of an Arrow file or stream, called as those of Parquet are.

    Raises:
        InputError: if the file is damaged, or has no column ``text`` of strings.
    """
    with _arrow(source.uri) as reader:
        columns = _columns(reader.schema, source.uri, field)
        is_stream = isinstance(reader, pa.ipc.RecordBatchStreamReader)
        batches = reader if is_stream else (reader.get_batch(number) for number in range(reader.num_record_batches))
        slices = (
            batch.slice(start, _BATCH_ROWS)
            for batch in (_checked(batch.select(columns)) for batch in batches)
            for start in range(0, batch.num_rows, _BATCH_ROWS)
        )
        yield from _pages(slices, 0, source, repairs, document_bytes, field)


@contextmanager
def _arrow(uri: str) -> Iterator[pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader]:
    if first_bytes(uri).startswith(ARROW_MAGICS[1]):
        with _in_utf8(uri), opened(uri) as raw:
            yield pa.ipc.open_stream(raw)
    else:
        with _in_utf8(uri), opened_in_parts(uri) as raw:
            yield pa.ipc.open_file(raw)


@contextmanager
def _in_utf8(uri: str) -> Iterator[None]:
    """Refuse names of columns, and values of a field, that are not."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{redacted(uri)}: cannot be read: {reason(error)}", is_unreadable=True) from error


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch whose offsets lie within it, as nobody has looked when it was read; UTF-8 is not asked for.

    Raises:
        ArrowInvalid: if they do not.
    """
    for column in batch.columns:
        plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
        column.validate()
        column.view(plain.get(column.type, column.type)).validate(full=True)
    return batch


def _columns(schema: pa.Schema, uri: str, field: str | None) -> list[str]:
    for name in _COLUMNS:
        _check_type(schema, name, uri)
    return [name for name in schema.names if name in _COLUMNS or name == field]


def _pages(
    batches: Iterable[pa.RecordBatch],
    row: int,
    source: Source,
    repairs: Repairs,
    document_bytes: int,
    field: str | None,
) -> Iterator[Page]:
    """The pages of rows that are counted from ``row`` on."""
    num_bytes = 0
    for batch in batches:
        texts = {name: batch.column(name) for name in batch.schema.names if name in _COLUMNS}
        _check_lengths(texts.values(), source.uri, document_bytes)
        columns = {name: [_plain(value) for value in _values(batch.column(name))] for name in batch.schema.names}
        for number in range(batch.num_rows):
            record = {name: values[number] for name, values in columns.items()}
            num_bytes += sum(len(value) for value in map(record.get, texts) if isinstance(value, bytes))
            check_growth(source.num_bytes, num_bytes)
            plain = {name: decoded(v, repairs) if isinstance(v, bytes) else v for name, v in record.items()}
            page = page_of(plain, repairs, f"row {row:,}", f"{source.name}#{row}", field)
            row += 1
            if page:
                yield page


def _plain(value: object) -> object:
    """Dates as text, everything else as it is."""
    return value.isoformat() if isinstance(value, date) else value


@contextmanager
def _parquet(uri: str) -> Iterator[pq.ParquetFile]:
    # The footer lies at the end. A server that sends whole files only would be found out too late: ask for a part.
    with _in_utf8(uri), opened_in_parts(uri) as raw, pq.ParquetFile(raw) as file:
        check_parquet(raw, file.metadata)
        yield file


def _check_type(schema: pa.Schema, name: str, uri: str) -> None:
    if name not in schema.names:
        if name == "text":
            raise InputError(f"{redacted(uri)}: has no column 'text'; its columns are {schema.names}")
        return
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    others = {"id": _is_number, "title": pa.types.is_null}.get(name, lambda _: False)
    if not (_is_text(kind) or others(kind)):
        raise InputError(f"{redacted(uri)}: column {name!r} must hold strings, but is of type {kind}")


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(is_text or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _is_number(kind: pa.DataType) -> bool:
    """Whole numbers; pandas writes them as floats where some are missing."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _check_lengths(columns: Iterable[pa.Array], uri: str, document_bytes: int) -> None:
    for column in columns:
        words = column.dictionary if pa.types.is_dictionary(column.type) else column
        if _is_text(words.type) and (longest := _longest(words)) > document_bytes:
            raise InputError(
                f"{redacted(uri)}: a row has {longest:,} bytes of text, over {document_bytes:,}, the most that a "
                "worker has memory for: divide it, or raise cluster.worker_megabytes"
            )


def _longest(words: pa.Array) -> int:
    if pa.types.is_string_view(words.type) or pa.types.is_binary_view(words.type):
        return max((len(word) for word in words.cast(pa.large_binary()).to_pylist() if word is not None), default=0)
    return pc.max(pc.binary_length(words)).as_py() or 0


def _values(column: pa.Array) -> list[object]:
    """Strings as bytes: nobody has checked that they are UTF-8. What many rows take from a dictionary is held once."""
    if pa.types.is_dictionary(column.type):
        words = [*_values(column.dictionary), None]
        return [words[index] for index in column.indices.cast(pa.int64()).fill_null(-1).to_pylist()]
    values: list[object] = (column.cast(pa.large_binary()) if _is_text(column.type) else column).to_pylist()
    return values
