"""Clique partitioning as set packing over all cliques, the traditional formulation.

Equations 6 to 8 of Vadrevu et al. 2021 (xER), as in Mehrotra and Trick 1998, *Cliques and clustering: a combinatorial
approach*: with x_c = 1 where clique c is a part,

    max sum_c w_c x_c    subject to    sum_{c with i} x_c <= 1 for every node i,    x_c in {0, 1},

w_c being the sum of the weights in c. A node in no chosen clique is a part of its own. There are exponentially many
cliques, of which only those with a positive sum can help; a baseline for small or sparse problems.

Equation 7 of the paper has every node in exactly one chosen clique. That is the same where a node by itself is a clique
of weight 0, which is left out here.
"""

from typing import TYPE_CHECKING

import numpy as np

from tiltmeter.operators.resolution.baselines.cliques import allowed_graph, sum_of_positives, unsolved
from tiltmeter.operators.resolution.baselines.packing import USUAL, Listed, Packing, solve
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result

if TYPE_CHECKING:
    from pulp import LpProblem, LpVariable

VERSION = "set_packing/2"

MAX_CLIQUES = 200_000

_Cliques = list[tuple[list[int], float]]
"""Nodes and sum of the weights of each."""


def set_packing(
    problem: Problem, remaining: Remaining, packing: Packing = USUAL, listed: Listed | None = None
) -> Result:
    """Solves it with an engine, through PuLP.

    Args:
        problem: whose allowed pairs have few cliques; with ``missing="zero"`` any set of nodes is one.
        remaining: seconds that are left.
        packing: ``max_cliques`` are those of two or more nodes, usually 200,000.
        listed: is told the number of cliques.

    Raises:
        ValueError: if there are more cliques, or the engine is not there.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "zero")
    >>> set_packing(triangle, lambda: 1.0)[:4]
    ('proven', array([0, 0, 1]), 2.0, 2.0)
    """
    cliques = _positive_cliques(problem, remaining, packing.max_cliques or MAX_CLIQUES, listed)
    if cliques is None or remaining() <= 0.0:
        return unsolved(problem)
    if not cliques:
        return result(problem, np.arange(problem.num_nodes), 0.0)
    model, chosen = _model(problem.num_nodes, cliques)
    is_packed, bound = solve(model, packing.engine, remaining)
    bound = min(bound, sum_of_positives(problem))
    if not is_packed:
        return unsolved(problem)._replace(bound=bound)
    labels = np.arange(problem.num_nodes)
    for (nodes, _), variable in zip(cliques, chosen, strict=True):
        if variable.value() > 0.5:
            labels[nodes] = nodes[0]
    return result(problem, labels, bound)


def _positive_cliques(
    problem: Problem, remaining: Remaining, max_cliques: int, listed: Listed | None
) -> _Cliques | None:
    """Those with a positive sum; None if time runs out."""
    import networkx as nx

    cliques, number = [], 0
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
    if listed:
        listed(max(0, number))
    return cliques


def _model(num_nodes: int, cliques: _Cliques) -> tuple["LpProblem", list["LpVariable"]]:
    """The model, and for each clique its x."""
    import pulp

    model = pulp.LpProblem("set_packing", pulp.LpMaximize)
    chosen = [model.add_variable(f"x_{number}", cat=pulp.LpBinary) for number in range(len(cliques))]
    model += pulp.LpAffineExpression((x, weight) for x, (_, weight) in zip(chosen, cliques, strict=True))
    choices: list[list[pulp.LpVariable]] = [[] for _ in range(num_nodes)]
    for x, (nodes, _) in zip(chosen, cliques, strict=True):
        for node in nodes:
            choices[node].append(x)
    for candidates in filter(None, choices):
        model += pulp.lpSum(candidates) <= 1
    return model, chosen
