"""The solvers by name, all with one interface."""

from collections.abc import Callable, Mapping
from importlib import import_module

from tiltmeter.operators.resolution.problem import Problem, Remaining, Result

Solve = Callable[[Problem, Remaining], Result]

_PLACES: Mapping[str, tuple[str, str]] = {
    "cutting_plane": ("tiltmeter.operators.resolution.exact.cutting_plane", "cutting_plane"),
    "local_search": ("tiltmeter.operators.resolution.search.local_search", "local_search_result"),
    "quadratic_set_packing": ("tiltmeter.operators.resolution.baselines.quadratic", "quadratic_set_packing"),
    "set_packing": ("tiltmeter.operators.resolution.baselines.set_packing", "set_packing"),
    "hierarchical": ("tiltmeter.operators.resolution.baselines.hierarchical", "hierarchical_result"),
}


def solver(name: str) -> tuple[str, Solve]:
    """A solver's version and function; what it needs is imported only where it runs."""
    module, function = _PLACES[name]
    found = import_module(module)
    return found.VERSION, getattr(found, function)
