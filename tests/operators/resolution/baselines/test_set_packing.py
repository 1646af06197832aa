from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.resolution.baselines.set_packing import allowed_graph, set_packing
from tiltmeter.operators.resolution.problem import Missing, Problem

seeds = st.integers(0, 2**32 - 1)
rules = st.sampled_from(["zero", "forbid"])


def plenty() -> float:
    return 1e6


@cache
def _partitions(num_nodes: int) -> list[np.ndarray]:
    if num_nodes == 0:
        return [np.zeros(0, dtype=np.int64)]
    return [
        np.append(labels, part) for labels in _partitions(num_nodes - 1) for part in range(labels.max(initial=-1) + 2)
    ]


def _problem(seed: int, missing: Missing, num_nodes: int) -> Problem:
    """Whole numbers, among which there are ties, or normal ones."""
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(num_nodes, 1)
    kept = rng.random(left.size) < rng.choice([0.4, 0.7, 1.0])
    weights = rng.integers(-4, 6, left.size) * 1.0 if rng.random() < 0.5 else rng.normal(0.3, 1.0, left.size)
    return Problem(num_nodes, left[kept], right[kept], weights[kept], missing)


@given(seeds, rules, st.integers(0, 7))
@settings(max_examples=40)
def test_optimum_of_all_partitions(seed: int, missing: Missing, num_nodes: int) -> None:
    problem = _problem(seed, missing, num_nodes)
    found = set_packing(problem, plenty)
    optimum = max(problem.objective(labels) for labels in _partitions(num_nodes))
    assert found.status == "proven"
    assert found.objective == pytest.approx(optimum, abs=1e-9)
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
    assert set_packing(problem, plenty, max_cliques=57).status == "proven"
    with pytest.raises(ValueError, match=r"6 nodes with more than max_cliques=56 cliques.*set max_cliques or"):
        set_packing(problem, plenty, max_cliques=56)


def test_without_time_nothing_is_claimed() -> None:
    problem = _problem(3, "zero", 12)
    found = set_packing(problem, lambda: 0.0)
    assert found.status != "proven"
    assert found.bound == pytest.approx(problem.weights[problem.weights > 0].sum())
