"""What a component's digest takes in: everything that a solver is given of it, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import drawn_problem
from tiltmeter.operators.resolution.components import components_of
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


@pytest.mark.parametrize("change", ["pair", "node", "group"])
def test_a_pair_a_node_and_a_group_more_are_other_components(change):
    nodes = [0, 0, 0], [0, 1, 2]
    component, place = (np.array(values) for values in nodes)
    pairs = [np.array(values) for values in ([0, 1], [1, 2], [1.0, 2.0])]
    before = component_digests(component, place, *pairs)
    groups = None
    if change == "pair":
        pairs = [np.append(values, more) for values, more in zip(pairs, (0, 2, 1.0), strict=True)]
    elif change == "node":
        component, place = np.zeros(4, dtype=np.int64), np.arange(4)
    else:
        groups = np.array([0, 0, 1])
    assert component_digests(component, place, *pairs, groups)[0] != before[0]
    assert component_digests(component, place, *pairs, np.arange(place.size))[0] == before[0] or change != "group"
