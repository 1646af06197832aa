"""Why a partition is as it is: what holds each part, and what kept a node out of another.

Vadrevu et al. 2021 (xER) explain some of their clusters by hand, in section 6.2; here every merge and every refusal of
a node with a positive pair is explained, any other node and part on demand, and the pairs on which partition and gold
disagree are told with their scores. Weights add up: a node v adds its weight to the rest of its part A, and moving it
to a part P would change the objective by

    sum_{u in P} w_uv - sum_{u in A \\ v} w_uv,

if no pair of v with P is forbidden. Everything is linear in the pairs, up to sorting.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution.problem import Problem

VERSION = "partition_explanations/2"

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


class Standings(NamedTuple):
    """What speaks for and against nodes in parts, their own or others.

    Attributes:
        nodes, parts: ``[standings]`` int64.
        support, opposition: ``[standings]``, sums of the positive and of the negative weights between the two.
        num_forbidden: ``[standings]`` int64, pairs between them that may not share a part.
        held: ``[standings]``, sum of the node's weights to its own part.
        starts: ``[standings + 1]`` int64, where the tipping pairs of each begin.
        tipping: ``[tipping pairs]`` int64, nodes of the part that speak most against the node: those that it may not
            join, by number, then those with the most negative weights; at most five of each standing.
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
        """What the node would bring into the part, were it allowed to, or brings into its own."""
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


def near_misses(problem: Problem, labels: NDArray[np.integer]) -> Standings:
    """What spoke for and against a node in every part that it has a positive pair with, but is not in.

    Args:
        labels: ``[nodes]``, the part of each, numbered from 0.

    Returns:
        By node and part.

    Raises:
        ValueError: if the labels are of other nodes.

    Node 2 would bring 1 - 3 into the part of the others, and is better off alone:

    >>> triangle = Problem(3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, -3.0, 1.0]), "forbid")
    >>> result = near_misses(triangle, np.array([0, 0, 1]))
    >>> result.nodes[-1], result.parts[-1], result.total[-1], result.held[-1], result.tipping[result.starts[-2] :]
    (np.int64(2), np.int64(0), np.float64(-2.0), np.float64(0.0), array([0]))
    """
    _check(problem, labels)
    across = _in_both_directions(_pairs(problem, ~_together(problem, labels)))
    key = across.left * (labels.max(initial=0) + 1) + labels[across.right]
    return _standings(problem, labels, across, np.unique(key[across.weights > 0]))


def standings(
    problem: Problem, labels: NDArray[np.integer], nodes: NDArray[np.integer], parts: NDArray[np.integer]
) -> Standings:
    """What speaks for and against some nodes in some parts: why node 25 stayed out of its triangle, in table 8.

    Args:
        labels: ``[nodes]``, the part of each, numbered from 0.
        nodes, parts: ``[questions]``, a node and a part, which may be its own.

    Returns:
        By node and part, each once.

    Raises:
        ValueError: if the labels are of other nodes, or there is no such node or part.

    The weights of node 3 with a triangle, as the paper prints them, add up to less than 0:

    >>> left, right = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3])
    >>> weights = np.array([0.456, 0.999, -0.076, 0.085, -0.156, -0.253])
    >>> table_8 = Problem(4, left, right, weights, "forbid")
    >>> result = standings(table_8, np.array([0, 0, 0, 1]), np.array([3]), np.array([0]))
    >>> round(float(result.total[0]), 3), result.tipping
    (-0.485, array([2, 1, 0]))
    """
    _check(problem, labels)
    num_parts = int(labels.max(initial=-1)) + 1
    for name, values, num in (("node", nodes, problem.num_nodes), ("part", parts, num_parts)):
        if wrong := values[(values < 0) | (values >= num)].tolist():
            raise ValueError(f"there is no {name} {wrong[0]}: they are numbered from 0 to {num - 1}")
    asked = np.zeros(problem.num_nodes, dtype=np.bool_)
    asked[nodes] = True
    pairs = _in_both_directions(_pairs(problem, asked[problem.left] | asked[problem.right]))
    return _standings(problem, labels, pairs, np.unique(nodes * max(1, num_parts) + parts))


def _standings(problem: Problem, labels: NDArray[np.integer], pairs: Pairs, wanted: IntArray) -> Standings:
    """Of nodes and parts, ``wanted`` being node times the number of parts plus part, and rising.

    The pairs, in both directions, have all those between them.
    """
    sizes = np.bincount(labels)
    place, chosen = _located(wanted, pairs.left * sizes.size + labels[pairs.right])
    others, weights = pairs.right[chosen], pairs.weights[chosen]
    node, part = wanted // max(1, sizes.size), wanted % max(1, sizes.size)
    listed = np.bincount(place, minlength=wanted.size)
    unlisted = sizes[part] - (labels[node] == part) - listed
    num_unscored = unlisted if problem.missing == "forbid" else np.zeros_like(wanted)
    allowed = np.isfinite(weights)
    sides = (np.maximum(weights, 0.0), np.where(allowed, np.minimum(weights, 0.0), 0.0))
    support, opposition = (_sums(place, side, wanted.size) for side in sides)
    num_forbidden = num_unscored + np.bincount(place[~allowed], minlength=wanted.size)
    forbidden = _forbidden(labels, (node, part), num_unscored, listed, place, others)
    against = weights < 0
    tipping = _tipping(wanted.size, (place[against], others[against], weights[against]), forbidden)
    return Standings(node, part, support, opposition, num_forbidden, _held(problem, labels)[node], *tipping)


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


def false_merges(problem: Problem, labels: NDArray[np.integer], gold: NDArray[np.integer]) -> Pairs:
    """Scored pairs that the partition puts together and the true one does not, as those that section 6.2 lists.

    Args:
        labels: ``[nodes]``, the part of each.
        gold: ``[nodes]``, the true part of each, -1 where it is not known.

    Raises:
        ValueError: if either are of other nodes.
    """
    same, known = _gold(problem, labels, gold)
    return _pairs(problem, _together(problem, labels) & known & ~same)


def false_splits(problem: Problem, labels: NDArray[np.integer], gold: NDArray[np.integer]) -> Pairs:
    """Scored pairs that the partition takes apart and the true one does not; as :func:`false_merges`."""
    same, known = _gold(problem, labels, gold)
    return _pairs(problem, ~_together(problem, labels) & known & same)


def _gold(
    problem: Problem, labels: NDArray[np.integer], gold: NDArray[np.integer]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each pair whether both are of one true part, and whether that is known."""
    _check(problem, labels)
    _check(problem, gold)
    left, right = gold[problem.left], gold[problem.right]
    return left == right, (left >= 0) & (right >= 0)


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


def _in_both_directions(pairs: Pairs) -> Pairs:
    left, right, weights = pairs
    return Pairs(np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([weights, weights]))


def _located(wanted: IntArray, key: IntArray) -> tuple[IntArray, IntArray]:
    """Where the keys lie in the rising ``wanted``, and which of them are there at all."""
    place = np.searchsorted(wanted, key)
    place[place == wanted.size] = 0
    pairs = np.flatnonzero(wanted[place] == key) if wanted.size else np.empty(0, dtype=np.int64)
    return place[pairs], pairs


# --- the pairs that tipped it ---------------------------------------------------------------------------------------

_Against = tuple[IntArray, IntArray, FloatArray]
"""Standing, node of its part, and weight of each pair."""


def _forbidden(
    labels: NDArray[np.integer],
    standing: tuple[IntArray, IntArray],
    num_forbidden: IntArray,
    listed: IntArray,
    place: IntArray,
    others: IntArray,
) -> _Against:
    """Pairs that are not listed, the first ones of each standing, which is a node and a part.

    Of ``listed + NUM_TIPPING`` other nodes of a part that many are not listed, if there are as many: no more are looked
    at, and the node itself.
    """
    node, part = standing
    by_part = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    num = np.where(num_forbidden > 0, np.minimum(sizes[part], listed + NUM_TIPPING + 1), 0)
    row = np.repeat(np.arange(part.size), num)
    member = by_part[(np.cumsum(sizes) - sizes)[part[row]] + _ranks(num)]
    is_listed = np.isin(row * labels.size + member, place * labels.size + others)
    unlisted = ~is_listed & (member != node[row])
    return row[unlisted], member[unlisted], np.full(int(unlisted.sum()), -np.inf)


def _tipping(num_standings: int, *against: _Against) -> tuple[IntArray, IntArray, FloatArray]:
    """Starts, nodes and weights of the pairs that weigh most against each."""
    rows, others, weights = (np.concatenate(parts) for parts in zip(*against, strict=True))
    order = np.lexsort((others, weights, rows))
    order = order[_ranks(np.bincount(rows, minlength=num_standings)) < NUM_TIPPING]
    kept = np.bincount(rows[order], minlength=num_standings)
    return np.concatenate([[0], np.cumsum(kept)]), others[order], weights[order]


def _ranks(num: IntArray) -> IntArray:
    """0, 1, ... within each of consecutive groups of the given sizes.

    >>> _ranks(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    return np.arange(num.sum()) - np.repeat(np.cumsum(num) - num, num)
