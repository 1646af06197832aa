"""Natural logarithm and exponential in float64, of operations that IEEE 754 defines to the last bit.

Those of numpy and of the C library have other last bits with other instructions. Here are sums, products and quotients
in a fixed order, which a compiler may not fuse, around series that converge fast:

    log x = k log 2 + 2 artanh(s),    s = f / (2 + f),    x = 2^k (1 + f),    1/sqrt(2) <= 1 + f < sqrt(2),
    exp y = 2^n exp(r),               r = y - n log 2,    n the whole number nearest to y / log 2.

Both are within two units of the last place.
"""

import math

import numba
import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray

_LOG_2_HIGH = float.fromhex("0x1.62e42feep-1")
"""32 bits of log 2, so that its products with exponents are exact."""
_LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_HALF_ROOT = math.sqrt(0.5)
_ODD = tuple(1.0 / (2 * number + 1) for number in range(10, 0, -1))
"""Factors of s^20, ..., s^2 in artanh(s) / s; the next is 1e-17 of the sum."""
_FACTORIALS = tuple(1.0 / math.factorial(number) for number in range(14, 1, -1))


@numba.njit(cache=True, error_model="numpy")
def logarithm(values: FloatArray) -> FloatArray:
    """``[...]`` natural logarithms of positive finite numbers.

    >>> logarithm(np.array([1.0, 2.0, 10.0])) - np.log([1.0, 2.0, 10.0])
    array([0., 0., 0.])
    """
    results = np.empty(values.size)
    for place, value in enumerate(values.ravel()):
        fraction, exponent = math.frexp(value)
        if fraction < _HALF_ROOT:
            fraction, exponent = 2.0 * fraction, exponent - 1
        distance = fraction - 1.0
        ratio = distance / (2.0 + distance)
        square, series = ratio * ratio, 0.0
        for factor in _ODD:
            series = (series + factor) * square
        rest = 2.0 * ratio * series + exponent * _LOG_2_LOW
        results[place] = exponent * _LOG_2_HIGH + (2.0 * ratio + rest)
    return results.reshape(values.shape)


@numba.njit(cache=True, error_model="numpy")
def exponential(values: FloatArray) -> FloatArray:
    """``[...]`` exp of finite numbers.

    >>> exponential(np.array([0.0, 1.0, -800.0])).round(12)
    array([1.        , 2.71828183, 0.        ])
    """
    results = np.empty(values.size)
    for place, value in enumerate(values.ravel()):
        number = np.rint(value / (_LOG_2_HIGH + _LOG_2_LOW))
        rest = (value - number * _LOG_2_HIGH) - number * _LOG_2_LOW
        series = 0.0
        for factor in _FACTORIALS:
            series = (series + factor) * rest
        results[place] = math.ldexp(1.0 + (rest + series * rest), int(number))
    return results.reshape(values.shape)
