from collections.abc import Callable, Iterator
from functools import cache
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.resolution.exact import cutting_plane as module
from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane
from tiltmeter.operators.resolution.problem import Missing, Problem

seeds = st.integers(0, 2**32 - 1)


def plenty() -> float:
    return 1e6


def asked(times: int) -> Callable[[], float]:
    """Time that is up once it has been asked for so often."""
    calls = count()
    return lambda: 1e6 if next(calls) < times else 0.0


@cache
def partitions(num_nodes: int) -> np.ndarray:
    """``[partitions, nodes]`` labels."""
    if num_nodes == 0:
        return np.zeros((1, 0), dtype=np.int64)
    return np.array([[*row, label] for row in partitions(num_nodes - 1) for label in range(max(row, default=-1) + 2)])


def enumerated(problem: Problem) -> float:
    labels = partitions(problem.num_nodes)
    left, right = np.triu_indices(problem.num_nodes, 1)
    weights = problem.matrix[left, right]
    together = labels[:, left] == labels[:, right]
    allowed = ~(together & np.isneginf(weights)).any(axis=1)
    return float((together[allowed] @ np.where(np.isfinite(weights), weights, 0.0)).max())


def drawn(seed: int, missing: Missing, whole: bool, num_nodes: int | None = None) -> Problem:
    rng = np.random.default_rng(seed)
    num_nodes = num_nodes or int(rng.integers(1, 9))
    left, right = np.triu_indices(num_nodes, 1)
    kept = rng.random(left.size) < rng.choice([0.5, 0.8, 1.0])
    weights = rng.integers(-5, 6, left.size) * 1.0 if whole else rng.normal(rng.normal(0, 0.3), 1.0, left.size)
    return Problem(num_nodes, left[kept], right[kept], weights[kept], missing)


def dense(weights: np.ndarray) -> Problem:
    left, right = np.triu_indices(len(weights), 1)
    return Problem(len(weights), left, right, weights[left, right] * 1.0, "zero")


def objects(num_objects: int, num_attributes: int, seed: int) -> Problem:
    """Attributes on which two objects agree less those on which they differ, as Groetschel and Wakabayashi weigh."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (6, num_attributes))[rng.integers(0, 6, num_objects)]
    table = np.where(rng.random(table.shape) < 0.5, rng.integers(0, 4, table.shape), table)
    return dense(2 * (table[:, np.newaxis] == table).sum(axis=2) - num_attributes)


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


@pytest.mark.parametrize("missing", ["forbid", "zero"])
@pytest.mark.parametrize("whole", [False, True])
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_enumeration_of_all_partitions(missing: Missing, whole: bool, seed: int) -> None:
    problem = drawn(seed, missing, whole)
    found = cutting_plane(problem, plenty, start=np.arange(problem.num_nodes))
    best = enumerated(problem)
    assert found.status == "proven"
    assert found.objective == pytest.approx(best, abs=2e-6)
    assert found.bound >= best - 1e-9
    assert problem.objective(found.labels) == found.objective


@settings(max_examples=50, deadline=None)
@given(seed=seeds, missing=st.sampled_from(["forbid", "zero"]), times=st.integers(0, 12))
def test_bound_holds_whenever_time_is_up(seed: int, missing: Missing, times: int) -> None:
    problem = drawn(seed, missing, whole=bool(seed % 2), num_nodes=8)
    found = cutting_plane(problem, asked(times), start=np.arange(8))
    best = enumerated(problem)
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
    assert found.objective == cutting_plane(problem, plenty).objective


@settings(max_examples=10, deadline=None)
@given(seed=seeds, missing=st.sampled_from(["forbid", "zero"]))
def test_names_of_nodes_do_not_matter(seed: int, missing: Missing) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn(seed, missing, whole=True, num_nodes=14)
    names = rng.permutation(14)
    left, right = np.sort([names[problem.left], names[problem.right]], axis=0)
    order = np.lexsort((right, left))
    renamed = Problem(14, left[order], right[order], problem.weights[order], missing)
    found, again = cutting_plane(problem, plenty), cutting_plane(renamed, plenty)
    assert found.status == again.status == "proven"
    assert found.objective == again.objective


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_weights_of_any_size(scale: float) -> None:
    problem = drawn(5, "forbid", whole=False, num_nodes=8)
    scaled = Problem(8, problem.left, problem.right, problem.weights * scale, "forbid")
    found = cutting_plane(scaled, plenty)
    assert found.objective == pytest.approx(enumerated(scaled), rel=2e-6, abs=2e-6)


def test_nothing_to_decide() -> None:
    none = np.empty(0, dtype=np.int64)
    for missing in "forbid", "zero":
        found = cutting_plane(Problem(3, none, none, np.empty(0), missing), plenty)
        assert found[:4] == ("proven", pytest.approx([0, 1, 2]), 0.0, 0.0)


def test_more_nodes_than_a_relaxation_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NODES", 7)
    problem = drawn(3, "zero", whole=True, num_nodes=8)
    found = cutting_plane(problem, plenty)
    assert found.num_cuts == 0
    assert found.objective <= enumerated(problem) <= found.bound
