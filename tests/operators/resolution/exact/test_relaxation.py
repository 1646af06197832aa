import numpy as np
import pytest

from tiltmeter.operators.resolution.exact.cuts import triangles, two_partitions
from tiltmeter.operators.resolution.exact.relaxation import Relaxation

STAR = np.array([[0.0, 2.0, 2.0, 2.0], [2.0, 0.0, -2.0, -2.0], [2.0, -2.0, 0.0, -2.0], [2.0, -2.0, -2.0, 0.0]])
NOTHING = np.zeros((4, 4), dtype=bool)


def _with_triangles(weights: np.ndarray) -> Relaxation:
    relaxation = Relaxation(weights)
    for _ in range(10):
        relaxation.add(triangles(relaxation.solve(60.0).x, weights > 0, 100, least=1e-6))
    return relaxation


@pytest.mark.parametrize("missing", [-2.0, -np.inf])
def test_star_is_half_together(missing: float) -> None:
    # With all three spokes at 1/2 the triangles are tight: 3 * 2 / 2; the best partition has one spoke, 2.
    relaxation = _with_triangles(np.where(STAR == -2.0, missing, STAR))
    found = relaxation.solve(60.0)
    assert found.x[0].tolist() == pytest.approx([0.0, 0.5, 0.5, 0.5])
    assert found.value == pytest.approx(3.0)
    assert found.bound == pytest.approx(3.0)
    relaxation.add(two_partitions(found.x, 10, least=0.1))
    assert relaxation.solve(60.0).bound == pytest.approx(2.0)


def test_both_methods_come_to_one_bound() -> None:
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


def test_a_bound_holds_for_reduced_costs_and_without_time() -> None:
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


@pytest.mark.parametrize("by_simplex", [True, False])
def test_rows_that_are_slack_for_long_go(by_simplex: bool) -> None:
    relaxation = Relaxation(STAR)
    relaxation.add(triangles(np.where(STAR > 0, 0.1, 0.0) + 1.0 - np.eye(4), STAR > 0, 100, least=0.1))
    num_entries = relaxation.num_entries
    relaxation.fix(NOTHING, STAR > 0)
    for _ in range(10):
        bound = (relaxation.solve(60.0) if by_simplex else relaxation.approach(500)).bound
        relaxation.purge()
    assert relaxation.num_entries == 6 < num_entries
    assert relaxation.solve(60.0).bound == pytest.approx(bound, abs=1e-9) == pytest.approx(0.0, abs=1e-9)
