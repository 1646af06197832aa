"""Taking the vectors of listed words out of an embedding, and those near the attribute sets of association tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.operators.association.covariance import enlarged
from tiltmeter.storage.store.ledger import Store, Unit

VERSION = "select/2"


@dataclass(frozen=True)
class Selection:
    """What measuring needs of an embedding.

    Attributes:
        words: entries of the word lists, sorted.
        attribute_sets: those whose covariance is needed, each sorted; with their synonyms if these are asked for.
        num_neighbours: nearest neighbours of each of their words, to estimate the covariance from; 0 without sets.
    """

    words: tuple[str, ...]
    attribute_sets: tuple[tuple[str, ...], ...] = ()
    num_neighbours: int = 0


def select(store: Store, unit: Unit) -> Tables:
    """From a trained replica: ``vectors`` (``word``, ``spelled``, ``count``, ``vector``), and ``neighbours``.

    Words that are too rare or absent have a count and no vector. The neighbours of attribute set i are the rows whose
    ``set`` is i.
    """
    selection: Selection = unit.config["selection"]
    embedding = store.read(unit.input("embedding"))
    vocabulary = pl.DataFrame(store.read(unit.input("vocabulary")))
    wanted = vocabulary.filter(pl.col("word").is_in(selection.words)).select("word", "count")
    rows = wanted.join(pl.DataFrame(embedding), on="word", how="left", maintain_order="left")
    words, vectors = rows["word"].to_arrow().cast(pa.string()), rows["vector"].to_arrow()
    yield "vectors", pa.table([words, words, rows["count"].to_arrow(), vectors], _COLUMNS)
    if selection.attribute_sets:
        present = embedding.filter(embedding["vector"].is_valid())
        index = {word: row for row, word in enumerate(present["word"].to_pylist())}
        yield "neighbours", neighbours(selection, index, matrix(present["vector"]))


_COLUMNS = ["word", "spelled", "count", "vector"]


def vectors_table(spelling: Mapping[str, str], rows: NDArray[np.floating]) -> pa.Table:
    """The table ``vectors`` of an embedding whose counts are not known.

    Args:
        spelling: how the embedding writes each entry that it has.
        rows: their vectors, in the same order.
    """
    words, written = pa.array(spelling.keys(), pa.string()), pa.array(spelling.values(), pa.string())
    return pa.table([words, written, pa.nulls(len(spelling), pa.int64()), vector_column(rows)], names=_COLUMNS)


def neighbours(selection: Selection, index: Mapping[str, int], vectors: NDArray[np.floating]) -> pa.Table:
    """Every attribute set with its nearest neighbours.

    Args:
        selection: which sets, and how many neighbours.
        index: row of each word, by the entry of the word lists.
        vectors: ``[words, dimensions]`` of the whole embedding.
    """
    known = {word for word, row in index.items() if vectors[row].any()}
    rows_by_set = [
        np.array([index[word] for word in words if word in known], np.int64) for words in selection.attribute_sets
    ]
    numbers = [number for number, rows in enumerate(rows_by_set) if rows.size]
    parts = enlarged([rows_by_set[number] for number in numbers], vectors, selection.num_neighbours)
    sets = np.repeat(np.array(numbers, np.int32), [rows.size for rows in parts])
    return pa.table({"set": sets, "vector": vector_column(vectors[np.concatenate([np.empty(0, np.int64), *parts])])})


def vector_column(rows: NDArray[np.floating]) -> pa.FixedSizeListArray:
    """An Arrow column of the rows of a matrix, in the matrix's own type."""
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def matrix(column: pa.ChunkedArray) -> NDArray[np.floating]:
    """A column of vectors as ``[rows, dimensions]``; NaN throughout where there is none."""
    array = column.combine_chunks()
    width = array.type.list_size
    numbers: NDArray[np.floating] = array.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    if not array.null_count:
        return numbers
    rows = np.full((len(array), width), np.nan, dtype=numbers.dtype)
    rows[array.is_valid().to_numpy(zero_copy_only=False)] = numbers
    return rows


def needed_words(lists: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every entry of word lists once, sorted.

    >>> needed_words({"a": ["she", "he"], "b": ["he"]})
    ('he', 'she')
    """
    return tuple(sorted({word for words in lists.values() for word in words}))
