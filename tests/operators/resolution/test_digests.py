"""What a component's digest takes in: everything that a solver is given of it, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import drawn_problem
from tiltmeter.operators.resolution.components import components_of, divided, undivided
from tiltmeter.operators.resolution.digests import component_digests
from tiltmeter.operators.resolution.pairs import ScoredPairs


def digests(problem, groups=None):
    pairs = ScoredPairs(problem.left, problem.right, problem.weights, 0, 0, 0, 0)
    parts = components_of(problem.num_nodes, pairs)
    return parts, component_digests(parts.component, parts.place, problem.left, problem.right, problem.weights, groups)


@given(st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_the_order_of_pairs_changes_nothing_and_a_weight_its_component_alone(seed, random):
    problem = drawn_problem(seed, "zero", 8)
    parts, before = digests(problem)
    order = np.array(random.sample(range(problem.left.size), problem.left.size), dtype=np.int64)
    pairs = problem.left[order], problem.right[order], problem.weights[order]
    assert component_digests(parts.component, parts.place, *pairs).tolist() == before.tolist()
    if problem.left.size:
        weights = problem.weights.copy()
        weights[0] += 0.125
        after = component_digests(parts.component, parts.place, problem.left, problem.right, weights)
        ends = parts.component[[problem.left[0], problem.right[0]]]
        touched = {int(ends[0])} if ends[0] == ends[1] else set()
        assert set(np.flatnonzero(after != before).tolist()) == touched


@pytest.mark.parametrize("size", [1, 2, 7])
def test_components_and_digests_are_the_same_in_blocks_of_any_size(size, monkeypatch):
    problem = drawn_problem(3, "zero", 12)
    parts, before = digests(problem)
    monkeypatch.setattr("tiltmeter.operators.resolution.pairs._PAIRS_OF_A_BLOCK", size)
    monkeypatch.setattr("tiltmeter.operators.resolution.components._MANY", 0)
    again, after = digests(problem)
    assert after.tolist() == before.tolist()
    for one, other in zip(parts, again, strict=True):
        assert one.tolist() == other.tolist()


@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_pairs_of_components_come_back_by_their_nodes_without_those_that_are_left_out(seed, left_out):
    problem = drawn_problem(seed, "zero", 8)
    component = digests(problem)[0].component - left_out
    component = np.maximum(component, -1)
    parts = divided(component, problem.left, problem.right, problem.weights)
    nodes = np.flatnonzero(component >= 0)
    left, right, weights = undivided(component[nodes], np.diff(parts.starts), *parts[-3:])
    inside = (component[problem.left] == component[problem.right]) & (component[problem.left] >= 0)
    assert nodes[left].tolist() == problem.left[inside].tolist()
    assert nodes[right].tolist() == problem.right[inside].tolist()
    assert weights.tolist() == problem.weights[inside].tolist()


@pytest.mark.parametrize("change", ["pair", "node", "group"])
def test_a_pair_a_node_and_a_group_more_are_other_components(change):
    def digest(num=3, groups=None, more=()):
        pairs = (
            np.array([0, 1, *more]),
            np.array([1, 2, *(2 for _ in more)]),
            np.array([1.0, 2.0, *(1.0 for _ in more)]),
        )
        return component_digests(np.zeros(num, dtype=np.int64), np.arange(num), *pairs, groups)[0]

    others = {"pair": {"more": [0]}, "node": {"num": 4}, "group": {"groups": np.array([0, 0, 1])}}
    assert digest(**others[change]) != digest() == digest(groups=np.arange(3))
