"""Why a partition is as it is: what holds each part, and what kept a node out of another.

Vadrevu et al. 2021 (xER) explain some of their clusters by hand, in section 6.2; here every merge and every refusal is
explained. Weights add up: a node v adds its weight to the rest of its part A, and moving it to a part P would change
the objective by

    sum_{u in P} w_uv - sum_{u in A \\ v} w_uv,

if no pair of v with P is forbidden. Everything is linear in the pairs, up to sorting.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution.problem import Problem

VERSION = "partition_explanations/1"

NUM_TIPPING = 5
"""Pairs that are named against a node."""


class Merges(NamedTuple):
    """What holds the parts of two nodes or more, by their number.

    Attributes:
        parts: ``[merges]`` int64.
        weights: ``[merges]``, sum of the weights within the part, its share of the objective.
        weakest: ``[merges]`` int64, the node with the least weight to the others; the first of several.
        held: ``[merges]``, that weight: what the part would lose with the node.
    """

    parts: IntArray
    weights: FloatArray
    weakest: IntArray
    held: FloatArray


class NearMisses(NamedTuple):
    """Nodes with a positive pair into a part that is not their own, by node and part.

    Attributes:
        nodes, parts: ``[near misses]`` int64.
        support, opposition: ``[near misses]``, sums of the positive and of the negative weights between the two.
        num_forbidden: ``[near misses]`` int64, pairs between them that may not share a part.
        held: ``[near misses]``, sum of the node's weights to its own part.
        starts: ``[near misses + 1]`` int64, where the tipping pairs of each begin.
        tipping: ``[tipping pairs]`` int64, nodes of the part that speak most against the node: those that it may not
            join, by number, then those with the most negative weights; at most five of each near miss.
        tipping_weights: ``[tipping pairs]``, -inf where the pair is forbidden.
    """

    nodes: IntArray
    parts: IntArray
    support: FloatArray
    opposition: FloatArray
    num_forbidden: IntArray
    held: FloatArray
    starts: IntArray
    tipping: IntArray
    tipping_weights: FloatArray

    @property
    def total(self) -> FloatArray:
        """What the node would bring into the part, were it allowed to."""
        return self.support + self.opposition


class Pairs(NamedTuple):
    """``[pairs]``, both nodes and the weight."""

    left: IntArray
    right: IntArray
    weights: FloatArray


def merges(problem: Problem, labels: NDArray[np.integer]) -> Merges:
    """The weight within each part of two nodes or more, and the node that is held least.

    Args:
        labels: ``[nodes]``, the part of each, numbered from 0.

    Raises:
        ValueError: if the labels are of other nodes.

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, 1.0, -0.5]), "forbid")
    >>> merges(triangle, np.array([0, 0, 0]))
    Merges(parts=array([0]), weights=array([2.5]), weakest=array([2]), held=array([0.5]))
    """
    _check(problem, labels)
    held, sizes = _held(problem, labels), np.bincount(labels)
    parts = np.flatnonzero(sizes > 1)
    together = _together(problem, labels)
    weights = _sums(labels[problem.left[together]], problem.weights[together], sizes.size)
    first = np.cumsum(sizes) - sizes
    weakest = np.lexsort((held, labels))[first[parts]]
    return Merges(parts, weights[parts], weakest, held[weakest])


def near_misses(problem: Problem, labels: NDArray[np.integer]) -> NearMisses:
    """What spoke for and against a node in every part that it has a positive pair with, but is not in.

    Args:
        labels: ``[nodes]``, the part of each, numbered from 0.

    Raises:
        ValueError: if the labels are of other nodes.

    Node 2 would bring 1 - 3 into the part of the others, and is better off alone:

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "forbid")
    >>> result = near_misses(triangle, np.array([0, 0, 1]))
    >>> result.nodes[-1], result.parts[-1], result.total[-1], result.held[-1], result.tipping[result.starts[-2] :]
    (np.int64(2), np.int64(0), np.float64(-2.0), np.float64(0.0), array([0]))
    """
    _check(problem, labels)
    sizes = np.bincount(labels)
    nodes, others, weights = _across(problem, labels)
    key = nodes * sizes.size + labels[others]
    missed = np.unique(key[weights > 0])
    miss, pairs = _located(missed, key)
    others, weights = others[pairs], weights[pairs]
    node, part = missed // sizes.size, missed % sizes.size
    listed = np.bincount(miss, minlength=missed.size)
    num_forbidden = sizes[part] - listed if problem.missing == "forbid" else np.zeros_like(missed)
    support, opposition = (
        _sums(miss, side, missed.size) for side in (np.maximum(weights, 0.0), np.minimum(weights, 0.0))
    )
    forbidden = _forbidden(labels, part, num_forbidden, listed, miss, others)
    against = weights < 0
    tipping = _tipping(missed.size, (miss[against], others[against], weights[against]), forbidden)
    return NearMisses(node, part, support, opposition, num_forbidden, _held(problem, labels)[node], *tipping)


def split_pairs(problem: Problem, labels: NDArray[np.integer]) -> Pairs:
    """Positive pairs that the partition takes apart.

    Args:
        labels: ``[nodes]``, the part of each.

    Raises:
        ValueError: if the labels are of other nodes.
    """
    _check(problem, labels)
    return _pairs(problem, ~_together(problem, labels) & (problem.weights > 0))


def joined_pairs(problem: Problem, labels: NDArray[np.integer]) -> Pairs:
    """Negative pairs that the partition puts together; arguments and errors as of :func:`split_pairs`."""
    _check(problem, labels)
    return _pairs(problem, _together(problem, labels) & (problem.weights < 0))


def _check(problem: Problem, labels: NDArray[np.integer]) -> None:
    if labels.shape != (problem.num_nodes,):
        raise ValueError(f"labels have shape {labels.shape}: must be one for each of {problem.num_nodes} nodes")


def _together(problem: Problem, labels: NDArray[np.integer]) -> NDArray[np.bool_]:
    together: NDArray[np.bool_] = labels[problem.left] == labels[problem.right]
    return together


def _pairs(problem: Problem, chosen: NDArray[np.bool_]) -> Pairs:
    return Pairs(problem.left[chosen], problem.right[chosen], problem.weights[chosen])


def _held(problem: Problem, labels: NDArray[np.integer]) -> FloatArray:
    """``[nodes]``, the weight of each node to its own part."""
    left, right, weights = _pairs(problem, _together(problem, labels))
    return _sums(left, weights, problem.num_nodes) + _sums(right, weights, problem.num_nodes)


def _sums(places: NDArray[np.integer], weights: FloatArray, num: int) -> FloatArray:
    return np.bincount(places, weights, num).astype(np.float64, copy=False)


def _across(problem: Problem, labels: NDArray[np.integer]) -> tuple[IntArray, IntArray, FloatArray]:
    """Node, other node and weight of each pair between parts, in both directions."""
    left, right, weights = _pairs(problem, ~_together(problem, labels))
    return np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([weights, weights])


def _located(missed: IntArray, key: IntArray) -> tuple[IntArray, IntArray]:
    """Where the keys lie in the rising ``missed``, and which of them are there at all."""
    place = np.searchsorted(missed, key)
    place[place == missed.size] = 0
    pairs = np.flatnonzero(missed[place] == key) if missed.size else np.empty(0, dtype=np.int64)
    return place[pairs], pairs


# --- the pairs that tipped it ---------------------------------------------------------------------------------------

_Against = tuple[IntArray, IntArray, FloatArray]
"""Near miss, node of its part, and weight of each pair."""


def _forbidden(
    labels: NDArray[np.integer],
    part: IntArray,
    num_forbidden: IntArray,
    listed: IntArray,
    miss_of_pair: IntArray,
    others: IntArray,
) -> _Against:
    """Pairs that are not listed, the first ones of each near miss.

    Of ``listed + NUM_TIPPING`` nodes of a part that many are not listed, if there are as many: no more are looked at.
    """
    by_part = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    num = np.where(num_forbidden > 0, np.minimum(sizes[part], listed + NUM_TIPPING), 0)
    miss = np.repeat(np.arange(part.size), num)
    member = by_part[(np.cumsum(sizes) - sizes)[part[miss]] + _ranks(num)]
    is_listed = np.isin(miss * labels.size + member, miss_of_pair * labels.size + others)
    miss, member = miss[~is_listed], member[~is_listed]
    return miss, member, np.full(miss.size, -np.inf)


def _tipping(num_misses: int, *against: _Against) -> tuple[IntArray, IntArray, FloatArray]:
    """Starts, nodes and weights of the pairs that weigh most against each near miss."""
    misses, others, weights = (np.concatenate(parts) for parts in zip(*against, strict=True))
    order = np.lexsort((others, weights, misses))
    order = order[_ranks(np.bincount(misses, minlength=num_misses)) < NUM_TIPPING]
    kept = np.bincount(misses[order], minlength=num_misses)
    return np.concatenate([[0], np.cumsum(kept)]), others[order], weights[order]


def _ranks(num: IntArray) -> IntArray:
    """0, 1, ... within each of consecutive groups of the given sizes.

    >>> _ranks(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    return np.arange(num.sum()) - np.repeat(np.cumsum(num) - num, num)
