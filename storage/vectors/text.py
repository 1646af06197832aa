"""Embeddings as text: a word and its numbers per line, below a line of counts (word2vec, fastText) or not (GloVe)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.storage.bad_records import BadRecords
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


def read_word2vec_text(path: str, stream: BinaryIO, bad: BadRecords | None = None) -> EmbeddingFile:
    """Raises :class:`EmbeddingFileError`, naming the line, as :func:`read_glove` does."""
    num_words, dimensions = header(path, stream.readline(_CHUNK_BYTES))
    rows = Rows(path, "line", 2, bad)
    for lines in _pieces(path, stream):
        _add(rows, lines, dimensions)
    if (num_read := rows.num_read - rows.num_empty) != num_words:
        raise EmbeddingFileError(f"{redacted(path)}: line 1 announces {num_words:,} words, but {num_read:,} come")
    return rows.embedding()


def read_glove(path: str, stream: BinaryIO, bad: BadRecords | None = None) -> EmbeddingFile:
    """Vectors are as long as most of the first hundred lines have them; words may hold spaces and numbers."""
    rows = Rows(path, "line", 1, bad)
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
    fits = (first >= 0) & (spaces[np.maximum(first, 0)] >= starts) if spaces.size else np.zeros(starts.size, bool)
    for row in np.flatnonzero(fits).tolist():
        word = lines[starts[row] : spaces[first[row]]]
        fits[row] = bool(word) and not _ONE_NUMBER_MORE.search(word)
    for row in np.flatnonzero(~fits).tolist():
        _leave_out(rows, row, lines[starts[row] : ends[row]], dimensions)
    kept = np.flatnonzero(fits)
    separators = spaces[first[kept, None] + np.arange(dimensions)]
    texts = _number_texts(content, separators, ends[kept])
    is_bad = _are_bad(texts, dimensions)
    for row in np.flatnonzero(is_bad).tolist():
        field = next(
            field
            for field in texts[row * dimensions :][:dimensions].cast(pa.binary()).to_pylist()
            if not _is_number(field)
        )
        detail = f"{field[:40]!r} is no number; vectors have {dimensions} dimensions here"
        rows.leave_out(rows.num_read + int(kept[row]), "a field that is no number", detail)
    kept, separators = kept[~is_bad], separators[~is_bad]
    numbers = texts.filter(pa.array(np.repeat(~is_bad, dimensions))) if is_bad.any() else texts
    words = [
        lines[start:end].decode(errors="replace")
        for start, end in zip(starts[kept].tolist(), separators[:, 0].tolist(), strict=True)
    ]
    vectors: NDArray[np.float32] = numbers.cast(pa.float32()).to_numpy()
    end = rows.num_read + starts.size
    rows.add(words, vectors.reshape(separators.shape), rows.num_read + kept)
    rows.num_read = end


def _stripped(content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where lines end without trailing spaces, which word2vec and fastText write, and carriage returns."""
    while (blank := (ends > starts) & np.isin(content[ends - 1], (_SPACE, _RETURN))).any():
        ends = ends - blank
    return ends


def _leave_out(rows: Rows, row: int, line: bytes, dimensions: int) -> None:
    if line.split():
        detail = f"has {count_numbers(line)} numbers after its word, not {dimensions}: {line[:40]!r}"
        rows.leave_out(rows.num_read + row, f"not {dimensions} numbers after a word", detail)
    else:
        rows.leave_out(rows.num_read + row, "is blank", kind="empty")


def _number_texts(content: NDArray[np.uint8], separators: NDArray[np.int64], ends: NDArray[np.int64]) -> pa.StringArray:
    """All numbers as one Arrow string array, whose bytes are the lines without words and separators."""
    stops = np.column_stack([separators[:, 1:], ends])
    borders = np.zeros(content.size + 1, np.int8)
    borders[separators + 1] += 1
    borders[stops] -= 1
    digits = content[np.cumsum(borders[:-1], dtype=np.int8).view(bool)]
    offsets = np.append(0, np.cumsum(stops - separators - 1)).astype(np.int32)
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(digits))


def _are_bad(texts: pa.StringArray, dimensions: int) -> NDArray[np.bool_]:
    """Whether any field of each row is no number, looked for by halves."""
    num_rows = len(texts) // dimensions
    try:
        texts.cast(pa.float32())
    except pa.ArrowInvalid:
        if num_rows == 1:
            return np.ones(1, bool)
        half = num_rows // 2 * dimensions
        return np.concatenate([_are_bad(texts[:half], dimensions), _are_bad(texts[half:], dimensions)])
    return np.zeros(num_rows, bool)


def _is_number(field: bytes) -> bool:
    """As Arrow reads numbers: Python reads 1_000, too."""
    try:
        pa.scalar(field).cast(pa.string()).cast(pa.float32())
    except pa.ArrowInvalid:
        return False
    return True
