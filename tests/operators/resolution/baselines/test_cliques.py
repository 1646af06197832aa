import networkx as nx
import numpy as np
import pytest

from tests.fixtures.problems import drawn_problem
from tiltmeter.operators.resolution.baselines.cliques import clustering_coefficient


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", ["zero", "forbid"])
def test_the_clustering_coefficient_is_that_of_the_scored_pairs(seed, missing):
    problem = drawn_problem(seed, missing, 12)
    graph = nx.empty_graph(12)
    graph.add_edges_from(zip(problem.left.tolist(), problem.right.tolist(), strict=True))
    assert clustering_coefficient(problem) == pytest.approx(nx.average_clustering(graph))


def test_without_neighbours_it_is_0_and_without_nodes_undefined():
    assert clustering_coefficient(drawn_problem(0, "zero", 1)) == 0.0
    assert np.isnan(clustering_coefficient(drawn_problem(0, "zero", 0)))
