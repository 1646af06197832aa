"""The stages that compare all words with each other: their distances, and how far maps stretch these."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap
from tiltmeter.jobs.embedding.private_vectors.vocabulary import PublicVocabulary, rows_between, vectors_of
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import sensitivity
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SAMPLE = 1000
_PANEL_TILES = 4
_GROUP = "vectors"


@dataclass(frozen=True)
class Geometry:
    """Of the vocabulary and its maps.

    Attributes:
        distances: typical ones, and the largest of all.
        stretches: by map, the pair that it stretches most: ``ratio``, ``upper`` and the two words.
        typical: by map, the median stretch.
        spectral: by map, the largest singular value.
        num_words: different vectors.
        num_merged: words whose vector another word has.
    """

    nearest: float
    median: float
    largest: float
    stretches: Sequence[dict[str, object]]
    typical: Sequence[float]
    spectral: Sequence[float]
    num_words: int
    num_merged: int


def measure(
    runner: Runner, config: PrivateVectorsRun, vocabulary: PublicVocabulary, maps: Sequence[PublicMap]
) -> Geometry:
    """Distances and stretches over all pairs of words, tile by tile."""
    words, refs = vocabulary.table, [item.ref for item in maps if item.ref]
    inputs = {"vocabulary": [words], "maps": refs}
    units = list(_panels(words.num_rows, config.vocabulary.tile_words, inputs))
    compared = runner.run_whole(Stage("compare words", each(_compare), {_GROUP: units}, batch_size=None))[_GROUP]
    typical = Unit("private_geometry/1", "typical", {"seed": config.seed, "sample": _SAMPLE}, inputs)
    [described] = runner.run_whole(Stage("describe maps", each(_describe), {_GROUP: [typical]}))[_GROUP]
    rows = list(chain.from_iterable(runner.store.read(done.tables["tiles"]).to_pylist() for done in compared))
    about = runner.store.read(described.tables["geometry"]).to_pylist()
    best = [
        max((row for row in rows if row["map"] == number), key=lambda row: row["ratio"]) for number in range(len(refs))
    ]
    return Geometry(
        about[0]["nearest"],
        about[0]["median"],
        max(row["largest"] for row in rows),
        best,
        [row["typical"] for row in about],
        [row["spectral"] for row in about],
        words.num_rows,
        vocabulary.num_merged,
    )


def _panels(num_words: int, tile_words: int, inputs: Mapping[str, Sequence[TableRef]]) -> Iterator[Unit]:
    """Some blocks of words with some others: a worker reads these alone, however many there are."""
    size = tile_words * _PANEL_TILES
    starts = range(0, num_words, size)
    for first, second in combinations_with_replacement(starts, 2):
        settings = {"tile_words": tile_words, "size": size, "first": first, "second": second}
        yield Unit(sensitivity.VERSION, f"words from {first} and {second}", settings, inputs)


def _compare(store: Store, unit: Unit) -> Tables:
    config, ref = unit.config, unit.input("vocabulary")
    maps = [vectors_of(store, map_ref) for map_ref in unit.inputs["maps"]]
    starts, size = (config["first"], config["second"]), config["tile_words"]
    panels = [rows_between(store, ref, start, start + config["size"]) for start in dict.fromkeys(starts)]
    (words, vectors), (others, other_vectors) = panels[0], panels[-1]
    rows = [
        _tile_rows(_Block(words, vectors, row, size), _Block(others, other_vectors, column, size), maps, is_diagonal)
        for row in range(0, len(words), size)
        for column in range(0, len(others), size)
        for is_diagonal in [len(panels) == 1 and row == column]
        if len(panels) > 1 or row <= column
    ]
    yield "tiles", pa.Table.from_pylist([part for tile in rows for part in tile], _TILES)


class _Block:
    """Words of a panel from a row on."""

    def __init__(self, words: Sequence[str], vectors: FloatArray, start: int, size: int) -> None:
        self.words, self.vectors = words[start : start + size], vectors[start : start + size]


def _tile_rows(block: _Block, other: _Block, maps: Sequence[FloatArray], is_diagonal: bool) -> list[Row]:
    largest = sensitivity.largest_distance(block.vectors, other.vectors)
    pairs = sensitivity.largest_stretches(block.vectors, other.vectors, maps, is_diagonal=is_diagonal)
    return [
        {
            "map": number,
            "ratio": pair.ratio,
            "upper": pair.upper,
            "largest": largest,
            "first": block.words[pair.first] if pair.first >= 0 else "",
            "second": other.words[pair.second] if pair.first >= 0 else "",
        }
        for number, pair in enumerate(pairs)
    ]


_TILES = pa.schema(
    [
        ("map", pa.int64()),
        ("ratio", pa.float64()),
        ("upper", pa.float64()),
        ("largest", pa.float64()),
        ("first", pa.string()),
        ("second", pa.string()),
    ]
)


def _describe(store: Store, unit: Unit) -> Tables:
    vectors = vectors_of(store, unit.input("vocabulary"))
    generator = keyed_generator(unit.config["seed"], Stream.PRIVATE_STUDY, document_key("sample of words"))
    rows = generator.permutation(len(vectors))[: unit.config["sample"]]
    distances = sensitivity.typical_distances(vectors[rows], rows, vectors)
    differences = vectors[rows] - vectors[np.roll(rows, 1)]
    described = [
        {
            "nearest": distances.nearest,
            "median": distances.median,
            "typical": sensitivity.typical_stretch(differences, projection),
            "spectral": sensitivity.spectral_sensitivity(projection),
        }
        for projection in (vectors_of(store, ref) for ref in unit.inputs["maps"])
    ]
    yield "geometry", pa.Table.from_pylist(described)
