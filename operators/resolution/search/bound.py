"""An upper bound for the clique partitioning problem from bad triangles: two positive pairs and one that is not.

If i and j belong together, and i and k, but j and k do not, every partition goes against at least one of the three. Let
each such triangle t take s_t >= 0 from its three |w_e|, as long as there is some left. The weights are then a sum of
triangles, s_t on two pairs and -s_t on the third, and of a rest that has kept its signs. The maximum of a sum is at
most the sum of the maxima: s_t for a triangle, and for the rest what its positive pairs add up to. Together

    max_P sum_{e in P} w_e <= sum_e max(0, w_e) - sum_t s_t.

It is a feasible point of the dual of the triangle relaxation (Groetschel and Wakabayashi 1989), found greedily. Of a
forbidden pair there is always some left.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.adjacency import Adjacency, adjacency
from tiltmeter.operators.resolution.problem import Problem, Remaining

VERSION = "triangle_packing/1"

_BATCH = 1024
"""Nodes between two looks at the time."""


def triangle_bound(problem: Problem, remaining: Remaining) -> float:
    """No partition has a larger objective; looser if time runs out.

    Two positive pairs of 2 and 1 around one of -3 cannot be together: the weaker is lost.

    >>> pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> triangle_bound(Problem(3, *pairs, np.array([2.0, -3.0, 1.0]), "zero"), lambda: 1.0)
    2.0
    """
    graph = adjacency(problem.num_nodes, problem.left, problem.right)
    rest = np.abs(problem.weights)
    positive, forbid = problem.weights > 0.0, problem.missing == "forbid"
    nodes, closing = np.arange(problem.num_nodes), np.full(problem.num_nodes, -1)
    for first in range(0, problem.num_nodes, _BATCH):
        if remaining() <= 0.0:
            break
        _pack(graph, positive, rest, forbid, closing, nodes[first : first + _BATCH])
    # A triangle takes s from two positive pairs and is worth s: half of what was taken remains.
    return float(problem.weights[positive].sum() + rest[positive].sum()) / 2.0


@numba.njit(cache=True)
def _pack(
    graph: Adjacency,
    positive: NDArray[np.bool_],
    rest: FloatArray,
    forbid: bool,
    closing: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> None:
    """Triangles with an end at one of the nodes: ``rest`` is what is left of the weight of each pair."""
    for end_one in nodes:
        around = range(graph.starts[end_one], graph.starts[end_one + 1])
        for place in around:
            closing[graph.neighbours[place]] = graph.pairs[place]
        for place in around:
            if positive[graph.pairs[place]] and rest[graph.pairs[place]] > 0.0:
                _pack_around(graph, positive, rest, forbid, closing, end_one, place)
        for place in around:
            closing[graph.neighbours[place]] = -1


@numba.njit(cache=True)
def _pack_around(
    graph: Adjacency,
    positive: NDArray[np.bool_],
    rest: FloatArray,
    forbid: bool,
    closing: NDArray[np.int64],
    end_one: int,
    place: int,
) -> None:
    one, centre = graph.pairs[place], graph.neighbours[place]
    for onward in range(graph.starts[centre], graph.starts[centre + 1]):
        other, end_other = graph.pairs[onward], graph.neighbours[onward]
        if end_other <= end_one or not positive[other]:
            continue
        third = closing[end_other]
        if third >= 0 and not positive[third]:
            share = min(rest[one], rest[other], rest[third])
            rest[third] -= share
        elif third < 0 and forbid:
            share = min(rest[one], rest[other])
        else:
            continue
        rest[one] -= share
        rest[other] -= share
