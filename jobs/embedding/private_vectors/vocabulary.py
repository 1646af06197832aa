"""The public vectors, the public maps, and how far these stretch the distances of words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.encoders.settings import EncoderEmbedding
from tiltmeter.jobs.embedding.pages import left_out_table, without_bad_files
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, VectorFile, lines_of
from tiltmeter.jobs.embedding.private_vectors.tables import Described, Sensitivity, Stretches
from tiltmeter.jobs.embedding.vectors import Selection, encode, matrix, vector_column
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import projections, sensitivity
from tiltmeter.operators.embedding.private_release.noise import published_dimensions
from tiltmeter.operators.embedding.private_release.projections import Projection
from tiltmeter.operators.embedding.private_release.sensitivity import failure_bound
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

_MIN_WORDS = 3
_SAMPLE = 1000
_PANEL_TILES = 4

PrivateRun = Run[PrivateVectorsRun, PrivateSources]


# --- public vectors -------------------------------------------------------------------------------------------------


class ReadVocabulary(Work, unit="private_vocabulary/2", stage="read vectors"):
    """Words and vectors of a file, or of an encoder.

    The table ``vocabulary`` has those of which no two are equal, in their order, with their ``row``; ``merged`` the
    words whose vector another word before them has.
    """

    file: VectorFile | None = None
    encoded: TableRef | None = None

    def tables(self, store: Store) -> Tables:
        bad = BadRecords()
        if self.file:
            words, vectors = self.file.read(bad)
        else:
            table = store.read(cast(TableRef, self.encoded))
            words, vectors = table["word"].to_pylist(), matrix(table["vector"])
        yield from left_out_table(bad)
        rows = checked_rows(words, vectors, "embedding.path" if self.file else "vocabulary.word_file")
        column = pa.array(words, pa.string())
        yield "merged", pa.table({"word": column.filter(pa.array(~np.isin(np.arange(len(words)), rows)))})
        # Few vocabularies have equal vectors, and a copy of the others is large.
        different = vectors[rows] if len(rows) < len(words) else vectors
        columns = {"row": np.arange(len(rows)), "word": column.take(pa.array(rows)), "vector": vector_column(different)}
        yield "vocabulary", pa.table(columns)


def read_vocabulary(run: PrivateRun) -> Done[ReadVocabulary]:
    """Read the words once, for all who work with them."""
    runner, config, sources, encoded = run.runner, run.config, run.sources, None
    if not sources.vectors:
        embedding, selection = cast(EncoderEmbedding, config.embedding), Selection(words_to_encode(config, sources))
        vectors = encode(runner, embedding, sources.checkpoints, selection).one("vectors")
        encoded = vectors.select("word", "vector")
    work = ReadVocabulary(label="vectors", group="vectors", file=sources.vectors, encoded=encoded)
    return without_bad_files(runner, run.do([work]), config.reading.max_bad_share)


def words_to_encode(config: PrivateVectorsRun, sources: PrivateSources) -> tuple[str, ...]:
    """The first of those that an encoder is given, each once.

    Raises:
        InputError: if the file is no text, or has too few words for a pair and a third.
    """
    file = cast(FoundFile, sources.words)
    words = tuple(dict.fromkeys(filter(None, lines_of(file.uri, "vocabulary.word_file"))))
    if len(words) < _MIN_WORDS:
        raise InputError(f"vocabulary.word_file: has {len(words)} different words, and must have {_MIN_WORDS} at least")
    return words[: config.vocabulary.words]


def checked_rows(words: Sequence[str], vectors: NDArray[np.floating], setting: str) -> IntArray:
    """Rows of which no two have the same vector.

    Raises:
        InputError: naming the first that is not finite, or if there are too few for a pair and a third.
    """
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise InputError(
            f"{setting}: the vector of {words[row]!r}, row {row:,}, is not finite: leave it out of the file"
        )
    rows = sensitivity.distinct_rows(vectors)
    if len(rows) < _MIN_WORDS:
        raise InputError(f"{setting}: has {len(rows)} different vectors, and must have {_MIN_WORDS} at least")
    return rows


def vectors_of(store: Store, ref: TableRef) -> FloatArray:
    """Vectors of a table, ``[rows, dimensions]``."""
    return matrix(store.read(ref.select("vector"))["vector"]).astype(np.float64)


def words_and_vectors(store: Store, ref: TableRef) -> tuple[Sequence[str], FloatArray]:
    """All of a vocabulary."""
    return columns_of(store.read(ref.select("word", "vector")))


def columns_of(table: pa.Table) -> tuple[Sequence[str], FloatArray]:
    """Words and vectors of some rows of one."""
    return table["word"].to_pylist(), matrix(table["vector"]).astype(np.float64)


# --- public maps ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicMap:
    """A map of the study.

    Attributes:
        projection: kind of map.
        num_dimensions: m, that it keeps.
        beta: distortion that the published dimensions allow; 0 where it has no part.
        ref: its rows; None for the vectors as they are.
    """

    projection: Projection
    num_dimensions: int
    beta: float
    ref: TableRef | None


MapKey = tuple[Projection, float]
"""Kind of a map, and the beta of its dimensions."""

Maps = Mapping[MapKey, PublicMap]


class DrawMap(Work, unit=projections.VERSION, stage="draw maps"):
    """The table ``map``, its rows."""

    projection: Projection
    num_kept: int
    num_dimensions: int
    seed: int
    vocabulary: TableRef | None

    def tables(self, store: Store) -> Tables:
        if self.vocabulary:
            rows = projections.principal_projection(vectors_of(store, self.vocabulary), self.num_kept)
        else:
            rows = drawn_map(self.projection, self.num_kept, self.num_dimensions, self.seed)
        yield "map", pa.table({"vector": vector_column(rows)})


class ShapeNoise(Work, unit="mahalanobis_map/1", stage="draw maps"):
    """The table ``map`` of mahalanobis, by public vectors."""

    weight: float
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        rows = projections.mahalanobis_map(vectors_of(store, self.vocabulary), self.weight)
        yield "map", pa.table({"vector": vector_column(rows)})


def drawn_map(kind: Projection, num_kept: int, num_dimensions: int, seed: int) -> FloatArray:
    """A random map of a seed, ``[m, d]``, which anybody can draw again."""
    generator = keyed_generator(seed, Stream.PRIVATE_MAP, document_key(kind), num_kept, num_dimensions)
    draw = projections.gaussian_projection if kind == "gaussian" else projections.haar_projection
    return draw(generator, num_kept, num_dimensions)


def map_of(store: Store, ref: TableRef | None, num_dimensions: int) -> FloatArray:
    """Rows of a map; the identity for none."""
    return np.eye(num_dimensions) if ref is None else vectors_of(store, ref)


def draw_maps(run: PrivateRun, vocabulary: TableRef, width: int, betas: Sequence[float]) -> Maps:
    """The maps of a run.

    Args:
        betas: of Gaussian maps beside that of all mechanisms.

    Raises:
        InputError: if one would keep more dimensions than there are.
    """
    config = run.config
    keys: list[MapKey] = [("gaussian", beta) for beta in dict.fromkeys((config.beta, *betas))]
    keys += [("haar", config.beta), ("public_pca", config.beta)]
    kept = {key: kept_dimensions(config, key[1], width) for key in keys}
    done = run.do(
        DrawMap(
            group="maps",
            label=f"{kind} {num}",
            projection=kind,
            num_kept=num,
            num_dimensions=width,
            seed=config.seed,
            vocabulary=vocabulary.select("vector") if kind == "public_pca" else None,
        )
        for (kind, _), num in kept.items()
    )
    maps: dict[MapKey, PublicMap] = {("none", config.beta): PublicMap("none", width, 0.0, None)}
    for (kind, beta), (work, unit) in zip(keys, done.pairs, strict=True):
        maps[kind, beta] = PublicMap(kind, work.num_kept, beta if kind == "gaussian" else 0.0, unit.tables["map"])
    if "mahalanobis" in (*config.mechanisms, config.release.mechanism):
        public, weight = vocabulary.select("vector"), config.covariance_weight
        shape = ShapeNoise(label="mahalanobis", group="maps", weight=weight, vocabulary=public)
        maps["mahalanobis", config.beta] = PublicMap("mahalanobis", width, 0.0, run.do([shape]).one("map"))
    return maps


def kept_dimensions(config: PrivateVectorsRun, beta: float, width: int) -> int:
    """Dimensions of a map for vectors of a width.

    Raises:
        InputError: if it would keep more than there are.
    """
    fixed = config.dimensions if beta == config.beta else None
    num = fixed or min(published_dimensions(width, beta), width)
    if num > width:
        raise InputError(f"dimensions={num}: the vectors have {width}; set it to less, or leave it out")
    return num


# --- distances of words, and how far maps stretch these -------------------------------------------------------------


@dataclass(frozen=True)
class Geometry:
    """Of the vocabulary, which has ``num_words`` different vectors, and of its maps.

    Attributes:
        distances: ``nearest`` of a word to its nearest in the median, ``median`` and ``largest`` of two words.
        stretches: by map, the pair that it stretches most.
        described: by map, its typical stretch and its largest singular value.
    """

    distances: Mapping[str, float]
    stretches: Mapping[MapKey, Stretches]
    described: Mapping[MapKey, Described]
    num_words: int


class CompareWords(Work, unit=sensitivity.VERSION, stage="compare words", makes=[Stretches]):
    """Some blocks of words with some others: a worker reads these alone, however many there are."""

    tile_words: int
    size: int
    first: int
    second: int
    vocabulary: TableRef
    maps: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Stretches]:
        maps, tile = [vectors_of(store, ref) for ref in self.maps], self.tile_words
        panels = [self._panel(store, start) for start in dict.fromkeys((self.first, self.second))]
        (words, vectors), (others, other_vectors) = panels[0], panels[-1]
        for row in range(0, len(words), tile):
            for column in range(0, len(others), tile):
                if len(panels) > 1 or row <= column:
                    blocks = vectors[row : row + tile], other_vectors[column : column + tile]
                    largest = sensitivity.largest_distance(*blocks)
                    is_diagonal = len(panels) == 1 and row == column
                    pairs = sensitivity.largest_stretches(*blocks, maps, is_diagonal=is_diagonal)
                    for number, pair in enumerate(pairs):
                        made = Stretches(map=number, ratio=pair.ratio, upper=pair.upper, largest=largest)
                        is_pair = pair.first >= 0
                        made.first = words[row + pair.first] if is_pair else ""
                        made.second = others[column + pair.second] if is_pair else ""
                        yield made

    def _panel(self, store: Store, start: int) -> tuple[Sequence[str], FloatArray]:
        return columns_of(store.read_between(self.vocabulary, "row", start, start + self.size))


class DescribeMaps(Work, unit="private_geometry/1", stage="describe maps", makes=[Described]):
    """Typical distances of words, and how far maps stretch typically and at most."""

    seed: int
    sample: int = _SAMPLE
    vocabulary: TableRef
    maps: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Described]:
        vectors = vectors_of(store, self.vocabulary)
        generator = keyed_generator(self.seed, Stream.PRIVATE_STUDY, document_key("sample of words"))
        rows = generator.permutation(len(vectors))[: self.sample]
        distances = sensitivity.typical_distances(vectors[rows], rows, vectors)
        differences = vectors[rows] - vectors[np.roll(rows, 1)]
        for projection in (vectors_of(store, ref) for ref in self.maps):
            yield Described(
                nearest=distances.nearest,
                median=distances.median,
                typical=sensitivity.typical_stretch(differences, projection),
                spectral=sensitivity.spectral_sensitivity(projection),
            )


def measure(run: PrivateRun, words: TableRef, maps: Maps) -> Geometry:
    """Distances and stretches over all pairs of words, tile by tile."""
    store, tile_words = run.runner.store, run.config.vocabulary.tile_words
    drawn = {key: item.ref for key, item in maps.items() if item.ref}
    refs, size = list(drawn.values()), tile_words * _PANEL_TILES
    starts = range(0, words.num_rows, size)
    compared = run.do(
        (
            CompareWords(
                group="vectors",
                label=f"words from {first} and {second}",
                tile_words=tile_words,
                size=size,
                first=first,
                second=second,
                vocabulary=words,
                maps=refs,
            )
            for first, second in combinations_with_replacement(starts, 2)
        ),
        batch_size=None,
    )
    typical = DescribeMaps(group="vectors", label="typical", seed=run.config.seed, vocabulary=words, maps=refs)
    described = Described.read(store, run.do([typical]).one(Described))
    rows = [row for ref in compared.refs(Stretches) for row in Stretches.read(store, ref)]
    most = [max((row for row in rows if row.map == number), key=lambda row: row.ratio) for number in range(len(refs))]
    largest = max(row.largest for row in rows)
    return Geometry(
        {"nearest": described[0].nearest, "median": described[0].median, "largest": largest},
        dict(zip(drawn, most, strict=True)),
        dict(zip(drawn, described, strict=True)),
        words.num_rows,
    )


class WriteSensitivity(Work, unit="private_rows/1", stage="write sensitivity", makes=[Sensitivity]):
    """Rows that the driver has, as a unit so that later runs find them."""

    name: str = Sensitivity.table_name
    known: Sequence[Row]

    def rows(self, _: Store) -> Iterator[Sensitivity]:
        return (Sensitivity(**row) for row in self.known)


def sensitivity_rows(maps: Maps, geometry: Geometry, num_merged: int) -> Iterator[Row]:
    """Of every map, by each kind of sensitivity."""
    for key, pair in geometry.stretches.items():
        item, described = maps[key], geometry.described[key]
        about: Row = {
            "projection": item.projection,
            "dimensions": item.num_dimensions,
            "beta": item.beta,
            "typical_stretch": described.typical,
            "first": pair.first,
            "second": pair.second,
            "num_words": geometry.num_words,
            "num_merged": num_merged,
        }
        if item.projection == "gaussian":
            bound = failure_bound(geometry.num_words, item.num_dimensions, item.beta)
            yield about | {"sensitivity_kind": "published", "sensitivity": 1 + item.beta, "delta": bound}
        yield about | {"sensitivity_kind": "exact_vocabulary", "sensitivity": pair.upper, "delta": 0.0}
        yield about | {"sensitivity_kind": "spectral", "sensitivity": described.spectral, "delta": 0.0}
