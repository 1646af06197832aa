"""What a partition has to obey beside its weights: records that are one, that are not, and sources without duplicates.

With must-link pairs nodes are contracted to groups (:func:`tied`): the weights within a group are worth the same
whatever the partition, so that an optimum and a bound of the contracted problem are those of the whole. A pair that may
not share a part weighs -inf, or is no scored pair where these alone may share one; of a source with at most one record
in each part these are all pairs between two of its records, a clique. The polytope is a face of the former one: all
inequalities hold, and so do the bounds.

The constraints are those of Wagstaff et al. 2001, *Constrained k-means clustering with background knowledge*, and of
one-to-one record linkage (Jaro 1989).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.resolution.components import positive_components
from tiltmeter.operators.resolution.problem import Missing, Problem, Remaining, Result, canonical, result
from tiltmeter.operators.resolution.reductions import contracted

VERSION = "partition_constraints/1"

MAX_PAIRS = 20_000_000
"""Of records of one source within the components of a graph; each takes 24 bytes."""


class Constraints(NamedTuple):
    """Attributes:
    together: ``[2, pairs]`` int64, nodes that share a part.
    apart: ``[2, pairs]`` int64, nodes that do not.
    sources: ``[nodes]`` int64, of which a part has at most one node each; -1: of none.
    """

    together: IntArray
    apart: IntArray
    sources: IntArray


class Constrained(NamedTuple):
    """Attributes:
    left, right, weights: ``[pairs]``, as of a :class:`Problem`, which obeys what is apart.
    groups: ``[nodes]`` int64, canonical: nodes of one group are together.
    kept_apart: ``[pairs before]``, which of the scored pairs were forbidden.
    """

    left: IntArray
    right: IntArray
    weights: FloatArray
    groups: IntArray
    kept_apart: BoolArray


def groups_of(num_nodes: int, together: IntArray) -> IntArray:
    """``[nodes]``, the group of each: what is together with the same node is together.

    >>> groups_of(4, np.array([[0, 3], [2, 2]]))
    array([0, 1, 0, 0])
    """
    links = coo_array((np.ones(together.shape[1], dtype=np.int8), tuple(together)), shape=(num_nodes, num_nodes))
    return canonical(connected_components(links, directed=False)[1])


def ties(groups: IntArray) -> IntArray:
    """``[2, nodes]``, each node with the first of its group.

    >>> ties(np.array([0, 1, 0]))
    array([[0, 1, 0],
           [0, 1, 2]])
    """
    _, first = np.unique(groups, return_index=True)
    return np.stack([first[groups], np.arange(groups.size)])


def contradiction(groups: IntArray, apart: IntArray, sources: IntArray) -> tuple[int, int] | None:
    """Two nodes of one group that may not share a part: the first such pair of ``apart``, or of one source.

    >>> contradiction(np.array([0, 1, 0]), np.array([[1, 0], [2, 2]]), np.full(3, -1))
    (0, 2)
    >>> contradiction(np.array([0, 1, 0]), np.empty((2, 0), dtype=np.int64), np.array([5, 5, 5]))
    (0, 2)
    """
    if (wrong := np.flatnonzero(groups[apart[0]] == groups[apart[1]])).size:
        return int(apart[0, wrong[0]]), int(apart[1, wrong[0]])
    known = np.flatnonzero(sources >= 0)
    order = known[np.lexsort((known, sources[known], groups[known]))]
    one, other = order[:-1], order[1:]
    same = np.flatnonzero((groups[one] == groups[other]) & (sources[one] == sources[other]))
    return (int(one[same[0]]), int(other[same[0]])) if same.size else None


def constrained(
    num_nodes: int, left: IntArray, right: IntArray, weights: FloatArray, constraints: Constraints, missing: Missing
) -> Constrained:
    """The pairs of a graph that obeys constraints.

    Under ``zero``, what is apart weighs -inf; of a source, all pairs within a component. Under ``forbid`` it is not
    listed, and a pair that is together without a score weighs 0.

    Args:
        left, right, weights: ``[pairs]``, as of a :class:`Problem`.

    Raises:
        ValueError: if nodes would be together and apart, or there are more than ``MAX_PAIRS`` pairs of one source.

    >>> pairs = np.array([0, 1]), np.array([1, 2]), np.array([2.0, 1.0])
    >>> of_a_and_b = Constraints(np.empty((2, 0), np.int64), np.empty((2, 0), np.int64), np.array([7, 8, 7]))
    >>> constrained(3, *pairs, of_a_and_b, "zero")[:3]
    (array([0, 0, 1]), array([1, 2, 2]), array([  2., -inf,   1.]))
    """
    groups, sources = groups_of(num_nodes, constraints.together), constraints.sources
    if wrong := contradiction(groups, constraints.apart, sources):
        raise ValueError(f"nodes {wrong[0]} and {wrong[1]} are together and may not share a part")
    codes, apart = left * num_nodes + right, _codes(num_nodes, constraints.apart)
    kept_apart = np.isin(codes, apart) | ((sources[left] == sources[right]) & (sources[left] >= 0))
    if missing == "forbid":
        codes, weights = codes[~kept_apart], weights[~kept_apart]
        more, weight = _codes(num_nodes, _within(groups)), 0.0
    else:
        weights = np.where(kept_apart, -np.inf, weights)
        component = positive_components(num_nodes, left, right, weights, constraints.together)
        more = np.append(apart, _codes(num_nodes, _within(_common(component, sources))))
        weight = -np.inf
    more = np.setdiff1d(more, codes)
    order = np.argsort(codes := np.append(codes, more), kind="stable")
    both = np.append(weights, np.full(more.size, weight))[order]
    return Constrained(*np.divmod(codes[order], num_nodes), both, groups, kept_apart)


def tied(
    problem: Problem, groups: IntArray, solve: Callable[[Problem, Remaining], Result], remaining: Remaining
) -> Result:
    """The problem solved with the nodes of each group together; its bound is one of all partitions that keep them so.

    Args:
        groups: ``[nodes]``, canonical, without a forbidden pair in any.

    >>> from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane
    >>> path = Problem(3, np.array([0, 1]), np.array([1, 2]), np.array([-1.0, 2.0]), "zero")
    >>> tied(path, np.array([0, 0, 1]), cutting_plane, lambda: 60.0)[:4]
    ('proven', array([0, 0, 0]), 1.0, 1.0)
    """
    within = groups[problem.left] == groups[problem.right]
    part = solve(contracted(problem, groups), remaining)
    bound = part.bound + float(problem.weights[within].sum())
    return result(problem, part.labels[groups], bound, part.num_cuts, part.num_branches)


def _codes(num_nodes: int, pairs: IntArray) -> IntArray:
    low, high = np.sort(pairs, axis=0)
    return np.unique(low[low != high] * num_nodes + high[low != high])


def _common(component: IntArray, sources: IntArray) -> IntArray:
    """``[nodes]``, one number for the nodes of a component that are of one source, and others for those of none."""
    span = max(int(sources.max(initial=0)) + 1, 1)
    each = (int(component.max(initial=0)) + 1) * span + np.arange(sources.size)
    return np.where(sources >= 0, component * span + sources, each)


def _within(labels: IntArray) -> IntArray:
    """``[2, pairs]``, all pairs of nodes with the same label."""
    order = np.argsort(labels, kind="stable")
    sizes = np.unique(labels, return_counts=True)[1]
    following = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(labels.size)
    if (total := int(following.sum())) > MAX_PAIRS:
        raise ValueError(f"{total:,} pairs of records of one source or of one group: must be {MAX_PAIRS:,} or fewer")
    first = np.repeat(np.arange(labels.size), following)
    rank = np.arange(total) - np.repeat(np.cumsum(following) - following, following)
    return np.stack([order[first], order[first + 1 + rank]])
