"""Smaller clique partitioning problems that keep an optimum: components, and nodes that may be joined beforehand.

Some optimum has only parts that are connected by positive pairs: to split any other costs nothing. So components of the
positive pairs are problems of their own.

Two nodes i and j, w_ij > 0, may be joined if every partition with i in part A and j in another part B can be changed
into one that joins them and is no worse. This holds if one of these changes never costs more than the w_ij that it
gains, k standing for all other nodes, of which each is in A, or in B, or in neither (the idea is that of Lange, Andres
and Swoboda 2019, *Combinatorial persistency criteria for multicut and max-cut*, section 3):

- i and j leave A and B for a part of their own: w_ij >= sum_k max(0, w_ik, w_jk);
- i goes to j, or j to i: w_ij >= sum_k max(0, w_ik, -w_ik), where the last is left out if j may not be with k;
- either of the last two, whichever is better, which is at least their mean: w_ij >= sum_k |w_ik - w_jk| / 2. Twins,
  who weigh the same with everybody, thus stay together.

A forbidden pair weighs -inf; of two forbidden pairs, the difference is 0, as k is neither in A nor in B. Each change
moves i and j alone, so that pairs without a common node may be joined at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution.adjacency import Adjacency, adjacency
from tiltmeter.operators.resolution.components import divided, positive_components
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, canonical, result

VERSION = "partition_reductions/1"


class Piece(NamedTuple):
    """A component of at least two nodes.

    Attributes:
        nodes: ``[nodes of the piece]`` int64, rising, what its nodes are in the whole.
        problem: the pairs between them.
    """

    nodes: IntArray
    problem: Problem


@dataclass(frozen=True)
class Reduced:
    """What is left to be solved of a problem.

    Attributes:
        pieces: in the order of their first nodes; their nodes stand for one or more of the original.
        joined: ``[original nodes]`` int64, the node of the reduced problem that each belongs to.
        offset: the weight within these; it adds to the objectives of the pieces, and to their bounds.
    """

    pieces: list[Piece]
    joined: IntArray
    offset: float

    def expand(self, labels: Sequence[NDArray[np.integer]]) -> IntArray:
        """Labels of the original nodes from those of each piece."""
        parts = np.arange(int(self.joined.max(initial=-1)) + 1)
        for piece, part_labels in zip(self.pieces, labels, strict=True):
            # The first of its nodes gives each part its name.
            _, first, places = np.unique(part_labels, return_index=True, return_inverse=True)
            parts[piece.nodes] = piece.nodes[first[places]]
        return canonical(parts[self.joined])


def components(problem: Problem) -> list[Piece]:
    """The components of the positive pairs, of those with at least two nodes; the other nodes are best left alone.

    >>> pairs = np.array([0, 1, 2]), np.array([2, 3, 3]), np.array([0.5, 1.0, -1.0])
    >>> [piece.nodes for piece in components(Problem(4, *pairs, "zero"))]
    [array([0, 2]), array([1, 3])]
    """
    labels = positive_components(problem.num_nodes, problem.left, problem.right, problem.weights)
    nodes = np.argsort(labels, kind="stable")
    parts = divided(labels, problem.left, problem.right, problem.weights)
    ends = np.cumsum(parts.sizes)
    pieces = []
    for component in np.flatnonzero(parts.sizes > 1):
        size, pairs = int(parts.sizes[component]), slice(*parts.starts[component : component + 2])
        part = Problem(size, parts.left[pairs], parts.right[pairs], parts.weights[pairs], problem.missing)
        pieces.append(Piece(nodes[ends[component] - size : ends[component]], part))
    return pieces


def reduced(problem: Problem) -> Reduced:
    """Joins nodes and takes components apart until neither changes anything; an optimum stays one.

    Of a chain whose ends may not be together the stronger pair is joined, and nothing is left:

    >>> chain = Problem(3, np.array([0, 1]), np.array([1, 2]), np.array([2.0, 1.0]), "forbid")
    >>> result = reduced(chain)
    >>> result.expand([]), result.offset
    (array([0, 0, 1]), 2.0)
    """
    joined, current = np.arange(problem.num_nodes), problem
    while True:
        graph = adjacency(current.num_nodes, current.left, current.right)
        partner = _partners(graph, current.left, current.right, current.weights, _missing_weight(current))
        if np.array_equal(partner, np.arange(current.num_nodes)):
            break
        labels = canonical(partner)
        joined, current = labels[joined], contracted(current, labels)
    together = joined[problem.left] == joined[problem.right]
    return Reduced(components(current), joined, float(problem.weights[together].sum()))


def contracted(problem: Problem, labels: IntArray) -> Problem:
    """Parts as nodes, with the sum of the weights between two; under ``forbid``, none if any pair between is missing.

    Args:
        labels: ``[nodes]``, canonical, without forbidden pairs in a part.
    """
    sizes = np.bincount(labels)
    left, right = np.sort([labels[problem.left], labels[problem.right]], axis=0)
    between = left != right
    codes, places = np.unique(left[between] * sizes.size + right[between], return_inverse=True)
    weights = np.bincount(places, problem.weights[between], minlength=codes.size).astype(np.float64)
    left, right = codes // max(1, sizes.size), codes % max(1, sizes.size)
    if problem.missing == "forbid":
        allowed = np.bincount(places, minlength=codes.size) == sizes[left] * sizes[right]
        left, right, weights = left[allowed], right[allowed], weights[allowed]
    return Problem(sizes.size, left, right, weights, problem.missing)


def solved(problem: Problem, solve: Callable[[Problem, Remaining], Result], remaining: Remaining) -> Result:
    """The reduced pieces solved one after the other, the smallest first, and put together.

    Each is given the time that is left for all.
    """
    rest = reduced(problem)
    order = sorted(range(len(rest.pieces)), key=lambda place: rest.pieces[place].problem.num_nodes)
    results = {place: solve(rest.pieces[place].problem, remaining) for place in order}
    labels = rest.expand([results[place].labels for place in range(len(order))])
    bound = rest.offset + sum(piece.bound for piece in results.values())
    num_cuts = sum(piece.num_cuts for piece in results.values())
    num_branches = sum(piece.num_branches for piece in results.values())
    return result(problem, labels, bound, num_cuts, num_branches)


def _missing_weight(problem: Problem) -> float:
    return -np.inf if problem.missing == "forbid" else 0.0


@numba.njit(cache=True)
def _partners(graph: Adjacency, left: IntArray, right: IntArray, weights: FloatArray, missing: float) -> IntArray:
    """``[nodes]``, the smaller node of the pair that each is joined in; no node is in two."""
    partners = np.arange(graph.starts.size - 1)
    for pair in range(left.size):
        one, other = left[pair], right[pair]
        free = partners[one] == one and partners[other] == other
        if weights[pair] > 0.0 and free and _may_join(graph, weights, missing, one, other, weights[pair]):
            partners[one], partners[other] = other, one
    return np.minimum(partners, np.arange(partners.size))


@numba.njit(cache=True)
def _may_join(graph: Adjacency, weights: FloatArray, missing: float, one: int, other: int, weight: float) -> bool:
    first, second = graph.starts[one], graph.starts[other]
    first_end, second_end = graph.starts[one + 1], graph.starts[other + 1]
    apart = to_other = to_one = either = 0.0
    last = graph.starts.size
    while first < first_end or second < second_end:
        near = graph.neighbours[first] if first < first_end else last
        far = graph.neighbours[second] if second < second_end else last
        node, a, b = min(near, far), missing, missing
        if near == node:
            a = weights[graph.pairs[first]]
            first += 1
        if far == node:
            b = weights[graph.pairs[second]]
            second += 1
        if node in (one, other):
            continue
        apart += max(0.0, a, b)
        to_other += max(0.0, a, -a if b > -np.inf else 0.0)
        to_one += max(0.0, b, -b if a > -np.inf else 0.0)
        either += 0.0 if a == b else abs(a - b) / 2.0
        if min(apart, to_other, to_one, either) > weight:
            return False
    return True
