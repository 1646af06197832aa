"""Clique partitioning as set packing over all cliques, the traditional formulation.

Equations 6 to 8 of Vadrevu et al. 2021 (xER), as in Mehrotra and Trick 1998, *Cliques and clustering: a combinatorial
approach*: with x_c = 1 where clique c is a part,

    max sum_c w_c x_c    subject to    sum_{c with i} x_c <= 1 for every node i,    x_c in {0, 1},

w_c being the sum of the weights in c. A node in no chosen clique is a part of its own. There are exponentially many
cliques, of which only those with a positive sum can help; a baseline for small or sparse problems.
"""

from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

VERSION = "set_packing/1"

MAX_CLIQUES = 200_000


def set_packing(problem: Problem, remaining: Remaining, max_cliques: int = MAX_CLIQUES) -> Result:
    """Solves it with HiGHS, through scipy.

    Args:
        problem: whose allowed pairs have few cliques; with ``missing="zero"`` any set of nodes is one.
        remaining: seconds that are left.
        max_cliques: of two or more nodes.

    Raises:
        ValueError: if there are more cliques.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "zero")
    >>> set_packing(triangle, lambda: 1.0)[:4]
    ('proven', array([0, 0, 1]), 2.0, 2.0)
    """
    cliques = _positive_cliques(problem, remaining, max_cliques)
    if cliques is None:
        return unsolved(problem)
    if not cliques:
        return result(problem, np.arange(problem.num_nodes), 0.0)
    members, weights = _incidence(problem.num_nodes, [nodes for nodes, _ in cliques]), np.array([w for _, w in cliques])
    chosen, bound = _pack(members, weights, remaining)
    bound = min(bound, _sum_of_positives(problem))
    if chosen is None:
        return unsolved(problem)._replace(bound=bound)
    labels = np.arange(problem.num_nodes)
    for clique in np.flatnonzero(chosen > 0.5):
        labels[cliques[clique][0]] = cliques[clique][0][0]
    return result(problem, labels, bound)


def allowed_graph(problem: Problem) -> "nx.Graph":
    """The pairs that may share a part."""
    import networkx as nx

    if problem.missing == "zero":
        return nx.complete_graph(problem.num_nodes)
    graph = nx.empty_graph(problem.num_nodes)
    graph.add_edges_from(zip(problem.left.tolist(), problem.right.tolist(), strict=True))
    return graph


def unsolved(problem: Problem) -> Result:
    """No partition, and the bound that takes no time."""
    return Result("none", np.arange(problem.num_nodes), -np.inf, _sum_of_positives(problem))


def _sum_of_positives(problem: Problem) -> float:
    return float(problem.weights[problem.weights > 0.0].sum())


def _positive_cliques(problem: Problem, remaining: Remaining, max_cliques: int) -> list[tuple[list[int], float]] | None:
    """Those with a positive sum; None if time runs out."""
    import networkx as nx

    cliques = []
    every = nx.enumerate_all_cliques(allowed_graph(problem))
    for number, nodes in enumerate(every, start=1 - problem.num_nodes):
        if number > max_cliques:
            raise ValueError(
                f"{problem.num_nodes} nodes with more than max_cliques={max_cliques} cliques: set packing lists them "
                "all; set max_cliques or the threshold of the pairs higher, or another solver"
            )
        if number % 1000 == 0 and remaining() <= 0.0:
            return None
        weight = float(problem.matrix[np.ix_(nodes, nodes)].sum()) / 2.0
        if weight > 0.0:
            cliques.append((nodes, weight))
    return cliques


def _incidence(num_nodes: int, cliques: list[list[int]]) -> "csr_array":
    """``[nodes, cliques]``"""
    from scipy.sparse import csr_array

    rows = np.concatenate(cliques)
    columns = np.repeat(np.arange(len(cliques)), [len(nodes) for nodes in cliques])
    return csr_array((np.ones(rows.size), (rows, columns)), shape=(num_nodes, len(cliques)))


def _pack(members: "csr_array", weights: FloatArray, remaining: Remaining) -> tuple[FloatArray | None, float]:
    """The best packing found, and a bound."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    solution = milp(
        -weights,
        integrality=np.ones(weights.size, dtype=np.int64),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(members, ub=1.0),
        options={"time_limit": max(0.0, remaining()), "mip_rel_gap": 0.0},
    )
    bound = solution.get("mip_dual_bound")
    return solution.x, np.inf if bound is None else -float(bound)
