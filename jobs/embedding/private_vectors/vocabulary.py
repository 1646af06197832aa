"""The stage that reads the public vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import EncoderEmbedding, FileEmbedding
from tiltmeter.jobs.embedding.pages import left_out_table, read_whole_files
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, lines_of
from tiltmeter.jobs.embedding.vectors import Selection, encode, matrix, vector_column
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release import sensitivity
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

_VERSION = "private_vocabulary/2"
_MIN_WORDS = 3
_GROUP = "vectors"


@dataclass(frozen=True)
class PublicVocabulary:
    """Attributes:
    table: words and vectors, of which no two are equal, in the order of the file, with their ``row``.
    num_merged: words that are left out, as another word before them has their vector.
    """

    table: TableRef
    num_merged: int


def read_vocabulary(runner: Runner, config: PrivateVectorsRun, sources: PrivateSources) -> PublicVocabulary:
    """Read the words once, for all who work with them."""
    unit = vocabulary_unit(config, sources) if sources.vectors else _encoded(runner, config, sources)
    stage = Stage("read vectors", each(_read), {_GROUP: [unit]})
    [done] = read_whole_files(runner, stage, config.reading.max_bad_share)[_GROUP]
    return PublicVocabulary(done.tables["vocabulary"], done.tables["merged"].num_rows)


def vocabulary_unit(config: PrivateVectorsRun, sources: PrivateSources) -> Unit:
    """Of a file of vectors."""
    embedding, file = cast(FileEmbedding, config.embedding), cast(FoundFile, sources.vectors)
    settings = {"file": file.identity, "format": embedding.format, "allow_pickle": embedding.allow_pickle}
    return Unit(_VERSION, "vectors", settings | {"words": config.vocabulary.words})


def _encoded(runner: Runner, config: PrivateVectorsRun, sources: PrivateSources) -> Unit:
    embedding = cast(EncoderEmbedding, config.embedding)
    words = words_to_encode(config, sources)
    encoded = encode(runner, embedding, sources.checkpoints, Selection(words)).one("vectors")
    return Unit(_VERSION, "vectors", {}, {"encoded": [encoded.select("word", "vector")]})


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


def _read(store: Store, unit: Unit) -> Tables:
    bad = BadRecords()
    words, vectors = _encoded_words(store, unit) if unit.inputs else words_of_file(unit.config, bad)
    yield from left_out_table(bad)
    rows = checked_rows(words, vectors, "vocabulary.word_file" if unit.inputs else "embedding.path")
    column = pa.array(words, pa.string())
    yield "merged", pa.table({"word": column.filter(pa.array(~np.isin(np.arange(len(words)), rows)))})
    # Few vocabularies have equal vectors, and a copy of the others is large.
    different = vectors[rows] if len(rows) < len(words) else vectors
    columns = {"row": np.arange(len(rows)), "word": column.take(pa.array(rows)), "vector": vector_column(different)}
    yield "vocabulary", pa.table(columns)


def words_of_file(settings: Mapping[str, Any], bad: BadRecords) -> tuple[Sequence[str], NDArray[np.floating]]:
    """The first words of a file, and their vectors; bad rows are counted.

    Raises:
        EmbeddingFileError: if it can't be read.
    """
    words, vectors = read_embedding(settings["file"]["uri"], settings["format"], settings["allow_pickle"], bad)
    return words[: settings["words"]], vectors[: settings["words"]]


def _encoded_words(store: Store, unit: Unit) -> tuple[Sequence[str], NDArray[np.floating]]:
    table = store.read(unit.input("encoded"))
    return table["word"].to_pylist(), matrix(table["vector"])


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
    table = store.read(ref.select("word", "vector"))
    return table["word"].to_pylist(), matrix(table["vector"]).astype(np.float64)


def rows_between(store: Store, ref: TableRef, low: int, high: int) -> tuple[Sequence[str], FloatArray]:
    """Some of a vocabulary, of which no more is read than they need."""
    table = store.read_between(ref, "row", low, high)
    return table["word"].to_pylist(), matrix(table["vector"]).astype(np.float64)
