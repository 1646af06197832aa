"""The stages that compare all words with each other: their distances, and how far maps stretch these."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap
from tiltmeter.jobs.embedding.private_vectors.vocabulary import distinct_vectors, vectors_of
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import sensitivity
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SAMPLE = 1000
_TILES_AT_ONCE = 8
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


def measure(runner: Runner, config: PrivateVectorsRun, vocabulary: TableRef, maps: Sequence[PublicMap]) -> Geometry:
    """Distances and stretches over all pairs of words, tile by tile."""
    refs = [item.ref for item in maps if item.ref]
    size = config.vocabulary.tile_words
    num_blocks = -(-vocabulary.num_rows // size)
    inputs = {"vocabulary": [vocabulary], "maps": refs}
    tiles = [(row, column) for row in range(num_blocks) for column in range(row, num_blocks)]
    units = [
        Unit(
            sensitivity.VERSION,
            f"tiles {start}",
            {"tile_words": size, "tiles": tiles[start : start + _TILES_AT_ONCE]},
            inputs,
        )
        for start in range(0, len(tiles), _TILES_AT_ONCE)
    ]
    compared = runner.run_whole(Stage("compare words", each(_compare), {_GROUP: units}))[_GROUP]
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
        about[0]["num_words"],
        vocabulary.num_rows - about[0]["num_words"],
    )


def _compare(store: Store, unit: Unit) -> Tables:
    vectors, words = distinct_vectors(store, unit.input("vocabulary"))
    maps = [vectors_of(store, ref) for ref in unit.inputs["maps"]]
    size, rows = unit.config["tile_words"], []
    for row, column in unit.config["tiles"]:
        block, other = (vectors[number * size : (number + 1) * size] for number in (row, column))
        if not len(block) or not len(other):
            continue  # equal vectors are merged, which may leave the last block empty
        largest = sensitivity.largest_distance(block, other)
        pairs = sensitivity.largest_stretches(block, other, maps, is_diagonal=row == column)
        for number, pair in enumerate(pairs):
            first, second = (words[row * size + pair.first], words[column * size + pair.second])
            names = (first, second) if pair.first >= 0 else ("", "")
            rows.append(
                {"map": number, "ratio": pair.ratio, "upper": pair.upper, "largest": largest}
                | dict(zip(("first", "second"), names, strict=True))
            )
    yield "tiles", pa.Table.from_pylist(rows, _TILES)


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
    vectors, _ = distinct_vectors(store, unit.input("vocabulary"))
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
            "num_words": len(vectors),
        }
        for projection in (vectors_of(store, ref) for ref in unit.inputs["maps"])
    ]
    yield "geometry", pa.Table.from_pylist(described)
