from itertools import combinations

import numpy as np
import pytest

from tests.fixtures.problems import plenty
from tiltmeter.operators.resolution.baselines.hierarchical import MAX_NODES, average_linkage, centroid_linkage
from tiltmeter.operators.resolution.problem import Problem


def _problem(seed, missing):
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(15, 1)
    kept = rng.random(left.size) < 0.6
    return Problem(15, left[kept], right[kept], rng.normal(0.1, 0.5, kept.sum()), missing)


def _merged(num_nodes, distance, cut):
    """Merges the two nearest clusters, as long as they are no farther apart than the cut."""
    clusters = [[node] for node in range(num_nodes)]
    while len(clusters) > 1:
        distances = {(a, b): distance(clusters[a], clusters[b]) for b, a in combinations(range(len(clusters)), 2)}
        one, other = min(distances, key=distances.__getitem__)
        if distances[one, other] > cut:
            break
        clusters[other] += clusters.pop(one)
    labels = np.empty(num_nodes, dtype=np.int64)
    for cluster, nodes in enumerate(clusters):
        labels[nodes] = cluster
    return labels


def _same(labels, others):
    return np.array_equal(labels[:, None] == labels, others[:, None] == others)


@pytest.mark.parametrize("missing", ["zero", "forbid"])
@pytest.mark.parametrize("threshold", [-0.4, 0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_clusters_with_the_largest_mean_merge(seed, threshold, missing):
    problem = _problem(seed, missing)
    found = average_linkage(problem, plenty, threshold)
    labels = _merged(15, lambda one, other: -problem.matrix[np.ix_(one, other)].mean(), -threshold)
    assert _same(found.labels, labels)
    assert found.objective == problem.objective(labels) <= found.bound


@pytest.mark.parametrize("num_nodes", [0, 1, 2])
def test_nothing_to_cluster_and_no_time(num_nodes):
    none = np.zeros(0, dtype=np.int64)
    found = average_linkage(Problem(num_nodes, none, none, np.zeros(0), "zero"), plenty)
    assert (found.status, found.labels.size, found.objective) == ("proven", num_nodes, 0.0)
    found = average_linkage(_problem(0, "zero"), lambda: 0.0)
    assert (found.status, found.objective) == ("none", -np.inf)


# --- centroids ------------------------------------------------------------------------------------------------------


def _linkage_problem(seed, missing):
    """Three groups of five, whose pairs are mostly likely within and unlikely across."""
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(15, 1)
    kept = rng.random(left.size) < 0.8
    probabilities = np.where(left % 3 == right % 3, rng.beta(4, 2, left.size), rng.beta(2, 4, left.size))
    return Problem(15, left[kept], right[kept], 2.0 * probabilities[kept] - 1.0, missing)


def _variance(squares, nodes):
    return float(squares[np.ix_(nodes, nodes)].sum()) / (2 * len(nodes) ** 2)


@pytest.mark.parametrize("seed", range(8))
def test_clusters_with_the_nearest_centroids_merge(seed):
    problem = _linkage_problem(seed, "zero")
    squares = np.ones((15, 15))
    np.fill_diagonal(squares, 0.0)
    squares[problem.left, problem.right] = squares[problem.right, problem.left] = ((1.0 - problem.weights) / 2) ** 2

    def distance(one, other):
        square = squares[np.ix_(one, other)].mean() - _variance(squares, one) - _variance(squares, other)
        return float(np.sqrt(square))

    found = centroid_linkage(problem, plenty)
    assert _same(found.labels, _merged(15, distance, 0.5))
    assert found.objective == problem.objective(found.labels) <= found.bound


def test_a_pair_without_a_score_is_at_distance_1_or_keeps_centroids_apart():
    # Five likely records, and one that four of them resemble with certainty: the mean square is (4 * 0 + 1) / 5.
    pairs = {pair: 1.0 for pair in combinations(range(6), 2) if pair != (0, 5)}
    left, right = np.array(sorted(pairs)).T
    for missing, labels in (("zero", [0] * 6), ("forbid", [0, 0, 0, 0, 0, 1])):
        found = centroid_linkage(Problem(6, left, right, np.ones(left.size), missing), plenty)
        assert len(set(found.labels.tolist())) == len(set(labels))
        assert found.status != "none"


ROOM = rf"linkage of 30001 records .*at most {MAX_NODES} .*set the threshold"


@pytest.mark.parametrize(
    ("linkage", "num_nodes", "weight", "message"),
    [
        (centroid_linkage, 2, 1.5, "centroid_linkage: a weight is 1.5; it takes weights 2 p - 1"),
        (centroid_linkage, MAX_NODES + 1, 1.0, ROOM),
        (average_linkage, MAX_NODES + 1, 1.0, ROOM),
    ],
)
def test_what_is_no_probability_and_records_without_room_for_their_distances_are_refused(
    linkage, num_nodes, weight, message
):
    with pytest.raises(ValueError, match=message):
        linkage(Problem(num_nodes, np.array([0]), np.array([1]), np.array([weight]), "zero"), plenty)
