import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.problems import RULES, SEEDS, drawn_problem, partitions, plenty, problem_of, scored_problem
from tiltmeter.operators.resolution.problem import Missing, Problem, Remaining, Result, result
from tiltmeter.operators.resolution.reductions import components, contracted, reduced, solved
from tiltmeter.operators.resolution.search.local_search import local_search_result


def _enumerated(problem: Problem, remaining: Remaining = plenty) -> Result:
    best = max(partitions(problem.num_nodes), key=problem.objective)
    return result(problem, best, problem.objective(best))


@given(SEEDS, RULES, st.integers(1, 7))
@settings(max_examples=150)
def test_optimum_is_kept(seed: int, missing: Missing, num_nodes: int) -> None:
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
def test_objectives_of_any_partition_carry_over(seed: int, missing: Missing) -> None:
    problem = drawn_problem(seed, missing, 9)
    found = reduced(problem)
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, 3, piece.nodes.size) for piece in found.pieces]
    inner = sum(piece.problem.objective(drawn) for piece, drawn in zip(found.pieces, labels, strict=True))
    assert problem.objective(found.expand(labels)) == pytest.approx(found.offset + inner)


@given(SEEDS, RULES)
@settings(max_examples=50)
def test_components_hold_all_positive_pairs(seed: int, missing: Missing) -> None:
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


def test_own_part_of_two() -> None:
    # 0 and 1 give up 3 at 2, which they cannot both have, and 1 at 3: less than the 4 between them. Each other rule
    # fails, as 2 is forbidden to 1 and 3 to 0.
    problem = problem_of(4, {(0, 1): 4.0, (0, 2): 3.0, (1, 3): 1.0}, "forbid")
    assert reduced(problem).expand([]).tolist() == [0, 0, 1, 2]
    assert reduced(problem).offset == 4.0


def test_hanger_on_goes_where_it_is_drawn() -> None:
    # 0 has 2 at 1 and loses 1 at 2, whatever the others have among them.
    pairs = dict.fromkeys([(1, 2), (1, 3), (1, 4)], 9.0) | dict.fromkeys([(2, 3), (3, 4), (2, 4)], -20.0)
    pairs |= {(0, 1): 2.0, (0, 2): -1.0}
    joined = reduced(problem_of(5, pairs, "zero")).joined
    assert joined[0] == joined[1]


def test_twins_stay_together() -> None:
    # Both weigh -3, 4 and 4 with the others: more than the 0.5 between them.
    pairs = {(0, 1): 0.5, (2, 3): -20.0, (3, 4): 1.0} | {
        (twin, k): w for twin in (0, 1) for k, w in ((2, 4), (3, 4), (4, -3))
    }
    joined = reduced(problem_of(5, pairs, "forbid")).joined
    assert joined[0] == joined[1]
    tilted = reduced(problem_of(5, pairs | {(1, 4): -5.0}, "forbid")).joined
    assert tilted[0] != tilted[1]


@pytest.mark.parametrize(("missing", "left"), [("zero", [0, 0, 1]), ("forbid", [0, 1])])
def test_contraction(missing: Missing, left: list[int]) -> None:
    # 0 and 1 become one node; 3 has a pair with only one of them, which is forbidden to both under forbid.
    problem = problem_of(4, {(0, 1): 5.0, (0, 2): 1.0, (1, 2): 2.0, (1, 3): 4.0, (2, 3): -1.0}, missing)
    small = contracted(problem, np.array([0, 0, 1, 2]))
    assert small.num_nodes == 3
    assert small.left.tolist() == left
    assert small.matrix[0, 1] == 3.0
    assert small.matrix[0, 2] == (4.0 if missing == "zero" else -np.inf)


def test_counts_and_bounds_add_up() -> None:
    def rough(problem: Problem, remaining: Remaining) -> Result:
        return Result("feasible", np.arange(problem.num_nodes), 0.0, 7.5, 3, 2)

    # Two odd cycles with chords that forbid: nothing can be joined.
    cycle = {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (3, 4): 1.0, (0, 4): 1.0}
    pairs = cycle | {(i + 5, j + 5): w for (i, j), w in cycle.items()}
    found = solved(problem_of(10, pairs, "forbid"), rough, plenty)
    assert found[2:] == (0.0, 15.0, 6, 4)


@pytest.mark.parametrize(("name", "num_left"), [("settlements", 54), ("csv_example", 0)])
def test_most_records_need_no_solver(data_file, name: str, num_left: int) -> None:
    problem = scored_problem(data_file(f"er/{name}/pairs.parquet"), "forbid")
    assert sum(piece.nodes.size for piece in reduced(problem).pieces) == num_left
    found = solved(problem, local_search_result, plenty)
    assert found.gap < 1e-3
    assert found.status == "proven" or num_left
