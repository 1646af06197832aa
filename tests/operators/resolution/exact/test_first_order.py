import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from tiltmeter.operators.resolution.exact.first_order import Point, primal_dual


@pytest.mark.parametrize("seed", range(5))
def test_as_near_as_asked_to_the_optimum(seed: int) -> None:
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


def test_bounds_hold_and_a_solution_stays() -> None:
    rows = csr_array([[1.0, 1.0]])
    arguments = np.array([2.0, 1.0]), np.array([0.0, 0.25]), np.array([0.5, 0.25]), rows, np.ones(1)
    found = primal_dual(*arguments, Point(np.array([3.0, -3.0]), np.zeros(1), 1.0), number=10)
    assert found.x.tolist() == [0.5, 0.25]
    assert found.y.tolist() == [0.0]
    again = primal_dual(*arguments, found, number=10)
    assert again.x.tolist() == found.x.tolist()
