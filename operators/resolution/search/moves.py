"""What a local search for clique partitions is made of: chains of moves, joins, splits, swaps and perturbations.

Kernighan and Lin 1970, *An efficient heuristic procedure for partitioning graphs*, carried over to partitions of any
number of parts as by Keuper et al. 2015, *Efficient decomposition of image and mesh graphs by lifted multicuts*: nodes
move one by one, each once, the best first even where that costs; what is kept is the best beginning of the chain.

Weights are whole numbers here, so that no rounding piles up over millions of moves. Forbidden pairs weigh FORBIDDEN.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import IntArray

BITS = 44
"""The weights add up to no more than 2^BITS, either sign."""

FORBIDDEN = -(2**45)
"""Outweighs all of them; sums over up to 2^17 nodes stay within int64."""

_CONFLICT = FORBIDDEN // 2
"""Sums below hold a forbidden pair."""

_NONE = np.int64(-(2**62))


class State(NamedTuple):
    """A partition without forbidden pairs, and what its moves would gain.

    Attributes:
        matrix: ``[nodes, nodes]``, the weights, symmetric, 0 on the diagonal.
        labels: ``[nodes]``, the part of each.
        sums: ``[nodes + 1, nodes]``, the weight between each part and each node, 0 for empty parts.
        sizes: ``[nodes + 1]``, nodes in each part; at least one part is empty.
    """

    matrix: IntArray
    labels: IntArray
    sums: IntArray
    sizes: IntArray


@numba.njit(cache=True)
def state_of(matrix: IntArray, labels: IntArray) -> State:
    """Labels lie in 0..nodes - 1; they are copied."""
    num_nodes = labels.size
    sums = np.zeros((num_nodes + 1, num_nodes), dtype=np.int64)
    sizes = np.zeros(num_nodes + 1, dtype=np.int64)
    for node in range(num_nodes):
        sums[labels[node]] += matrix[node]
        sizes[labels[node]] += 1
    return State(matrix, labels.copy(), sums, sizes)


@numba.njit(cache=True)
def objective(state: State) -> np.int64:
    """The sum of the weights within parts."""
    twice = np.int64(0)
    for node in range(state.labels.size):
        twice += state.sums[state.labels[node], node]
    return twice // 2


@numba.njit(cache=True)
def step(state: State) -> np.int64:
    """The first neighbourhood that holds something better; returns the gain, 0 in a local optimum."""
    gain = _chain(state)
    if not gain:
        gain = _joins_and_exchanges(state)
    if not gain:
        gain = _swaps(state)
    return gain


@numba.njit(cache=True)
def scatter(state: State, nodes: IntArray, others: IntArray) -> np.int64:
    """Moves nodes one by one to the parts of others, or out of their own where that is forbidden; returns the gain."""
    total = np.int64(0)
    for node, other in zip(nodes, others):  # noqa: B905 (numba has no strict)
        own_part, part = state.labels[node], state.labels[other]
        if part == own_part or state.sums[part, node] < _CONFLICT:
            part = _free_part(state.sizes)
        total += state.sums[part, node] - state.sums[own_part, node]
        _move(state, node, part)
    return total


@numba.njit(cache=True)
def restore(state: State, labels: IntArray) -> None:
    """Goes back to labels that the state has had."""
    for node in range(labels.size):
        if state.labels[node] != labels[node]:
            _move(state, node, labels[node])


@numba.njit(cache=True)
def _move(state: State, node: int, part: int) -> None:
    source = state.labels[node]
    for other in range(state.labels.size):
        state.sums[source, other] -= state.matrix[node, other]
        state.sums[part, other] += state.matrix[node, other]
    state.sizes[source] -= 1
    state.sizes[part] += 1
    state.labels[node] = part


@numba.njit(cache=True)
def _free_part(sizes: IntArray) -> int:
    part = 0
    while sizes[part]:
        part += 1
    return part


@numba.njit(cache=True)
def _num_parts(sizes: IntArray) -> int:
    """One more than the last part that is not empty."""
    last = sizes.size
    while last and not sizes[last - 1]:
        last -= 1
    return last


@numba.njit(cache=True)
def _chain(state: State) -> np.int64:
    """Moves to any part; the gain of the best beginning, after which all is taken back."""
    labels, sums = state.labels, state.sums
    num_nodes = labels.size
    num_parts = _num_parts(state.sizes)
    targets = np.empty(num_nodes, dtype=np.int64)
    _set_targets(state, targets, num_parts)
    nodes, sources = np.empty(num_nodes, dtype=np.int64), np.empty(num_nodes, dtype=np.int64)
    locked = np.zeros(num_nodes, dtype=np.bool_)
    gain = best = np.int64(0)
    length = kept = 0
    # Longer falls are hardly ever made good again.
    while length < kept + 10 + num_nodes // 4:
        chosen, most = -1, np.int64(_CONFLICT)
        for node in range(num_nodes):
            if not locked[node] and targets[node] >= 0:
                value = sums[targets[node], node] - sums[labels[node], node]
                if value > most:
                    chosen, most = node, value
        if chosen < 0:
            break
        nodes[length], sources[length] = chosen, labels[chosen]
        locked[chosen] = True
        num_parts = max(num_parts, targets[chosen] + 1)
        _move(state, chosen, targets[chosen])
        _update_targets(state, targets, num_parts, locked, chosen, sources[length])
        length += 1
        gain += most
        if gain > best:
            best, kept = gain, length
    for step in range(length - 1, kept - 1, -1):
        _move(state, nodes[step], sources[step])
    return best


@numba.njit(cache=True)
def _set_targets(state: State, targets: IntArray, num_parts: int) -> None:
    free = _free_part(state.sizes)
    for node in range(targets.size):
        targets[node] = _target(state, num_parts, free, node)


@numba.njit(cache=True)
def _target(state: State, num_parts: int, free: int, node: int) -> int:
    """The best part for a node other than its own; -1 if there is none."""
    own_part = state.labels[node]
    target = -1 if state.sizes[own_part] == 1 else free
    for part in range(num_parts):
        if state.sizes[part] and part != own_part and (target < 0 or state.sums[part, node] > state.sums[target, node]):
            target = part
    return target


@numba.njit(cache=True)
def _update_targets(
    state: State, targets: IntArray, num_parts: int, locked: NDArray[np.bool_], moved: int, source: int
) -> None:
    """After a move only its two parts weigh differently; a target is looked for anew where it may have become worse."""
    part, free = state.labels[moved], _free_part(state.sizes)
    for node in range(targets.size):
        if locked[node]:
            continue
        own_part, aim, weight = state.labels[node], targets[node], state.matrix[moved, node]
        worse = aim < 0 or (aim == source and weight > 0) or (aim == part and weight < 0)
        # It may now move out, or it is alone already.
        if (
            worse
            or (own_part == source and state.sizes[own_part] == 1)
            or (own_part == part and state.sizes[own_part] == 2)
        ):
            targets[node] = _target(state, num_parts, free, node)
        elif own_part != part and state.sums[part, node] > state.sums[aim, node]:
            targets[node] = part
        elif own_part != source and state.sizes[source] and state.sums[source, node] > state.sums[aim, node]:
            targets[node] = source


@numba.njit(cache=True)
def _joins_and_exchanges(state: State) -> np.int64:
    """Joins of two parts or chains between them, if a weight between them is positive, and splits of every part."""
    num_parts = _num_parts(state.sizes)
    adjacent = _adjacent(state, num_parts)
    total = np.int64(0)
    for one in range(num_parts):
        for other in range(one + 1, num_parts):
            if adjacent[one, other] and state.sizes[one] and state.sizes[other]:
                total += _join(state, one, other)
                total += _exchange(state, one, other)
        if state.sizes[one] > 2:
            total += _exchange(state, one, _free_part(state.sizes))
    return total


@numba.njit(cache=True)
def _adjacent(state: State, num_parts: int) -> NDArray[np.bool_]:
    adjacent = np.zeros((num_parts, num_parts), dtype=np.bool_)
    for node in range(state.labels.size):
        for other in range(state.labels.size):
            if state.matrix[node, other] > 0:
                adjacent[state.labels[node], state.labels[other]] = True
    return adjacent


@numba.njit(cache=True)
def _join(state: State, one: int, other: int) -> np.int64:
    nodes = np.flatnonzero(state.labels == other)
    gain = np.int64(0)
    for node in nodes:
        if state.sums[one, node] < _CONFLICT:
            return np.int64(0)
        gain += state.sums[one, node]
    if gain <= 0:
        return np.int64(0)
    for node in nodes:
        _move(state, int(node), one)
    return gain


@numba.njit(cache=True)
def _exchange(state: State, one: int, other: int) -> np.int64:
    """A chain of moves between two parts, of which the other may be empty; the gain of its best beginning."""
    nodes = np.flatnonzero((state.labels == one) | (state.labels == other))
    gains, sides = np.empty(nodes.size, dtype=np.int64), np.empty(nodes.size, dtype=np.int64)
    for place, node in enumerate(nodes):
        sides[place] = 1 if state.labels[node] == one else -1
        gains[place] = sides[place] * (state.sums[other, node] - state.sums[one, node])
    order = np.empty(nodes.size, dtype=np.int64)
    gain = best = np.int64(0)
    kept = 0
    for length in range(nodes.size):
        chosen = int(np.argmax(gains))
        if gains[chosen] < _CONFLICT:
            break
        order[length] = nodes[chosen]
        gain += gains[chosen]
        if gain > best:
            best, kept = gain, length + 1
        for place in range(nodes.size):
            if gains[place] != _NONE:
                gains[place] += 2 * sides[place] * sides[chosen] * state.matrix[nodes[chosen], nodes[place]]
        gains[chosen] = _NONE
    for node in order[:kept]:
        _move(state, node, other if state.labels[node] == one else one)
    return best


@numba.njit(cache=True)
def _swaps(state: State) -> np.int64:
    """Two nodes change places wherever that gains: no chain goes through the forbidden pair that they may be."""
    matrix, labels, sums = state.matrix, state.labels, state.sums
    total = np.int64(0)
    for node in range(labels.size):
        for other in range(node):
            one, two = labels[node], labels[other]
            gain = sums[two, node] - sums[one, node] + sums[one, other] - sums[two, other] - 2 * matrix[node, other]
            if one != two and gain > 0:
                _move(state, node, two)
                _move(state, other, one)
                total += gain
    return total
