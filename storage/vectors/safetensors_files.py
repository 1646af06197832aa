"""All replicas of an embedding in one file of safetensors, written tensor after tensor: one is held at a time."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from tiltmeter.storage.store.tables import write_file
from tiltmeter.storage.vectors.embedding import EmbeddingFileError

_MOST_HEADER_BYTES = 100_000_000
"""That readers of safetensors take."""


def write_safetensors(
    path: str,
    words: Sequence[str],
    names: Sequence[str],
    dimensions: int,
    vectors: Callable[[], Iterable[NDArray[np.floating]]],
    *,
    setting: str,
) -> int:
    """Write a file that becomes visible only when it is complete; returns its size in bytes.

    A tensor ``[words, dimensions]`` of each name, and the vocabulary as a JSON list in the metadata, under ``words``.

    Args:
        words: of every tensor's rows.
        names: of the tensors.
        vectors: gives ``[words, dimensions]`` of each, in the order of names, from the first again if the disk has
            failed and is tried once more; NaN in rows of words that are not in it.
        setting: what a user changes to move the file elsewhere.

    Raises:
        EmbeddingFileError: for a vocabulary that no reader would take.
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    size = 4 * len(words) * dimensions
    metadata = {"words": json.dumps(list(words), ensure_ascii=False)}
    tensors = {
        name: {"dtype": "F32", "shape": [len(words), dimensions], "data_offsets": [place * size, (place + 1) * size]}
        for place, name in enumerate(names)
    }
    header = json.dumps({"__metadata__": metadata, **tensors}, ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > _MOST_HEADER_BYTES:
        many = f"a vocabulary of {len(words):,} words"
        raise EmbeddingFileError(f"{path}: {many} is too large for safetensors; take parquet")

    def write(sink: IO[bytes] | pa.NativeFile) -> None:
        sink.write(len(header).to_bytes(8, "little") + header)
        for part in vectors():
            sink.write(np.ascontiguousarray(part, "<f4").tobytes())

    return write_file(fs.LocalFileSystem(), path, write, setting=setting)
