"""Embeddings in the formats that people have: of word2vec, GloVe and gensim, and as a Parquet table.

==================== ======================================================= ================
format               a word with a space, ``new york``                       packed
==================== ======================================================= ================
``word2vec_text``    written ``new_york``, read as it stands                 bz2, gz, zst
``word2vec_binary``  written ``new_york``; ends at the first space when read bz2, gz, zst
``glove``            as ``word2vec_text``, whose first line it lacks         bz2, gz, zst
``keyedvectors``     as ``word2vec_text``; this format of gensim is a pickle by gensim
``parquet``          as it is; columns ``word`` and ``vector``               within
==================== ======================================================= ================

Other programs take a line apart at every space and could not read ``new york``; underscores are what word2vec's own
phrases have, so every format but Parquet has them. Every format gives back the same float32; gensim's also has counts.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.tables import Writer, write_file
from tiltmeter.storage.vectors.binary import binary_pieces, read_word2vec_binary
from tiltmeter.storage.vectors.embedding import PACKERS, EmbeddingFile, EmbeddingFileError, head, unpacked
from tiltmeter.storage.vectors.tables import check_allowed, keyedvectors, parquet_table, read_keyedvectors, read_parquet
from tiltmeter.storage.vectors.text import HEADER, count_numbers, header, read_glove, read_word2vec_text, text_pieces

__all__ = [
    "EmbeddingFile",
    "EmbeddingFileError",
    "ExportFormat",
    "check_pickle",
    "look_through_embedding",
    "read_embedding",
    "write_embedding",
]

ExportFormat = Literal["word2vec_text", "word2vec_binary", "glove", "keyedvectors", "parquet"]

_HEAD_BYTES = 2**16
_PICKLE_STARTS = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
_PARQUET_START = b"PAR1"
_OTHERS = {
    b"\xba\x16\x4f\x2f": "is a model of the fastText program; take the .vec file beside it",
    b"PK\x03\x04": "is a zip archive; unpack it and take a file from within",
    b"\x93NUMPY": "is an array of numpy without words; take the file that it is the companion of",
}
_READERS: dict[ExportFormat, Callable[[str, BinaryIO, BadRecords | None], EmbeddingFile]] = {
    "word2vec_text": read_word2vec_text,
    "word2vec_binary": read_word2vec_binary,
    "glove": read_glove,
}
_PIECES: dict[ExportFormat, Callable[[EmbeddingFile], Iterator[bytes]]] = {
    "word2vec_text": lambda embedding: text_pieces(embedding, has_header=True),
    "word2vec_binary": binary_pieces,
    "glove": lambda embedding: text_pieces(embedding, has_header=False),
}


def check_pickle(path: str, allow_pickle: bool, setting: str | None) -> None:
    """Refuse gensim's format, by the first bytes of a file, before any work; what can't be read is for those who read.

    Args:
        path: of the file.
        allow_pickle: as of :func:`read_embedding`.
        setting: that allows it, for the message; None where nothing does.

    Raises:
        EmbeddingFileError: if the file is a pickle and may not be read.
    """
    try:
        start = head(path, 2)
    except (EmbeddingFileError, InputError):
        return  # it is told when the file is read
    if start.startswith(_PICKLE_STARTS):
        check_allowed(path, allow_pickle, setting)


def read_embedding(
    path: str,
    format: Literal["auto", ExportFormat] = "auto",
    allow_pickle: bool = False,
    bad: BadRecords | None = None,
) -> EmbeddingFile:
    """Words and vectors of a file, whatever its name.

    What is not UTF-8 in a word becomes U+FFFD (programs in C cut words at a number of bytes); words that are equal only
    after this are numbered, the second with ``#2`` at its end. Any other word that comes again is a bad row, as is one
    with too many or too few numbers, or with what is no number or not finite. Rows of a Parquet table without a vector
    (null or NaN) are passed over; its columns other than ``word`` and ``vector``, such as ``language`` and
    ``replica``, must have one value.

    Args:
        path: a local path, or a URI of any format but ``keyedvectors``.
        format: ``auto`` looks at the content. A whole Word2Vec or FastText model of gensim counts as ``keyedvectors``.
        allow_pickle: whether to read gensim's format, a pickle; nothing that it asks for is run either way, see
            :mod:`.vectors.gensim_files`.
        bad: counts the bad rows, which are left out; None: the first is refused.

    Raises:
        EmbeddingFileError: naming file, line or row, and what is wrong with it.
        InputError: if there is no such file.
    """
    start = head(path, _HEAD_BYTES)
    is_pickle = start.startswith(_PICKLE_STARTS)
    if is_pickle or format == "keyedvectors":
        if format not in ("auto", "keyedvectors"):
            raise EmbeddingFileError(
                f"{redacted(path)}: is a pickle, which is the format keyedvectors and not {format}"
            )
        return read_keyedvectors(path, allow_pickle, bad)
    chosen = _recognised(path, start) if format == "auto" else format
    if chosen == "parquet":
        return read_parquet(path, bad)
    with unpacked(path) as stream:
        return _READERS[chosen](path, stream, bad)


def look_through_embedding(path: str) -> None:
    """Count the bad rows of a file for the run, before its work; gensim's format is refused.

    Raises:
        EmbeddingFileError, InputError: as :func:`read_embedding`.
    """
    bad = BadRecords()
    read_embedding(path, bad=bad)
    collect(bad)


def write_embedding(
    filesystem: fs.FileSystem,
    path: str,
    embedding: EmbeddingFile,
    format: ExportFormat,
    *,
    setting: str,
    counts: Sequence[int] | None = None,
) -> int:
    """Write a file that becomes visible only when it is complete; returns its size in bytes.

    Words without a vector (NaN) are left out. A name that ends in ``.bz2``, ``.gz`` or ``.zst`` has its content packed.
    gensim's format is one file, without companions, because only one file can be whole or absent.

    Args:
        filesystem, path: where to write.
        embedding: words, and vectors float32 ``[words, dimensions]``.
        format: see the table above.
        counts: occurrences of each word, which gensim's format has room for.
        setting: what a user changes to move the file elsewhere, such as ``run_dir=<path>``; a StorageError names it.

    Raises:
        EmbeddingFileError: if a word can't be written in this format, or two words not apart.
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    present = ~np.isnan(embedding.vectors).any(axis=1)
    words = [embedding.words[row] for row in np.flatnonzero(present)]
    kept = EmbeddingFile(words, embedding.vectors[present].astype(np.float32, copy=False))
    kept_counts = None if counts is None else np.asarray(counts, np.int64)[present]
    return write_file(filesystem, path, _writer(path, kept, format, kept_counts), setting=setting)


def _recognised(path: str, start: bytes) -> ExportFormat:
    if start.startswith(_PARQUET_START):
        return "parquet"
    for magic, advice in _OTHERS.items():
        if start.startswith(magic):
            raise EmbeddingFileError(f"{redacted(path)}: {advice}")
    line, _, rest = start.partition(b"\n")
    if HEADER.fullmatch(line):
        is_text = _count_in_first(rest) >= min(2, header(path, line)[1])
        return "word2vec_text" if is_text else "word2vec_binary"
    if _count_in_first(start):
        return "glove"
    raise EmbeddingFileError(
        f"{redacted(path)}: is in no known format (word2vec text or binary, GloVe, KeyedVectors, Parquet): it begins "
        f"with {start[:40]!r}"
    )


def _count_in_first(content: bytes) -> int:
    """Numbers of the first line, as far as it can be seen."""
    line, newline, _ = content.partition(b"\n")
    return count_numbers(line if newline or len(content) < _HEAD_BYTES // 2 else line.rpartition(b" ")[0])


def _writer(path: str, embedding: EmbeddingFile, format: ExportFormat, counts: NDArray[np.int64] | None) -> Writer:
    ending = next((ending for ending in PACKERS if path.endswith(ending)), None)
    if ending and format not in _PIECES:
        raise EmbeddingFileError(f"{path}: {format} is not packed as a whole; leave {ending} off the name")
    if format == "parquet":
        return lambda sink: pq.write_table(parquet_table(embedding), sink, compression="zstd")
    written = EmbeddingFile(_words_without_space(path, embedding.words, format), embedding.vectors)
    if format == "keyedvectors":
        return lambda sink: keyedvectors(written, counts).save(sink)
    for word in written.words:
        if not word or "\n" in word or word.endswith("\r"):
            raise EmbeddingFileError(f"{path}: {format} has no way to write the word {word!r}")
    return lambda sink: _write_pieces(sink, _PIECES[format](written), PACKERS[ending] if ending else bytes)


def _write_pieces(sink: IO[bytes] | pa.NativeFile, pieces: Iterator[bytes], pack: Callable[[bytes], bytes]) -> None:
    for piece in pieces:
        sink.write(pack(piece))


def _words_without_space(path: str, words: list[str], format: ExportFormat) -> list[str]:
    written = [word.replace(" ", "_") for word in words]
    if len(set(written)) < len(words):
        word = Counter(written).most_common(1)[0][0]
        alike = [original for original, name in zip(words, written, strict=True) if name == word]
        raise EmbeddingFileError(f"{path}: {format} would write {alike} all as {word!r}; take parquet")
    return written
