import math

import numpy as np
import polars as pl
import pytest

from tiltmeter.operators.resolution import Problem, partition
from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane


def pairs(seed: int, num_nodes: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    left, right = np.triu_indices(num_nodes, 1)
    chosen = rng.random(left.size) < share
    return left[chosen], right[chosen], rng.normal(size=left.size)[chosen]


@pytest.mark.parametrize("missing", ["forbid", "zero"])
@pytest.mark.parametrize("seed", range(4))
def test_components_put_together_are_as_good_as_the_whole(seed, missing):
    left, right, weights = pairs(seed, 24, 0.12)
    records, numbers = np.unique([left, right], return_inverse=True)
    problem = Problem(records.size, *numbers.reshape(2, -1), weights, missing)
    whole = cutting_plane(problem, lambda: math.inf)
    result = partition(left, right, weights, missing=missing)
    assert np.array_equal(result.records, records)
    assert result.status == whole.status == "proven"
    assert result.objective == pytest.approx(whole.objective)
    assert problem.objective(result.clusters) == pytest.approx(result.objective)
    assert result.bound == pytest.approx(result.objective)


def test_ids_may_be_columns_of_a_frame_in_any_direction():
    frame = pl.DataFrame({"left": ["b", "c", "x"], "right": ["a", "b", "y"], "weight": [2.0, 1.0, 0.5]})
    result = partition(frame["left"], frame["right"], frame["weight"], missing="zero")
    assert result.records.tolist() == ["a", "b", "c", "x", "y"]
    assert result.clusters.tolist() == [0, 0, 0, 1, 1]
    # a and c are not listed, and may not be together then.
    forbidden = partition(frame["left"], frame["right"], frame["weight"])
    assert forbidden.clusters.tolist() == [0, 0, 1, 2, 2]
    assert partition(frame["left"], frame["right"], frame["weight"], threshold=1.5).objective == 2.0


def test_without_time_nothing_is_promised_and_without_pairs_there_are_no_clusters():
    left, right, weights = pairs(0, 30, 0.9)
    result = partition(left, right, weights, missing="zero", solver="set_packing", remaining=lambda: 0.0)
    assert result.status == "none"
    assert result.objective == -np.inf
    assert np.isfinite(result.bound)
    none = partition([], [], [])
    assert (none.records.size, none.clusters.size, none.status, none.objective) == (0, 0, "proven", 0.0)


def test_centroids_are_of_what_scores_connect_and_not_only_positive_ones():
    # No pair of c is positive, but the centroid of a and b is near enough; d has no score.
    result = partition(["a", "a", "b", "d"], ["b", "c", "c", "e"], [0.8, 0.0, 0.0, -1.0], solver="centroid_linkage")
    assert result.clusters.tolist() == [0, 0, 0, 1, 2]
    assert partition(["a", "a", "b"], ["b", "c", "c"], [0.8, 0.0, 0.0]).clusters.tolist() == [0, 0, 1]


def test_centroids_are_told_of_missing_pairs_where_no_pair_is_negative():
    # sqrt((0.04 + 1) / 2 - 0.04 / 4) = 0.71
    left, right, weights = ["a", "b"], ["b", "c"], [0.6, 0.6]
    assert partition(left, right, weights, missing="zero").clusters.tolist() == [0, 0, 0]
    centroids = partition(left, right, weights, missing="zero", solver="centroid_linkage")
    assert centroids.clusters.tolist() == [0, 0, 1]


def test_columns_of_other_lengths_and_unknown_solvers_are_refused():
    with pytest.raises(ValueError, match=r"must all be \[pairs\]"):
        partition(["a"], ["b"], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"solver=hierarchical is now called average_linkage; .* centroid_linkage"):
        partition(["a"], ["b"], [1.0], solver="hierarchical")
    with pytest.raises(ValueError, match="solver='best': must be one of cutting_plane"):
        partition([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0], solver="best")
