"""Whole problems, those that are made smaller, and weights that are very large, very small, infinite or too many."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, partitions, plenty, problem_of, scored_problem
from tiltmeter.operators.resolution import Problem, partition
from tiltmeter.operators.resolution.exact.cutting_plane import cutting_plane
from tiltmeter.operators.resolution.pairs import MAX_SUM, clean_pairs
from tiltmeter.operators.resolution.problem import Result, result
from tiltmeter.operators.resolution.reductions import components, contracted, reduced, solved
from tiltmeter.operators.resolution.search.local_search import local_search_result
from tiltmeter.operators.resolution.solvers import all_together, reducing_solver


def pairs(seed, num_nodes, share):
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


# --- what is made smaller ---------------------------------------------------------------------------------------------


def _enumerated(problem, remaining=plenty):
    best = max(partitions(problem.num_nodes), key=problem.objective)
    return result(problem, best, problem.objective(best))


@pytest.mark.long
@given(SEEDS, RULES, st.integers(1, 7))
@settings(max_examples=150)
def test_optimum_is_kept(seed, missing, num_nodes):
    problem = drawn_problem(seed, missing, num_nodes)
    optimum = _enumerated(problem).objective
    found = reduced(problem)
    inner = [_enumerated(piece.problem) for piece in found.pieces]
    labels = found.expand([piece.labels for piece in inner])
    assert problem.objective(labels) == pytest.approx(optimum, abs=1e-9)
    assert found.offset + sum(piece.objective for piece in inner) == pytest.approx(optimum, abs=1e-9)
    whole = solved(problem, _enumerated, plenty)
    assert (whole.status, whole.objective) == ("proven", pytest.approx(optimum, abs=1e-9))


@given(SEEDS, RULES)
@settings(max_examples=50)
def test_objectives_of_any_partition_carry_over(seed, missing):
    problem = drawn_problem(seed, missing, 9)
    found = reduced(problem)
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, 3, piece.nodes.size) for piece in found.pieces]
    inner = sum(piece.problem.objective(drawn) for piece, drawn in zip(found.pieces, labels, strict=True))
    assert problem.objective(found.expand(labels)) == pytest.approx(found.offset + inner)


@given(SEEDS, RULES)
@settings(max_examples=50)
def test_components_hold_all_positive_pairs(seed, missing):
    problem = drawn_problem(seed, missing, 12)
    problem = Problem(12, problem.left, problem.right, problem.weights - 2.5, missing)
    pieces = components(problem)
    nodes = np.concatenate([piece.nodes for piece in pieces]) if pieces else np.zeros(0)
    assert np.unique(nodes).size == nodes.size
    total = sum(piece.problem.weights[piece.problem.weights > 0].sum() for piece in pieces)
    assert total == pytest.approx(problem.weights[problem.weights > 0].sum())
    for piece in pieces:
        inside = problem.matrix[np.ix_(piece.nodes, piece.nodes)]
        assert np.array_equal(piece.problem.matrix, inside)


def test_two_nodes_are_a_part_of_their_own():
    # 0 and 1 give up 3 at 2, which they cannot both have, and 1 at 3: less than the 4 between them. Each other rule
    # fails, as 2 is forbidden to 1 and 3 to 0.
    problem = problem_of(4, {(0, 1): 4.0, (0, 2): 3.0, (1, 3): 1.0}, "forbid")
    assert reduced(problem).expand([]).tolist() == [0, 0, 1, 2]
    assert reduced(problem).offset == 4.0


def test_hanger_on_goes_where_it_is_drawn():
    # 0 has 2 at 1 and loses 1 at 2, whatever the others have among them.
    pairs = dict.fromkeys([(1, 2), (1, 3), (1, 4)], 9.0) | dict.fromkeys([(2, 3), (3, 4), (2, 4)], -20.0)
    pairs |= {(0, 1): 2.0, (0, 2): -1.0}
    joined = reduced(problem_of(5, pairs, "zero")).joined
    assert joined[0] == joined[1]


def test_twins_stay_together():
    # Both weigh -3, 4 and 4 with the others: more than the 0.5 between them.
    pairs = {(0, 1): 0.5, (2, 3): -20.0, (3, 4): 1.0} | {
        (twin, k): w for twin in (0, 1) for k, w in ((2, 4), (3, 4), (4, -3))
    }
    joined = reduced(problem_of(5, pairs, "forbid")).joined
    assert joined[0] == joined[1]
    tilted = reduced(problem_of(5, pairs | {(1, 4): -5.0}, "forbid")).joined
    assert tilted[0] != tilted[1]


@pytest.mark.parametrize(("missing", "left"), [("zero", [0, 0, 1]), ("forbid", [0, 1])])
def test_contraction(missing, left):
    # 0 and 1 become one node; 3 has a pair with only one of them, which is forbidden to both under forbid.
    problem = problem_of(4, {(0, 1): 5.0, (0, 2): 1.0, (1, 2): 2.0, (1, 3): 4.0, (2, 3): -1.0}, missing)
    small = contracted(problem, np.array([0, 0, 1, 2]))
    assert small.num_nodes == 3
    assert small.left.tolist() == left
    assert small.matrix[0, 1] == 3.0
    assert small.matrix[0, 2] == (4.0 if missing == "zero" else -np.inf)


def test_counts_and_bounds_add_up():
    def rough(problem, remaining):
        return Result("feasible", np.arange(problem.num_nodes), 0.0, 7.5, 3, 2)

    # Two odd cycles with chords that forbid: nothing can be joined.
    cycle = {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (3, 4): 1.0, (0, 4): 1.0}
    pairs = cycle | {(i + 5, j + 5): w for (i, j), w in cycle.items()}
    found = solved(problem_of(10, pairs, "forbid"), rough, plenty)
    assert found[2:] == (0.0, 15.0, 6, 4)


@pytest.mark.parametrize(("name", "num_left"), [("settlements", 54), ("csv_example", 0)])
def test_most_records_need_no_solver(data_file, name, num_left):
    problem = scored_problem(data_file(f"er/{name}/pairs.parquet"), "forbid")
    assert sum(piece.nodes.size for piece in reduced(problem).pieces) == num_left
    found = solved(problem, local_search_result, plenty)
    assert found.gap < 1e-3
    assert found.status == "proven" or num_left


# --- extremes ---------------------------------------------------------------------------------------------------------

LEFT, RIGHT = np.triu_indices(5, 1)
LABELS = [np.array(labels) for labels in itertools.product(range(5), repeat=5)]
LARGEST = np.finfo(float).max


def problem(weights):
    return Problem(5, LEFT, RIGHT, np.asarray(weights), "forbid")


@pytest.mark.long
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-12, 1e-5, 1e12, 1e20, 1e100, 1e298])
@pytest.mark.parametrize("name", ["cutting_plane", "local_search", "quadratic_set_packing", "set_packing"])
def test_the_unit_of_the_weights_changes_no_partition(name, scale):
    weights = np.array([2.0, -1.0, 1.5, -3.0, 1.0, -0.5, 2.5, 1.0, -2.0, 0.5])
    usual, found = (reducing_solver(name)(problem(size * weights), lambda: math.inf) for size in (1.0, scale))
    best = max(map(problem(scale * weights).objective, LABELS))
    assert found.objective == pytest.approx(best, rel=1e-9, abs=0.0)
    assert best <= found.bound < math.inf
    assert found.status == usual.status == ("feasible" if name == "local_search" else "proven")


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_a_bound_that_is_not_finite_proves_nothing(bound):
    found = result(problem([1.0] * 10), np.zeros(5, dtype=np.int64), bound)
    assert (found.status, found.objective, found.bound, found.gap) == ("feasible", 10.0, math.inf, math.inf)


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_objective_that_is_not_finite_is_not_proven():
    found = all_together(problem([LARGEST] * 10))
    assert (found.status, found.objective, found.gap) == ("feasible", math.inf, math.inf)


@pytest.mark.parametrize("weights", [[LARGEST, LARGEST, -1.0], [LARGEST, 1.0, -LARGEST], [0.6 * MAX_SUM] * 3])
def test_weights_whose_sums_overflow_are_refused_with_the_largest(weights):
    message = r"weight (1\.79\S+e\+308|6e\+299) in row 1 of the pairs: all weights, .* must add up to 1e\+300 or less"
    with pytest.raises(ValueError, match=message):
        clean_pairs(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array(weights), None)


def test_contradicting_weights_have_a_mean_that_does_not_overflow():
    [mean] = clean_pairs(np.array([0, 1]), np.array([1, 0]), np.array([0.4e300, 0.5e300]), None).weights
    assert mean == pytest.approx(0.45e300)


def test_an_id_that_is_not_a_number_names_no_record():
    with pytest.raises(ValueError, match="an id is not a finite number"):
        partition([1.0, math.nan], [2.0, 3.0], [0.5, 0.5])
    assert partition([0.0, -0.0], [1.0, 2.0], [0.5, 0.5]).records.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(("weight", "step"), [(2.0**50, 2.0**50), (2.0**51, 0.0)])
def test_bounds_are_not_rounded_by_weights_whose_sum_a_float_does_not_hold(weight, step):
    ends, others = np.array([0, 1]), np.array([1, 2])
    assert Problem(3, ends, others, np.array([weight, -weight]), "zero").step == step
