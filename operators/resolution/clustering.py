"""Clusters from scored pairs in one call: a graph is cut into components, and each of them is partitioned."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.components import Components, components_of
from tiltmeter.operators.resolution.pairs import clean_pairs
from tiltmeter.operators.resolution.problem import Missing, Problem, Remaining, Result, Status, canonical
from tiltmeter.operators.resolution.solvers import all_together, check_solver, linked_by, reducing_solver

Solver = Literal[
    "cutting_plane", "local_search", "quadratic_set_packing", "set_packing", "centroid_linkage", "average_linkage"
]

_STATUSES: tuple[Status, ...] = ("none", "feasible", "proven")


class Partition(NamedTuple):
    """Clusters of records, and how good they are.

    Attributes:
        records: ``[records]``, each once, sorted.
        clusters: ``[records]`` int64, the cluster of each, numbered in the order of their first records.
        status: ``proven`` if no other partition is better; ``feasible`` if some component is not known to be best;
            ``none`` if there was no time for some component, each of whose records is left alone.
        objective: sum of the weights within clusters; -inf if the status is ``none``.
        bound: no partition has more.
    """

    records: NDArray[Any]
    clusters: IntArray
    status: Status
    objective: float
    bound: float


def _without_limit() -> float:
    return math.inf


def partition(
    left: ArrayLike,
    right: ArrayLike,
    weights: ArrayLike,
    *,
    missing: Missing = "forbid",
    threshold: float | None = None,
    solver: Solver = "cutting_plane",
    remaining: Remaining = _without_limit,
) -> Partition:
    """The partition of records that maximises the sum of the weights of pairs in the same cluster.

    Args:
        left, right: ``[pairs]``, ids of records, numbers or strings; arrays, or columns of a frame. Direction and
            repetitions do not matter, see :func:`.pairs.clean_pairs`.
        weights: ``[pairs]``, positive where two records are more likely one entity than not, such as 2 p - 1 of a match
            probability p.
        missing: of pairs that are not listed: they may not share a cluster (``forbid``), or weigh 0 (``zero``).
        threshold: pairs of less weight count as not listed.
        solver: what partitions each component; ``cutting_plane`` proves its answer.
        remaining: seconds that are left for all components; without a limit the answer is the same on every machine of
            one type.

    Raises:
        ValueError: if the columns differ in length, an id or a weight is not finite, the weights add up to more than
            1e300, or the solver is unknown.

    >>> partition(["a", "b", "a"], ["b", "c", "c"], [2.0, 1.0, -3.0])
    Partition(records=array(['a', 'b', 'c'], dtype='<U1'), clusters=array([0, 0, 1]), status='proven', objective=2.0, \
bound=2.0)
    """
    check_solver(solver)
    ends, values = [np.asarray(left), np.asarray(right)], np.asarray(weights, dtype=np.float64)
    if not ends[0].shape == ends[1].shape == values.shape == (values.size,):
        shapes = ", ".join(str(column.shape) for column in (*ends, values))
        raise ValueError(f"left, right and weights have shapes {shapes}: must all be [pairs]")
    if any(end.dtype.kind == "f" and not np.isfinite(end).all() for end in ends):
        raise ValueError("left and right: an id is not a finite number; give every record an id")
    records, numbers = np.unique(np.concatenate(ends), return_inverse=True)
    low, high = np.split(numbers, 2)
    parts = components_of(records.size, clean_pairs(low, high, values, threshold), linked_by(solver))
    results = [_solved(_problem(parts, number, missing), solver, remaining) for number in range(parts.sizes.size)]
    labels = np.concatenate([result.labels for result in results]) if results else np.empty(0, np.int64)
    places = labels[(np.cumsum(parts.sizes) - parts.sizes)[parts.component] + parts.place]
    return Partition(
        records,
        canonical(parts.component * records.size + places),
        min((result.status for result in results), key=_STATUSES.index, default="proven"),
        float(sum(result.objective for result in results)),
        float(sum(result.bound for result in results)),
    )


def _problem(parts: Components, number: int, missing: Missing) -> Problem:
    pairs = slice(*parts.starts[number : number + 2])
    return Problem(int(parts.sizes[number]), parts.left[pairs], parts.right[pairs], parts.weights[pairs], missing)


def _solved(problem: Problem, solver: str, remaining: Remaining) -> Result:
    return all_together(problem, solver) or reducing_solver(solver)(problem, remaining)
