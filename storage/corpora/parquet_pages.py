"""Parquet with a document per row, as in the data set ``wikimedia/wikipedia``: id, url, title, text."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from itertools import accumulate, count

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tiltmeter.storage.corpora.decoding import decoded
from tiltmeter.storage.corpora.packed import check_growth, check_parquet
from tiltmeter.storage.corpora.pages import Page, Repairs, Source, Span
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted

MAGIC = b"PAR1"

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


def read_parquet(
    source: Source, span: Span, repairs: Repairs, document_bytes: int, field: str | None = None
) -> Iterator[Page]:
    """The rows of a span of row groups; without an id of its own, a row is called ``<name of the file>#<row>``.

    Raises:
        InputError: if the file is damaged, has no column ``text`` of strings, or an id or text is missing in a row.
    """
    with _parquet(source.uri) as file:
        columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
        for name in _COLUMNS:
            _check_type(file.schema_arrow, name, source.uri)
        sizes = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
        rows = count([0, *accumulate(sizes)][span.start])
        groups = list(range(span.start, min(span.stop, len(sizes))))
        others = [field] if field in file.schema_arrow.names else []
        num_bytes = 0
        for batch in file.iter_batches(_BATCH_ROWS, groups, columns=[*columns, *others], use_threads=False):
            values = batch.column(field).to_pylist() if others else [None] * batch.num_rows
            texts = batch.select(columns)
            _check_lengths(texts, source.uri, document_bytes)
            for row, value, number in zip(_rows(texts), values, rows, strict=False):
                num_bytes += sum(len(value) for value in row.values() if isinstance(value, bytes))
                check_growth(source.num_bytes, num_bytes)
                yield _page(row, number, source, repairs)._replace(value=_plain(value))


def _plain(value: object) -> object:
    """Dates as text, everything else as it is."""
    return value.isoformat() if isinstance(value, date) else value


@contextmanager
def _parquet(uri: str) -> Iterator[pq.ParquetFile]:
    # The footer lies at the end. A server that sends whole files only would be found out too late: ask for a part.
    with opened(uri, len(MAGIC)) as raw, pq.ParquetFile(raw) as file:
        check_parquet(raw, file.metadata)
        yield file


def _check_type(schema: pa.Schema, name: str, uri: str) -> None:
    if name not in schema.names:
        if name == "text":
            raise InputError(f"{redacted(uri)}: has no column 'text'; its columns are {schema.names}")
        return
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not is_text and not (name == "id" and pa.types.is_integer(kind)):
        raise InputError(f"{redacted(uri)}: column {name!r} must hold strings, but is of type {kind}")


def _check_lengths(batch: pa.RecordBatch, uri: str, document_bytes: int) -> None:
    for column in batch.columns:
        words = column.dictionary if pa.types.is_dictionary(column.type) else column
        longest = 0 if pa.types.is_integer(words.type) else pc.max(pc.binary_length(words)).as_py() or 0
        if longest > document_bytes:
            raise InputError(
                f"{redacted(uri)}: a row has {longest:,} bytes of text, over {document_bytes:,}, the most that a "
                "worker has memory for: divide it, or raise cluster.worker_megabytes"
            )


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, int | bytes | None]]:
    columns = (_values(batch.column(name)) for name in batch.schema.names)
    return (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))


def _values(column: pa.Array) -> list[int | bytes | None]:
    """Strings as bytes: nobody has checked that they are UTF-8. What many rows take from a dictionary is held once."""
    if pa.types.is_dictionary(column.type):
        words = [*_values(column.dictionary), None]
        return [words[index] for index in column.indices.fill_null(-1).to_pylist()]
    plain = column if pa.types.is_integer(column.type) else column.cast(pa.large_binary())
    values: list[int | bytes | None] = plain.to_pylist()
    return values


def _page(row: dict[str, int | bytes | None], number: int, source: Source, repairs: Repairs) -> Page:
    fields = {name: _text(value, name, number, source, repairs) for name, value in row.items()}
    return Page(fields.get("id", f"{source.name}#{number}"), fields.get("title", ""), fields["text"], "article")


def _text(value: int | bytes | None, name: str, number: int, source: Source, repairs: Repairs) -> str:
    if value is None:
        raise InputError(f"{redacted(source.uri)}: row {number:,} has no {name}")
    return decoded(value, repairs) if isinstance(value, bytes) else str(value)
