"""Inequalities that all partitions satisfy and a fractional point does not, for the clique partitioning problem.

x_ij = 1 if nodes i and j share a part. Groetschel and Wakabayashi 1990, *Facets of the clique partitioning polytope*,
and Chopra and Rao 1993, *The partition problem*, show that these are facets (under conditions on the sizes):

- triangles: x_ij + x_jk - x_ik <= 1;
- 2-partitions of disjoint S and T: x(S:T) - x(S) - x(T) <= min(\\|S\\|, \\|T\\|).
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "cuts/1"


_EPSILON = 1e-6

_MAX_PLACES = 24
"""Nodes of a 2-partition inequality; dense rows slow the simplex method down."""


class Cuts(NamedTuple):
    """Inequalities sum_t coefficients_t x(left_t, right_t) <= limit, one after the other.

    Attributes:
        starts: ``[cuts + 1]`` int64, where the terms of each begin.
        left, right: ``[terms]`` int64, the nodes of each pair.
        coefficients: ``[terms]`` float64, 1 or -1.
        limits: ``[cuts]`` float64.
    """

    starts: IntArray
    left: IntArray
    right: IntArray
    coefficients: FloatArray
    limits: FloatArray

    @property
    def number(self) -> int:
        return self.limits.size


def triangles(x: FloatArray, pays: BoolArray, most: int, least: float) -> Cuts:
    """Violated triangle inequalities, for each pair i, k the one whose middle j violates it most.

    Only those with an edge ij or jk that pays are looked at. The others are redundant, for the linear relaxation too
    (Miyauchi and Sukegawa 2015, *Redundant constraints in the standard formulation for the clique partitioning
    problem*): with distances d = 1 - x, pairs that do not pay can be as far apart as paths of pairs that pay allow.

    Args:
        x: ``[nodes, nodes]`` in [0, 1], symmetric.
        pays: ``[nodes, nodes]``, pairs that have a positive weight, or are fixed to 1.
        most: how many to return, the most violated.

    >>> x = np.array([[0.0, 1.0, 0.2], [1.0, 0.0, 0.9], [0.2, 0.9, 0.0]])
    >>> triangles(x, x > 0.5, most=1, least=0.1)[1:]
    (array([0, 1, 0]), array([1, 2, 2]), array([ 1.,  1., -1.]), array([1.]))
    """
    middles, violations = _middles(x, pays)
    first, last = np.nonzero(violations > least)
    order = np.argsort(-violations[first, last], kind="stable")[:most]
    first, last = first[order], last[order]
    middle = middles[first, last]
    return Cuts(
        3 * np.arange(order.size + 1),
        np.stack([first, middle, first], axis=1).ravel(),
        np.stack([middle, last, last], axis=1).ravel(),
        np.tile([1.0, 1.0, -1.0], order.size),
        np.ones(order.size),
    )


@numba.njit(cache=True)
def _middles(x: FloatArray, pays: BoolArray) -> tuple[IntArray, FloatArray]:
    """``[nodes, nodes]``, above the diagonal: the middle of the most violated triangle, and by how much it is."""
    num_nodes = x.shape[0]
    middles = np.zeros((num_nodes, num_nodes), dtype=np.int64)
    violations = np.zeros((num_nodes, num_nodes))
    for first in range(num_nodes):
        for last in range(first + 1, num_nodes):
            # The inequality is x_ij + x_jk <= 1 + x_ik, so only what exceeds its right side is a violation.
            most = 1.0 + x[first, last]
            for middle in range(num_nodes):
                total = x[first, middle] + x[middle, last]
                if total > most and (pays[first, middle] or pays[middle, last]):
                    most = total
                    middles[first, last] = middle
            violations[first, last] = most - 1.0 - x[first, last]
    return middles, violations


def two_partitions(x: FloatArray, most: int, least: float) -> Cuts:
    """Violated 2-partition inequalities, found by adding nodes to S or T while that raises the violation.

    From each S = {i} and T = {j} with a fractional x_ij, where Groetschel and Wakabayashi 1989 grow T alone.

    Args:
        x: ``[nodes, nodes]`` in [0, 1], symmetric.
        most: how many to return, the most violated.

    >>> star = np.array([[0, 0.5, 0.5, 0.5], [0.5, 0, 0, 0], [0.5, 0, 0, 0], [0.5, 0, 0, 0]])
    >>> two_partitions(star, most=1, least=0.1)[1:]
    (array([0, 0, 0, 1, 1, 2]), array([1, 2, 3, 2, 3, 3]), array([ 1.,  1.,  1., -1., -1., -1.]), array([1.]))
    """
    sides, violations = _grown(x, least)
    sides, chosen = np.unique(sides, axis=0, return_index=True)
    order = np.argsort(-violations[chosen], kind="stable")[:most]
    return _two_partition_cuts(sides[order])


@numba.njit(cache=True)
def _grown(x: FloatArray, least: float) -> tuple[NDArray[np.int8], FloatArray]:
    """``[inequalities, nodes]``, 1 in S and -1 in T, and the violations."""
    num_nodes = x.shape[0]
    sets, violations = [np.zeros(num_nodes, dtype=np.int8) for _ in range(0)], [0.0 for _ in range(0)]
    for one in range(num_nodes):
        for other in range(num_nodes):
            if least < x[one, other] < 1.0 - least:
                side, violation = _grow(x, one, other)
                if violation > least:
                    sets.append(side)
                    violations.append(violation)
    sides = np.zeros((len(sets), num_nodes), dtype=np.int8)
    for place in range(len(sets)):
        # An inequality is the same with S and T exchanged.
        first = sets[place][np.flatnonzero(sets[place])[0]]
        sides[place] = sets[place] * first
    return sides, np.array(violations)


@numba.njit(cache=True)
def _grow(x: FloatArray, one: int, other: int) -> tuple[NDArray[np.int8], float]:
    num_nodes = x.shape[0]
    side = np.zeros(num_nodes, dtype=np.int8)
    side[one], side[other] = 1, -1
    sizes = np.array([1, 1])
    # The violation is the sum of x between S and T, less those within either and the smaller of their sizes. Per node,
    # what it would add to the sums is kept up to date, so that a round is linear in the nodes.
    # Positive where a node has more in T than in S, so that it fits into S.
    lean = x[other] - x[one]
    violation = x[one, other] - 1.0
    for _ in range(_MAX_PLACES - 2):
        best, node, into = 2.0 * _EPSILON, -1, 0
        for candidate in range(num_nodes):
            if side[candidate]:
                continue
            into_first = lean[candidate] - (1.0 if sizes[0] < sizes[1] else 0.0)
            # Among equals T grows first: most inequalities of use have a small S.
            into_second = _EPSILON - lean[candidate] - (1.0 if sizes[1] < sizes[0] else 0.0)
            if into_first > best:
                best, node, into = into_first, candidate, 1
            if into_second > best:
                best, node, into = into_second, candidate, -1
        if node < 0:
            break
        side[node] = into
        sizes[0 if into > 0 else 1] += 1
        violation += best if into > 0 else best - _EPSILON
        for candidate in range(num_nodes):
            lean[candidate] -= into * x[node, candidate]
    return side, violation


def _two_partition_cuts(sides: NDArray[np.int8]) -> Cuts:
    nodes = [np.flatnonzero(side) for side in sides]
    pairs = [places[np.stack(np.triu_indices(places.size, 1))] for places in nodes]
    left, right = np.concatenate([np.empty((2, 0), dtype=np.int64), *pairs], axis=1)
    cut = np.repeat(np.arange(len(pairs)), [places.shape[1] for places in pairs])
    return Cuts(
        np.append(0, np.cumsum(np.bincount(cut, minlength=len(pairs)))),
        left,
        right,
        -1.0 * sides[cut, left] * sides[cut, right],
        np.minimum((sides > 0).sum(axis=1), (sides < 0).sum(axis=1)) * 1.0,
    )
