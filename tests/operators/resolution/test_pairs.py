"""Scored pairs, each once, and what was left out on the way."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.resolution.components import components_of
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.synthetic import synthetic_scores

WEIGHT = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5])
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), WEIGHT), max_size=25)


def _arrays(pairs):
    left, right, weights = zip(*pairs, strict=True) if pairs else ((), (), ())
    return np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float64)


@given(pairs=PAIRS, threshold=st.sampled_from([None, -0.5, 0.1]))
def test_every_pair_is_kept_once_or_counted(pairs, threshold):
    found = clean_pairs(*_arrays(pairs), threshold)
    weights = defaultdict(list)
    for left, right, weight in pairs:
        if left != right:
            weights[min(left, right), max(left, right)].append(weight)
    means = {pair: sum(sorted(of)) / len(of) for pair, of in weights.items()}
    kept = {pair: mean for pair, mean in means.items() if threshold is None or mean >= threshold}
    assert dict(zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.weights, strict=True)) == (
        pytest.approx(kept)
    )
    assert list(zip(found.left, found.right, strict=True)) == sorted(kept)
    num = found.left.size + found.num_self + found.num_repeated + found.num_contradicting + found.num_below
    assert num == len(pairs)
    assert found.num_contradicting == sum(len(of) - 1 for of in weights.values() if len(set(of)) > 1)


@given(pairs=PAIRS.filter(bool), seed=st.integers(0, 99))
def test_the_order_and_direction_of_pairs_change_nothing(pairs, seed):
    left, right, weights = _arrays(pairs)
    order = np.random.default_rng(seed).permutation(len(pairs))
    one, other = clean_pairs(left, right, weights, None), clean_pairs(right[order], left[order], weights[order], None)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@given(pairs=PAIRS, first=st.sampled_from([2**20, 2**29, 2**30, 2**31]))
def test_large_numbers_leave_no_room_for_places_and_change_nothing(pairs, first):
    """Of 30 bits for each end, 4 are left for the place of a pair: enough for 16 pairs, and not for 25."""
    left, right, weights = _arrays(pairs)
    small, large = clean_pairs(left, right, weights, None), clean_pairs(left + first, right + first, weights, None)
    assert (large.left.astype(np.int64) - first).tolist() == small.left.tolist()
    assert (large.right.astype(np.int64) - first).tolist() == small.right.tolist()
    assert np.array_equal(large.weights, small.weights)
    assert large[3:] == small[3:]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_is_refused_with_its_row(wrong):
    with pytest.raises(ValueError, match=rf"weight {wrong} in row 2"):
        clean_pairs(np.array([0, 1, 2]), np.array([1, 2, 4]), np.array([0.5, wrong, -np.inf]), None)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_a_probability_outside_its_range_is_refused_with_its_row(wrong):
    with pytest.raises(ValueError, match=rf"match_probability {wrong} in row 1"):
        weights_of(np.array([wrong, 0.5]))


@given(pairs=PAIRS)
def test_components_are_connected_by_positive_pairs_and_hold_all_pairs_within(pairs):
    scored = clean_pairs(*_arrays(pairs), None)
    found = components_of(6, scored)
    reached = {node: {node} for node in range(6)}
    for _ in range(6):
        for left, right, weight in zip(scored.left, scored.right, scored.weights, strict=True):
            if weight > 0:
                reached[left] = reached[right] = reached[left] | reached[right]
        reached = {node: set().union(*(reached[other] for other in of)) for node, of in reached.items()}
    for one in range(6):
        assert {other for other in range(6) if found.component[other] == found.component[one]} == reached[one]
    assert sorted(found.sizes, reverse=True) == list(found.sizes)
    back = {
        (component, place): node
        for node, (component, place) in enumerate(zip(found.component, found.place, strict=True))
    }
    rebuilt = {
        (back[c, found.left[at]], back[c, found.right[at]]): found.weights[at]
        for c in range(found.sizes.size)
        for at in range(found.starts[c], found.starts[c + 1])
    }
    inside = {
        (left, right): weight
        for left, right, weight in zip(scored.left, scored.right, scored.weights, strict=True)
        if found.component[left] == found.component[right]
    }
    assert rebuilt == inside


def test_bundles_hold_so_many_pairs_or_one_component():
    scored = clean_pairs(np.array([0, 0, 1, 3, 5]), np.array([1, 2, 2, 4, 6]), np.ones(5), None)
    found = components_of(8, scored)
    assert found.sizes.tolist() == [3, 2, 2, 1]
    assert list(found.bundles(2)) == [(0, 1), (1, 4)]
    assert list(found.bundles(100)) == [(0, 4)]


def test_without_noise_scores_are_the_ground_truth():
    left, right, weights = synthetic_scores(["a", "b", "a"], 1.0, 0.0, seed=0, about="topic 1")
    assert list(zip(left, right, weights, strict=True)) == [(0, 1, -1.0), (0, 2, 1.0), (1, 2, -1.0)]


@pytest.mark.parametrize(
    ("about", "scores"),
    [
        ("topic 1", [-0.2339829927423761, -0.6834767419213712, -0.04440732984325391]),
        ("topic 2", [0.4615336101541314, -0.5559739970635568, -0.4993811776054861]),  # its key exceeds 2^63
    ],
)
def test_synthetic_scores_are_those_of_earlier_runs(about, scores):
    assert synthetic_scores(["a", "a", "b"], 0.5, 0.3, seed=3, about=about)[2] == pytest.approx(scores, rel=1e-12)
