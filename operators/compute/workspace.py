"""Where a computation keeps arrays that may be larger than memory."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Workspace(Protocol):
    """Gives out arrays, in memory or elsewhere."""

    def empty(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """``[size]`` of any content."""

    def release(self) -> None:
        """Arrays that were given out need not stay in memory until they are used next."""


class _Memory:
    def empty(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        return np.empty(size, dtype)

    def release(self) -> None:
        """Memory keeps what it has."""


IN_MEMORY: Workspace = _Memory()
