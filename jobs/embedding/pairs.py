"""The pair counts of all replicas of corpora: counted shard by shard, and merged range of tiles by range of tiles.

Each shard is counted for all replicas at once, into tables sorted by pair. A merge unit reads its range from every
table, and no more than fits its memory. Where there are too many tables to merge at once, groups of them are merged
first. Nothing holds more than a worker's share in memory, however large the corpus.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.scheduling import evenly
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.corpora import Corpus
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.embedding import bootstrap, cooccurrence
from tiltmeter.operators.embedding.bootstrap import LINES, Resampling, line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import (
    CooccurrenceConfig,
    Merger,
    bytes_per_pair,
    count_pairs,
    divide_counts,
    line_chunks,
)
from tiltmeter.operators.embedding.keyed_words import KeyedBy, KeyedWords, keyed_words, roomy_tiling
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles
from tiltmeter.storage.store.ledger import Store, TableRef

_MOST_PARTS = 32
"""Parts that are merged at once; more are merged in rounds, or the number of small reads would grow with its square."""

_BYTES_TO_SORT = 80
"""Memory that a pair takes while the names of all parts are sorted and shuffled."""

_COPIES_OF_PAIRS = 3
"""A merge holds its input and its output, and parts of them in several forms."""


# --- lines: a shard as vocabulary indices ---------------------------------------------------------------------------


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


def word_indices(store: Store, vocabulary: TableRef) -> pl.DataFrame:
    """``word`` and ``index`` of a vocabulary."""
    return pl.DataFrame(store.read(vocabulary.select("word"))).with_row_index("index")


def indexed_lines(store: Store, lines: TableRef, words: TableRef, known: pl.DataFrame) -> IndexedLines:
    """The lines of a shard, whose word codes stand for ``words``, by the indices of :func:`word_indices`."""
    joined = pl.DataFrame(store.read(words)).join(known, on="word", how="left", maintain_order="left")
    index = joined["index"].cast(pl.Int32).fill_null(-1).to_numpy()
    table = store.read(lines)
    codes = table["tokens"].combine_chunks()
    tokens = index[codes.flatten().to_numpy()]
    ends = np.append(0, np.cumsum(codes.value_lengths().to_numpy(), dtype=np.int64))
    is_known = tokens >= 0
    offsets = np.append(0, np.cumsum(is_known, dtype=np.int64))[ends]
    return IndexedLines(tokens[is_known], offsets, table["document"].to_numpy(), table["line"].to_numpy())


# --- map: each shard for all replicas -------------------------------------------------------------------------------


def count_column(replica: int) -> str:
    """The column with a replica's counts, in units of 1/2520."""
    return f"count_{replica:04d}"


def tiling_of(vocabulary: TableRef, counting: CooccurrenceConfig, keyed_by: KeyedBy) -> Tiling:
    """How a vocabulary is cut."""
    cut = Tiling if keyed_by == "rank" else roomy_tiling
    return cut(vocabulary.num_rows, counting.tile_words)


def numbered_words(store: Store, vocabulary: TableRef | None, tiling: Tiling, keyed_by: KeyedBy) -> KeyedWords | None:
    """The words of a vocabulary, if draws are keyed by them."""
    if vocabulary is None or keyed_by == "rank":
        return None
    return keyed_words(store.read(vocabulary.select("word"))["word"].to_pylist(), tiling)


class CountPairs(Work, unit=cooccurrence.VERSION, stage="co-occurrence"):
    """Of a shard, for all replicas at once; ``worker_bytes`` decides which tables the unit has."""

    bootstrap: str = bootstrap.VERSION
    seed: int
    num_replicas: int
    counting: CooccurrenceConfig
    worker_bytes: int
    resampling: Resampling = LINES
    keyed_by: KeyedBy = "rank"
    lines: TableRef
    words: TableRef
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        window, tiling = self.counting.window, tiling_of(self.vocabulary, self.counting, self.keyed_by)
        lines = indexed_lines(store, self.lines, self.words, word_indices(store, self.vocabulary))
        words = numbered_words(store, self.vocabulary, tiling, self.keyed_by)
        chunks = line_chunks(lines.offsets, 1 + self.num_replicas, window, self.worker_bytes)
        for number, (start, stop) in enumerate(chunks):
            multiplicities = line_multiplicities(
                self.seed, lines.documents[start:stop], lines.numbers[start:stop], self.num_replicas, self.resampling
            )
            offsets = lines.offsets[start : stop + 1]
            tokens = lines.tokens[offsets[0] : offsets[-1]]
            tokens = tokens if words is None else words.slots[tokens]
            pairs = count_pairs(tokens, offsets - offsets[0], multiplicities, tiling, window)
            counts = {count_column(replica): column for replica, column in enumerate(pairs.counts)}
            yield f"pairs_{number:05d}", _part_table(pairs.names, counts)


def _part_table(names: NDArray[np.int64], counts: Mapping[str, NDArray[np.int64]]) -> pa.Table:
    """``name``, ``divisor``, and ``count_<replica>``: how many times the divisor; counts are divided in place."""
    return pa.table({"name": names, "divisor": divide_counts(list(counts.values()))} | dict(counts))


# --- reduce: sums over the parts, range of tiles by range of tiles --------------------------------------------------


class Range(NamedTuple):
    """A table with the pairs of the tiles low, low + 1, ..., high - 1, sorted."""

    low: int
    high: int
    table: TableRef


Part = Sequence[Range]
"""Pair counts of a part of a corpus: ranges of tiles that follow one another and cover them all."""


class CombinePairs(Work, unit="combine/3", stage="combine"):
    """The sum of some parts in a range of tiles, sorted."""

    low: int
    high: int
    tiling: Tiling
    parts: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        names, sums = self.sums(store)
        yield "pairs", _part_table(names, dict(sums))

    def sums(self, store: Store) -> tuple[NDArray[np.int64], Iterator[tuple[str, NDArray[np.int64]]]]:
        """Names of the pairs, and the sums column by column."""
        low, high = self.low * self.tiling.num_names, self.high * self.tiling.num_names
        parts = [store.read_between(ref, "name", low, high) for ref in self.parts]
        merger = Merger([part["name"].to_numpy() for part in parts])
        columns = [column for column in parts[0].column_names if column not in ("name", "divisor")]
        return merger.names, ((column, merger.sum([_counts(part, column) for part in parts])) for column in columns)


def _counts(part: pa.Table, column: str) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = part[column].to_numpy() * part["divisor"].to_numpy()
    return counts


class MergePairs(CombinePairs, unit="merge/3", stage="merge"):
    """The sum of all parts in a range of tiles, in the order of training: ``name`` and ``count_<replica>``."""

    seed: int
    keyed_by: KeyedBy = "rank"
    vocabulary: TableRef | None = None

    def tables(self, store: Store) -> Tables:
        names, sums = self.sums(store)
        words = numbered_words(store, self.vocabulary, self.tiling, self.keyed_by)
        keys = None if words is None else words.slot_keys(self.tiling)
        order = shuffled_in_tiles(names, self.tiling, self.seed, keys)
        yield "pairs", pa.table({"name": names[order]} | {column: counts[order] for column, counts in sums})


def pairs_in_range(num_replicas: int, worker_bytes: int) -> int:
    """Of all parts of a corpus together, the rows that a worker merges at once."""
    return worker_bytes // (_COPIES_OF_PAIRS * bytes_per_pair(1 + num_replicas) + _BYTES_TO_SORT)


def count_corpora(run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, Corpus]) -> Done[MergePairs]:
    """Pair counts of the corpora that could be counted whole: tables ``pairs``, one after the other.

    Raises:
        UnitsFailed: if none could.
    """
    runner, seed, worker_bytes = run.runner, run.config.seed, run.config.cluster.worker_data_bytes
    embedding = cast(EmbeddingConfig, run.config.embedding)
    counting, keyed_by = embedding.cooccurrence, embedding.keyed_by
    resampling = {name: corpus.resampling(runner.store, embedding) for name, corpus in corpora.items()}
    counted = run.do(
        CountPairs(
            group=name,
            label=f"{name} part {number}",
            seed=seed,
            num_replicas=embedding.num_replicas,
            counting=counting,
            worker_bytes=worker_bytes,
            resampling=resampling[name],
            keyed_by=keyed_by,
            lines=lines,
            words=words.select("word"),
            vocabulary=corpus.vocabulary.select("word"),
        )
        for name, corpus in corpora.items()
        for number, (lines, words) in enumerate(zip(corpus.lines, corpus.words, strict=True))
    ).groups
    tilings = {name: tiling_of(corpora[name].vocabulary, counting, keyed_by) for name in counted}
    parts: dict[str, list[Part]] = {
        name: [
            [Range(0, tilings[name].num_tiles, ref)] for _, unit in done.pairs for _, ref in sorted(unit.tables.items())
        ]
        for name, done in counted.items()
    }
    num_pairs = pairs_in_range(embedding.num_replicas, worker_bytes)
    while any(len(corpus_parts) > _MOST_PARTS for corpus_parts in parts.values()):
        parts = _combined(run, tilings, parts, num_pairs)
    return run.do(
        MergePairs(
            **_range_fields(name, tilings[name], corpus_parts, low, high),
            seed=seed,
            keyed_by=keyed_by,
            vocabulary=None if keyed_by == "rank" else corpora[name].vocabulary.select("word"),
        )
        for name, corpus_parts in parts.items()
        for low, high in _ranges(tilings[name], corpus_parts, num_pairs)
    )


def _combined(
    run: Run[EmbeddingsRun, Sources], tilings: Mapping[str, Tiling], parts: Mapping[str, Sequence[Part]], num_pairs: int
) -> dict[str, list[Part]]:
    """Fewer parts, each the sum of up to so many."""
    works = {
        name: [
            [
                CombinePairs(**_range_fields(name, tilings[name], group, low, high))
                for low, high in _ranges(tilings[name], group, num_pairs)
            ]
            for group in evenly(corpus_parts, _MOST_PARTS)
        ]
        for name, corpus_parts in parts.items()
    }
    done = run.do(work for groups in works.values() for group in groups for work in group)
    tables = {work: unit.tables["pairs"] for work, unit in done.pairs}
    return {
        name: [[Range(work.low, work.high, tables[work]) for work in group] for group in works[name]]
        for name in done.groups
    }


def _range_fields(name: str, tiling: Tiling, parts: Sequence[Part], low: int, high: int) -> dict[str, Any]:
    """Of work that sums a range of tiles of all parts."""
    overlapping = [piece.table for part in parts for piece in part if piece.low < high and low < piece.high]
    label = f"{name} tiles {low} to {high - 1}"
    return {"group": name, "label": label, "low": low, "high": high, "tiling": tiling, "parts": overlapping}


def _ranges(tiling: Tiling, parts: Sequence[Part], num_pairs: int) -> list[tuple[int, int]]:
    """A range of tiles has about ``num_pairs`` pairs in all its parts together."""
    total = sum(piece.table.num_rows for part in parts for piece in part)
    return _tile_ranges(tiling, math.ceil(total / num_pairs))


def _tile_ranges(tiling: Tiling, num_ranges: int) -> list[tuple[int, int]]:
    """Ranges of about equally many tiles of those that hold pairs; together they are all tiles.

    >>> _tile_ranges(Tiling(num_words=30, tile_words=10), 2)
    [(0, 3), (3, 9)]
    """
    distances, row_blocks = np.divmod(np.arange(tiling.num_tiles), tiling.num_blocks)
    used = np.flatnonzero(row_blocks + distances < tiling.num_blocks)
    starts = [int(run[0]) for run in np.array_split(used, min(max(1, num_ranges), used.size))]
    return list(zip(starts, [*starts[1:], tiling.num_tiles], strict=True))
