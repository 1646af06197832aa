"""How far a long unit has come: named arrays in a file."""

from collections.abc import Mapping
from typing import IO, Any, cast
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def write_state(state: Mapping[str, NDArray[Any]], sink: IO[bytes] | pa.NativeFile) -> None:
    """Write arrays, which may be as large as memory allows: on a disk they go straight into the file."""
    np.savez(cast(IO[bytes], sink), allow_pickle=False, **state)


def read_state(source: pa.NativeFile) -> dict[str, NDArray[Any]] | None:
    """The arrays of a file, or None if it is damaged: a unit that starts anew loses time and nothing else."""
    try:
        with np.load(source, allow_pickle=False) as arrays:
            # They were stored as they are: what claims to grow is not ours.
            return None if any(member.compress_type for member in arrays.zip.infolist()) else dict(arrays)
    except (BadZipFile, EOFError, MemoryError, RuntimeError, TypeError, ValueError):
        return None
