"""Clique partitioning as quadratic set packing over maximal cliques, the formulation of xER.

Vadrevu et al. 2021, *xER: An Explainable Model for Entity Resolution using an Efficient Solution for the Clique
Partitioning Problem*: every part lies in a maximal clique, of which there are fewer than of all cliques. With y_imk = 1
where node i is in the k-th of the at most M_m parts that are taken from maximal clique m, and z_ij = 1 where i and j
share a part,

    max sum_ij w_ij z_ij    subject to    sum_{m, k} y_imk <= 1 for every node i,
    z_ij = sum_{m, k} y_imk y_jmk,    y_imk in {0, 1}.

The products are made linear, for every m and k, with y_jmk = 0 where j is not in m, by

    z_ij <= 1 - y_imk + y_jmk    and    z_ij <= sum_{m, k} y_imk    where w_ij > 0,
    z_ij >= y_imk + y_jmk - 1                                       where w_ij < 0.

These are equations 9 to 12. Two choices keep an optimum and make the model smaller. Nodes without a y are parts of
their own, and as a part of an optimum is connected by positive pairs, M_m is the largest number of disjoint positive
pairs in m. And the parts of a clique are numbered in the order of their first nodes, so that its r-th node has no y for
k > r.

The paper has one M for all maximal cliques, a hyperparameter (3 for scores of ECB+, 10 elsewhere); ``max_parts`` is it.
Where it is less than M_m, the best partition may be out of reach, and only the bound of :mod:`.search.bound` holds.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.baselines.cliques import allowed_graph, sum_of_positives, unsolved
from tiltmeter.operators.resolution.baselines.packing import USUAL, Listed, Packing, solve
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result
from tiltmeter.operators.resolution.search.bound import triangle_bound

if TYPE_CHECKING:
    from pulp import LpProblem

VERSION = "quadratic_set_packing/2"

MAX_CLIQUES = 10_000
MAX_CONSTRAINTS = 300_000


class _Slot(NamedTuple):
    """A part that may be taken from a maximal clique.

    Attributes:
        nodes: of the clique that may be in this part of it.
        chosen: for each of these nodes its y.
    """

    nodes: list[int]
    chosen: dict[int, Any]


def quadratic_set_packing(
    problem: Problem, remaining: Remaining, packing: Packing = USUAL, listed: Listed | None = None
) -> Result:
    """Solves it with an engine, through PuLP.

    Args:
        problem: whose allowed pairs have few maximal cliques; with ``missing="zero"`` there is one, of all nodes.
        remaining: seconds that are left.
        packing: ``max_cliques`` are maximal ones of two or more nodes, usually 10,000; ``max_constraints`` those of the
            linear model, usually 300,000.
        listed: is told the number of maximal cliques.

    Raises:
        ValueError: if there are more cliques, or more constraints, or the engine is not there.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "zero")
    >>> quadratic_set_packing(triangle, lambda: 1.0)[:4]
    ('proven', array([0, 0, 1]), 2.0, 2.0)
    """
    cliques = _maximal_cliques(problem, packing.max_cliques or MAX_CLIQUES)
    if listed:
        listed(len(cliques))
    slots, is_limited = _slots(problem, cliques, packing.max_parts)
    _check_size(problem, slots, packing.max_constraints or MAX_CONSTRAINTS)
    if not slots:
        return result(problem, np.arange(problem.num_nodes), 0.0)
    if remaining() <= 0.0:
        return unsolved(problem)
    model = _model(problem, slots)
    is_packed, bound = solve(model, packing.engine, remaining)
    bound = min(triangle_bound(problem, remaining) if is_limited else bound, sum_of_positives(problem))
    return result(problem, _labels(problem, slots), bound) if is_packed else unsolved(problem)._replace(bound=bound)


def _maximal_cliques(problem: Problem, max_cliques: int) -> list[list[int]]:
    """Of two or more nodes, which rise."""
    import networkx as nx

    cliques: list[list[int]] = []
    for nodes in nx.find_cliques(allowed_graph(problem)):
        if len(nodes) > 1:
            cliques.append(sorted(nodes))
        if len(cliques) > max_cliques:
            raise ValueError(
                f"{problem.num_nodes} nodes with more than max_cliques={max_cliques} maximal cliques; set max_cliques "
                "or the threshold of the pairs higher, or another solver"
            )
    return cliques


def _slots(problem: Problem, cliques: list[list[int]], max_parts: int | None) -> tuple[list[_Slot], bool]:
    """The parts that may be taken from the cliques, and whether there are fewer than an optimum may need."""
    import networkx as nx

    positive = problem.weights > 0.0
    gains = nx.Graph(zip(problem.left[positive].tolist(), problem.right[positive].tolist(), strict=True))
    slots: list[_Slot] = []
    is_limited = False
    for nodes in cliques:
        num_parts = len(nx.max_weight_matching(gains.subgraph(nodes), maxcardinality=True))
        if max_parts is not None and num_parts > max_parts:
            num_parts, is_limited = max_parts, True
        slots += [_Slot(nodes[part:], {}) for part in range(num_parts)]
    return slots, is_limited


def _check_size(problem: Problem, slots: list[_Slot], max_constraints: int) -> None:
    num_constraints = sum(len(slot.nodes) * (len(slot.nodes) - 1) for slot in slots)
    if num_constraints > max_constraints:
        raise ValueError(
            f"quadratic set packing of {problem.num_nodes} nodes: up to {num_constraints} constraints, where "
            f"max_constraints={max_constraints}; set that or the threshold of the pairs higher, or another solver"
        )


def _model(problem: Problem, slots: list[_Slot]) -> "LpProblem":
    """The linear model; enters the y into the slots."""
    import pulp

    model = pulp.LpProblem("quadratic_set_packing", pulp.LpMaximize)
    of_node: list[list[dict[int, Any]]] = [[] for _ in range(problem.num_nodes)]
    for number, slot in enumerate(slots):
        for node in slot.nodes:
            slot.chosen[node] = model.add_variable(f"y_{number}_{node}", cat=pulp.LpBinary)
            of_node[node].append(slot.chosen)
    pairs = zip(problem.left.tolist(), problem.right.tolist(), problem.weights.tolist(), strict=True)
    together = [(i, j, weight, model.add_variable(f"z_{i}_{j}", 0.0, 1.0)) for i, j, weight in pairs if weight]
    model += pulp.lpSum(weight * z for _, _, weight, z in together)
    for node, choices in enumerate(of_node):
        model += pulp.lpSum(chosen[node] for chosen in choices) <= 1
    for i, j, weight, z in together:
        for constraint in _links(z, i, j, of_node[i], weight > 0.0):
            model += constraint
    return model


def _links(z: Any, i: int, j: int, choices: list[dict[int, Any]], is_positive: bool) -> list[Any]:
    """What ties z_ij to the y, ``choices`` being the slots of i."""
    import pulp

    if not is_positive:
        return [z >= chosen[i] + chosen[j] - 1 for chosen in choices if j in chosen]
    follow = [z <= 1 - chosen[i] + chosen.get(j, 0) for chosen in choices]
    return [z <= pulp.lpSum(chosen[i] for chosen in choices), *follow]


def _labels(problem: Problem, slots: list[_Slot]) -> IntArray:
    labels = np.arange(problem.num_nodes)
    for slot in slots:
        members = [node for node in slot.nodes if slot.chosen[node].value() > 0.5]
        labels[members] = members[:1]
    return labels
