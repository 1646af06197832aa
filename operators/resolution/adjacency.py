"""The pairs of a graph, listed by node (compressed sparse rows)."""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import IntArray


class Adjacency(NamedTuple):
    """Each pair twice, once from either node.

    Attributes:
        starts: ``[nodes + 1]``, where the neighbours of each node start.
        neighbours: ``[2 pairs]``, rising within a node.
        pairs: ``[2 pairs]``, the number of the pair.
    """

    starts: IntArray
    neighbours: IntArray
    pairs: IntArray


def adjacency(num_nodes: int, left: IntArray, right: IntArray) -> Adjacency:
    """Of pairs ``[pairs]`` of different nodes, in any order.

    >>> adjacency(3, np.array([0, 1]), np.array([1, 2]))
    Adjacency(starts=array([0, 1, 3, 4]), neighbours=array([1, 0, 2, 1]), pairs=array([0, 0, 1, 1]))
    """
    nodes, neighbours = np.concatenate([left, right]), np.concatenate([right, left])
    order = np.lexsort((neighbours, nodes))
    starts = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=num_nodes))])
    return Adjacency(starts, neighbours[order], order % max(1, left.size))
