"""Integer programs of the set packings: what may be set, and how any engine that PuLP knows solves them.

Vadrevu et al. 2021 solve theirs with Gurobi; whoever has it, or another, names it.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tiltmeter.operators.resolution.problem import Remaining

if TYPE_CHECKING:
    from pulp import LpProblem

ENGINE = "HiGHS"
"""The usual engine, which comes with Tiltmeter."""

Listed = Callable[[int], None]
"""Is told how many cliques there are once they are listed, so that a caller can time the two phases."""


@dataclass(frozen=True)
class Packing:
    """What may be set of a packing.

    Attributes:
        engine: that solves the model, by PuLP's name for it. Of several optima, each may find another.
        max_parts: M of the paper, that may be taken from one maximal clique; None: as many as an optimum can have.
        max_cliques: that are listed; None: as many as the formulation usually stands.
        max_constraints: of the linear model of quadratic set packing; None: as many as it usually stands.
    """

    engine: str = ENGINE
    max_parts: int | None = None
    max_cliques: int | None = None
    max_constraints: int | None = None


USUAL = Packing()


def engines() -> list[str]:
    """Those that PuLP finds on this machine."""
    import pulp

    return list(dict.fromkeys(pulp.listSolvers(onlyAvailable=True)))


def check_engine(engine: str) -> None:
    """Whether PuLP finds it.

    Raises:
        ValueError: if not, with those that it finds.
    """
    if engine not in (known := engines()):
        raise ValueError(f"engine={engine}: PuLP finds no such engine on this machine; it finds {', '.join(known)}")


def solve(model: "LpProblem", engine: str, remaining: Remaining) -> tuple[bool, float]:
    """Whether a solution was found, which the variables of the model then have, and a bound of the maximum.

    The bound of HiGHS is its dual bound. Of the others PuLP tells none: theirs is the objective, if they say that it is
    the best, or else nothing.

    Raises:
        ValueError: if PuLP does not find the engine.
    """
    import pulp

    check_engine(engine)
    seconds = remaining()
    if seconds <= 0.0:  # Some engines take a limit of 0 for none.
        return False, math.inf
    model.solve(pulp.getSolver(engine, **_options(engine, seconds)))
    is_solved = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    if engine == ENGINE:
        return is_solved, -float(model.solverModel.getInfo().mip_dual_bound)
    return is_solved, float(pulp.value(model.objective)) if model.sol_status == pulp.LpSolutionOptimal else math.inf


def _options(engine: str, seconds: float) -> dict[str, Any]:
    """No gap, one thread and the time that is left, as far as the engine takes them."""
    import pulp

    wanted = {"msg": False, "gapRel": 0.0, "threads": 1, "timeLimit": None if math.isinf(seconds) else seconds}
    known = inspect.signature(type(pulp.getSolver(engine)).__init__).parameters
    return {name: value for name, value in wanted.items() if name in known}
