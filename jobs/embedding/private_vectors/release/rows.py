"""What is released, row by row: private vectors, or the public vectors of private words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter.jobs.embedding.config import FileEmbedding
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, lines_of
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.deniability import nearest_rows
from tiltmeter.operators.embedding.private_release.projections import clipped
from tiltmeter.operators.embedding.private_release.secrets import content_digest
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.files import read_embedding


@dataclass(frozen=True)
class Rows:
    """Attributes:
    vectors: ``[p, d]``.
    order: ``[rows]`` which of them is released in each row; None: all of them, in their order.
    radius: that private vectors are shortened to as they are released; None: they are not.
    """

    vectors: FloatArray
    order: IntArray | None
    radius: float | None = None

    @property
    def num(self) -> int:
        """Of rows."""
        return len(self.vectors if self.order is None else self.order)

    def block(self, start: int, end: int) -> FloatArray:
        """Vectors of some rows, as they are released."""
        rows = self.vectors[start:end] if self.order is None else self.vectors[self.order[start:end]]
        return clipped(rows, self.radius) if self.radius else rows

    def digest(self, key: bytes) -> str:
        """Of all rows, which says nothing to those who lack the key."""
        places = [] if self.order is None else [content_digest(key, self.order.astype(np.float64))]
        vectors = clipped(self.vectors, self.radius) if self.radius else self.vectors
        return " ".join([content_digest(key, vectors), *places])


@dataclass(frozen=True)
class RowFiles:
    """Where the rows are, and how they are read.

    Attributes:
        uri, format, allow_pickle: of the file of vectors.
        radius: that private vectors are shortened to; None: they are not.
        words: file of private words; None: the vectors are private.
        num_public: vectors of a public vocabulary that count, its first; None: all.
    """

    uri: str
    format: Any
    allow_pickle: bool
    radius: float | None
    words: str | None
    num_public: int | None

    @classmethod
    def of(cls, config: PrivateVectorsRun, sources: PrivateSources) -> "RowFiles":
        """Of a run that has been checked."""
        embedding, vectors = config.embedding, sources.vectors
        if not isinstance(embedding, FileEmbedding) or vectors is None:
            raise InputError("release.key_file: vectors of a file are released; set embedding=file")
        words = sources.words.uri if sources.words else None
        file = (vectors.uri, embedding.format, embedding.allow_pickle)
        return cls(*file, config.release.radius, words, config.vocabulary.words if words else None)

    def read(self) -> Rows:
        """All rows.

        Raises:
            InputError: without a word of what the private file holds.
        """
        return self._private_vectors() if self.words is None else self._private_words(self.words)

    def _private_vectors(self) -> Rows:
        try:
            vectors = read_embedding(self.uri, self.format, self.allow_pickle).vectors.astype(np.float64)
        except Exception as error:  # its message and cause name words, rows and values
            kind = type(error).__name__
            raise InputError(
                f"embedding.path: can't be read as vectors ({kind}); nothing is said of them here"
            ) from None
        if not np.isfinite(vectors).all() or not len(vectors):
            raise InputError("embedding.path: has vectors that are not finite, or none; nothing is said of them here")
        return Rows(vectors, None, self.radius)

    def _private_words(self, path: str) -> Rows:
        public, singles = read_embedding(self.uri, self.format, self.allow_pickle, BadRecords())
        vectors = singles[: self.num_public].astype(np.float64)
        rows = {word: row for row, word in enumerate(public[: self.num_public])}
        # A word without a vector gets that of one public word, which is a word of the vocabulary like all others.
        unknown = int(nearest_rows(vectors.mean(axis=0, keepdims=True), vectors)[0])
        order = np.array([rows.get(word, unknown) for word in lines_of(path, "release.words")], dtype=np.int64)
        if not len(order):
            raise InputError("release.words: has no line")
        return Rows(vectors, order)
