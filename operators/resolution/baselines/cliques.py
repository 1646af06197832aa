"""What the set packings know of a problem beforehand: which pairs may be together, and how tightly they are tied."""

from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.operators.resolution.problem import Problem, Result

if TYPE_CHECKING:
    import networkx as nx


def allowed_graph(problem: Problem) -> "nx.Graph":
    """The pairs that may share a part."""
    import networkx as nx

    if problem.missing == "zero":
        return nx.complete_graph(problem.num_nodes)
    graph = nx.empty_graph(problem.num_nodes)
    graph.add_edges_from(zip(problem.left.tolist(), problem.right.tolist(), strict=True))
    return graph


def clustering_coefficient(problem: Problem) -> float:
    """The mean over nodes of the share of pairs of neighbours that are neighbours: table 6 of Vadrevu et al. 2021.

    Neighbours are nodes of a scored pair, whatever its weight; a node with fewer than two counts 0. Without nodes, NaN.

    Of a triangle with one more node at its third, the shares are 1, 1, 1 / 3 and 0:

    >>> left, right = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3])
    >>> round(clustering_coefficient(Problem(4, left, right, np.ones(4), "forbid")), 3)
    0.583
    """
    from scipy.sparse import coo_array

    if not problem.num_nodes:
        return float("nan")
    ends = np.concatenate([[problem.left, problem.right], [problem.right, problem.left]], axis=1)
    edges = coo_array((np.ones(ends.shape[1], np.int64), tuple(ends)), (problem.num_nodes,) * 2).tocsr()
    degrees = np.bincount(ends[0], minlength=problem.num_nodes)
    closed = (edges @ edges).multiply(edges).sum(axis=1)
    return float(np.mean(closed / np.maximum(1, degrees * (degrees - 1))))


def unsolved(problem: Problem) -> Result:
    """No partition, and the bound that takes no time."""
    return Result("none", np.arange(problem.num_nodes), -np.inf, sum_of_positives(problem))


def sum_of_positives(problem: Problem) -> float:
    """No partition has more."""
    return float(problem.weights[problem.weights > 0.0].sum())
