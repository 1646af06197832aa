"""Both packings with whatever engine there is, with fewer parts than an optimum needs, and their phases."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, optimum, partitions, plenty
from tiltmeter.operators.resolution.baselines.cliques import allowed_graph, clustering_coefficient
from tiltmeter.operators.resolution.baselines.packing import Packing, check_engine, engines
from tiltmeter.operators.resolution.baselines.quadratic import quadratic_set_packing
from tiltmeter.operators.resolution.baselines.set_packing import set_packing
from tiltmeter.operators.resolution.problem import Problem

PACKINGS = [set_packing, quadratic_set_packing]
ENDS = np.triu_indices(14, 1)
LARGE = Problem(14, *ENDS, np.random.default_rng(1).normal(size=ENDS[0].size), "zero")


def test_an_engine_that_is_not_there_is_refused_with_those_that_are():
    assert "HiGHS" in engines()
    with pytest.raises(ValueError, match=r"engine=abacus: PuLP finds no such engine on this machine; it finds .*HiGHS"):
        check_engine("abacus")
    problem = drawn_problem(1, "forbid", 6)
    with pytest.raises(ValueError, match="engine=abacus"):
        set_packing(problem, plenty, Packing(engine="abacus"))


@pytest.mark.long
@pytest.mark.parametrize("pack", PACKINGS)
@given(SEEDS, RULES, st.integers(0, 7))
@settings(max_examples=40)
def test_optimum_of_all_partitions(pack, seed, missing, num_nodes):
    problem = drawn_problem(seed, missing, num_nodes)
    solution = pack(problem, plenty)
    assert solution.status == "proven"
    assert solution.objective == pytest.approx(optimum(problem), abs=1e-9)
    assert solution.objective == problem.objective(solution.labels)


@pytest.mark.long
@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("pack", PACKINGS)
@pytest.mark.parametrize("seed", range(4))
def test_every_engine_finds_an_optimum(engine, pack, seed):
    problem = drawn_problem(seed, "forbid", 7)
    found = pack(problem, plenty, Packing(engine))
    assert found.status == "proven"
    assert found.objective == problem.objective(found.labels) == pytest.approx(optimum(problem), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("pack", PACKINGS)
def test_an_engine_without_time_claims_nothing(engine, pack):
    # It is looked at each time that a thousand of 2^14 sets are listed, before the model is made, and for the engine.
    num_looks = 18 if pack is set_packing else 1
    found = pack(LARGE, iter([*[1e6] * num_looks, 0.0]).__next__, Packing(engine))
    assert found.status != "proven"
    assert found.bound > found.objective


# --- M --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_parts", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_no_more_parts_are_taken_from_a_clique_than_m(seed, max_parts):
    """Of one maximal clique: the best partition with so many parts of two nodes or more."""
    problem = drawn_problem(seed, "zero", 7)
    found = quadratic_set_packing(problem, plenty, Packing(max_parts=max_parts))
    fitting = [labels for labels in partitions(7) if (np.bincount(labels) > 1).sum() <= max_parts]
    best = max(map(problem.objective, fitting))
    assert found.objective == pytest.approx(best)
    assert (np.bincount(found.labels) > 1).sum() <= max_parts
    assert found.bound >= optimum(problem) - 1e-9
    if best < optimum(problem) - 1e-6:
        assert found.status == "feasible"


# --- phases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_cliques_are_counted_between_the_phases(seed):
    problem = drawn_problem(seed, "forbid", 9)
    graph = allowed_graph(problem)
    every = sum(1 for nodes in nx.enumerate_all_cliques(graph) if len(nodes) > 1)
    maximal = sum(1 for nodes in nx.find_cliques(graph) if len(nodes) > 1)
    counts: list[int] = []
    for pack in PACKINGS:
        pack(problem, plenty, listed=counts.append)
    assert counts == [every, maximal]


@pytest.mark.parametrize("missing", ["zero", "forbid"])
def test_the_clustering_coefficient_is_that_of_the_scored_pairs(missing):
    for seed in range(6):
        problem, graph = drawn_problem(seed, missing, 12), nx.empty_graph(12)
        graph.add_edges_from(zip(problem.left.tolist(), problem.right.tolist(), strict=True))
        assert clustering_coefficient(problem) == pytest.approx(nx.average_clustering(graph))
    assert clustering_coefficient(drawn_problem(0, missing, 1)) == 0.0
    assert np.isnan(clustering_coefficient(drawn_problem(0, missing, 0)))


ALL = Problem(6, *np.triu_indices(6, 1), np.ones(15), "forbid")
PATH = Problem(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.ones(3), "forbid")


@pytest.mark.parametrize(
    ("pack", "problem", "limit", "message"),
    [
        # 2^6 sets of nodes, less the empty one and six of one node.
        (set_packing, ALL, {"max_cliques": 56}, r"6 nodes with more than max_cliques=56 cliques.*set max_cliques or"),
        (quadratic_set_packing, PATH, {"max_cliques": 2}, "more than max_cliques=2 maximal cliques; set max_cliques"),
        (quadratic_set_packing, PATH, {"max_constraints": 5}, "4 nodes: up to 6 constraints, where max_constraints=5"),
    ],
)
def test_many_cliques_and_large_models_are_refused(pack, problem, limit, message):
    assert pack(problem, plenty, Packing(**{name: value + 1 for name, value in limit.items()})).status == "proven"
    with pytest.raises(ValueError, match=message):
        pack(problem, plenty, Packing(**limit))


@pytest.mark.parametrize("seconds", [[0.0], [1e6, 0.0], [1e6, 0.01]], ids=["at first", "after the model", "solving"])
def test_without_time_nothing_is_claimed(seconds):
    found = quadratic_set_packing(LARGE, iter(seconds).__next__)
    assert found.status != "proven"
    assert found.bound > found.objective
