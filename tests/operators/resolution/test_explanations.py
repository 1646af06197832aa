"""What holds parts together, what kept nodes out of them, and how far they agree with true ones; against loops."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import entropy_shares, pair_shares, problem_of
from tiltmeter.operators.resolution.explanations import (
    false_merges,
    false_splits,
    joined_pairs,
    merges,
    near_misses,
    split_pairs,
    standings,
)
from tiltmeter.operators.resolution.quality.metrics import partition_metrics


@st.composite
def partitions(draw):
    """Any graph with any labels, which need not be good or even allowed; sums of quarters are exact."""
    num_nodes = draw(st.integers(0, 9))
    weights = {
        pair: draw(st.integers(-8, 8)) / 4 for pair in combinations(range(num_nodes), 2) if draw(st.integers(0, 3))
    }
    labels = draw(st.lists(st.integers(0, 3), min_size=num_nodes, max_size=num_nodes))
    problem = problem_of(num_nodes, weights, draw(st.sampled_from(["forbid", "zero"])))
    return problem, np.array(labels, dtype=np.int64), weights


def weight(weights, one, other):
    return weights.get((min(one, other), max(one, other)))


def tipping_of(found, at):
    ours = slice(found.starts[at], found.starts[at + 1])
    return list(zip(found.tipping[ours].tolist(), found.tipping_weights[ours].tolist(), strict=True))


# --- by hand --------------------------------------------------------------------------------------------------------

# Two triangles with a bridge from 2 to 3, against which stand 1 - 3 and, more, 0 - 3; 0 - 4 to 2 - 5 were not scored.
BRIDGE = {(0, 1): 1.0, (0, 2): 0.75, (1, 2): 0.5, (2, 3): 2.0, (0, 3): -1.5, (1, 3): -0.25}
BRIDGE |= {(3, 4): 1.0, (3, 5): 1.0, (4, 5): -0.5}
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_five_pairs_are_named_forbidden_ones_first_and_then_the_most_negative():
    # Node 0 against a part of 1..8: 1 speaks for it, 2 and 4 are forbidden, 3 to 8 speak against it, 5 most.
    scored = {1: 1.0, 3: -0.5, 5: -2.0, 6: -1.0, 7: -0.25, 8: -0.5}
    weights = {(0, other): value for other, value in scored.items()}
    weights |= dict.fromkeys(combinations(range(1, 9), 2), 1.0)
    found = near_misses(problem_of(9, weights, "forbid"), np.array([0] + [1] * 8))
    assert found.num_forbidden[0] == 2
    assert tipping_of(found, 0) == [(2, -np.inf), (4, -np.inf), (5, -2.0), (6, -1.0), (3, -0.5)]


def test_node_25_of_table_8_was_kept_out_by_three_negative_pairs():
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


def test_questions_about_what_is_not_there_and_labels_of_other_nodes_are_refused():
    problem = problem_of(6, BRIDGE, "forbid")
    for explain in (merges, near_misses, split_pairs, joined_pairs):
        with pytest.raises(ValueError, match=r"labels have shape \(5,\): must be one for each of 6 nodes"):
            explain(problem, LABELS[:5])
    with pytest.raises(ValueError, match=r"there is no node 6: they are numbered from 0 to 5"):
        standings(problem, LABELS, np.array([6]), np.array([0]))
    with pytest.raises(ValueError, match=r"there is no part 2: they are numbered from 0 to 1"):
        standings(problem, LABELS, np.array([0]), np.array([2]))


# --- against loops --------------------------------------------------------------------------------------------------


def rows_of(found):
    """Of columns, the rows."""
    return list(zip(*(column.tolist() for column in found), strict=True))


@given(partitions(), st.lists(st.integers(-1, 2), min_size=9, max_size=9))
def test_merges_and_pairs_that_disagree_are_what_loops_find(case, true):
    problem, labels, weights = case
    expected = []
    for part in range(4):
        nodes = [node for node in range(problem.num_nodes) if labels[node] == part]
        held = {node: sum(weight(weights, node, other) or 0.0 for other in nodes) for node in nodes}
        if len(nodes) > 1:
            weakest = min(nodes, key=lambda node: (held[node], node))
            expected.append((part, sum(held.values()) / 2, weakest, held[weakest]))
    assert rows_of(merges(problem, labels)) == expected
    gold, pairs = np.array(true[: problem.num_nodes], dtype=np.int64), sorted(weights.items())
    for is_together, by_sign, by_gold in ((True, joined_pairs, false_merges), (False, split_pairs, false_splits)):
        ours = [(i, j, value) for (i, j), value in pairs if (labels[i] == labels[j]) == is_together]
        against = [row for row in ours if (row[2] < 0 if is_together else row[2] > 0)]
        assert sorted(rows_of(by_sign(problem, labels))) == against
        wrong = [row for row in ours if (gold[row[0]] == gold[row[1]]) != is_together and gold[[*row[:2]]].min() >= 0]
        assert rows_of(by_gold(problem, labels, gold)) == wrong


def standing_of(problem, labels, weights, node, part):
    """Node, part, total, held, number of forbidden pairs, what tips it, and whether a pair is positive."""
    others = [other for other in range(problem.num_nodes) if labels[other] == part and other != node]
    scores = {other: weight(weights, node, other) for other in others}
    known = [score for score in scores.values() if score is not None]
    forbidden = [other for other in others if scores[other] is None and problem.missing == "forbid"]
    negative = sorted((score, other) for other, score in scores.items() if score is not None and score < 0)
    against = [(other, -np.inf) for other in forbidden] + [(other, score) for score, other in negative]
    own = (weight(weights, node, other) for other in range(problem.num_nodes) if labels[other] == labels[node])
    held = sum(score or 0.0 for score in own)
    return node, part, sum(known), held, len(forbidden), against[:5], any(score > 0 for score in known)


def standings_of(found):
    rows = rows_of((found.nodes, found.parts, found.total, found.held, found.num_forbidden))
    assert (found.support >= 0).all()
    assert (found.opposition <= 0).all()
    return [(*row, tipping_of(found, at)) for at, row in enumerate(rows)]


@pytest.mark.long
@given(partitions())
def test_any_node_stands_to_any_part_and_misses_some_as_loops_find(case):
    problem, labels, weights = case
    num_parts = labels.max(initial=-1) + 1
    nodes, parts = np.divmod(np.arange(problem.num_nodes * num_parts), max(1, num_parts))
    every = [standing_of(problem, labels, weights, *pair) for pair in zip(nodes.tolist(), parts.tolist(), strict=True)]
    expected = [row[:-1] for row in every]
    missed = [row[:-1] for row in every if row[-1] and labels[row[0]] != row[1]]
    assert standings_of(near_misses(problem, labels)) == missed
    order = np.random.default_rng(0).permutation(nodes.size)
    assert standings_of(standings(problem, labels, nodes[order], parts[order])) == expected
    # Pairs of others do not matter to a single question.
    for at in range(min(3, nodes.size)):
        assert standings_of(standings(problem, labels, nodes[at : at + 1], parts[at : at + 1])) == [expected[at]]


# --- agreement with true parts ----------------------------------------------------------------------------------------

BOTH = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=1, max_size=12).map(
    lambda rows: np.array(rows).T
)


@pytest.mark.long
@given(BOTH)
def test_shares_of_pairs_and_of_entropies_whatever_labels_are_called_and_with_roles_swapped(both):
    metrics, rows = partition_metrics(*both), [*zip(*both.tolist(), strict=True)]
    expected = [math.nan if value is None else value for value in pair_shares(rows).values()]
    assert metrics[:3] == pytest.approx(expected[:3], nan_ok=True)
    if min(len({*side}) for side in zip(*rows, strict=True)) > 1:
        assert metrics[3:6] == pytest.approx(tuple(entropy_shares(rows).values()), abs=1e-9)
    swapped = partition_metrics(both[1] * 7 - 3, both[0])
    assert list(metrics) == pytest.approx([swapped[place] for place in (1, 0, 2, 4, 3, 5, 6, 7)], nan_ok=True)
    assert metrics.fowlkes_mallows == pytest.approx(np.nan_to_num(math.sqrt(metrics.precision * metrics.recall)))


def test_agreement_of_the_published_example():
    assert {*partition_metrics(np.array([4, 4, 1, 1, 2]), np.array([0, 0, 1, 1, 2]))} == {1.0}
    halves = partition_metrics(np.zeros(100_000, dtype=np.int32), np.repeat([0, 1], 50_000))  # pairs beyond int32
    assert halves.precision == pytest.approx(2 * 50_000 * 49_999 / (100_000 * 99_999))
    # Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, figure 16.4: of 17 points
    # in clusters xxxxxo, xoooov and xxvvv, TP = 20, FP = 20 and FN = 24.
    classes = np.unique([*"xxxxxo", *"xoooov", *"xxvvv"], return_inverse=True)[1]
    metrics = partition_metrics(np.repeat([0, 1, 2], [6, 6, 5]), classes)
    assert (metrics.precision, metrics.recall) == (20 / 40, 20 / 44)
    assert metrics.f1 == pytest.approx(0.476, abs=5e-4)


@pytest.mark.parametrize(
    ("num_clusters", "num_gold", "message"),
    [
        (2, 3, r"clusters of shape \(2,\) and gold of shape \(3,\): must be \[records\]"),
        (0, 0, "at least one; leave out records without a gold cluster"),
    ],
)
def test_labels_of_nobody_or_of_other_records_are_refused(num_clusters, num_gold, message):
    with pytest.raises(ValueError, match=message):
        partition_metrics(np.zeros(num_clusters, dtype=np.int64), np.zeros(num_gold, dtype=np.int64))
