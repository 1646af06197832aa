"""Taking the vectors of listed words out of an embedding, and those near the attribute sets of association tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cluster.workers import Tables
from operators.covariance import enlarged
from storage.ledger import Store, Unit

VERSION = "select/2"


@dataclass(frozen=True)
class Selection:
    """What measuring needs of an embedding.

    Attributes:
        words: entries of the word lists, sorted.
        attribute_sets: those whose covariance is needed, each sorted.
        num_neighbours: nearest neighbours of each of their words, to estimate the covariance from.
    """

    words: tuple[str, ...]
    attribute_sets: tuple[tuple[str, ...], ...] = ()
    num_neighbours: int = 0


def select(store: Store, unit: Unit) -> Tables:
    """From a trained replica: ``vectors`` (``word``, ``spelled``, ``count``, ``vector``), and ``neighbours``.

    The neighbours of attribute set i are the rows whose ``set`` is i.
    """
    selection: Selection = unit.config["selection"]
    embedding = store.read(unit.input("embedding"))
    counted = embedding.append_column("count", store.read(unit.input("vocabulary"))["count"])
    wanted = counted.filter(pc.is_in(counted["word"], pa.array(selection.words)))
    yield "vectors", wanted.append_column("spelled", wanted["word"]).select(_COLUMNS)
    if selection.attribute_sets:
        present = embedding.filter(embedding["vector"].is_valid())
        index = {word: row for row, word in enumerate(present["word"].to_pylist())}
        yield "neighbours", neighbours(selection, index, matrix(present["vector"]))


_COLUMNS = ["word", "spelled", "count", "vector"]


def vectors_table(spelled: Mapping[str, str], rows: NDArray[np.floating]) -> pa.Table:
    """The table ``vectors`` of an embedding whose counts are not known.

    Args:
        spelled: how the embedding writes each entry that it has.
        rows: their vectors, in the same order.
    """
    columns = [list(spelled), list(spelled.values()), pa.nulls(len(spelled), pa.int64()), vector_column(rows)]
    return pa.table(columns, names=_COLUMNS)


def neighbours(selection: Selection, index: Mapping[str, int], vectors: NDArray[np.floating]) -> pa.Table:
    """Every attribute set with its nearest neighbours.

    Args:
        selection: which sets, and how many neighbours.
        index: row of each word, by the entry of the word lists.
        vectors: ``[words, dimensions]`` float32 of the whole embedding.
    """
    found = [_enlarged(words, index, vectors, selection.num_neighbours) for words in selection.attribute_sets]
    sets = np.repeat(np.arange(len(found), dtype=np.int32), [rows.size for rows in found])
    return pa.table({"set": sets, "vector": vector_column(vectors[np.concatenate(found)])})


def _enlarged(
    words: Sequence[str], index: Mapping[str, int], vectors: NDArray[np.floating], num_neighbours: int
) -> NDArray[np.int64]:
    own = np.array([index[word] for word in words if word in index and vectors[index[word]].any()], np.int64)
    return enlarged(own, vectors, num_neighbours) if own.size else own


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
