"""The stage that reads the public vectors."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.vectors.encoding import EncoderEmbedding, encode
from tiltmeter.jobs.embedding.vectors.selection import Selection, matrix, vector_column
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release import sensitivity
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

_MIN_WORDS = 3
_GROUP = "vectors"


def read_vocabulary(runner: Runner, config: PrivateVectorsRun, sources: PrivateSources) -> TableRef:
    """Words and their vectors, in the order of the file; the table ``vocabulary``."""
    embedding, num_words = config.embedding, config.vocabulary.words
    if isinstance(embedding, FileEmbedding):
        file = sources.vectors
        assert file  # noqa: S101
        settings = {"file": file.identity, "format": embedding.format, "allow_pickle": embedding.allow_pickle}
        units = [Unit("private_vocabulary/1", "vectors", settings | {"words": num_words})]
        [done] = runner.run_whole(Stage("read vectors", each(_read), {_GROUP: units}))[_GROUP]
        return done.tables["vocabulary"]
    return _encoded(runner, embedding, sources)


def _encoded(runner: Runner, embedding: EncoderEmbedding, sources: PrivateSources) -> TableRef:
    assert sources.words  # noqa: S101
    with opened(sources.words.uri) as file:
        words = tuple(dict.fromkeys(line.strip() for line in file.read().decode("utf-8").splitlines() if line.strip()))
    [[done]] = encode(runner, embedding, sources.checkpoints, Selection(words)).values()
    return done.tables["vectors"].select("word", "vector")


def _read(_: Store, unit: Unit) -> Tables:
    config = unit.config
    words, vectors = read_embedding(config["file"]["uri"], config["format"], config["allow_pickle"])
    words, vectors = words[: config["words"]], vectors[: config["words"]]
    check_vectors(words, vectors.astype(np.float64), "embedding.path")
    yield "vocabulary", pa.table({"word": pa.array(words, pa.string()), "vector": vector_column(vectors)})


def check_vectors(words: Sequence[str], vectors: FloatArray, setting: str) -> None:
    """Refuse vectors that no noise could be made for.

    Raises:
        InputError: naming the first that is not finite, or if there are too few.
    """
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise InputError(
            f"{setting}: the vector of {words[row]!r}, row {row:,}, is not finite: leave it out of the file"
        )
    if len(words) < _MIN_WORDS:
        raise InputError(f"{setting}: has {len(words)} words with a vector, and must have {_MIN_WORDS} at least")


def vectors_of(store: Store, ref: TableRef) -> FloatArray:
    """Vectors of a table, ``[rows, dimensions]``."""
    return matrix(store.read(ref.select("vector"))["vector"]).astype(np.float64)


def distinct_vectors(store: Store, ref: TableRef) -> tuple[FloatArray, Sequence[str]]:
    """Vectors of which no two are equal, and their words."""
    table = store.read(ref)
    vectors = matrix(table["vector"]).astype(np.float64)
    rows = sensitivity.distinct_rows(vectors)
    return vectors[rows], table["word"].take(pa.array(rows)).to_pylist()
