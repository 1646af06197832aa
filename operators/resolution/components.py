"""Connected components of the positive pairs: a part of an optimal partition is connected by them.

If it were not, it could be cut into pieces between which no pair is positive, and the sum of weights would not fall. So
each component is a problem of its own, and pairs between components do not matter.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.embedding.similarity import FloatArray
from tiltmeter.operators.resolution.pairs import ScoredPairs

VERSION = "components/1"


class Components(NamedTuple):
    """Components by size, the largest first, and of one size by their first node.

    Attributes:
        component: ``[nodes]`` int64, of each node.
        place: ``[nodes]`` int64, of each node within its component, in the order of the nodes.
        sizes: ``[components]`` int64, nodes.
        starts: ``[components + 1]`` int64, where the pairs of each begin.
        left, right: ``[pairs within components]`` int64, places; by component, and then in order.
        weights: likewise.
    """

    component: NDArray[np.int64]
    place: NDArray[np.int64]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weights: FloatArray

    def bundles(self, num_pairs: int) -> Iterator[tuple[int, int]]:
        """Runs of components ``[first, last)`` of at most so many pairs; a component with more is one by itself."""
        first = 0
        while first < self.sizes.size:
            fitting = int(np.searchsorted(self.starts, self.starts[first] + num_pairs, side="right")) - 1
            last = min(max(fitting, first + 1), self.sizes.size)
            yield first, last
            first = last


def components_of(num_nodes: int, pairs: ScoredPairs) -> Components:
    """Cut a graph into the connected components of its positive pairs.

    >>> pairs = ScoredPairs(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.5, -1.0, 0.2]), 0, 0, 0, 0)
    >>> components_of(5, pairs).component
    array([0, 0, 1, 1, 2])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    positive = pairs.weights > 0
    ones = np.ones(int(positive.sum()), dtype=np.int8)
    graph = coo_array((ones, (pairs.left[positive], pairs.right[positive])), shape=(num_nodes, num_nodes))
    num, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels, minlength=num)
    first = np.full(num, num_nodes)
    np.minimum.at(first, labels, np.arange(num_nodes))
    order = np.lexsort((first, -sizes))
    rank = np.empty(num, dtype=np.int64)
    rank[order] = np.arange(num)
    component = rank[labels]
    return _with_pairs(component, sizes[order].astype(np.int64), pairs)


def _with_pairs(component: NDArray[np.int64], sizes: NDArray[np.int64], pairs: ScoredPairs) -> Components:
    by_component = np.argsort(component, kind="stable")
    place = np.empty_like(component)
    place[by_component] = np.arange(component.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    inside = np.flatnonzero(component[pairs.left] == component[pairs.right])
    of_pair = component[pairs.left[inside]]
    inside = inside[np.argsort(of_pair, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_pair, minlength=sizes.size))])
    left, right = place[pairs.left[inside]], place[pairs.right[inside]]
    return Components(component, place, sizes, starts.astype(np.int64), left, right, pairs.weights[inside])
