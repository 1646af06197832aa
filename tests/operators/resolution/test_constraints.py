"""Constraints against brute force: of all partitions of small graphs, those that obey them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import Resolved
from tiltmeter.operators.resolution.components import components_of
from tiltmeter.operators.resolution.constraints import Constraints, constrained, contradiction, groups_of, tied
from tiltmeter.operators.resolution.explanations import near_misses, split_pairs
from tiltmeter.operators.resolution.pairs import ScoredPairs
from tiltmeter.operators.resolution.problem import Problem
from tiltmeter.operators.resolution.search.bound import triangle_bound
from tiltmeter.operators.resolution.search.sparse import sparse_local_search
from tiltmeter.operators.resolution.solvers import reducing_solver

NOBODY = np.empty((2, 0), dtype=np.int64)


@st.composite
def constrained_graphs(draw):
    """Nodes, pairs and constraints, which may contradict each other."""
    num_nodes = draw(st.integers(2, 6))
    left, right = np.triu_indices(num_nodes, 1)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kept = rng.random(left.size) < draw(st.sampled_from([0.4, 0.8, 1.0]))
    weights = rng.integers(-4, 6, left.size) * 1.0 if draw(st.booleans()) else rng.normal(0.3, 1.0, left.size)
    pairs = st.lists(st.tuples(st.integers(0, num_nodes - 1), st.integers(0, num_nodes - 1)), max_size=3)
    together, apart = (np.array(draw(pairs), dtype=np.int64).reshape(-1, 2).T for _ in range(2))
    apart = apart[:, apart[0] != apart[1]]
    sources = rng.integers(-1, draw(st.integers(0, 4)), num_nodes)
    constraints = Constraints(together, apart, sources.astype(np.int64))
    return num_nodes, (left[kept], right[kept], weights[kept]), constraints, draw(st.sampled_from(["forbid", "zero"]))


def obeys(labels, constraints):
    together, apart, sources = constraints
    known = np.flatnonzero(sources >= 0)
    one_each = len({(labels[node], sources[node]) for node in known}) == known.size
    linked = (labels[together[0]] == labels[together[1]]).all()
    return bool(linked and (labels[apart[0]] != labels[apart[1]]).all() and one_each)


def best(num_nodes, pairs, constraints, missing):
    """The most that a partition is worth that obeys the constraints; pairs that have to be together may be unscored."""
    together, apart = ([(str(one), str(other)) for one, other in side.T.tolist()] for side in constraints[:2])
    sources = {str(node): str(source) for node, source in enumerate(constraints.sources.tolist()) if source >= 0}
    rows = [
        (str(one), str(other), weight) for one, other, weight in zip(*(side.tolist() for side in pairs), strict=True)
    ]
    everyone = tuple(map(str, range(num_nodes)))
    made = Resolved(rows, missing, must=together, cannot=apart, sources=sources, others=everyone)
    return sum(most for most, _ in made.solved)


@pytest.mark.long
@pytest.mark.parametrize("solver", ["cutting_plane", "local_search"])
@given(graph=constrained_graphs())
def test_the_best_partition_that_obeys_is_found_and_proven(solver, graph):
    num_nodes, pairs, constraints, missing = graph
    groups = groups_of(num_nodes, constraints.together)
    if contradiction(groups, constraints.apart, constraints.sources) is not None:
        with pytest.raises(ValueError, match="are together and may not share a part"):
            constrained(num_nodes, *pairs, constraints, missing)
        return
    left, right, weights, groups, _ = constrained(num_nodes, *pairs, constraints, missing)
    problem = Problem(num_nodes, left, right, weights, missing)
    solution = tied(problem, groups, reducing_solver(solver), lambda: 60.0)
    most = best(*graph)
    assert obeys(solution.labels, constraints)
    assert solution.bound >= most - 1e-6
    if solver == "cutting_plane":
        assert solution.status == "proven"
        assert solution.objective == pytest.approx(most, abs=1e-6)
    assert solution.objective <= most + 1e-9


@pytest.mark.long
@given(constrained_graphs())
def test_components_can_be_solved_by_themselves(graph):
    num_nodes, pairs, constraints, missing = graph
    groups = groups_of(num_nodes, constraints.together)
    if contradiction(groups, constraints.apart, constraints.sources) is not None:
        return
    left, right, weights, groups, _ = constrained(num_nodes, *pairs, constraints, missing)
    ties = np.stack([np.unique(groups, return_index=True)[1][groups], np.arange(num_nodes)])
    parts = components_of(num_nodes, ScoredPairs(left, right, weights, 0, 0, 0, 0), together=ties)
    total, solve = 0.0, reducing_solver("cutting_plane")
    for number, size in enumerate(parts.sizes):
        ours = slice(*parts.starts[number : number + 2])
        problem = Problem(int(size), parts.left[ours], parts.right[ours], parts.weights[ours], missing)
        within = np.unique(groups[parts.component == number], return_inverse=True)[1]
        total += tied(problem, within, solve, lambda: 60.0).objective
    assert total == pytest.approx(best(*graph), abs=1e-6)


@given(constrained_graphs())
def test_the_search_on_lists_and_the_bound_of_triangles_know_forbidden_pairs(graph):
    num_nodes, pairs, (_, apart, sources), missing = graph
    constraints = Constraints(NOBODY, apart, sources)
    left, right, weights, _, _ = constrained(num_nodes, *pairs, constraints, missing)
    problem = Problem(num_nodes, left, right, weights, missing)
    assert obeys(sparse_local_search(problem, lambda: 1.0), constraints)
    assert triangle_bound(problem, lambda: 1.0) >= best(num_nodes, pairs, constraints, missing) - 1e-9


def test_a_record_that_may_not_join_is_explained_by_the_forbidden_pair():
    pairs = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([2.0, 3.0, 1.0])
    apart = Constraints(NOBODY, np.array([[2], [1]]), np.full(3, -1))
    left, right, weights, _, kept_apart = constrained(3, *pairs, apart, "zero")
    assert kept_apart.tolist() == [False, False, True]
    problem = Problem(3, left, right, weights, "zero")
    labels = np.array([0, 1, 0])
    [miss] = np.flatnonzero((standings := near_misses(problem, labels)).nodes == 1)
    assert (standings.support[miss], standings.opposition[miss], standings.num_forbidden[miss]) == (2.0, 0.0, 1)
    tipping = slice(*standings.starts[miss : miss + 2])
    assert (standings.tipping[tipping].tolist(), standings.tipping_weights[tipping].tolist()) == ([2], [-np.inf])
    assert split_pairs(problem, labels).weights.tolist() == [2.0]


def test_too_many_pairs_of_one_source_are_refused(monkeypatch):
    monkeypatch.setattr("tiltmeter.operators.resolution.constraints.MAX_PAIRS", 2)
    pairs = np.arange(3), np.arange(1, 4), np.ones(3)
    same = Constraints(NOBODY, NOBODY, np.array([0, 1, 0, 1]))
    assert constrained(4, *pairs, same, "zero").weights.size == 5
    both = Constraints(np.array([[0], [1]]), NOBODY, np.array([0, -1, 1, 0]))
    assert partial(constrained, 4, *pairs, both, "zero")().weights.size == 4
    clique = Constraints(np.array([[0, 0], [1, 2]]), NOBODY, np.full(4, -1))
    with pytest.raises(ValueError, match="3 pairs of records of one source or of one group: must be 2 or fewer"):
        constrained(4, *pairs, clique, "forbid")
