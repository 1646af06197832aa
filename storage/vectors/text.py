"""Embeddings as text: a word and its numbers per line, below a line of counts (word2vec, fastText) or not (GloVe)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.vectors.embedding import EmbeddingFile, EmbeddingFileError, Rows

_CHUNK_BYTES = 2**23
_CHUNK_ROWS = 4096
_NEWLINE, _RETURN, _SPACE = b"\n\r "
_LINES_TO_COUNT = 100

_MAX_LINE_BYTES = 2**24
_MAX_DIMENSIONS = 2**16
_MAX_DIGITS = 15

HEADER = re.compile(rb"(\d+)[ \t]([1-9]\d*)[ \t\r]*\n?")

_ONE_NUMBER_MORE = re.compile(rb" [-+]?\d*\.\d{4,}([eE][-+]?\d+)?$")
"""A number with four decimals belongs to the vector, which is too long then; ``world war 2`` is a word."""


def read_word2vec_text(path: str, stream: BinaryIO) -> EmbeddingFile:
    """Raises :class:`EmbeddingFileError`, naming the line, as :func:`read_glove` does."""
    num_words, dimensions = header(path, stream.readline(_CHUNK_BYTES))
    rows = Rows(path, "line", 2)
    for lines in _pieces(path, stream):
        _add(rows, lines, dimensions)
    if len(rows.words) != num_words:
        raise EmbeddingFileError(
            f"{redacted(path)}: line 1 announces {num_words:,} words, but {len(rows.words):,} come"
        )
    return rows.embedding()


def read_glove(path: str, stream: BinaryIO) -> EmbeddingFile:
    """Vectors are as long as most of the first hundred lines have them; words may hold spaces and numbers."""
    rows = Rows(path, "line", 1)
    dimensions = 0
    for lines in _pieces(path, stream):
        dimensions = dimensions or _usual_length(path, lines)
        _add(rows, lines, dimensions)
    return rows.embedding()


def header(path: str, line: bytes) -> tuple[int, int]:
    """Numbers of words and of dimensions, which a file of word2vec begins with.

    Raises:
        EmbeddingFileError: if the line is anything else, or announces more than any embedding has.
    """
    if match := HEADER.fullmatch(line):
        if max(map(len, match.groups())) > _MAX_DIGITS or int(match[2]) > _MAX_DIMENSIONS:
            raise EmbeddingFileError(
                f"{redacted(path)}: line 1, {line[:40]!r}, announces more than the {_MAX_DIMENSIONS:,} dimensions, or "
                f"the numbers of {_MAX_DIGITS} digits, that are read"
            )
        return int(match[1]), int(match[2])
    raise EmbeddingFileError(
        f"{redacted(path)}: line 1 must give the numbers of words and dimensions, but is {line[:40]!r}; a file without "
        "such a line is read with format=glove"
    )


def count_numbers(line: bytes) -> int:
    """How many fields at the end of a line are numbers; the first field is none of them.

    >>> count_numbers(b"world war 2 -0.1 2e-05"), count_numbers(b"7 0.5")
    (3, 1)
    """
    # Spaces alone part fields: a form feed, say, is a word.
    fields = re.split(rb" +", line.strip(b" \r\n"))[1:]
    return next((count for count, field in enumerate(reversed(fields)) if not _is_number(field)), len(fields))


def text_pieces(embedding: EmbeddingFile, has_header: bool) -> Iterator[bytes]:
    """The file, piece by piece, with the shortest decimals that give the same float32."""
    if has_header:
        yield "{} {}\n".format(*embedding.vectors.shape).encode()
    for start in range(0, len(embedding.words), _CHUNK_ROWS):
        vectors = np.ascontiguousarray(embedding.vectors[start : start + _CHUNK_ROWS])
        numbers = pa.array(vectors.ravel()).cast(pa.string())
        joined = pc.binary_join(
            pa.FixedSizeListArray.from_arrays(numbers, vectors.shape[1]).cast(pa.list_(pa.string())), " "
        )
        words = pa.array(embedding.words[start : start + _CHUNK_ROWS], pa.string())
        lines = pc.binary_join_element_wise(words, joined, " ").to_pylist()
        yield ("\n".join(lines) + "\n").encode()


def _usual_length(path: str, lines: bytes) -> int:
    counts = Counter(map(count_numbers, lines.split(b"\n", _LINES_TO_COUNT)[:-1]))
    usual = min(counts, key=lambda count: (-counts[count], count))
    if usual > _MAX_DIMENSIONS:
        raise EmbeddingFileError(
            f"{redacted(path)}: has {usual:,} numbers in a line; {_MAX_DIMENSIONS:,} are read at most"
        )
    if not usual:
        raise EmbeddingFileError(f"{redacted(path)}: line 1 is no word with numbers behind it: {lines[:40]!r}")
    return usual


def _pieces(path: str, stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK_BYTES):
        rest = stream.readline(_MAX_LINE_BYTES)
        if len(rest) == _MAX_LINE_BYTES:
            raise EmbeddingFileError(
                f"{redacted(path)}: has a line of more than {_MAX_LINE_BYTES:,} bytes: it is no embedding"
            )
        lines = chunk + rest
        yield lines if lines.endswith(b"\n") else lines + b"\n"


def _add(rows: Rows, lines: bytes, dimensions: int) -> None:
    """Parse whole lines at once: where numbers begin is found by counting spaces from the right."""
    content = np.frombuffer(lines, np.uint8)
    breaks = np.flatnonzero(content == _NEWLINE)
    starts = np.append(0, breaks[:-1] + 1)
    ends = _stripped(content, starts, breaks)
    spaces = np.flatnonzero(content == _SPACE)
    first = np.searchsorted(spaces, ends) - dimensions
    too_short = (first < 0) | (spaces[np.maximum(first, 0)] < starts) if spaces.size else np.ones(starts.size, bool)
    if too_short.any():
        row = int(too_short.argmax())
        _refuse_length(rows, row, lines[starts[row] : ends[row]], dimensions)
    separators = spaces[first[:, None] + np.arange(dimensions)]
    words = [lines[start:end] for start, end in zip(starts.tolist(), separators[:, 0].tolist(), strict=True)]
    for row, word in enumerate(words):
        if not word or _ONE_NUMBER_MORE.search(word):
            _refuse_length(rows, row, lines[starts[row] : ends[row]], dimensions)
    rows.add([word.decode(errors="replace") for word in words], _numbers(rows, content, separators, ends))


def _stripped(content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where lines end without trailing spaces, which word2vec and fastText write, and carriage returns."""
    while (blank := (ends > starts) & np.isin(content[ends - 1], (_SPACE, _RETURN))).any():
        ends = ends - blank
    return ends


def _refuse_length(rows: Rows, row: int, line: bytes, dimensions: int) -> None:
    place = rows.place(len(rows.words) + row)
    if not line.split():
        raise EmbeddingFileError(f"{place}: is blank")
    raise EmbeddingFileError(
        f"{place}: has {count_numbers(line)} numbers after its word, not {dimensions}: {line[:40]!r}"
    )


def _numbers(
    rows: Rows, content: NDArray[np.uint8], separators: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.float32]:
    """All numbers as one Arrow string array, whose bytes are the lines without words and separators."""
    stops = np.column_stack([separators[:, 1:], ends])
    borders = np.zeros(content.size + 1, np.int8)
    borders[separators + 1] += 1
    borders[stops] -= 1
    digits = content[np.cumsum(borders[:-1], dtype=np.int8).view(bool)]
    offsets = np.append(0, np.cumsum(stops - separators - 1)).astype(np.int32)
    texts = pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(digits))
    try:
        numbers: NDArray[np.float32] = texts.cast(pa.float32()).to_numpy()
    except pa.ArrowInvalid as error:
        raise _bad_number(rows, texts, separators.shape[1]) from error
    return numbers.reshape(separators.shape)


def _bad_number(rows: Rows, texts: pa.StringArray, dimensions: int) -> EmbeddingFileError:
    fields = texts.cast(pa.binary()).to_pylist()
    index, field = next((index, field) for index, field in enumerate(fields) if not _is_number(field))
    place = rows.place(len(rows.words) + index // dimensions)
    return EmbeddingFileError(f"{place}: {field[:40]!r} is no number; vectors have {dimensions} dimensions here")


def _is_number(field: bytes) -> bool:
    """As Arrow reads numbers: Python reads 1_000, too."""
    try:
        pa.scalar(field).cast(pa.string()).cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
