"""A local search on lists of neighbours, for problems whose matrix would be too large.

The Louvain method (Blondel et al. 2008, *Fast unfolding of communities in large networks*) with the sum of weights in
place of modularity: nodes move to the part of a neighbour while that gains, then parts become nodes, and so on until
nothing changes. Then single nodes get another chance.
"""

import numba
import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution.adjacency import Adjacency, adjacency
from tiltmeter.operators.resolution.problem import Problem, Remaining, canonical

VERSION = "sparse_local_search/1"


_LEAST_GAIN = 1e-9
"""Of the largest weight: less may be rounding, on which nodes could move in circles."""


class _Graph:
    """Parts as nodes: how many nodes each has, and between any two the number of pairs and what they weigh."""

    def __init__(self, problem: Problem, labels: IntArray) -> None:
        num_parts = int(labels.max(initial=-1)) + 1
        left, right = labels[problem.left], labels[problem.right]
        codes = np.minimum(left, right) * num_parts + np.maximum(left, right)
        between = left != right
        edges, places = np.unique(codes[between], return_inverse=True)
        self.weights = np.bincount(places, problem.weights[between], minlength=edges.size).astype(np.float64)
        self.least = _LEAST_GAIN * np.abs(self.weights[np.isfinite(self.weights)]).max(initial=0.0)
        self.counts: IntArray = np.bincount(places, minlength=edges.size)
        self.sizes: IntArray = np.bincount(labels, minlength=num_parts)
        self.neighbours: Adjacency = adjacency(num_parts, edges // num_parts, edges % num_parts)


def sparse_local_search(problem: Problem, remaining: Remaining, start: IntArray | None = None) -> IntArray:
    """A partition that no move of a node or join of two parts improves, unless time runs out.

    Memory and the time of a pass are linear in the pairs.

    Args:
        problem: of any size.
        remaining: seconds that are left.
        start: ``[nodes]``, a partition without forbidden pairs in its parts; each node for itself if None.

    Returns:
        ``[nodes]``, canonical, without forbidden pairs in a part, never worse than ``start``.

    >>> pairs = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> sparse_local_search(Problem(4, *pairs, np.array([2.0, 1.0, -0.5]), "forbid"), lambda: 1.0)
    array([0, 0, 0, 1])
    """
    each = np.arange(problem.num_nodes)
    labels = canonical(each if start is None else start)
    moved = True
    while moved and remaining() > 0.0:
        labels, moved = _moved(problem, each, labels, remaining)
        joined = moved
        while joined and remaining() > 0.0:
            labels, joined = _moved(problem, labels, np.arange(int(labels.max(initial=-1)) + 1), remaining)
    return labels


def _moved(problem: Problem, level: IntArray, labels: IntArray, remaining: Remaining) -> tuple[IntArray, bool]:
    """Moves the parts of ``level`` between those of ``labels``, ``[parts of level]``."""
    graph, forbid = _Graph(problem, level), problem.missing == "forbid"
    after = labels.copy()
    while remaining() > 0.0 and _pass(
        graph.neighbours, graph.weights, graph.counts, graph.sizes, after, forbid, graph.least
    ):
        pass
    return canonical(after[level]), not np.array_equal(after, labels)


@numba.njit(cache=True)
def _pass(
    graph: Adjacency,
    weights: FloatArray,
    counts: IntArray,
    sizes: IntArray,
    labels: IntArray,
    forbid: bool,
    least: float,
) -> bool:
    """Every node in turn to the part that gains most; whether any has moved."""
    members = np.zeros(labels.size + 1, dtype=np.int64)
    for node, part in enumerate(labels):
        members[part] += sizes[node]
    sums, links = np.zeros(members.size), np.zeros(members.size, dtype=np.int64)
    free, moved = 0, False
    for node, own_part in enumerate(labels):
        places = range(graph.starts[node], graph.starts[node + 1])
        for place in places:
            part, pair = labels[graph.neighbours[place]], graph.pairs[place]
            sums[part] += weights[pair]
            links[part] += counts[pair]
        while members[free]:
            free = (free + 1) % members.size
        best, most = free, 0.0
        for place in places:
            part = labels[graph.neighbours[place]]
            allowed = not forbid or links[part] == sizes[node] * members[part]
            if part != own_part and allowed and sums[part] > most:
                best, most = part, sums[part]
        if most > sums[own_part] + least:
            members[own_part] -= sizes[node]
            members[best] += sizes[node]
            labels[node] = best
            moved = True
        sums[own_part], links[own_part] = 0.0, 0
        for place in places:
            part = labels[graph.neighbours[place]]
            sums[part], links[part] = 0.0, 0
    return moved
