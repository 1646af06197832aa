"""Arrays on a local disk, for work that needs more than a worker's memory."""

import mmap
import os
import tempfile
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tiltmeter.storage.errors import StorageError


def temporary_folder() -> str:
    """The system's for temporary files.

    Raises:
        StorageError: if none can be written.
    """
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise StorageError(
            f"{error.strerror}; set the environment's TMPDIR=<path> to one that can be written"
        ) from error


class Scratch:
    """Gives out arrays that are files without a name: they go with the process that uses them, however it ends.

    Args:
        folder: on a local disk; None: the system's folder for temporary files.
        setting: what a user changes to choose another folder; a StorageError names it.
    """

    def __init__(self, folder: str | None, setting: str) -> None:
        self._folder = folder or temporary_folder()
        self._setting = setting
        self._maps: WeakSet[mmap.mmap] = WeakSet()

    def empty(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """``[size]`` zeros, whose space on the disk is taken at once: later there might be none.

        Raises:
            StorageError: if there is too little space, or the folder can't be written.
        """
        num_bytes = size * np.dtype(dtype).itemsize
        if not num_bytes:
            return np.empty(0, dtype)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, num_bytes)
                mapped = mmap.mmap(file.fileno(), num_bytes)
        except OSError as error:
            raise StorageError.writing(f"{num_bytes:,} bytes into {self._folder}", error, self._setting) from error
        self._maps.add(mapped)
        return np.frombuffer(mapped, dtype)

    def release(self) -> None:
        """Give the memory back that holds parts of arrays; their content stays."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)
