"""The clique partitioning problem: which records belong together, given a score for pairs of them.

Groetschel and Wakabayashi 1989, *A cutting plane algorithm for a clustering problem*; as entity resolution Vadrevu et
al. 2021 (xER). Of all partitions of the nodes, find one that maximises the sum of w_ij over pairs in the same part. A
positive weight speaks for two records being one entity, a negative one against it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

Missing = Literal["forbid", "zero"]
Status = Literal["proven", "feasible", "none"]
Remaining = Callable[[], float]
"""Seconds that are left for a solver; it stops soon after there are none."""

TOLERANCE = 1e-6
"""An objective that is as near to its bound, in units of the larger of 1 and itself, is proven."""


@dataclass(frozen=True)
class Problem:
    """A graph whose nodes are to be partitioned.

    Attributes:
        num_nodes: nodes are numbered from 0.
        left, right: ``[pairs]`` int64, the nodes of each scored pair, left < right, each pair once, in order.
        weights: ``[pairs]`` float64, finite; under ``zero`` -inf for a pair that may not share a part.
        missing: of pairs that are not listed: they may not share a part (``forbid``), or weigh 0 (``zero``).
    """

    num_nodes: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weights: FloatArray
    missing: Missing

    @cached_property
    def matrix(self) -> FloatArray:
        """``[nodes, nodes]``, symmetric: weights, 0 on the diagonal, -inf where a pair may not share a part."""
        matrix = np.full((self.num_nodes, self.num_nodes), -np.inf if self.missing == "forbid" else 0.0)
        matrix[self.left, self.right] = self.weights
        matrix[self.right, self.left] = self.weights
        np.fill_diagonal(matrix, 0.0)
        return matrix

    @cached_property
    def step(self) -> float:
        """The largest number of which all weights are whole multiples, if these are whole numbers; else 0.

        Objectives are multiples of it too, so that a bound can be rounded down to one.

        >>> Problem(2, np.array([0]), np.array([1]), np.array([6.0]), "zero").step
        6.0
        """
        weights = self.weights[np.isfinite(self.weights)]
        if not weights.size or np.any(weights % 1.0) or np.abs(weights).sum() >= 2.0**52:
            return 0.0
        return float(np.gcd.reduce(np.abs(weights).astype(np.int64)))

    @property
    def largest(self) -> float:
        """The largest weight without its sign, of those that are finite; 0 if there is none."""
        return float(np.abs(self.weights[np.isfinite(self.weights)]).max(initial=0.0))

    def objective(self, labels: NDArray[np.integer]) -> float:
        """Sum of the weights within parts; -inf if a pair shares one that may not.

        Args:
            labels: ``[nodes]``, the part of each.
        """
        together = labels[self.left] == labels[self.right]
        if self.missing == "forbid":
            sizes = np.unique(labels, return_counts=True)[1].astype(np.int64)
            if together.sum() < (sizes * (sizes - 1) // 2).sum():
                return -np.inf
        # In units of the step all sums are exact; else pairwise summation is the same whatever the labels are called.
        return float(self.weights[together].sum())


class Result(NamedTuple):
    """What a solver found.

    Attributes:
        status: ``proven``: no partition is better by more than the tolerance; ``feasible``: not known to be; ``none``:
            there was no time for any.
        labels: ``[nodes]`` int64, the part of each node, numbered in the order of their first nodes; each node for
            itself if there is none.
        objective: of the labels, in the unit of the weights; -inf if there is none.
        bound: no partition has more; at least the objective.
        num_cuts: constraints that were added to the first relaxation.
        num_branches: subproblems that were looked at beyond the first.
    """

    status: Status
    labels: NDArray[np.int64]
    objective: float
    bound: float
    num_cuts: int = 0
    num_branches: int = 0

    @property
    def gap(self) -> float:
        """Distance of bound and objective, in units of the larger of 1 and the objective; inf if one is not finite."""
        if not (math.isfinite(self.bound) and math.isfinite(self.objective)):
            return math.inf
        return max(0.0, self.bound - self.objective) / max(1.0, abs(self.objective))


def result(
    problem: Problem, labels: NDArray[np.integer], bound: float, num_cuts: int = 0, num_branches: int = 0
) -> Result:
    """Labels with what they are worth: proven if the bound, rounded down to a multiple of the step, is no better.

    Labels that put a forbidden pair together are no partition: the status is ``none``. A bound that is not a number
    bounds nothing and counts as inf; neither it nor an objective that is not finite proves anything.
    """
    bound = math.inf if math.isnan(bound) else bound
    objective = problem.objective(labels)
    if objective == -np.inf:
        return Result("none", np.arange(problem.num_nodes), objective, bound, num_cuts, num_branches)
    rounded = np.floor(bound / problem.step + TOLERANCE) * problem.step if problem.step else bound
    best = max(float(rounded), objective)
    feasible = Result("feasible", canonical(labels), objective, best, num_cuts, num_branches)
    return feasible._replace(status="proven") if feasible.gap <= TOLERANCE else feasible


def canonical(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """The same partition, its parts numbered in the order of their first nodes.

    >>> canonical(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(first.size)
    return ranks[inverse]
