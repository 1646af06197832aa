"""Going through a tokenised corpus: the lines of a shard as vocabulary indices."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.storage.store.ledger import Store, TableRef


def word_indices(store: Store, vocabulary: TableRef) -> pl.DataFrame:
    """``word`` and ``index`` of a vocabulary."""
    return pl.DataFrame(store.read(vocabulary.select("word"))).with_row_index("index")


def code_index(store: Store, words: TableRef, known: pl.DataFrame) -> NDArray[np.int32]:
    """For each word code of a shard the word's index in the vocabulary, or -1."""
    joined = pl.DataFrame(store.read(words)).join(known, on="word", how="left", maintain_order="left")
    return joined["index"].cast(pl.Int32).fill_null(-1).to_numpy()


@dataclass(frozen=True)
class IndexedLines:
    """Lines of a shard as vocabulary indices; words outside the vocabulary are left out.

    Attributes:
        tokens: ``[tokens]`` of all lines, one after the other.
        offsets: ``[lines + 1]`` where each line starts.
        documents, numbers: ``[lines]`` key of the document and number within it.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    documents: NDArray[np.uint64]
    numbers: NDArray[np.int32]


def indexed_lines(store: Store, lines: TableRef, index: NDArray[np.int32]) -> IndexedLines:
    """The lines of a shard, whose word codes ``index`` translates."""
    table = store.read(lines)
    codes = table["tokens"].combine_chunks()
    tokens = index[codes.flatten().to_numpy()]
    ends = np.append(0, np.cumsum(codes.value_lengths().to_numpy(), dtype=np.int64))
    known = tokens >= 0
    offsets = np.append(0, np.cumsum(known, dtype=np.int64))[ends]
    return IndexedLines(tokens[known], offsets, table["document"].to_numpy(), table["line"].to_numpy())
