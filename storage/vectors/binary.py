"""Embeddings as word2vec's program writes them: a line of counts, then each word, a space, and its float32 numbers."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.vectors.embedding import EmbeddingFile, EmbeddingFileError, Rows
from tiltmeter.storage.vectors.text import header

_CHUNK_BYTES = 2**23
_CHUNK_ROWS = 4096
_MAX_WORD_BYTES = 2**16
_NUMBER = np.dtype("<f4")


def read_word2vec_binary(path: str, stream: BinaryIO, bad: BadRecords | None = None) -> EmbeddingFile:
    """Raises :class:`EmbeddingFileError`, naming the word by its number, if a word repeats or the file breaks off."""
    num_words, dimensions = header(path, stream.readline(_MAX_WORD_BYTES))
    rows = Rows(path, "word", 1, bad)
    rest = b""
    while rows.num_read < num_words and (chunk := stream.read(_CHUNK_BYTES)):
        rest = _add(rows, rest + chunk, dimensions, num_words)
    if rows.num_read < num_words:
        raise EmbeddingFileError(
            f"{rows.place(rows.num_read)}: the file breaks off here; line 1 announces {num_words:,} words of "
            f"{dimensions} dimensions"
        )
    if left := (rest + stream.read(_MAX_WORD_BYTES)).strip():
        raise EmbeddingFileError(
            f"{redacted(path)}: goes on with {left[:40]!r} after the {num_words:,} words of {dimensions} dimensions "
            "that line 1 announces"
        )
    return rows.embedding()


def binary_pieces(embedding: EmbeddingFile) -> Iterator[bytes]:
    """The file, piece by piece, with a line break behind each vector as word2vec's program has it."""
    yield "{} {}\n".format(*embedding.vectors.shape).encode()
    for start in range(0, len(embedding.words), _CHUNK_ROWS):
        numbers = embedding.vectors[start : start + _CHUNK_ROWS].astype(_NUMBER)
        words = embedding.words[start : start + _CHUNK_ROWS]
        yield b"".join(
            word.encode() + b" " + vector.tobytes() + b"\n" for word, vector in zip(words, numbers, strict=True)
        )


def _add(rows: Rows, content: bytes, dimensions: int, num_words: int) -> bytes:
    """Take the whole words at the beginning of the content; returns the rest."""
    num_bytes = dimensions * _NUMBER.itemsize
    words: list[bytes] = []
    vectors: list[NDArray[np.float32]] = []
    position = 0
    while rows.num_read + len(words) < num_words:
        space = content.find(b" ", position, position + _MAX_WORD_BYTES)
        if space < 0 and len(content) - position > _MAX_WORD_BYTES:
            raise _misaligned(rows, len(words))
        if space < 0 or space + 1 + num_bytes > len(content):
            break
        words.append(content[position:space].lstrip(b"\n"))
        vectors.append(np.frombuffer(content, _NUMBER, dimensions, space + 1))
        position = space + 1 + num_bytes
    if b"" in words:
        raise _misaligned(rows, words.index(b""))
    if words:
        rows.add([word.decode(errors="replace") for word in words], np.stack(vectors))
    return content[position:]


def _misaligned(rows: Rows, row: int) -> EmbeddingFileError:
    place = rows.place(rows.num_read + row)
    return EmbeddingFileError(f"{place}: is no word; line 1 may give a wrong number of dimensions")
