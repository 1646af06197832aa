"""How the rounds of solving a relaxation and adding what it violates go on, and when they end.

At first points are wanted fast, for each is far from what the next rows allow; near the end they are wanted exact.
"""

from typing import NamedTuple

from tiltmeter.operators.resolution.exact.relaxation import Solution

VERSION = "cutting_rounds/1"

FEW_CUTS = 20
"""After fewer new rows the next point is to be nearer to the optimum."""

_ITERATIONS = 50, 1000
"""Of the first-order method in a round, at least and at most."""

_PATIENCE = 3
"""After as many times the most iterations without a new row the simplex method takes over."""

_CLOSE = 0.1
"""A point is near the optimum if it is short of its bound by this share of the way to the best partition."""

_WINDOW = 8
"""Branching begins if the bound has not come nearer, in so many rounds,"""

_PROGRESS = 0.03
"""by this share of the rest of the way."""


class Precision(NamedTuple):
    """Which violations of a point count.

    Attributes:
        triangle, cut: the least of a triangle and of another inequality.
        last_cut: the least if there are few others.
        fraction: how far from 0 and 1 a value is a fraction.
    """

    triangle: float
    cut: float
    last_cut: float
    fraction: float


_EXACT = Precision(1e-6, 0.1, 1e-3, 1e-5)
_APPROXIMATE = Precision(0.01, 0.1, 0.02, 0.05)


class Rounds:
    """How the rounds of solving and separating in one node go on."""

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.has_moved = self.is_close = self.is_exact = False
        self.num_iterations = _ITERATIONS[0]
        self._num_vain = 0
        self._close_bounds: list[float] = []

    @property
    def precision(self) -> Precision:
        return _EXACT if self.is_exact else _APPROXIMATE

    def see(self, solution: Solution, cutoff: float) -> None:
        self.has_moved = solution.bound < self.bound
        self.bound = min(self.bound, solution.bound)
        near = _CLOSE * (solution.bound - cutoff)
        self.is_close = self.is_exact or solution.bound - solution.value < near
        # Else rows are missing that were there when the bound was found.
        if self.is_close and solution.bound - self.bound < near:
            self._close_bounds.append(self.bound)

    def are_over(self, num_new: int, is_fractional: bool, cutoff: float) -> bool:
        """Whether to branch; if there is no fraction, whether there is nothing left to do."""
        if not is_fractional:
            return self.is_exact and not num_new
        return self.is_close and (not num_new or self._is_stuck(cutoff))

    def _is_stuck(self, cutoff: float) -> bool:
        before = self._close_bounds[-_WINDOW:]
        return len(before) == _WINDOW and before[0] - self.bound < _PROGRESS * (self.bound - cutoff)

    def adapt(self, num_new: int) -> None:
        fewest, most = _ITERATIONS
        self._num_vain += not num_new and self.num_iterations == most
        self.is_exact |= self._num_vain == _PATIENCE
        factor = (2.0 if num_new < FEW_CUTS else 0.7) * (1.0 if self.is_close else 1.5)
        self.num_iterations = int(min(most, max(fewest, factor * self.num_iterations)))
