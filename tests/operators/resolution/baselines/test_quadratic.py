import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, plenty
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.baselines.quadratic import quadratic_set_packing
from tiltmeter.operators.resolution.baselines.set_packing import set_packing
from tiltmeter.operators.resolution.problem import Missing, Problem


@given(SEEDS, RULES, st.integers(0, 7))
@settings(max_examples=40)
def test_optimum_of_all_partitions(seed: int, missing: Missing, num_nodes: int) -> None:
    problem = drawn_problem(seed, missing, num_nodes)
    found = quadratic_set_packing(problem, plenty)
    assert found.status == "proven"
    assert found.objective == pytest.approx(optimum(problem), abs=1e-9)
    assert found.objective == problem.objective(found.labels)


def test_one_clique_gives_several_parts() -> None:
    # Six nodes that may all be together, of which three pairs are to be.
    left, right = np.triu_indices(6, 1)
    weights = np.where((left % 2 == 0) & (right == left + 1), 1.0, -1.0)
    found = quadratic_set_packing(Problem(6, left, right, weights, "forbid"), plenty)
    assert (found.labels.tolist(), found.objective) == ([0, 0, 1, 1, 2, 2], 3.0)


def test_agreement_with_all_cliques_of_a_sparse_graph() -> None:
    rng = np.random.default_rng(0)
    left, right = np.triu_indices(16, 1)
    kept = rng.random(left.size) < 0.4
    problem = Problem(16, left[kept], right[kept], rng.normal(0.2, 0.5, kept.sum()), "forbid")
    found, other = quadratic_set_packing(problem, plenty), set_packing(problem, plenty)
    assert found.status == other.status == "proven"
    assert found.objective == pytest.approx(other.objective)


def test_large_models_are_refused() -> None:
    left, right = np.array([0, 1, 2]), np.array([1, 2, 3])
    path = Problem(4, left, right, np.ones(3), "forbid")
    with pytest.raises(ValueError, match=r"4 nodes with more than max_cliques=2 maximal cliques; set max_cliques"):
        quadratic_set_packing(path, plenty, Packing(max_cliques=2))
    with pytest.raises(ValueError, match=r"of 4 nodes: up to 6 constraints, where max_constraints=5; set that"):
        quadratic_set_packing(path, plenty, Packing(max_constraints=5))


@pytest.mark.parametrize("seconds", [[0.0], [1e6, 0.0], [1e6, 0.01]], ids=["at first", "after the model", "solving"])
def test_without_time_nothing_is_claimed(seconds: list[float]) -> None:
    rng = np.random.default_rng(1)
    left, right = np.triu_indices(14, 1)
    problem = Problem(14, left, right, rng.normal(size=left.size), "zero")
    found = quadratic_set_packing(problem, iter(seconds).__next__)
    assert found.status != "proven"
    assert found.bound > found.objective
