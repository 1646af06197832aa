import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, plenty
from tiltmeter.operators.resolution.baselines.cliques import allowed_graph
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.baselines.set_packing import set_packing
from tiltmeter.operators.resolution.problem import Missing, Problem


@given(SEEDS, RULES, st.integers(0, 7))
@settings(max_examples=40)
def test_optimum_of_all_partitions(seed: int, missing: Missing, num_nodes: int) -> None:
    problem = drawn_problem(seed, missing, num_nodes)
    found = set_packing(problem, plenty)
    assert found.status == "proven"
    assert found.objective == pytest.approx(optimum(problem), abs=1e-9)
    assert found.objective == problem.objective(found.labels)


def test_cliques_by_hand() -> None:
    # Of the path 0 - 1 - 2 - 3, with 01 and 23 worth 2 each and 12 worth 3, the ends are better.
    path = Problem(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([2.0, 3.0, 2.0]), "forbid")
    found = set_packing(path, plenty)
    assert (found.labels.tolist(), found.objective) == ([0, 0, 1, 1], 4.0)
    assert sorted(allowed_graph(path).edges) == [(0, 1), (1, 2), (2, 3)]
    assert allowed_graph(Problem(4, path.left, path.right, path.weights, "zero")).size() == 6


def test_many_cliques_are_refused() -> None:
    left, right = np.triu_indices(6, 1)
    problem = Problem(6, left, right, np.ones(left.size), "forbid")
    # 2^6 sets of nodes, less the empty one and six of one node.
    assert set_packing(problem, plenty, Packing(max_cliques=57)).status == "proven"
    with pytest.raises(ValueError, match=r"6 nodes with more than max_cliques=56 cliques.*set max_cliques or"):
        set_packing(problem, plenty, Packing(max_cliques=56))


def test_without_time_nothing_is_claimed() -> None:
    problem = drawn_problem(3, "zero", 12)
    found = set_packing(problem, lambda: 0.0)
    assert found.status != "proven"
    assert found.bound == pytest.approx(problem.weights[problem.weights > 0].sum())
