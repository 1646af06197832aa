"""What makes the processor's caches fast for compiled loops, and changes no result: a hint that a loop will soon need a
value, and arrays that begin where a line of cache does.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

_CACHE_LINE_BYTES = 64
FLOATS_PER_LINE = _CACHE_LINE_BYTES // 4
"""32-bit values that come into cache together."""

_INT32 = ir.IntType(32)
_FOR_WRITING, _KEEP_CLOSE, _DATA = (ir.Constant(_INT32, value) for value in (1, 3, 1))


def _prefetch(_typing: Any, array: types.Array, _index: types.Integer) -> Any:
    """``prefetch(array, index)`` in compiled code: ``array[index]`` will be read and written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(values.data, [arguments[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, _INT32, _INT32, _INT32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
        builder.call(hint, [address, _FOR_WRITING, _KEEP_CLOSE, _DATA])
        return context.get_dummy_value()

    return types.void(types.Array(array.dtype, 1, "C"), types.intp), generate


prefetch = cast(Callable[[NDArray[np.float32], np.int64 | int], None], intrinsic(_prefetch))


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Zeros from the beginning of a line of cache on; numpy begins 16 bytes behind one, where every 512-bit register is
    read from two lines.

    >>> aligned_zeros((2, 16)).ctypes.data % 64
    0
    """
    size = math.prod(shape)
    values = np.zeros(size + FLOATS_PER_LINE, np.float32)
    start = -values.ctypes.data % _CACHE_LINE_BYTES // values.itemsize
    return values[start : start + size].reshape(shape)
