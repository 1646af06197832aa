"""Stages from tokenised corpora to the pair counts of all replicas: co-occurrence (map) and merge (reduce).

Each shard is counted for all replicas at once, into tables sorted by pair. The tables are then merged range of tiles by
range of tiles: a merge unit reads its range from every table, and no more than fits its memory. Where there are too
many tables to merge at once, groups of them are merged first. Nothing holds more than a worker's share in memory,
however large the corpus.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.dealing import evenly
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.corpus.indexed_lines import IndexedLines, code_index, indexed_lines, word_indices
from tiltmeter.jobs.embedding.corpus.vocabulary import Shard, TokenisedCorpus
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
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_MOST_PARTS = 32
"""Parts that are merged at once; more are merged in rounds, or the number of small reads would grow with its square."""

_BYTES_TO_SORT = 80
"""Memory that a pair takes while the names of all parts are sorted and shuffled."""

_COPIES_OF_PAIRS = 3
"""A merge holds its input and its output, and parts of them in several forms."""


@dataclass(frozen=True)
class Range:
    """A table with the pairs of the tiles low, low + 1, ..., high - 1, sorted."""

    low: int
    high: int
    table: TableRef


Part = Sequence[Range]
"""Pair counts of a part of a corpus: ranges of tiles that follow one another and cover them all."""


@dataclass(frozen=True)
class PairTables:
    """Pair counts of a whole corpus, in the order of training: ``name`` and ``count_<replica>`` of every pair.

    Attributes:
        tiling: of the names.
        tables: one after the other.
        keyed_by: what the order and the numbers of words are keyed by.
    """

    tiling: Tiling
    tables: Sequence[TableRef]
    keyed_by: KeyedBy = "rank"


def count_column(replica: int) -> str:
    """The column with a replica's counts, in units of 1/2520."""
    return f"count_{replica:04d}"


def drawn(resampling: Resampling) -> dict[str, Resampling]:
    """What units say of how replicas are drawn: nothing where it is as it was before there was a choice."""
    return {} if resampling == LINES else {"resampling": resampling}


def keyed(keyed_by: KeyedBy) -> dict[str, str]:
    """What units say of the keys of words: nothing where it is as it was before there was a choice."""
    return {} if keyed_by == "rank" else {"keyed_by": keyed_by}


def numbered_words(store: Store, vocabulary: TableRef, tiling: Tiling, config: Mapping[str, Any]) -> KeyedWords | None:
    """The words of a vocabulary, if a unit with such a config keys draws by them."""
    if "keyed_by" not in config:
        return None
    return keyed_words(store.read(vocabulary.select("word"))["word"].to_pylist(), tiling)


def count_corpora(
    runner: Runner,
    corpora: Mapping[str, TokenisedCorpus],
    config: CooccurrenceConfig,
    num_replicas: int,
    seed: int,
    worker_bytes: int,
    resampling: Mapping[str, Resampling],
    keyed_by: KeyedBy = "rank",
) -> dict[str, PairTables]:
    """Run the stages; returns the corpora that could be counted whole, by name.

    Args:
        resampling: how the replicas of each corpus are drawn.

    Raises:
        UnitsFailed: if none could.
    """
    identity = {
        "bootstrap": bootstrap.VERSION,
        "seed": seed,
        "num_replicas": num_replicas,
        "counting": config,
        # It decides which tables the unit has.
        "worker_bytes": worker_bytes,
        **keyed(keyed_by),
    }
    identities = {name: {**identity, **drawn(resampling[name])} for name in corpora}
    parts = _cooccurrence_stage(runner, corpora, identities)
    num_pairs = pairs_in_range(num_replicas, worker_bytes)
    merging = {
        name: _Merging(name, tiling_of(corpora[name].vocabulary, config, keyed_by), num_pairs, keyed_by)
        for name in parts
    }
    while any(len(corpus_parts) > _MOST_PARTS for corpus_parts in parts.values()):
        parts = _combine_stage(runner, merging, parts)
    return _merge_stage(runner, merging, parts, {name: corpora[name].vocabulary for name in parts}, seed)


def tiling_of(vocabulary: TableRef, config: CooccurrenceConfig, keyed_by: KeyedBy) -> Tiling:
    """How a vocabulary is cut."""
    cut = Tiling if keyed_by == "rank" else roomy_tiling
    return cut(vocabulary.num_rows, config.tile_words)


def pairs_in_range(num_replicas: int, worker_bytes: int) -> int:
    """Of all parts of a corpus together, the rows that a worker merges at once."""
    return worker_bytes // (_COPIES_OF_PAIRS * bytes_per_pair(1 + num_replicas) + _BYTES_TO_SORT)


# --- map: each shard for all replicas -------------------------------------------------------------------------------


def _cooccurrence_stage(
    runner: Runner, corpora: Mapping[str, TokenisedCorpus], identities: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Part]]:
    units = {
        name: [
            Unit(
                cooccurrence.VERSION,
                f"{name} part {number}",
                identities[name],
                _counting_inputs(shard, corpus.vocabulary),
            )
            for number, shard in enumerate(corpus.shards)
        ]
        for name, corpus in corpora.items()
    }
    done = runner.run_whole(Stage("co-occurrence", each(_count_shard), units))
    return {
        name: [
            [Range(0, _tiling(corpora[name].vocabulary, identities[name]).num_tiles, table)]
            for counted in finished
            for _, table in sorted(counted.tables.items())
        ]
        for name, finished in done.items()
    }


def _tiling(vocabulary: TableRef, identity: Mapping[str, Any]) -> Tiling:
    return tiling_of(vocabulary, identity["counting"], identity.get("keyed_by", "rank"))


def _counting_inputs(shard: Shard, vocabulary: TableRef) -> dict[str, list[TableRef]]:
    return {"lines": [shard.lines], "words": [shard.words.select("word")], "vocabulary": [vocabulary.select("word")]}


def _count_shard(store: Store, unit: Unit) -> Tables:
    counting: CooccurrenceConfig = unit.config["counting"]
    num_replicas = unit.config["num_replicas"]
    vocabulary = unit.input("vocabulary")
    lines, tiling = _indexed(store, unit), _tiling(vocabulary, unit.config)
    words = numbered_words(store, vocabulary, tiling, unit.config)
    chunks = line_chunks(lines.offsets, 1 + num_replicas, counting.window, unit.config["worker_bytes"])
    for number, (start, stop) in enumerate(chunks):
        chosen = slice(start, stop)
        multiplicities = line_multiplicities(
            unit.config["seed"],
            lines.documents[chosen],
            lines.numbers[chosen],
            num_replicas,
            unit.config.get("resampling", LINES),
        )
        offsets = lines.offsets[start : stop + 1]
        tokens = lines.tokens[offsets[0] : offsets[-1]]
        tokens = tokens if words is None else words.slots[tokens]
        pairs = count_pairs(tokens, offsets - offsets[0], multiplicities, tiling, counting.window)
        counts = {count_column(replica): column for replica, column in enumerate(pairs.counts)}
        yield f"pairs_{number:05d}", _part_table(pairs.names, counts)


def _indexed(store: Store, unit: Unit) -> IndexedLines:
    known = word_indices(store, unit.input("vocabulary"))
    return indexed_lines(store, unit.input("lines"), code_index(store, unit.input("words"), known))


def _part_table(names: NDArray[np.int64], counts: Mapping[str, NDArray[np.int64]]) -> pa.Table:
    """``name``, ``divisor``, and ``count_<replica>``: how many times the divisor; counts are divided in place."""
    return pa.table({"name": names, "divisor": divide_counts(list(counts.values()))} | dict(counts))


# --- reduce: sums over the parts, range of tiles by range of tiles --------------------------------------------------


@dataclass(frozen=True)
class _Merging:
    """How a corpus's counts are merged: a range of tiles has about ``num_pairs`` pairs in all its parts together."""

    corpus: str
    tiling: Tiling
    num_pairs: int
    keyed_by: KeyedBy

    def units(
        self, operator: str, parts: Sequence[Part], config: Mapping[str, Any], words: Sequence[TableRef] = ()
    ) -> list[Unit]:
        """One unit for each range of tiles, that merges this range of all parts; ``words`` are what it looks up."""
        total = sum(piece.table.num_rows for part in parts for piece in part)
        bounds = _tile_ranges(self.tiling, math.ceil(total / self.num_pairs))
        return [self._unit(operator, parts, low, high, config, words) for low, high in bounds]

    def _unit(
        self,
        operator: str,
        parts: Sequence[Part],
        low: int,
        high: int,
        config: Mapping[str, Any],
        words: Sequence[TableRef],
    ) -> Unit:
        overlapping = [piece.table for part in parts for piece in part if piece.low < high and low < piece.high]
        identity = {"low": low, "high": high, "tiling": list(self.tiling), **config}
        inputs = {"parts": overlapping} | ({"vocabulary": words} if words else {})
        return Unit(operator, f"{self.corpus} tiles {low} to {high - 1}", identity, inputs)


def _tile_ranges(tiling: Tiling, num_ranges: int) -> list[tuple[int, int]]:
    """Ranges of about equally many tiles of those that hold pairs; together they are all tiles.

    >>> _tile_ranges(Tiling(num_words=30, tile_words=10), 2)
    [(0, 3), (3, 9)]
    """
    distances, row_blocks = np.divmod(np.arange(tiling.num_tiles), tiling.num_blocks)
    used = np.flatnonzero(row_blocks + distances < tiling.num_blocks)
    starts = [int(run[0]) for run in np.array_split(used, min(max(1, num_ranges), used.size))]
    return list(zip(starts, [*starts[1:], tiling.num_tiles], strict=True))


def _combine_stage(
    runner: Runner, merging: Mapping[str, _Merging], parts: Mapping[str, Sequence[Part]]
) -> dict[str, list[Part]]:
    """Fewer parts, each the sum of up to so many."""
    groups = {name: evenly(corpus_parts, _MOST_PARTS) for name, corpus_parts in parts.items()}
    units = {
        name: [merging[name].units("combine/3", group, {}) for group in corpus_groups]
        for name, corpus_groups in groups.items()
    }
    flat = {name: list(chain.from_iterable(unit_groups)) for name, unit_groups in units.items()}
    done = runner.run_whole(Stage("combine", each(_combine_range), flat))
    tables = {finished.place: finished.tables["pairs"] for results in done.values() for finished in results}
    return {
        name: [
            [Range(unit.config["low"], unit.config["high"], tables[unit.place]) for unit in group]
            for group in units[name]
        ]
        for name in done
    }


def _merge_stage(
    runner: Runner,
    merging: Mapping[str, _Merging],
    parts: Mapping[str, Sequence[Part]],
    vocabularies: Mapping[str, TableRef],
    seed: int,
) -> dict[str, PairTables]:
    units = {name: _merge_units(merging[name], parts[name], vocabularies[name], seed) for name in parts}
    done = runner.run_whole(Stage("merge", each(_merge_range), units))
    return {
        name: PairTables(merging[name].tiling, [merged.tables["pairs"] for merged in finished], merging[name].keyed_by)
        for name, finished in done.items()
    }


def _merge_units(merging: _Merging, parts: Sequence[Part], vocabulary: TableRef, seed: int) -> list[Unit]:
    words = [] if merging.keyed_by == "rank" else [vocabulary.select("word")]
    return merging.units("merge/3", parts, {"seed": seed, **keyed(merging.keyed_by)}, words)


def _combine_range(store: Store, unit: Unit) -> Tables:
    """The sum of all parts in a range of tiles, sorted."""
    names, sums = _sum_range(store, unit)
    yield "pairs", _part_table(names, dict(sums))


def _merge_range(store: Store, unit: Unit) -> Tables:
    """The sum of all parts in a range of tiles, in the order of training."""
    names, sums = _sum_range(store, unit)
    tiling = Tiling(*unit.config["tiling"])
    words = (
        numbered_words(store, unit.input("vocabulary"), tiling, unit.config) if "vocabulary" in unit.inputs else None
    )
    keys = None if words is None else words.slot_keys(tiling)
    order = shuffled_in_tiles(names, tiling, unit.config["seed"], keys)
    yield "pairs", pa.table({"name": names[order]} | {column: counts[order] for column, counts in sums})


def _sum_range(store: Store, unit: Unit) -> tuple[NDArray[np.int64], Iterator[tuple[str, NDArray[np.int64]]]]:
    """Names of the pairs, and the sums column by column."""
    num_names = Tiling(*unit.config["tiling"]).num_names
    low, high = unit.config["low"] * num_names, unit.config["high"] * num_names
    parts = [store.read_between(ref, "name", low, high) for ref in unit.inputs["parts"]]
    merger = Merger([part["name"].to_numpy() for part in parts])
    columns = [column for column in parts[0].column_names if column not in ("name", "divisor")]
    return merger.names, ((column, merger.sum([_counts(part, column) for part in parts])) for column in columns)


def _counts(part: pa.Table, column: str) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = part[column].to_numpy() * part["divisor"].to_numpy()
    return counts
