"""Linear programs solved fast to a few digits: max w'x, A x <= b, l <= x <= u.

The primal-dual hybrid gradient method (Chambolle and Pock 2011), with steps of their own for every row and column (Pock
and Chambolle 2011), reflected Halpern iterations with restarts (Lu and Yang 2024, *Restarted Halpern PDHG for linear
programming*), and a balance of primal and dual steps that is corrected at each restart (Applegate et al. 2021,
*Practical large-scale linear programming using primal-dual hybrid gradient*). One iteration from z = (x, y) is

    x^ = clip(x + s (w - A'y)),  y^ = max(0, y + t (A (2 x^ - x) - b)),  z <- ((k + 1) (2 z^ - z) + z_0) / (k + 2).
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "first_order/1"

_MUCH = 0.2**2
"""A restart is due if the residual has shrunk by this, squared,"""

_ENOUGH = 0.8**2
"""or by this and grows again,"""

_LONG = 0.36
"""or if the iterations since the last one are this share of all, and some more."""


_SHORTEST = 20

_STILL = 1e-12
"""Squared movements that say nothing about the balance."""


class Point(NamedTuple):
    """Where the method stands.

    Attributes:
        x: ``[columns]``, within the bounds.
        y: ``[rows]``, 0 or more.
        balance: dual step by primal step.
    """

    x: FloatArray
    y: FloatArray
    balance: float


class _Rows(NamedTuple):
    starts: NDArray[Any]
    columns: NDArray[Any]
    coefficients: FloatArray
    limits: FloatArray


class _State(NamedTuple):
    """A point as the iteration moves it, in place; ``pull`` is A'y."""

    x: FloatArray
    y: FloatArray
    pull: FloatArray


class _Norms(NamedTuple):
    """Sums of absolute coefficients, at least 1."""

    rows: FloatArray
    columns: FloatArray


def primal_dual(
    weights: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rows: csr_array,
    limits: FloatArray,
    point: Point,
    number: int,
) -> Point:
    """Goes on from a point for a number of iterations, fewer if one solves the program.

    Args:
        weights, lower, upper: ``[columns]`` w, l and u; the weights about 1 in size.
        rows: ``[rows, columns]`` A.
        limits: ``[rows]`` b.
        point: where to start; x is clipped to the bounds.
        number: of iterations, at least 1.

    max 2 x_1 + x_2 where their sum is at most 1/2; a larger limit would be worth 2 per unit:

    >>> rows, start = csr_array([[1.0, 1.0]]), Point(np.zeros(2), np.zeros(1), 1.0)
    >>> result = primal_dual(np.array([2.0, 1.0]), np.zeros(2), np.ones(2), rows, np.array([0.5]), start, number=500)
    >>> result.x.round(3), result.y.round(3)
    (array([0.5, 0. ]), array([2.]))
    """
    matrix = _Rows(rows.indptr, rows.indices, rows.data, limits)
    return Point(*_iterated(weights, lower, upper, matrix, point, number))


@numba.njit(cache=True)
def _iterated(
    weights: FloatArray, lower: FloatArray, upper: FloatArray, rows: _Rows, point: Point, number: int
) -> tuple[FloatArray, FloatArray, float]:
    balance = point.balance
    x = np.minimum(upper, np.maximum(lower, point.x))
    norms, pull = _norms(rows, point.y, weights.size)
    now = _State(x, point.y.copy(), pull)
    start, following = _copied(now), _copied(now)
    mirrored = x.copy()
    length = 0
    first = last = np.inf
    for iteration in range(number):
        residual = _primal_step(weights, lower, upper, norms, balance, now, following, mirrored)
        residual += _dual_step(rows, norms, balance, mirrored, now, following)
        if residual == 0.0:
            break
        first = residual if length == 0 else first
        shrunk = residual <= _MUCH * first or (residual <= _ENOUGH * first and residual > last)
        last = residual
        if length > 0 and (shrunk or length > _LONG * iteration + _SHORTEST):
            balance = _balanced(norms, balance, start, following)
            _assign(now, following)
            _assign(start, following)
            length, last = 0, np.inf
        else:
            _reflect(now, following, start, 1.0 / (length + 2.0))
            length += 1
    return following.x, following.y, balance


@numba.njit(cache=True)
def _norms(rows: _Rows, y: FloatArray, num_columns: int) -> tuple[_Norms, FloatArray]:
    """And the pull of y."""
    norms, pull = _Norms(np.zeros(y.size), np.zeros(num_columns)), np.zeros(num_columns)
    for row in range(y.size):
        for place in range(rows.starts[row], rows.starts[row + 1]):
            column, coefficient = rows.columns[place], rows.coefficients[place]
            norms.rows[row] += abs(coefficient)
            norms.columns[column] += abs(coefficient)
            pull[column] += coefficient * y[row]
    return _Norms(np.maximum(norms.rows, 1.0), np.maximum(norms.columns, 1.0)), pull


@numba.njit(cache=True)
def _primal_step(
    weights: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    norms: _Norms,
    balance: float,
    now: _State,
    following: _State,
    mirrored: FloatArray,
) -> float:
    """Also 2 x^ - x; returns how far x has moved, squared, in units of the step."""
    moved = 0.0
    for column in range(weights.size):
        step = 1.0 / (balance * norms.columns[column])
        value = now.x[column] + step * (weights[column] - now.pull[column])
        following.x[column] = min(upper[column], max(lower[column], value))
        mirrored[column] = 2.0 * following.x[column] - now.x[column]
        moved += (following.x[column] - now.x[column]) ** 2 / step
    return moved


@numba.njit(cache=True)
def _dual_step(
    rows: _Rows, norms: _Norms, balance: float, mirrored: FloatArray, now: _State, following: _State
) -> float:
    moved = 0.0
    following.pull[:] = now.pull
    for row in range(rows.limits.size):
        excess = -rows.limits[row]
        for place in range(rows.starts[row], rows.starts[row + 1]):
            excess += rows.coefficients[place] * mirrored[rows.columns[place]]
        step = balance / norms.rows[row]
        following.y[row] = max(0.0, now.y[row] + step * excess)
        change = following.y[row] - now.y[row]
        # Most rows are slack and stay so.
        if change != 0.0:
            moved += change * change / step
            for place in range(rows.starts[row], rows.starts[row + 1]):
                following.pull[rows.columns[place]] += rows.coefficients[place] * change
    return moved


@numba.njit(cache=True)
def _reflect(now: _State, following: _State, start: _State, share: float) -> None:
    for column in range(now.x.size):
        reflected = 2.0 * following.x[column] - now.x[column]
        now.x[column] = reflected + share * (start.x[column] - reflected)
        reflected = 2.0 * following.pull[column] - now.pull[column]
        now.pull[column] = reflected + share * (start.pull[column] - reflected)
    for row in range(now.y.size):
        reflected = 2.0 * following.y[row] - now.y[row]
        now.y[row] = reflected + share * (start.y[row] - reflected)


@numba.njit(cache=True)
def _balanced(norms: _Norms, balance: float, start: _State, end: _State) -> float:
    """The geometric mean of the balance so far and of how far y and x have moved since the last restart."""
    moved_x = (norms.columns * (end.x - start.x) ** 2).sum()
    moved_y = (norms.rows * (end.y - start.y) ** 2).sum()
    if min(moved_x, moved_y) <= _STILL:
        return balance
    return math.sqrt(balance * math.sqrt(moved_y / moved_x))


@numba.njit(cache=True)
def _copied(state: _State) -> _State:
    return _State(state.x.copy(), state.y.copy(), state.pull.copy())


@numba.njit(cache=True)
def _assign(target: _State, source: _State) -> None:
    target.x[:] = source.x
    target.y[:] = source.y
    target.pull[:] = source.pull
