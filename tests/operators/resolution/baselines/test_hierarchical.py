import numpy as np
import pytest

from tiltmeter.operators.resolution.baselines.hierarchical import hierarchical_result
from tiltmeter.operators.resolution.problem import Missing, Problem


def plenty() -> float:
    return 1e6


def _problem(seed: int, missing: Missing) -> Problem:
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(15, 1)
    kept = rng.random(left.size) < 0.6
    return Problem(15, left[kept], right[kept], rng.normal(0.1, 0.5, kept.sum()), missing)


def _merged(problem: Problem, threshold: float) -> np.ndarray:
    """Merges the two clusters with the largest mean, one pair of clusters after the other."""
    clusters = [[node] for node in range(problem.num_nodes)]
    while len(clusters) > 1:
        means = {
            (one, other): problem.matrix[np.ix_(clusters[one], clusters[other])].mean()
            for one in range(len(clusters))
            for other in range(one)
        }
        one, other = max(means, key=means.__getitem__)
        if means[one, other] < threshold:
            break
        clusters[other] += clusters.pop(one)
    labels = np.empty(problem.num_nodes, dtype=np.int64)
    for cluster, nodes in enumerate(clusters):
        labels[nodes] = cluster
    return labels


@pytest.mark.parametrize("missing", ["zero", "forbid"])
@pytest.mark.parametrize("threshold", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_clusters_with_the_largest_mean_merge(seed: int, threshold: float, missing: Missing) -> None:
    problem = _problem(seed, missing)
    found = hierarchical_result(problem, plenty, threshold)
    labels = _merged(problem, threshold)
    assert np.array_equal(found.labels[:, None] == found.labels, labels[:, None] == labels)
    assert found.objective == problem.objective(labels) <= found.bound


def test_forbidden_pairs_stay_apart_however_much_is_for_them() -> None:
    pairs = np.array([0, 1]), np.array([1, 2])
    for missing, labels in (("forbid", [0, 0, 1]), ("zero", [0, 0, 0])):
        assert hierarchical_result(Problem(3, *pairs, np.array([1e9, 1e8]), missing), plenty).labels.tolist() == labels


@pytest.mark.parametrize("num_nodes", [0, 1, 2])
def test_nothing_to_cluster(num_nodes: int) -> None:
    none = np.zeros(0, dtype=np.int64)
    found = hierarchical_result(Problem(num_nodes, none, none, np.zeros(0), "zero"), plenty)
    assert (found.status, found.labels.size, found.objective) == ("proven", num_nodes, 0.0)


def test_no_time() -> None:
    found = hierarchical_result(_problem(0, "zero"), lambda: 0.0)
    assert (found.status, found.objective) == ("none", -np.inf)
