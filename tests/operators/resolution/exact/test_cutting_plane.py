from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, plenty
from tiltmeter.operators.resolution.exact import cutting_plane as module
from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane
from tiltmeter.operators.resolution.problem import Missing, Problem


def asked(times: int) -> Callable[[], float]:
    """Time that is up once it has been asked for so often."""
    calls = count()
    return lambda: 1e6 if next(calls) < times else 0.0


def objects(num_objects: int, num_attributes: int, seed: int) -> Problem:
    """Attributes on which two objects agree less those on which they differ, as Groetschel and Wakabayashi weigh."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (6, num_attributes))[rng.integers(0, 6, num_objects)]
    table = np.where(rng.random(table.shape) < 0.5, rng.integers(0, 4, table.shape), table)
    left, right = np.triu_indices(num_objects, 1)
    weights = 2.0 * (table[left] == table[right]).sum(axis=1) - num_attributes
    return Problem(num_objects, left, right, weights, "zero")


def wheel(rim: int) -> Problem:
    """A hub that fits to all of its rim, whose neighbours do not fit to each other and the others not at all."""
    around = np.arange(1, rim + 1)
    left = np.append(np.zeros(rim, dtype=np.int64), np.minimum(around, np.roll(around, 1)))
    right = np.append(around, np.maximum(around, np.roll(around, 1)))
    return Problem(rim + 1, left, right, np.repeat([1.0, -1.0], rim), "zero")


@pytest.fixture(params=["simplex", "first order"], scope="module", autouse=True)
def method(request: pytest.FixtureRequest) -> Iterator[None]:
    """By default all relaxations of this size are left to the simplex method."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "first order":
            patch.setattr(module, "_FEW_PAIRS", -1)
        yield


@settings(max_examples=80, deadline=None)
@given(SEEDS, RULES, st.integers(1, 7))
def test_enumeration_of_all_partitions(seed: int, missing: Missing, num_nodes: int) -> None:
    problem = drawn_problem(seed, missing, num_nodes)
    found = cutting_plane(problem, plenty, start=np.arange(num_nodes))
    best = optimum(problem)
    assert found.status == "proven"
    assert found.objective == pytest.approx(best, abs=2e-6)
    assert found.bound >= best - 1e-9
    assert problem.objective(found.labels) == found.objective


@settings(max_examples=50, deadline=None)
@given(SEEDS, RULES, st.integers(0, 12))
def test_bound_holds_whenever_time_is_up(seed: int, missing: Missing, times: int) -> None:
    problem = drawn_problem(seed, missing, 7)
    found = cutting_plane(problem, asked(times), start=np.arange(7))
    best = optimum(problem)
    assert found.objective <= best + 1e-9
    assert found.bound >= best - 1e-9
    assert found.status == "feasible" or found.objective == pytest.approx(best, abs=2e-6)


@pytest.mark.parametrize("rim", [3, 5, 6])
def test_wheel_with_a_relaxation_of_halves(rim: int) -> None:
    # All spokes at 1/2 would give rim / 2. A part with the hub has s spokes and, unless it is all, s - 1 or fewer
    # rim pairs less: s nodes that are no neighbours are best.
    found = cutting_plane(wheel(rim), plenty, start=np.arange(rim + 1))
    assert found.status == "proven"
    assert found.objective == found.bound == rim // 2


def test_objects_of_a_table_are_proven_without_branching_much() -> None:
    problem = objects(40, 8, seed=1)
    found = cutting_plane(problem, plenty)
    assert found.status == "proven"
    assert found.objective == found.bound == problem.objective(found.labels)
    assert found.num_cuts > 0
    assert found.num_branches <= 4


def test_large_relaxation_is_approached_then_proven() -> None:
    problem = objects(70, 12, seed=2)
    found = cutting_plane(problem, plenty, start=np.arange(70))
    assert found.status == "proven"
    assert found.objective == found.bound == problem.objective(found.labels)


def test_nothing_to_decide() -> None:
    none = np.empty(0, dtype=np.int64)
    for missing in "forbid", "zero":
        found = cutting_plane(Problem(3, none, none, np.empty(0), missing), plenty)
        assert found[:4] == ("proven", pytest.approx([0, 1, 2]), 0.0, 0.0)


def test_more_nodes_than_a_relaxation_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NODES", 6)
    problem = drawn_problem(3, "zero", 7)
    found = cutting_plane(problem, plenty)
    assert found.num_cuts == 0
    assert found.objective <= optimum(problem) <= found.bound
