"""Embeddings as a library writes them whole: a Parquet table, and gensim's KeyedVectors."""

from collections import Counter
from pickle import UnpicklingError
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.packed import check_parquet
from tiltmeter.storage.files.files import opened, resolve
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.store.tables import column
from tiltmeter.storage.vectors.embedding import EmbeddingFile, EmbeddingFileError, Rows, unpacked
from tiltmeter.storage.vectors.gensim_files import read_gensim

WORD, VECTOR = "word", "vector"

_UNREADABLE = (
    *(OSError, EOFError, UnpicklingError, BadZipFile, MemoryError),
    *(ValueError, TypeError, LookupError, AttributeError),
)
"""What a pickle raises that is damaged, or made up."""


def read_parquet(path: str, bad: BadRecords | None = None) -> EmbeddingFile:
    """Raises :class:`EmbeddingFileError`, naming column or row."""
    with opened(path) as file:
        try:
            parquet = pq.ParquetFile(file)
            check_parquet(file, parquet.metadata)
            _refuse_other_columns(path, parquet)
            table = _usual_types(path, parquet.read([WORD, VECTOR]))
            table.validate(full=True)
        except (pa.ArrowException, UnicodeDecodeError) as error:  # of a damaged name, too
            raise EmbeddingFileError(f"{redacted(path)}: cannot be read: {reason(error)}") from error
    rows = Rows(path, "row", 1, bad)
    kept = np.flatnonzero(table[VECTOR].is_valid().to_numpy())
    kept = _left(rows, kept, table[WORD].take(kept).is_valid().to_numpy(), "a vector without a word")
    lengths = pc.list_value_length(table[VECTOR].take(kept)).to_numpy()
    usual = Counter(lengths.tolist()).most_common(1)[0][0] if len(lengths) else 1
    kept = _left(rows, kept, (lengths == usual) & (lengths > 0), f"a vector that is not of {usual} numbers")
    numbers: NDArray[np.float32] = pc.list_flatten(table[VECTOR].take(kept)).cast(pa.float32()).to_numpy()
    vectors = numbers.reshape(len(kept), max(int(usual), 1))
    present = ~np.isnan(vectors).all(axis=1)
    rows.add(table[WORD].take(kept[present]).to_pylist(), vectors[present], kept[present])
    rows.num_read = table.num_rows
    return rows.embedding()


def _left(rows: Rows, numbers: NDArray[np.int64], good: NDArray[np.bool_], reason: str) -> NDArray[np.int64]:
    """The numbers of good rows; each other one is left out."""
    for row in numbers[~good].tolist():
        rows.leave_out(row, reason)
    return numbers[good]


def _usual_types(path: str, table: pa.Table) -> pa.Table:
    """Words as text and vectors as lists of floats, from all types that hold these."""
    kind = table[VECTOR].type
    is_list = pa.types.is_nested(kind) and "list" in str(kind)
    inner = kind.value_type if is_list else kind
    if not is_list or not (pa.types.is_floating(inner) or pa.types.is_integer(inner) or pa.types.is_decimal(inner)):
        raise EmbeddingFileError(f"{redacted(path)}: its column {VECTOR!r} is {kind}; it must be a list of floats")
    vectors = pa.large_list(inner if pa.types.is_floating(inner) else pa.float64())
    return pa.table({WORD: table[WORD].cast(pa.large_string()), VECTOR: table[VECTOR].cast(vectors)})


def parquet_table(embedding: EmbeddingFile) -> pa.Table:
    """The table that is written."""
    vectors = pa.FixedSizeListArray.from_arrays(np.ravel(embedding.vectors), embedding.vectors.shape[1])
    fields = [column(WORD, pa.string(), "a word"), column(VECTOR, vectors.type, "its vector")]
    return pa.table([pa.array(embedding.words, pa.string()), vectors], schema=pa.schema(fields))


def check_allowed(path: str, allow_pickle: bool, setting: str | None) -> None:
    """Raises :class:`EmbeddingFileError`, if pickles are not allowed, which a setting may do, or it lies elsewhere."""
    if not allow_pickle:
        way = f"Set {setting}=true to have vectors of gensim picked out of it, without running any of it, or take"
        raise EmbeddingFileError(
            f"{redacted(path)}: is a pickle, as gensim saves its vectors: a program that makes them. "
            f"{way if setting else 'Take'} them in another format (word2vec's, GloVe's or Parquet)"
        )
    if not isinstance(resolve(path)[0], fs.LocalFileSystem):
        raise EmbeddingFileError(
            f"{redacted(path)}: gensim's format is read from a local disk only; copy the files there"
        )


def read_keyedvectors(path: str, allow_pickle: bool, bad: BadRecords | None = None) -> EmbeddingFile:
    """Raises :class:`EmbeddingFileError`, if pickles are not allowed, or this one is more than vectors of gensim."""
    check_allowed(path, allow_pickle, "allow_pickle")
    _, local = resolve(path)
    try:
        with unpacked(path) as stream:
            words, vectors = read_gensim(local, stream)
    except _UNREADABLE as error:
        raise EmbeddingFileError(f"{local}: cannot be read as vectors of gensim: {error!s:.300}") from error
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise EmbeddingFileError(f"{local}: has {len(words):,} words, and vectors of shape {list(vectors.shape)}")
    rows = Rows(local, "row", 1, bad)
    rows.add(words, np.asarray(vectors, dtype=np.float32))
    return rows.embedding()


def keyedvectors(embedding: EmbeddingFile, counts: NDArray[np.int64] | None) -> Any:
    """gensim's object, with counts if they are known.

    The times of day that it would note are left out, so that equal vectors give equal files.
    """
    from gensim.models import KeyedVectors

    made = KeyedVectors(embedding.vectors.shape[1])
    made.lifecycle_events = None
    made.add_vectors(embedding.words, embedding.vectors)
    if counts is not None:
        made.expandos["count"] = counts
    return made


def _refuse_other_columns(path: str, parquet: pq.ParquetFile) -> None:
    names = parquet.schema_arrow.names
    if not {WORD, VECTOR} <= set(names):
        raise EmbeddingFileError(f"{redacted(path)}: needs the columns {WORD!r} and {VECTOR!r}, but has {names}")
    for name in names:
        if name in (WORD, VECTOR):
            continue
        values = parquet.read([name])[name].unique()
        if len(values) > 1:
            raise EmbeddingFileError(
                f"{redacted(path)}: its column {name!r} has {len(values)} values, such as {values[0]} and {values[1]}; "
                f"an embedding is the rows of one: filter the table by {name!r} first"
            )
