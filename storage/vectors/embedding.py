"""What the formats of embeddings share: words with vectors, what is refused in them, and packed files."""

import bz2
import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.storage.corpora import packed
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import reason, redacted

_BROKEN = "\ufffd"

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".bz2": bz2.compress,
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".zst": lambda content: cast(bytes, pa.Codec("zstd").compress(content, asbytes=True)),
}
"""By the ending of a name; packed pieces one after the other are a packed file in all three formats."""


class EmbeddingFileError(Refusal, ValueError):
    """An embedding that can't be read or written; the message names the file and, where known, line, word or row."""


class EmbeddingFile(NamedTuple):
    """Attributes:
    words: each once.
    vectors: ``[words, dimensions]`` float32.
    """

    words: list[str]
    vectors: NDArray[np.float32]


class Rows:
    """Words and vectors as they are read, piece by piece, in memory that grows where it lies.

    Args:
        path: the file.
        row_name: what a row is called there.
        first_row: the number of the first.
    """

    def __init__(self, path: str, row_name: str, first_row: int) -> None:
        self._path, self._row_name, self._first_row = path, row_name, first_row
        self.words: list[str] = []
        self._vectors: NDArray[np.float32] | None = None

    def place(self, row: int) -> str:
        """File and row, for messages."""
        return f"{redacted(self._path)}: {self._row_name} {self._first_row + row:,}"

    def add(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Append rows.

        Raises:
            EmbeddingFileError: for a number that is not finite.
        """
        start = len(self.words)
        if not (finite := np.isfinite(vectors).all(axis=1)).all():
            raise EmbeddingFileError(f"{self.place(start + int(finite.argmin()))}: holds a number that is not finite")
        self.words.extend(words)
        if self._vectors is None:
            self._vectors = np.empty((0, vectors.shape[1]), np.float32)
        self._vectors.resize((len(self.words), vectors.shape[1]), refcheck=False)
        self._vectors[start:] = vectors

    def embedding(self) -> EmbeddingFile:
        """All rows, with words that only differed in bytes that are not UTF-8 numbered.

        Raises:
            EmbeddingFileError: if there is no row, or another word comes twice.
        """
        if self._vectors is None:
            raise EmbeddingFileError(f"{redacted(self._path)}: holds no word")
        if len(set(self.words)) < len(self.words):
            self._number_broken_words()
        return EmbeddingFile(self.words, self._vectors)

    def _number_broken_words(self) -> None:
        first: dict[str, int] = {}
        times: Counter[str] = Counter()
        for row, word in enumerate(self.words):
            times[word] += 1
            if word in first and _BROKEN not in word:
                raise EmbeddingFileError(f"{self.place(row)}: {word!r} has come before, at {first[word]:,}")
            first.setdefault(word, self._first_row + row)
            if times[word] > 1:
                self.words[row] = f"{word}#{times[word]}"


@contextmanager
def unpacked(path: str) -> Iterator[BinaryIO]:
    """The content of a plain, bzip2, gzip or zstd file, unpacked while it is read, whatever its name.

    Raises:
        EmbeddingFileError: also from within the ``with`` block, if packed content breaks off or is damaged.
        InputError: if there is no such file.
    """
    with opened(path) as raw:
        try:
            yield packed.unpacked(raw)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise EmbeddingFileError(f"{redacted(path)}: cannot be read on: {reason(error)}") from error


def head(path: str, num_bytes: int) -> bytes:
    """The first bytes of the unpacked content."""
    with unpacked(path) as stream:
        return stream.read(num_bytes)
