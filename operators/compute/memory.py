"""Work in batches that become smaller when memory runs out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.batching import length_batches

Work = Callable[[NDArray[np.int64], int], None]
"""Is given rows of a batch, and the number of tokens that it may give to a network at a time."""

_SIGNS = ("not enough memory", "out of memory")


def run_in_batches(lengths: NDArray[np.integer], max_tokens: int, work: Work, times: int = 1) -> None:
    """Do all rows, in batches of like length; each time that memory runs out, half as many tokens from there on.

    Args:
        lengths: ``[rows]``, tokens in each, at least one.
        max_tokens: in a batch, padding included.
        work: is given a row alone where it exceeds ``max_tokens`` by itself, and has to divide it then.
        times: that each row is computed; they count as that many rows.

    Raises:
        MemoryError, RuntimeError: as memory runs out for a single row, computed one time after the other.

    >>> def work(rows, max_tokens):
    ...     if rows.size > 1:
    ...         raise MemoryError
    ...     print(rows, max_tokens)
    >>> run_in_batches(np.array([3, 2]), 8, work)
    [1] 4
    [0] 4
    """
    waiting = length_batches(lengths * times, max_tokens)
    while waiting:
        rows = waiting[0]
        try:
            work(rows, max_tokens)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error) or (rows.size == 1 and max_tokens < 2 * lengths[rows[0]]):
                raise
            is_done = False
        else:
            is_done = True
        # Tensors of the failed attempt stay as long as its error, which is gone here.
        if is_done:
            waiting.pop(0)
        else:
            max_tokens //= 2
            left = np.concatenate(waiting)
            waiting = [left[batch] for batch in length_batches(lengths[left] * times, max_tokens)]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: that of the process, or of a GPU.

    torch says so by its ``OutOfMemoryError`` on a GPU, and on a CPU by a ``RuntimeError`` of its allocator.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"))
    True
    """
    if isinstance(error, MemoryError):
        return True
    message = str(error).casefold()
    return isinstance(error, RuntimeError) and ("allocator" in message or any(sign in message for sign in _SIGNS))
