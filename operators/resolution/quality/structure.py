"""How clusters hold together by their positive pairs: bridges, without any of which one falls apart, and density."""

from typing import NamedTuple

import numba
import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.resolution.adjacency import adjacency

VERSION = "cluster_structure/1"


class Structure(NamedTuple):
    """Attributes:
    sizes, num_pairs, num_bridges: ``[clusters]``: records, positive pairs within it, and those that are bridges.
    """

    sizes: IntArray
    num_pairs: IntArray
    num_bridges: IntArray


def cluster_structure(clusters: IntArray, left: IntArray, right: IntArray) -> Structure:
    """In time that is linear in pairs (Tarjan 1974, *A note on finding the bridges of a graph*).

    Args:
        clusters: ``[records]``, numbered from 0 without gaps.
        left, right: ``[pairs]``, positive pairs, each once; those between clusters are left out.

    >>> two = cluster_structure(np.array([0, 0, 0, 0, 1]), np.array([0, 1, 0, 2, 3]), np.array([1, 2, 2, 3, 4]))
    >>> [numbers.tolist() for numbers in two]
    [[4, 1], [4, 0], [1, 0]]
    """
    within = clusters[left] == clusters[right]
    left, right, sizes = left[within], right[within], np.bincount(clusters)
    links = adjacency(clusters.size, left, right)
    bridges = _bridges(links.starts.astype(np.int64), links.neighbours.astype(np.int64), links.pairs, left.size)
    pairs, cut = (np.bincount(clusters[ends], minlength=sizes.size) for ends in (left, left[bridges]))
    return Structure(sizes, pairs, cut)


@numba.njit(cache=True)
def _bridges(starts: IntArray, neighbours: IntArray, pairs: IntArray, num_pairs: int) -> BoolArray:
    """A pair to a node that is first seen over it is a bridge if no other leads from there, or below, so high up."""
    is_bridge = np.zeros(num_pairs, np.bool_)
    num_nodes = starts.size - 1
    rank, low, place = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64), starts[:-1].copy()
    path, entry, seen = np.empty(num_nodes, np.int64), np.full(num_nodes, -1), 0
    for root in range(num_nodes):
        depth = 0
        path[0] = root if rank[root] == 0 else -1
        while depth >= 0 and path[0] >= 0:
            node = path[depth]
            if rank[node] == 0:
                seen += 1
                rank[node] = low[node] = seen
            if place[node] < starts[node + 1]:
                cell = place[node]
                place[node] += 1
                other = neighbours[cell]
                if rank[other] == 0:
                    entry[other] = pairs[cell]
                    depth += 1
                    path[depth] = other
                elif pairs[cell] != entry[node]:
                    low[node] = min(low[node], rank[other])
            else:
                depth -= 1
                if depth >= 0:
                    above = path[depth]
                    low[above] = min(low[above], low[node])
                    is_bridge[entry[node]] = low[node] > rank[above]
    return is_bridge
