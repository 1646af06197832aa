"""The linear relaxation of the clique partitioning problem, which grows and shrinks by rows, with bounds that are safe.

Two methods share the rows. The dual simplex method of HiGHS (Huangfu and Hall 2018, *Parallelizing the dual revised
simplex method*) goes on from its last basis and is exact; it stalls on the degenerate vertices of large problems. There
the first-order method of :mod:`.exact.first_order` comes near the optimum a hundred times as fast.
"""

from typing import NamedTuple

import highspy
import numpy as np
from scipy.sparse import csr_array

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.resolution.exact.cuts import Cuts
from tiltmeter.operators.resolution.exact.first_order import Point, primal_dual

VERSION = "relaxation/1"

_MAX_IDLE = 4
"""A row goes that has been slack for as many solutions."""

_SLACK = 1e-5

_ROUNDING = 1e-12
"""Share of all terms' absolute sum that adding them up may lose."""


class Solution(NamedTuple):
    """A point of the relaxation.

    Attributes:
        x: ``[nodes, nodes]`` in [0, 1], symmetric, 0 on the diagonal.
        value: sum w_e x_e.
        bound: no partition within the bounds of x has more.
        reduced: ``[nodes, nodes]``; a partition with x_ij = 0 has no more than bound - reduced_ij, one with x_ij = 1 no
            more than bound + reduced_ij.
        is_solved: false where time ended first.
    """

    x: FloatArray
    value: float
    bound: float
    reduced: FloatArray
    is_solved: bool


class Relaxation:
    """max sum w_e x_e, 0 <= x <= 1, and rows.

    Args:
        weights: ``[nodes, nodes]``, symmetric; pairs with -inf are no variables but 0.
    """

    def __init__(self, weights: FloatArray) -> None:
        left, right = np.nonzero(np.triu(np.isfinite(weights), 1))
        self._pairs = left, right
        self._columns = np.full(weights.shape, -1, dtype=np.int32)
        self._columns[left, right] = self._columns[right, left] = np.arange(left.size)
        self._weights: FloatArray = weights[left, right]
        # Tolerances are absolute.
        self._scale = float(np.abs(self._weights).mean()) if self._weights.any() else 1.0
        self._lower, self._upper = np.zeros(left.size), np.ones(left.size)
        self._rows = csr_array((0, left.size))
        self._limits = np.empty(0)
        self._idle = np.empty(0, dtype=np.int64)
        self._point = Point((self._weights > 0.0).astype(np.float64), np.empty(0), 1.0)
        self._simplex: highspy.Highs | None = None

    @property
    def num_entries(self) -> int:
        """Of the rows, and one for each variable."""
        return int(self._rows.nnz) + self._weights.size

    def add(self, cuts: Cuts) -> None:
        columns = self._columns[cuts.left, cuts.right]
        terms = np.repeat(np.arange(cuts.number), np.diff(cuts.starts))[columns >= 0]
        entries = cuts.coefficients[columns >= 0], (terms, columns[columns >= 0])
        rows = csr_array(entries, shape=(cuts.number, self._weights.size))
        self._rows = _stacked(self._rows, rows)
        self._limits = np.append(self._limits, cuts.limits)
        self._idle = np.append(self._idle, np.zeros(cuts.number, dtype=np.int64))
        self._point = self._point._replace(y=np.append(self._point.y, np.zeros(cuts.number)))
        if self._simplex is not None:
            _add_rows(self._simplex, rows, cuts.limits)

    def fix(self, together: BoolArray, apart: BoolArray) -> None:
        """Bounds of all variables: 1 where pairs are together, 0 where they are apart, else free."""
        lower, upper = together[self._pairs].astype(np.float64), (~apart[self._pairs]).astype(np.float64)
        changed = np.flatnonzero((lower != self._lower) | (upper != self._upper)).astype(np.int32)
        self._lower, self._upper = lower, upper
        if self._simplex is not None:
            self._simplex.changeColsBounds(changed.size, changed, lower[changed], upper[changed])

    def approach(self, num_iterations: int) -> Solution:
        """A point near the optimum, by the first-order method from the last point."""
        weights = self._weights / self._scale
        self._point = primal_dual(
            weights, self._lower, self._upper, self._rows, self._limits, self._point, num_iterations
        )
        return self._solution(is_solved=True)

    def solve(self, seconds: float) -> Solution:
        """The optimum, by the simplex method from the last basis, if it takes no more than the time given."""
        if self._simplex is None:
            self._simplex = self._simplex_model()
        solver = self._simplex
        solver.setOptionValue("time_limit", solver.getRunTime() + max(0.0, seconds))
        solver.run()
        is_solved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        if is_solved:
            solution = solver.getSolution()
            x = np.array(solution.col_value).clip(self._lower, self._upper)
            duals = np.maximum(0.0, -np.array(solution.row_dual, dtype=np.float64))
            self._point = self._point._replace(x=x, y=duals)
        return self._solution(is_solved)

    def purge(self) -> None:
        """Drops rows that have been slack for long."""
        old = np.flatnonzero(self._idle >= _MAX_IDLE)
        if not old.size:
            return
        kept = np.flatnonzero(self._idle < _MAX_IDLE)
        self._rows, self._limits, self._idle = self._rows[kept], self._limits[kept], self._idle[kept]
        self._point = self._point._replace(y=self._point.y[kept])
        if self._simplex is not None:
            self._simplex.deleteRows(old.size, old.astype(np.int32))

    def _solution(self, is_solved: bool) -> Solution:
        x, duals, _ = self._point
        is_idle = (duals == 0.0) & (self._limits - self._rows @ x > _SLACK)
        self._idle = np.where(is_idle, self._idle + 1, 0)
        bound, reduced = self._safe_bound(duals * self._scale)
        return Solution(self._matrix(x), float((self._weights * x).sum()), bound, self._matrix(reduced), is_solved)

    def _safe_bound(self, duals: FloatArray) -> tuple[float, FloatArray]:
        """b'y + sum_e max(l_e d_e, u_e d_e), d = w - A'y, which is a bound whatever y >= 0 is (weak duality)."""
        reduced = self._weights - self._rows.T @ duals
        terms = np.concatenate([self._limits * duals, np.maximum(self._lower * reduced, self._upper * reduced)])
        magnitude = np.abs(self._weights).sum() + (np.diff(self._rows.indptr) * duals).sum()
        return float(terms.sum() + _ROUNDING * magnitude), reduced

    def _simplex_model(self) -> highspy.Highs:
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        # A presolved model would forget the basis.
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("solver", "simplex")
        number = self._weights.size
        solver.addVars(number, self._lower, self._upper)
        solver.changeColsCost(number, np.arange(number, dtype=np.int32), -self._weights / self._scale)
        _add_rows(solver, self._rows, self._limits)
        return solver

    def _matrix(self, values: FloatArray) -> FloatArray:
        left, right = self._pairs
        matrix = np.zeros(self._columns.shape)
        matrix[left, right] = matrix[right, left] = values
        return matrix


def _add_rows(solver: highspy.Highs, rows: csr_array, limits: FloatArray) -> None:
    number = limits.size
    solver.addRows(number, np.full(number, -np.inf), limits, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)


def _stacked(above: csr_array, below: csr_array) -> csr_array:
    return csr_array(
        (
            np.append(above.data, below.data),
            np.append(above.indices, below.indices),
            np.append(above.indptr, above.nnz + below.indptr[1:]),
        ),
        shape=(above.shape[0] + below.shape[0], above.shape[1]),
    )
