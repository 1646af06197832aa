"""Cuts, the relaxation that they tighten, how it is approached, and the optimum that is proven by them."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, plenty
from tiltmeter.operators.resolution.exact import cutting_plane as module
from tiltmeter.operators.resolution.exact.cuts import triangles, two_partitions
from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane
from tiltmeter.operators.resolution.exact.first_order import Point, primal_dual
from tiltmeter.operators.resolution.exact.relaxation import Relaxation
from tiltmeter.operators.resolution.problem import Problem

# --- cuts -------------------------------------------------------------------------------------------------------------


def _point(seed, num_nodes=7):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.3, 0.5, 0.7, 1.0], (num_nodes, num_nodes))
    return np.triu(values, 1) + np.triu(values, 1).T


def _sums(cuts, x):
    terms = cuts.coefficients * x[cuts.left, cuts.right]
    return np.array([terms[start:end].sum() for start, end in zip(cuts.starts, cuts.starts[1:], strict=False)])


def _partition(seed, num_nodes=7):
    labels = np.random.default_rng(seed).integers(0, 4, num_nodes)
    return (labels[:, np.newaxis] == labels) * (1.0 - np.eye(num_nodes))


@pytest.mark.long
@given(SEEDS, SEEDS)
def test_partitions_satisfy_what_a_point_violates(point, partition):
    x, pays = _point(point), _point(point + 1) > 0.4
    for cuts, least in (triangles(x, pays, 100, least=1e-6), 1e-6), (two_partitions(x, 100, least=0.05), 0.05):
        assert (_sums(cuts, x) > cuts.limits + least - 1e-12).all()
        assert (_sums(cuts, _partition(partition)) <= cuts.limits).all()


@given(SEEDS, st.integers(1, 10))
def test_most_violated_triangle_of_each_pair(seed, most):
    x, pays = _point(seed), _point(seed + 1) > 0.4
    nodes = range(len(x))
    violations = [
        max(
            (x[i, j] + x[j, k] - x[i, k] - 1.0 for j in nodes if j not in (i, k) and (pays[i, j] or pays[j, k])),
            default=0.0,
        )
        for i in nodes
        for k in range(i + 1, len(x))
    ]
    expected = sorted((violation for violation in violations if violation > 0.1), reverse=True)[:most]
    found = triangles(x, pays, most, least=0.1)
    assert _sums(found, x) - found.limits == pytest.approx(expected)


def test_two_nodes_against_three():
    # x(S:T) - x(S) - x(T) = 6/2 - 0 - 0, of which min(2, 3) = 2 are allowed.
    x = np.zeros((5, 5))
    x[:2, 2:] = x[2:, :2] = 0.5
    found = two_partitions(x, 1, least=0.1)
    assert found.number == 1
    assert found.limits.tolist() == [2.0]
    assert found.coefficients.sum() == 6 - 1 - 3
    assert _sums(found, x).tolist() == [3.0]


def test_nothing_to_separate_in_a_partition():
    x = _partition(3)
    assert triangles(x, x > 0.5, 10, least=1e-6).number == 0
    found = two_partitions(x, 10, least=1e-3)
    assert found.number == 0
    assert found.starts.tolist() == [0]


# --- relaxations ------------------------------------------------------------------------------------------------------

STAR = np.array([[0.0, 2.0, 2.0, 2.0], [2.0, 0.0, -2.0, -2.0], [2.0, -2.0, 0.0, -2.0], [2.0, -2.0, -2.0, 0.0]])
NOTHING = np.zeros((4, 4), dtype=bool)


def _with_triangles(weights):
    relaxation = Relaxation(weights)
    for _ in range(10):
        relaxation.add(triangles(relaxation.solve(60.0).x, weights > 0, 100, least=1e-6))
    return relaxation


@pytest.mark.parametrize("missing", [-2.0, -np.inf])
def test_star_is_half_together(missing):
    # With all three spokes at 1/2 the triangles are tight: 3 * 2 / 2; the best partition has one spoke, 2.
    relaxation = _with_triangles(np.where(STAR == -2.0, missing, STAR))
    found = relaxation.solve(60.0)
    assert found.x[0].tolist() == pytest.approx([0.0, 0.5, 0.5, 0.5])
    assert found.value == pytest.approx(3.0)
    assert found.bound == pytest.approx(3.0)
    relaxation.add(two_partitions(found.x, 10, least=0.1))
    assert relaxation.solve(60.0).bound == pytest.approx(2.0)


@pytest.mark.long
def test_both_methods_come_to_one_bound():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.normal(size=(12, 12)), 1)
    weights += weights.T
    relaxation = _with_triangles(weights)
    exact = relaxation.solve(60.0)
    near = relaxation.approach(3000)
    assert exact.bound == pytest.approx(exact.value, abs=1e-6)
    assert near.bound == pytest.approx(exact.bound, abs=1e-3)
    assert near.bound >= exact.bound - 1e-9
    assert relaxation.solve(60.0).bound == pytest.approx(exact.bound, abs=1e-6)


def test_a_bound_holds_for_reduced_costs_and_without_time():
    relaxation = _with_triangles(STAR)
    stopped = Relaxation(STAR)
    stopped.add(triangles((STAR > 0) * 1.0, STAR > 0, 100, least=0.1))
    found = stopped.solve(0.0)
    assert found.bound >= 3.0 - 1e-9
    found = relaxation.solve(60.0)
    for first, last in (0, 1), (1, 2):
        forced = NOTHING.copy()
        forced[first, last] = forced[last, first] = True
        relaxation.fix(forced, NOTHING)
        assert relaxation.solve(60.0).bound <= found.bound + found.reduced[first, last] + 1e-9
        relaxation.fix(NOTHING, forced)
        assert relaxation.solve(60.0).bound <= found.bound - found.reduced[first, last] + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("by_simplex", [True, False])
def test_rows_that_are_slack_for_long_go(by_simplex):
    relaxation = Relaxation(STAR)
    relaxation.add(triangles(np.where(STAR > 0, 0.1, 0.0) + 1.0 - np.eye(4), STAR > 0, 100, least=0.1))
    num_entries = relaxation.num_entries
    relaxation.fix(NOTHING, STAR > 0)
    for _ in range(10):
        bound = (relaxation.solve(60.0) if by_simplex else relaxation.approach(500)).bound
        relaxation.purge()
    assert relaxation.num_entries == 6 < num_entries
    assert relaxation.solve(60.0).bound == pytest.approx(bound, abs=1e-9) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_as_near_as_asked_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    rows = csr_array(rng.choice([-1.0, 0.0, 0.0, 1.0], (30, 20)))
    weights, lower, upper, limits = rng.normal(size=20), np.zeros(20), np.ones(20), rng.random(30)
    exact = linprog(-weights, rows, limits, bounds=(0.0, 1.0))
    point = Point(np.zeros(20), np.zeros(30), 1.0)
    errors = []
    for _ in range(3):
        point = primal_dual(weights, lower, upper, rows, limits, point, 1500)
        bound = limits @ point.y + np.maximum(0.0, weights - rows.T @ point.y).sum()
        assert (point.y >= 0.0).all()
        assert bound >= -exact.fun - 1e-12
        errors.append(bound + exact.fun)
    assert weights @ point.x == pytest.approx(-exact.fun, abs=1e-4)
    assert (rows @ point.x <= limits + 1e-4).all()
    assert errors[-1] < 1e-4


def test_bounds_hold_and_a_solution_stays():
    rows = csr_array([[1.0, 1.0]])
    arguments = np.array([2.0, 1.0]), np.array([0.0, 0.25]), np.array([0.5, 0.25]), rows, np.ones(1)
    found = primal_dual(*arguments, Point(np.array([3.0, -3.0]), np.zeros(1), 1.0), number=10)
    assert found.x.tolist() == [0.5, 0.25]
    assert found.y.tolist() == [0.0]
    again = primal_dual(*arguments, found, number=10)
    assert again.x.tolist() == found.x.tolist()


# --- the optimum ------------------------------------------------------------------------------------------------------


def asked(times):
    """Time that is up once it has been asked for so often."""
    calls = count()
    return lambda: 1e6 if next(calls) < times else 0.0


def objects(num_objects, num_attributes, seed):
    """Attributes on which two objects agree less those on which they differ, as Groetschel and Wakabayashi weigh."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (6, num_attributes))[rng.integers(0, 6, num_objects)]
    table = np.where(rng.random(table.shape) < 0.5, rng.integers(0, 4, table.shape), table)
    left, right = np.triu_indices(num_objects, 1)
    weights = 2.0 * (table[left] == table[right]).sum(axis=1) - num_attributes
    return Problem(num_objects, left, right, weights, "zero")


def wheel(rim):
    """A hub that fits to all of its rim, whose neighbours do not fit to each other and the others not at all."""
    around = np.arange(1, rim + 1)
    left = np.append(np.zeros(rim, dtype=np.int64), np.minimum(around, np.roll(around, 1)))
    right = np.append(around, np.maximum(around, np.roll(around, 1)))
    return Problem(rim + 1, left, right, np.repeat([1.0, -1.0], rim), "zero")


@pytest.fixture(params=["simplex", "first order"], scope="module")
def method(request):
    """By default all relaxations of this size are left to the simplex method."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "first order":
            patch.setattr(module, "_FEW_PAIRS", -1)
        yield


@pytest.mark.long
@pytest.mark.usefixtures("method")
@settings(max_examples=80, deadline=None)
@given(SEEDS, RULES, st.integers(1, 7))
def test_enumeration_of_all_partitions(seed, missing, num_nodes):
    problem = drawn_problem(seed, missing, num_nodes)
    found = cutting_plane(problem, plenty, start=np.arange(num_nodes))
    best = optimum(problem)
    assert found.status == "proven"
    assert found.objective == pytest.approx(best, abs=2e-6)
    assert found.bound >= best - 1e-9
    assert problem.objective(found.labels) == found.objective


@pytest.mark.long
@pytest.mark.usefixtures("method")
@settings(max_examples=50, deadline=None)
@given(SEEDS, RULES, st.integers(0, 12))
def test_bound_holds_whenever_time_is_up(seed, missing, times):
    problem = drawn_problem(seed, missing, 7)
    found = cutting_plane(problem, asked(times), start=np.arange(7))
    best = optimum(problem)
    assert found.objective <= best + 1e-9
    assert found.bound >= best - 1e-9
    assert found.status == "feasible" or found.objective == pytest.approx(best, abs=2e-6)


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize("rim", [3, 5, 6])
def test_wheel_with_a_relaxation_of_halves(rim):
    # All spokes at 1/2 would give rim / 2. A part with the hub has s spokes and, unless it is all, s - 1 or fewer
    # rim pairs less: s nodes that are no neighbours are best.
    found = cutting_plane(wheel(rim), plenty, start=np.arange(rim + 1))
    assert found.status == "proven"
    assert found.objective == found.bound == rim // 2


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize(
    ("size", "num_attributes", "seed", "start", "most_branches"), [(40, 8, 1, None, 4), (70, 12, 2, np.arange(70), 99)]
)
def test_objects_of_a_table_are_proven_without_branching_much(size, num_attributes, seed, start, most_branches):
    """The larger relaxation is approached first."""
    found = cutting_plane(objects(size, num_attributes, seed), plenty, start=start)
    assert found.status == "proven"
    assert found.objective == found.bound == objects(size, num_attributes, seed).objective(found.labels)
    assert (found.num_cuts > 0, found.num_branches <= most_branches) == (True, True)


@pytest.mark.usefixtures("method")
def test_nothing_to_decide():
    none = np.empty(0, dtype=np.int64)
    for missing in "forbid", "zero":
        found = cutting_plane(Problem(3, none, none, np.empty(0), missing), plenty)
        assert found[:4] == ("proven", pytest.approx([0, 1, 2]), 0.0, 0.0)


@pytest.mark.usefixtures("method")
def test_more_nodes_than_a_relaxation_can_hold(monkeypatch):
    monkeypatch.setattr(module, "MAX_NODES", 6)
    problem = drawn_problem(3, "zero", 7)
    found = cutting_plane(problem, plenty)
    assert found.num_cuts == 0
    assert found.objective <= optimum(problem) <= found.bound
