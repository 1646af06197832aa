"""The solvers by name, all with one interface."""

from collections.abc import Callable, Mapping
from importlib import import_module

from operators.partition_problem import Problem, Remaining, Result

Solve = Callable[[Problem, Remaining], Result]

_PLACES: Mapping[str, tuple[str, str]] = {
    "cutting_plane": ("operators.cutting_plane", "cutting_plane"),
    "local_search": ("operators.local_search", "local_search_result"),
    "quadratic_set_packing": ("operators.quadratic_set_packing", "quadratic_set_packing"),
    "set_packing": ("operators.set_packing", "set_packing"),
    "hierarchical": ("operators.hierarchical", "hierarchical_result"),
}


def solver(name: str) -> tuple[str, Solve]:
    """A solver's version and function; what it needs is imported only where it runs."""
    module, function = _PLACES[name]
    found = import_module(module)
    return found.VERSION, getattr(found, function)
