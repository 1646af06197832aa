"""Connected components of the positive pairs: a part of an optimal partition is connected by them.

If it were not, it could be cut into pieces between which no pair is positive, and the sum of weights would not fall. So
each component is a problem of its own, and pairs between components do not matter.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IndexArray, IntArray
from tiltmeter.operators.resolution.pairs import ScoredPairs, blocks
from tiltmeter.operators.resolution.problem import canonical

VERSION = "components/1"

_MANY = 2**17
"""Pairs of which it is worth it to find those that are needed."""

Linked = Literal["positive", "scored"]
"""Which pairs connect nodes."""


class Components(NamedTuple):
    """Nodes and pairs by component.

    :func:`components_of` numbers components by size, the largest first, and those of one size by their first node.

    Attributes:
        component: ``[nodes]`` int64, of each node.
        place: ``[nodes]`` int64, of each node within its component, in the order of the nodes.
        sizes: ``[components]`` int64, nodes.
        starts: ``[components + 1]`` int64, where the pairs of each begin.
        left, right: ``[pairs within components]`` int64, places; by component, and then in order.
        weights: likewise.
    """

    component: IntArray
    place: IntArray
    sizes: IntArray
    starts: IntArray
    left: IntArray
    right: IntArray
    weights: FloatArray

    def bundles(self, num_pairs: int) -> Iterator[tuple[int, int]]:
        """Runs of components ``[first, last)`` of at most so many pairs; a component with more is one by itself."""
        first = 0
        while first < self.sizes.size:
            fitting = int(np.searchsorted(self.starts, self.starts[first] + num_pairs, side="right")) - 1
            last = min(max(fitting, first + 1), self.sizes.size)
            yield first, last
            first = last


def positive_components(
    num_nodes: int, left: IndexArray, right: IndexArray, weights: FloatArray, together: IntArray | None = None
) -> IntArray:
    """``[nodes]`` int64, the component of each node in the graph of the positive pairs, in the order of first nodes.

    Args:
        together: ``[2, pairs]``, more pairs that connect; None: none.

    >>> positive_components(4, np.array([0, 1, 2]), np.array([2, 3, 3]), np.array([0.5, 1.0, -1.0]))
    array([0, 1, 0, 1])
    """
    edges = _forest(num_nodes, left, right, weights) if left.size > _MANY else _positive(left, right, weights)
    return _connected(num_nodes, edges if together is None else np.append(edges, together, axis=1))


def _connected(num_nodes: int, edges: IndexArray) -> IntArray:
    """``[nodes]``, the component of each, in the order of first nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(edges.shape[1], dtype=np.int8), tuple(edges)), shape=(num_nodes, num_nodes))
    return canonical(connected_components(graph, directed=False)[1])


def _positive(left: IndexArray, right: IndexArray, weights: FloatArray) -> IndexArray:
    positive = weights > 0.0
    return np.stack([left[positive], right[positive]])


def _forest(num_nodes: int, left: IndexArray, right: IndexArray, weights: FloatArray) -> IndexArray:
    """``[2, edges]``, positive pairs that connect what all do, few of them: of each node one, and of what these connect
    those between."""
    nodes = np.arange(num_nodes)
    neighbour = nodes.copy()
    for block in blocks(left.size):
        one, other = _positive(left[block], right[block], weights[block])
        neighbour[other] = one
    edges = [np.stack([neighbour, nodes])]
    labels = _connected(num_nodes, edges[0])
    for block in blocks(left.size):
        pairs = _positive(left[block], right[block], weights[block])
        edges.append(pairs[:, labels[pairs[0]] != labels[pairs[1]]])
    return np.concatenate(edges, axis=1)


def components_of(
    num_nodes: int, pairs: ScoredPairs, linked: Linked = "positive", together: IntArray | None = None
) -> Components:
    """Cut a graph into the connected components of its positive pairs, or of all its scored ones.

    Args:
        together: ``[2, pairs]``, more pairs that connect; None: none.

    >>> pairs = ScoredPairs(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.5, -1.0, 0.2]), 0, 0, 0, 0)
    >>> components_of(5, pairs).component
    array([0, 0, 1, 1, 2])
    """
    left, right, weights = pairs[:3]
    return divided(numbered_components(num_nodes, left, right, weights, linked, together), left, right, weights)


def numbered_components(
    num_nodes: int,
    left: IndexArray,
    right: IndexArray,
    weights: FloatArray,
    linked: Linked = "positive",
    together: IntArray | None = None,
) -> IntArray:
    """``[nodes]``, the component of each, numbered by size, the largest first; see :func:`components_of`."""
    links = weights if linked == "positive" else np.ones(weights.size)
    labels = positive_components(num_nodes, left, right, links, together)
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[labels]


def places(component: IntArray) -> IntArray:
    """``[nodes]``, each node's place within its component, in the order of the nodes.

    >>> places(np.array([1, 0, 1, 1]))
    array([0, 0, 1, 2])
    """
    sizes = np.bincount(component + 1)
    by_component = np.argsort(component, kind="stable")
    place = np.empty_like(component)
    place[by_component] = np.arange(component.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


def divided(component: IntArray, left: IndexArray, right: IndexArray, weights: FloatArray) -> Components:
    """The pairs within components, component by component.

    Args:
        component: ``[nodes]``, of each node, from 0 and without gaps; -1 of those that are left out.
        left, right, weights: ``[pairs]``.
    """
    sizes = np.bincount(component + 1, minlength=1)[1:]
    place = places(component)
    inside = _inside(component, left, right)
    of_pair = component[left[inside]]
    inside = inside[np.argsort(of_pair, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_pair, minlength=sizes.size))])
    return Components(
        component, place, sizes, starts.astype(np.int64), place[left[inside]], place[right[inside]], weights[inside]
    )


def _inside(component: IntArray, left: IndexArray, right: IndexArray) -> IntArray:
    """Which pairs are within a component."""
    chosen = [np.empty(0, dtype=np.int64)]
    for block in blocks(left.size):
        of_left = component[left[block]]
        chosen.append(block.start + np.flatnonzero((of_left == component[right[block]]) & (of_left >= 0)))
    return np.concatenate(chosen)


def undivided(
    component: IntArray, sizes: IntArray, left: IndexArray, right: IndexArray, weights: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs of :func:`divided` by their nodes, and in their order.

    Args:
        component: ``[nodes]``, of each node, from 0 and without gaps.
        sizes: ``[components]``, pairs of each.
        left, right, weights: ``[pairs]``, by places, and component by component.

    >>> undivided(np.array([1, 0, 1, 0]), np.array([1, 1]), np.array([0, 0]), np.array([1, 1]), np.array([0.5, 1.0]))
    (array([0, 1]), array([2, 3]), array([1. , 0.5]))
    """
    nodes = np.argsort(component, kind="stable")
    num_nodes = np.bincount(component, minlength=sizes.size)
    first = np.repeat(np.cumsum(num_nodes) - num_nodes, sizes)
    left, right = nodes[first + left], nodes[first + right]
    order = np.lexsort((right, left))
    return left[order], right[order], weights[order]


def joined_labels(
    component: IntArray, place: IntArray, is_solved: BoolArray, labels: IntArray, earlier: IntArray
) -> IntArray:
    """``[nodes]``, the part of each, numbered in the order of first nodes: of components that were solved, and of those
    that were known.

    Args:
        component, place: ``[nodes]``, as of :class:`Components`.
        is_solved: ``[components]``.
        labels: ``[nodes of solved components]``, by component and place, the part of each within its component.
        earlier: ``[nodes]``, the part of each that was known.

    >>> nodes = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> joined_labels(*nodes, np.array([False, True]), np.array([0, 1]), np.array([7, -1, 7, -1]))
    array([0, 1, 0, 2])
    """
    sizes = np.where(is_solved, np.bincount(component), 0)
    starts = np.cumsum(sizes) - sizes
    part = earlier.copy()
    nodes = np.flatnonzero(is_solved[component])
    part[nodes] = labels[starts[component[nodes]] + place[nodes]]
    return canonical(component * (int(part.max(initial=0)) + 1) + part)
