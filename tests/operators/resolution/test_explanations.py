"""What holds parts together and what kept nodes out of them, against loops over all nodes and pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import problem_of
from tiltmeter.operators.resolution.explanations import (
    Standings,
    false_merges,
    false_splits,
    joined_pairs,
    merges,
    near_misses,
    split_pairs,
    standings,
)
from tiltmeter.operators.resolution.problem import Problem


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Problem, np.ndarray, dict[tuple[int, int], float]]:
    """Any graph with any labels, which need not be good or even allowed; sums of quarters are exact."""
    num_nodes = draw(st.integers(0, 9))
    weights = {
        pair: draw(st.integers(-8, 8)) / 4 for pair in combinations(range(num_nodes), 2) if draw(st.integers(0, 3))
    }
    labels = draw(st.lists(st.integers(0, 3), min_size=num_nodes, max_size=num_nodes))
    problem = problem_of(num_nodes, weights, draw(st.sampled_from(["forbid", "zero"])))
    return problem, np.array(labels, dtype=np.int64), weights


def weight(weights: dict[tuple[int, int], float], one: int, other: int) -> float | None:
    return weights.get((min(one, other), max(one, other)))


def tipping_of(found: Standings, at: int) -> list[tuple[int, float]]:
    ours = slice(found.starts[at], found.starts[at + 1])
    return list(zip(found.tipping[ours].tolist(), found.tipping_weights[ours].tolist(), strict=True))


# --- by hand --------------------------------------------------------------------------------------------------------

# Two triangles with a bridge from 2 to 3, against which stand 1 - 3 and, more, 0 - 3; 0 - 4 to 2 - 5 were not scored.
BRIDGE = {(0, 1): 1.0, (0, 2): 0.75, (1, 2): 0.5, (2, 3): 2.0, (0, 3): -1.5, (1, 3): -0.25}
BRIDGE |= {(3, 4): 1.0, (3, 5): 1.0, (4, 5): -0.5}
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_five_pairs_are_named_forbidden_ones_first_and_then_the_most_negative() -> None:
    # Node 0 against a part of 1..8: 1 speaks for it, 2 and 4 are forbidden, 3 to 8 speak against it, 5 most.
    scored = {1: 1.0, 3: -0.5, 5: -2.0, 6: -1.0, 7: -0.25, 8: -0.5}
    weights = {(0, other): value for other, value in scored.items()}
    weights |= dict.fromkeys(combinations(range(1, 9), 2), 1.0)
    found = near_misses(problem_of(9, weights, "forbid"), np.array([0] + [1] * 8))
    assert found.num_forbidden[0] == 2
    assert tipping_of(found, 0) == [(2, -np.inf), (4, -np.inf), (5, -2.0), (6, -1.0), (3, -0.5)]


def test_node_25_of_table_8_was_kept_out_by_three_negative_pairs() -> None:
    # Nodes 7, 12, 20 and 25. The paper has their sum as -3.0; what it prints adds up to -0.485.
    weights = {(0, 1): 0.456, (0, 2): 0.999, (1, 2): 0.085, (0, 3): -0.076, (1, 3): -0.156, (2, 3): -0.253}
    problem, labels = problem_of(4, weights, "forbid"), np.array([0, 0, 0, 1])
    assert near_misses(problem, labels).nodes.size == 0
    found = standings(problem, labels, np.array([3, 0]), np.array([0, 0]))
    assert found.nodes.tolist() == [0, 3]
    assert found.total.tolist() == pytest.approx([1.455, -0.485])
    assert found.held.tolist() == pytest.approx([1.455, 0.0])
    assert tipping_of(found, 0) == []
    assert tipping_of(found, 1) == [(2, -0.253), (1, -0.156), (0, -0.076)]


def test_questions_about_what_is_not_there_are_refused() -> None:
    problem = problem_of(6, BRIDGE, "forbid")
    with pytest.raises(ValueError, match=r"there is no node 6: they are numbered from 0 to 5"):
        standings(problem, LABELS, np.array([6]), np.array([0]))
    with pytest.raises(ValueError, match=r"there is no part 2: they are numbered from 0 to 1"):
        standings(problem, LABELS, np.array([0]), np.array([2]))


@pytest.mark.parametrize("explain", [merges, near_misses, split_pairs, joined_pairs])
def test_labels_of_other_nodes_are_refused(explain) -> None:
    with pytest.raises(ValueError, match=r"labels have shape \(5,\): must be one for each of 6 nodes"):
        explain(problem_of(6, BRIDGE, "forbid"), LABELS[:5])


# --- against loops --------------------------------------------------------------------------------------------------


@given(partitions())
def test_merges_are_what_loops_find(case) -> None:
    problem, labels, weights = case
    expected = []
    for part in range(4):
        nodes = [node for node in range(problem.num_nodes) if labels[node] == part]
        held = {node: sum(weight(weights, node, other) or 0.0 for other in nodes) for node in nodes}
        if len(nodes) > 1:
            weakest = min(nodes, key=lambda node: (held[node], node))
            expected.append((part, sum(held.values()) / 2, weakest, held[weakest]))
    assert list(zip(*(column.tolist() for column in merges(problem, labels)), strict=True)) == expected


def standing_of(problem: Problem, labels: np.ndarray, weights: dict, node: int, part: int) -> tuple:
    """Node, part, total, held, number of forbidden pairs what tips it, and whether a pair is positive."""
    others = [other for other in range(problem.num_nodes) if labels[other] == part and other != node]
    scores = {other: weight(weights, node, other) for other in others}
    known = [score for score in scores.values() if score is not None]
    forbidden = [other for other in others if scores[other] is None and problem.missing == "forbid"]
    negative = sorted((score, other) for other, score in scores.items() if score is not None and score < 0)
    against = [(other, -np.inf) for other in forbidden] + [(other, score) for score, other in negative]
    own = (weight(weights, node, other) for other in range(problem.num_nodes) if labels[other] == labels[node])
    held = sum(score or 0.0 for score in own)
    return node, part, sum(known), held, len(forbidden), against[:5], any(score > 0 for score in known)


def rows_of(found: Standings) -> list[tuple]:
    columns = (found.nodes, found.parts, found.total, found.held, found.num_forbidden)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert (found.support >= 0).all()
    assert (found.opposition <= 0).all()
    return [(*row, tipping_of(found, at)) for at, row in enumerate(rows)]


@given(partitions())
def test_near_misses_are_what_loops_find(case) -> None:
    problem, labels, weights = case
    every = [
        standing_of(problem, labels, weights, node, part) for node in range(problem.num_nodes) for part in range(4)
    ]
    missed = [row[:-1] for row in every if row[-1] and labels[row[0]] != row[1]]
    assert rows_of(near_misses(problem, labels)) == missed


@given(partitions())
def test_any_node_stands_to_any_part_as_loops_find(case) -> None:
    problem, labels, weights = case
    num_parts = labels.max(initial=-1) + 1
    nodes, parts = np.divmod(np.arange(problem.num_nodes * num_parts), max(1, num_parts))
    expected = [
        standing_of(problem, labels, weights, node, part)[:-1]
        for node in range(problem.num_nodes)
        for part in range(num_parts)
    ]
    order = np.random.default_rng(0).permutation(nodes.size)
    assert rows_of(standings(problem, labels, nodes[order], parts[order])) == expected
    # Pairs of others do not matter to a single question.
    for node, part in zip(nodes[:3], parts[:3], strict=True):
        alone = standings(problem, labels, np.array([node]), np.array([part]))
        assert rows_of(alone) == [expected[node * num_parts + part]]


@given(partitions(), st.lists(st.integers(-1, 2), min_size=9, max_size=9))
def test_gold_disagrees_with_scored_pairs_as_loops_find(case, true) -> None:
    problem, labels, weights = case
    gold = np.array(true[: problem.num_nodes], dtype=np.int64)
    for found, is_together in (
        (false_merges(problem, labels, gold), True),
        (false_splits(problem, labels, gold), False),
    ):
        expected = [
            (i, j, value)
            for (i, j), value in sorted(weights.items())
            if (labels[i] == labels[j]) == is_together
            and min(gold[i], gold[j]) >= 0
            and (gold[i] == gold[j]) != is_together
        ]
        assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@given(partitions())
def test_pairs_disagree_by_their_sign(case) -> None:
    problem, labels, weights = case
    split = {pair for pair, value in weights.items() if value > 0 and labels[pair[0]] != labels[pair[1]]}
    joined = {pair for pair, value in weights.items() if value < 0 and labels[pair[0]] == labels[pair[1]]}
    for found, expected in ((split_pairs(problem, labels), split), (joined_pairs(problem, labels), joined)):
        pairs = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
        assert pairs == expected
        assert sum(found.weights) == sum(weights[pair] for pair in expected)
