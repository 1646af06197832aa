"""Weights that are very large, very small, infinite or too many: no proof without a number."""

import itertools
import math

import numpy as np
import pytest

from tiltmeter.operators.resolution import partition
from tiltmeter.operators.resolution.pairs import MAX_SUM, clean_pairs
from tiltmeter.operators.resolution.problem import Problem, result
from tiltmeter.operators.resolution.solvers import all_together, reducing_solver

LEFT, RIGHT = np.triu_indices(5, 1)
LABELS = [np.array(labels) for labels in itertools.product(range(5), repeat=5)]
LARGEST = np.finfo(float).max


def problem(weights):
    return Problem(5, LEFT, RIGHT, np.asarray(weights), "forbid")


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-12, 1e-5, 1e12, 1e20, 1e100, 1e298])
@pytest.mark.parametrize("name", ["cutting_plane", "local_search", "quadratic_set_packing", "set_packing"])
def test_the_unit_of_the_weights_changes_no_partition(name, scale):
    weights = np.array([2.0, -1.0, 1.5, -3.0, 1.0, -0.5, 2.5, 1.0, -2.0, 0.5])
    usual, found = (reducing_solver(name)(problem(size * weights), lambda: math.inf) for size in (1.0, scale))
    best = max(map(problem(scale * weights).objective, LABELS))
    assert found.objective == pytest.approx(best, rel=1e-9, abs=0.0)
    assert best <= found.bound < math.inf
    assert found.status == usual.status == ("feasible" if name == "local_search" else "proven")


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_a_bound_that_is_not_finite_proves_nothing(bound):
    found = result(problem([1.0] * 10), np.zeros(5, dtype=np.int64), bound)
    assert (found.status, found.objective, found.bound, found.gap) == ("feasible", 10.0, math.inf, math.inf)


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_objective_that_is_not_finite_is_not_proven():
    found = all_together(problem([LARGEST] * 10))
    assert (found.status, found.objective, found.gap) == ("feasible", math.inf, math.inf)


@pytest.mark.parametrize("weights", [[LARGEST, LARGEST, -1.0], [LARGEST, 1.0, -LARGEST], [0.6 * MAX_SUM] * 3])
def test_weights_whose_sums_overflow_are_refused_with_the_largest(weights):
    message = r"weight (1\.79\S+e\+308|6e\+299) in row 1 of the pairs: all weights, .* must add up to 1e\+300 or less"
    with pytest.raises(ValueError, match=message):
        clean_pairs(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array(weights), None)


def test_contradicting_weights_have_a_mean_that_does_not_overflow():
    [mean] = clean_pairs(np.array([0, 1]), np.array([1, 0]), np.array([0.4e300, 0.5e300]), None).weights
    assert mean == pytest.approx(0.45e300)


def test_an_id_that_is_not_a_number_names_no_record():
    with pytest.raises(ValueError, match="an id is not a finite number"):
        partition([1.0, math.nan], [2.0, 3.0], [0.5, 0.5])
    assert partition([0.0, -0.0], [1.0, 2.0], [0.5, 0.5]).records.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(("weight", "step"), [(2.0**50, 2.0**50), (2.0**51, 0.0)])
def test_bounds_are_not_rounded_by_weights_whose_sum_a_float_does_not_hold(weight, step):
    ends, others = np.array([0, 1]), np.array([1, 2])
    assert Problem(3, ends, others, np.array([weight, -weight]), "zero").step == step
