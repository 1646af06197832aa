"""Scored pairs, each once, what was left out on the way, their ids, and components with their digests."""

from collections import defaultdict
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import drawn_problem, joined
from tiltmeter.operators.resolution.components import components_of, divided, undivided
from tiltmeter.operators.resolution.digests import component_digests
from tiltmeter.operators.resolution.ids import as_ids, as_text, different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import ScoredPairs, clean_pairs, weights_of
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


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.1, 1.5])
def test_a_weight_that_is_not_finite_or_a_probability_outside_its_range_is_refused_with_its_row(wrong):
    with pytest.raises(ValueError, match=rf"match_probability {wrong} in row 1"):
        weights_of(np.array([wrong, 0.5]))
    if not np.isfinite(wrong):
        with pytest.raises(ValueError, match=rf"weight {wrong} in row 2"):
            clean_pairs(np.array([0, 1, 2]), np.array([1, 2, 4]), np.array([0.5, wrong, -np.inf]), None)


@given(pairs=PAIRS)
def test_components_are_connected_by_positive_pairs_and_hold_all_pairs_within(pairs):
    scored = clean_pairs(*_arrays(pairs), None)
    found, rows = components_of(6, scored), list(zip(*(column.tolist() for column in scored[:3]), strict=True))
    part = joined(list(range(6)), [ends for *ends, weight in rows if weight > 0])
    for one in range(6):
        together = [found.component[one] == found.component[other] for other in range(6)]
        assert together == [part[one] == part[other] for other in range(6)]
    assert sorted(found.sizes, reverse=True) == list(found.sizes)
    back = {place: node for node, place in enumerate(zip(found.component, found.place, strict=True))}
    rebuilt = {
        (back[c, found.left[at]], back[c, found.right[at]]): found.weights[at]
        for c in range(found.sizes.size)
        for at in range(found.starts[c], found.starts[c + 1])
    }
    assert rebuilt == {(i, j): weight for i, j, weight in rows if found.component[i] == found.component[j]}


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


# --- digests of components --------------------------------------------------------------------------------------------


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


# --- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["a", None], ["a", None]),
        ([1, 2**62], ["1", str(2**62)]),
        ([True], ["true"]),
        ([date(2020, 1, 31)], ["2020-01-31"]),
        ([b"caf\xc3\xa9"], ["café"]),
        (pl.Series(["a"], dtype=pl.Categorical), ["a"]),
        ([-0.0, 0.0, 1.5, None], ["0.0", "0.0", "1.5", None]),
        (pl.Series([-0.0], dtype=pl.Float32), ["0.0"]),
        (pl.Series([], dtype=pl.Float64), []),
    ],
)
def test_ids_become_text(values, texts):
    assert as_ids(pl.Series(values)).to_list() == texts


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_no_id(wrong):
    with pytest.raises(ValueError, match=r"left (NaN|nan|-?inf) in row 2 is no id"):
        as_ids(pl.Series("left", [1.0, wrong]))


@pytest.mark.parametrize("values", [[b"\xff"], [[1, 2]], [{"a": 1}], [timedelta(1)], [object()]])
def test_what_is_not_text_is_refused_by_its_type(values):
    column = pl.Series("left", values)
    with pytest.raises(ValueError, match=r"column 'left' of type .* can't be read as text"):
        as_text(column)


@pytest.mark.parametrize("first", [-3, 0, 7, 2**62, 2**63])
@pytest.mark.parametrize("step", [1, 1000])
def test_numbers_are_the_places_of_the_texts_however_far_whole_numbers_lie_apart(first, step):
    nothing = [pl.Series([], dtype=pl.Int64)] * 2
    others, none = numbered_ids(different_ids(nothing), nothing, [pl.Series(["b", "a"])])
    assert (others.to_list(), [end.size for end in none]) == (["a", "b"], [0, 0]), "without any pair"
    left, right = ([first + step * number for number in numbers] for numbers in ([0, 9, 2, 0], [11, 2, 10, 9]))
    ends = [pl.Series(end) for end in (left, right)]
    ids, numbers = numbered_ids(different_ids(ends), ends, [pl.Series(["a", str(left[0])])])
    assert ids.to_list() == sorted({*map(str, left + right), "a"})
    assert [[ids[int(number)] for number in end] for end in numbers] == [[*map(str, end)] for end in (left, right)]
