"""What every corpus reader shares: the page it yields, the error it raises, and how it opens a file."""

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

PageKind = Literal["article", "redirect", "other_namespace"]


class CorpusError(ValueError):
    """A corpus that cannot be read; the message names the file and, where known, the line, page or byte."""


class Page(NamedTuple):
    """One page of a corpus.

    Attributes:
        id: unique within the corpus; bootstrap draws are keyed by it.
        title: empty if the corpus has none.
        text: in the markup of the corpus.
        kind: whether it is an article, and if not, why.
    """

    id: str
    title: str
    text: str
    kind: PageKind


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a plain, bzip2 or gzip file, unpacked while they are read.

    The compression is told by the first bytes, whatever the file is called.

    Raises:
        CorpusError: also from within the ``with`` block, if the compressed data break off or are damaged.
    """
    with path.open("rb") as raw:
        magic = raw.read(3)
        raw.seek(0)
        stream = _unpacked(raw, magic)
        try:
            yield stream
        except (EOFError, OSError, zlib.error) as error:
            raise CorpusError(f"{path}: cannot be read on from byte {stream.tell():,} (unpacked): {error}") from error


def _unpacked(raw: BinaryIO, magic: bytes) -> BinaryIO:
    if magic == b"BZh":
        return cast(BinaryIO, io.BufferedReader(bz2.BZ2File(raw)))
    if magic[:2] == b"\x1f\x8b":
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=raw)))
    return raw


def head(path: Path, num_bytes: int) -> bytes:
    """The first bytes of a file, unpacked."""
    with opened(path) as stream:
        return stream.read(num_bytes)
