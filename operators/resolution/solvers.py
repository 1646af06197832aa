"""The solvers by name, all with one interface, and what they are spared."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import cast

import numpy as np

from tiltmeter.operators.resolution.baselines.packing import USUAL, Listed, Packing
from tiltmeter.operators.resolution.components import Linked
from tiltmeter.operators.resolution.problem import Problem, Remaining, Result, result
from tiltmeter.operators.resolution.reductions import solved

Solve = Callable[[Problem, Remaining], Result]

_HERE = "tiltmeter.operators.resolution"

_PLACES: Mapping[str, tuple[str, str]] = {
    "cutting_plane": (f"{_HERE}.exact.cutting_plane", "cutting_plane"),
    "local_search": (f"{_HERE}.search.local_search", "local_search_result"),
    "quadratic_set_packing": (f"{_HERE}.baselines.quadratic", "quadratic_set_packing"),
    "set_packing": (f"{_HERE}.baselines.set_packing", "set_packing"),
    "centroid_linkage": (f"{_HERE}.baselines.hierarchical", "centroid_linkage"),
    "average_linkage": (f"{_HERE}.baselines.hierarchical", "average_linkage"),
}

PACKINGS = ("quadratic_set_packing", "set_packing")

_FORMER = {"hierarchical": "average_linkage; the baseline of the paper is centroid_linkage"}

_REDUCING = ("cutting_plane", "local_search")

_SMALL, _LARGE = 2.0**-10, 2.0**50
"""Tolerances of solvers are absolute, and HiGHS takes 1e20 for infinite: between these is the largest weight."""


def solver(name: str) -> tuple[str, Solve]:
    """A solver's version and function; what it needs is imported only where it runs.

    Raises:
        ValueError: if there is none of this name.
    """
    check_solver(name)
    module, function = _PLACES[name]
    loaded = import_module(module)
    return loaded.VERSION, getattr(loaded, function)


def check_solver(name: object) -> None:
    """Whether there is one of this name.

    Raises:
        ValueError: if not, with its new name if it had another.
    """
    if name in _FORMER:
        raise ValueError(f"solver={name} is now called {_FORMER[str(name)]}")
    if name not in _PLACES:
        raise ValueError(f"solver={name!r}: must be one of {', '.join(_PLACES)}")


def linked_by(name: str) -> Linked:
    """Which pairs make records a problem of their own.

    Positive ones, as an optimum and clusters of a mean above 0 are connected by them. Centroids come nearer than any of
    their records are: by them, all pairs of two components have to be unscored.
    """
    return "scored" if name == "centroid_linkage" else "positive"


def reducing_solver(name: str, packing: Packing | None = None, listed: Listed | None = None) -> Solve:
    """Solves what reductions leave of a problem; baselines are given the problem as it is, for comparison.

    Weights of any size: where they are far from 1, in units of a power of two in which they are not; except for
    centroid linkage, which is about probabilities.

    Args:
        packing, listed: of the packings, see :mod:`.baselines.packing`.
    """
    _, solve = solver(name)
    if name == "centroid_linkage":
        return solve
    if name in PACKINGS:
        solve = partial(cast(Callable[..., Result], solve), packing=packing or USUAL, listed=listed)
    return partial(_scaled, partial(_solved, solve) if name in _REDUCING else solve)


def _scaled(solve: Solve, problem: Problem, remaining: Remaining) -> Result:
    largest = problem.largest
    if not largest or _SMALL <= largest <= _LARGE:
        return solve(problem, remaining)
    _, exponent = math.frexp(largest)
    solution = solve(replace(problem, weights=np.ldexp(problem.weights, -exponent)), remaining)
    objective, bound = (float(np.ldexp(value, exponent)) for value in (solution.objective, solution.bound))
    return solution._replace(objective=objective, bound=bound)


def _solved(solve: Solve, problem: Problem, remaining: Remaining) -> Result:
    return solved(problem, solve, remaining)


def all_together(problem: Problem, name: str = "cutting_plane") -> Result | None:
    """One part, if no pair speaks against it or is forbidden: most components of linkage data.

    Any solver would find it, but for centroid linkage, to which a pair without a score speaks against it.

    >>> all_together(Problem(2, np.array([0]), np.array([1]), np.array([0.5]), "forbid"))
    Result(status='proven', labels=array([0, 0]), objective=0.5, bound=0.5, num_cuts=0, num_branches=0)
    """
    num_missing = problem.num_nodes * (problem.num_nodes - 1) // 2 - problem.weights.size
    against = problem.missing == "forbid" or name == "centroid_linkage"
    if (problem.weights < 0).any() or (num_missing and against):
        return None
    return result(problem, np.zeros(problem.num_nodes, dtype=np.int64), float(problem.weights.sum()))
