"""Good partitions fast, and how far from the best they can be: the local search for the clique partitioning problem.

Greedy merging and random partitions are improved by the moves of :mod:`.search.moves`; the best of them are
then crossed. A child takes some parts from one parent as they are, and the others, less these nodes, from the second: a
memetic algorithm (for this problem, with another crossover: Lu, Zhou and Hao 2021, *A hybrid evolutionary
algorithm for the clique partitioning problem*).
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, canonical, result
from tiltmeter.operators.resolution.search.bound import triangle_bound
from tiltmeter.operators.resolution.search.moves import (
    BITS,
    FORBIDDEN,
    State,
    objective,
    restore,
    scatter,
    state_of,
    step,
)
from tiltmeter.operators.resolution.search.sparse import sparse_local_search

VERSION = "local_search/1"

MAX_DENSE_NODES = 4000
"""Two tables of 128 MB each; beyond, the search is on lists."""

_POPULATION = 8

_ROUNDS = 8
"""Perturbations of each child."""


class _Member(NamedTuple):
    objective: int
    labels: IntArray


def local_search_result(problem: Problem, remaining: Remaining, seed: int = 0) -> Result:
    """A good partition and a bound; see :func:`local_search` and :func:`.bound.triangle_bound`.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "forbid")
    >>> local_search_result(triangle, lambda: 1.0)[:4]
    ('proven', array([0, 0, 1]), 2.0, 2.0)
    """
    labels = local_search(problem, remaining, seed)
    return result(problem, labels, triangle_bound(problem, remaining))


def local_search(problem: Problem, remaining: Remaining, seed: int = 0, start: IntArray | None = None) -> IntArray:
    """The best found of many partitions that no move, join, split or swap improves.

    Args:
        problem: of any size; above 4000 nodes a simpler search on lists takes over.
        remaining: seconds that are left. Only if they run out before the search ends by itself, after some time without
            improvement, does the answer depend on the machine.
        seed: of all that is drawn, 0 <= seed < 2^64.
        start: ``[nodes]``, a partition to start from in place of greedy merging.

    Returns:
        ``[nodes]``, the part of each, numbered in the order of their first nodes, without forbidden pairs; never worse
        than ``start``.

    Raises:
        ValueError: if ``start`` has other nodes, or a forbidden pair in a part.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "forbid")
    >>> local_search(triangle, lambda: 1.0)
    array([0, 0, 1])
    """
    if start is not None and (start.shape != (problem.num_nodes,) or np.isneginf(problem.objective(start))):
        raise ValueError(
            f"start of shape {start.shape}: must give each of {problem.num_nodes} nodes a part, and forbidden pairs "
            "different ones; leave start out"
        )
    if not (problem.weights > 0.0).any():
        return np.arange(problem.num_nodes)
    if problem.num_nodes > MAX_DENSE_NODES:
        return sparse_local_search(problem, remaining, start)
    matrix = _whole_matrix(problem)
    labels = _greedy(matrix) if start is None else start
    return canonical(_evolve(matrix, canonical(labels), remaining, seed))


def _whole_matrix(problem: Problem) -> IntArray:
    """``[nodes, nodes]``, the weights in units of about 2^-BITS of their sum; integers up to that size stay exact."""
    allowed = np.isfinite(problem.weights)
    finite = np.where(allowed, problem.weights, 0.0)
    exponent = BITS - int(np.frexp(np.abs(finite).sum())[1])
    weights = np.where(allowed, np.rint(np.ldexp(finite, exponent)).astype(np.int64), FORBIDDEN)
    missing = FORBIDDEN if problem.missing == "forbid" else 0
    matrix = np.full((problem.num_nodes, problem.num_nodes), missing, dtype=np.int64)
    matrix[problem.left, problem.right] = matrix[problem.right, problem.left] = weights
    np.fill_diagonal(matrix, 0)
    return matrix


def _evolve(matrix: IntArray, labels: IntArray, remaining: Remaining, seed: int) -> IntArray:
    members = [_polished(state_of(matrix, labels), _generator(seed, 0), remaining)]
    while len(members) < _POPULATION and remaining() > 0.0:
        members.append(_founder(matrix, _generator(seed, len(members)), remaining))
    number, idle, patience = len(members), 0, _patience(labels.size)
    # Where all roads lead to one value, there is nothing to cross.
    while idle < patience and remaining() > 0.0 and len({member.objective for member in members}) > 1:
        best = max(member.objective for member in members)
        child = _child(matrix, members, _generator(seed, number), remaining)
        _replace_worst(members, child)
        idle = 0 if child.objective > best else idle + 1
        number += 1
    return max(members, key=lambda member: member.objective).labels


def _generator(seed: int, number: int) -> np.random.Generator:
    return keyed_generator(seed, Stream.PARTITION, 0, 0, number)


def _patience(num_nodes: int) -> int:
    """Children without improvement after which the search ends: about a second's work up to 600 nodes."""
    return int(np.clip(5 * 10**6 // max(1, num_nodes) ** 2, 10, 100))


def _founder(matrix: IntArray, generator: np.random.Generator, remaining: Remaining) -> _Member:
    """From a random partition."""
    num_nodes = matrix.shape[0]
    state = state_of(matrix, np.arange(num_nodes))
    scatter(state, *generator.integers(num_nodes, size=(2, num_nodes)))
    return _polished(state, generator, remaining)


def _child(matrix: IntArray, members: list[_Member], generator: np.random.Generator, remaining: Remaining) -> _Member:
    one, other = (members[place].labels for place in generator.choice(len(members), 2, replace=False))
    kept = generator.random(one.size) < 0.5
    crossed = np.where(kept[one], one, one.size + other)
    return _polished(state_of(matrix, canonical(crossed)), generator, remaining)


def _polished(state: State, generator: np.random.Generator, remaining: Remaining) -> _Member:
    """The best of a few local optima around the state."""
    num_nodes = state.labels.size
    _improve(state, remaining)
    for _ in range(_ROUNDS):
        if remaining() <= 0.0:
            break
        before = state.labels.copy()
        nodes, others = generator.integers(num_nodes, size=(2, generator.integers(2, 3 + num_nodes // 2)))
        if scatter(state, nodes, others) + _improve(state, remaining) < 0:
            restore(state, before)
    return _Member(int(objective(state)), canonical(state.labels))


def _improve(state: State, remaining: Remaining) -> int:
    total = 0
    while remaining() > 0.0 and (gain := int(step(state))):
        total += gain
    return total


def _replace_worst(members: list[_Member], child: _Member) -> None:
    """Unless the child is no better, or its value is there already."""
    worst = min(range(len(members)), key=lambda place: members[place].objective)
    if child.objective > members[worst].objective and all(child.objective != member.objective for member in members):
        members[worst] = child


@numba.njit(cache=True)
def _greedy(matrix: IntArray) -> IntArray:
    """Additive clustering: the two parts with the most weight between them merge, while it is positive."""
    num_parts = matrix.shape[0]
    sums, labels = matrix.copy(), np.arange(num_parts)
    alive = np.ones(num_parts, dtype=np.bool_)
    partners = np.empty(num_parts, dtype=np.int64)
    for part in range(num_parts):
        partners[part] = _partner(sums, alive, part)
    while True:
        one = _part_to_merge(sums, alive, partners)
        if one < 0:
            return labels
        other = int(partners[one])
        labels[labels == other] = one
        alive[other] = False
        # Sums of many forbidden pairs would leave int64.
        sums[one] = np.maximum(sums[one] + sums[other], FORBIDDEN)
        sums[:, one] = sums[one]
        for part in range(num_parts):
            if alive[part] and (part == one or partners[part] == one or partners[part] == other):
                partners[part] = _partner(sums, alive, part)


@numba.njit(cache=True)
def _part_to_merge(sums: IntArray, alive: NDArray[np.bool_], partners: IntArray) -> int:
    most, chosen = np.int64(0), -1
    for part in range(alive.size):
        if alive[part] and partners[part] >= 0 and sums[part, partners[part]] > most:
            most, chosen = sums[part, partners[part]], part
    return chosen


@numba.njit(cache=True)
def _partner(sums: IntArray, alive: NDArray[np.bool_], part: int) -> int:
    """The part with the most positive weight to this one; -1 if there is none."""
    most, partner = np.int64(0), -1
    for other in range(alive.size):
        if alive[other] and other != part and sums[part, other] > most:
            most, partner = sums[part, other], other
    return partner
