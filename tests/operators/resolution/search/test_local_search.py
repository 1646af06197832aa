from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, plenty, problem_of, scored_problem
from tiltmeter.operators.resolution.problem import Problem
from tiltmeter.operators.resolution.reductions import components
from tiltmeter.operators.resolution.search import local_search as module
from tiltmeter.operators.resolution.search.bound import triangle_bound
from tiltmeter.operators.resolution.search.local_search import local_search, local_search_result
from tiltmeter.operators.resolution.search.sparse import sparse_local_search


def none_left():
    return 0.0


def _planted(seed, missing, num_parts, size):
    """Every pair within a part weighs 1, every other -1."""
    parts = np.random.default_rng(seed).permutation(np.repeat(np.arange(num_parts), size))
    left, right = np.triu_indices(parts.size, 1)
    weights = np.where(parts[left] == parts[right], 1.0, -1.0)
    kept = (weights > 0) | (missing == "zero")
    return Problem(parts.size, left[kept], right[kept], weights[kept], missing), parts


@given(SEEDS, RULES, st.integers(1, 7))
@settings(max_examples=60)
def test_optimum_of_few_nodes(seed, missing, num_nodes):
    problem = drawn_problem(seed, missing, num_nodes)
    best = optimum(problem)
    found = local_search_result(problem, plenty)
    assert found.objective == pytest.approx(best, abs=1e-9)
    assert found.objective == problem.objective(found.labels)
    assert found.bound >= best - 1e-9
    assert found.status == "feasible" or found.bound == pytest.approx(best, abs=1e-6)
    assert [*dict.fromkeys(found.labels.tolist())] == list(range(found.labels.max() + 1)), "by their first nodes"


@pytest.mark.long
@given(SEEDS, RULES)
@settings(max_examples=20)
def test_parts_are_found_whatever_the_nodes_are_called(seed, missing):
    problem, parts = _planted(seed, missing, num_parts=6, size=5)
    for labels in (local_search(problem, plenty), sparse_local_search(problem, plenty)):
        assert problem.objective(labels) == 60.0
        assert np.array_equal(labels[:, None] == labels, parts[:, None] == parts)
    assert local_search_result(problem, plenty).status == "proven"


@pytest.mark.long
def test_best_known_value_of_a_hard_instance():
    # Uniform weights in -100..100 on 100 nodes; 26212 is the best of many long searches with other methods.
    rng = np.random.default_rng(1)
    left, right = np.triu_indices(100, 1)
    problem = Problem(100, left, right, rng.integers(-100, 101, left.size) * 1.0, "zero")
    labels = local_search(problem, plenty, seed=2)
    assert problem.objective(labels) >= 0.995 * 26212


def test_what_is_drawn_is_of_its_seed():
    """A search that is ended early is where its draws have led it."""
    left, right = np.triu_indices(60, 1)
    problem = Problem(60, left, right, np.random.default_rng(1).integers(-100, 101, left.size) * 1.0, "zero")

    def reached(seed):
        calls = count()
        return problem.objective(local_search(problem, lambda: 100.0 - next(calls), seed=seed))

    first, *others = (reached(seed) for seed in (1, 0, 1, 2))
    assert others.pop(1) == first
    assert len({first, *others}) == 3


def test_swaps_go_through_forbidden_pairs():
    # 0 and 1 belong to each other's parts, {0, 2, 3} and {1, 4, 5}, but may not be together even for a while.
    own, others, inner = [(0, 2), (0, 3), (1, 4), (1, 5)], [(1, 2), (1, 3), (0, 4), (0, 5)], [(2, 3), (4, 5)]
    pairs = dict.fromkeys(own, 1.0) | dict.fromkeys(others, 2.0) | dict.fromkeys(inner, 9.0)
    problem = problem_of(6, pairs, "forbid")
    labels = local_search(problem, iter([1.0] * 4 + [0.0] * 99).__next__, start=np.array([0, 1, 0, 0, 1, 1]))
    assert problem.objective(labels) == 26.0


@given(SEEDS, RULES)
@settings(max_examples=20)
def test_never_worse_than_the_start(seed, missing):
    problem = drawn_problem(seed, missing, 12)
    start = sparse_local_search(problem, plenty)
    calls = count()
    for search in (local_search(problem, none_left, start=start), sparse_local_search(problem, plenty, start)):
        assert problem.objective(search) >= problem.objective(start) - 1e-12
    few = local_search(problem, lambda: 5.0 - next(calls), start=start)
    assert problem.objective(few) >= problem.objective(start) - 1e-12


@pytest.mark.parametrize("missing", ["zero", "forbid"])
def test_without_time_there_is_the_greedy_partition(missing):
    problem, _ = _planted(0, missing, 4, 5)
    found = local_search_result(problem, none_left)
    assert found.objective == found.bound == 40.0


@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_without_positive_weights_each_node_is_alone(num_nodes):
    left, right = np.triu_indices(num_nodes, 1)
    found = local_search_result(Problem(num_nodes, left, right, -np.ones(left.size), "zero"), plenty)
    assert found[:1] + found[2:4] == ("proven", 0.0, 0.0)
    assert found.labels.tolist() == list(range(num_nodes))


def test_many_nodes_are_searched_on_lists(monkeypatch):
    problem, _ = _planted(3, "forbid", 50, 4)
    monkeypatch.setattr(module, "MAX_DENSE_NODES", 100)
    monkeypatch.setattr(module, "_evolve", None)
    assert local_search_result(problem, plenty)[2:4] == (300.0, 300.0)


@given(SEEDS, RULES)
@settings(max_examples=30)
def test_search_on_lists_ends_where_no_move_gains(seed, missing):
    problem = drawn_problem(seed, missing, 9)
    labels = sparse_local_search(problem, plenty)
    reached = problem.objective(labels)
    for node in range(9):
        for part in range(10):
            moved = labels.copy()
            moved[node] = part
            assert problem.objective(moved) <= reached


def test_bound_of_triangles_by_hand():
    # A square with one diagonal, 02, forbidden. Of the two triangles at that, one loses 1 and the other 2, which leaves
    # nothing for those at the other diagonal.
    left, right = np.array([0, 0, 1, 1, 2]), np.array([1, 3, 2, 3, 3])
    problem = Problem(4, left, right, np.array([1.0, 2.0, 1.0, -1.0, 2.0]), "forbid")
    assert triangle_bound(problem, plenty) == 6.0 - 1.0 - 2.0
    assert triangle_bound(problem, none_left) == 6.0
    assert optimum(problem) == 3.0


@pytest.mark.long
@pytest.mark.parametrize(("missing", "gap"), [("forbid", 1e-3), ("zero", 1e-6)])
def test_largest_component_of_patents_has_a_small_gap(data_file, missing, gap):
    pieces = components(scored_problem(data_file("er/patent_sample/pairs.parquet"), missing))
    problem = max((piece.problem for piece in pieces), key=lambda problem: problem.num_nodes)
    assert problem.num_nodes == 394
    assert local_search_result(problem, plenty).gap < gap


@pytest.mark.parametrize("start", [[0, 0], [0, 0, 0]])
def test_refused_start(start):
    problem = Problem(3, np.array([0]), np.array([1]), np.array([1.0]), "forbid")
    with pytest.raises(ValueError, match=r"start of shape \(\d,\): must give each of 3 nodes a part.*leave start out"):
        local_search(problem, plenty, start=np.array(start))
