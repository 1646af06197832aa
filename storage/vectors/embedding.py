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

from tiltmeter.storage.bad_records import BadRecords, Kind
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
        bad: counts the rows that are left out; None: the first bad row is refused.

    Attributes:
        words: of the rows that are kept.
        num_read: rows so far.
        num_empty: those with nothing in them.
    """

    def __init__(self, path: str, row_name: str, first_row: int, bad: BadRecords | None = None) -> None:
        self._path, self._row_name, self._first_row, self._bad = path, row_name, first_row, bad
        self.words: list[str] = []
        self.num_read = self.num_empty = 0
        self._numbers: list[NDArray[np.int64]] = []
        self._vectors: NDArray[np.float32] | None = None

    def place(self, row: int) -> str:
        """File and row, from 0, for messages."""
        return f"{redacted(self._path)}: {self._row_name} {self._first_row + row:,}"

    def leave_out(self, row: int, reason: str, detail: str = "", kind: Kind = "bad") -> None:
        """Count a row, from 0, that can't be used.

        Raises:
            EmbeddingFileError: with the detail, or else the reason, where bad rows are refused.
        """
        if self._bad is None:
            raise EmbeddingFileError(f"{self.place(row)}: {detail or reason}")
        self.num_empty += kind == "empty"
        self._bad.add(redacted(self._path), reason, f"{self._row_name} {self._first_row + row:,}", kind=kind)

    def add(self, words: Sequence[str], vectors: NDArray[np.float32], rows: NDArray[np.int64] | None = None) -> None:
        """Append rows, but for those with a number that is not finite.

        Args:
            words, vectors: of these rows.
            rows: their numbers in the file, from 0; None: those behind what was read so far.
        """
        rows = self.num_read + np.arange(len(words)) if rows is None else rows
        self.num_read = max([self.num_read, *(rows[-1:] + 1).tolist()])
        finite = np.isfinite(vectors).all(axis=1)
        for row in rows[~finite].tolist():
            self.leave_out(row, "holds a number that is not finite")
        kept = np.flatnonzero(finite)
        if len(kept) < len(words):
            words, vectors, rows = [words[row] for row in kept.tolist()], vectors[kept], rows[kept]
        start = len(self.words)
        self.words.extend(words)
        self._numbers.append(rows)
        if self._vectors is None:
            self._vectors = np.empty((0, vectors.shape[1]), np.float32)
        self._vectors.resize((len(self.words), vectors.shape[1]), refcheck=False)
        self._vectors[start:] = vectors

    def embedding(self) -> EmbeddingFile:
        """Each word once, with those that only differed in bytes that are not UTF-8 numbered.

        Raises:
            EmbeddingFileError: if there is no row that can be used.
        """
        file = redacted(self._path)
        if self._bad is not None:
            self._bad.read(file, self.num_read)
        if not self.words or self._vectors is None:
            reasons = self._bad.reasons(file) if self._bad is not None else ""
            raise EmbeddingFileError(
                f"{file}: none of its rows can be used: {reasons}" if reasons else f"{file}: holds no word"
            )
        if len(set(self.words)) == len(self.words):
            return EmbeddingFile(self.words, self._vectors)
        kept = self._number_broken_words()
        return EmbeddingFile([self.words[row] for row in kept], self._vectors[kept])

    def _number_broken_words(self) -> list[int]:
        """The rows whose word has not come before; any other is left out."""
        numbers, kept = np.concatenate(self._numbers).tolist(), []
        first: dict[str, int] = {}
        times: Counter[str] = Counter()
        for row, word in enumerate(self.words):
            times[word] += 1
            if word in first and _BROKEN not in word:
                detail = f"{word!r} has come before, at {self._first_row + first[word]:,}"
                self.leave_out(numbers[row], "a word that has come before", detail)
                continue
            kept.append(row)
            first.setdefault(word, numbers[row])
            if times[word] > 1:
                self.words[row] = f"{word}#{times[word]}"
        return kept


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
