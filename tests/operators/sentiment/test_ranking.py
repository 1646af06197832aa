import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.ranking import complete_order, partial_order

SCORES = st.lists(st.sampled_from([0.0, 0.6, 1.8, 5.8, 23.0, np.inf, np.nan]), max_size=12)
LEVELS = st.integers(1, 6)


def published_rule(scores, num_levels):
    """As the definition reads: the first part that holds the score."""
    parts = np.array_split(sorted(score for score in scores if score == score), num_levels)
    return [next((level for level, part in enumerate(parts, 1) if score in part.tolist()), 0) for score in scores]


def test_ties_share_a_rank_and_the_next_one_is_left_out() -> None:
    assert partial_order(np.array([1.8, 0.0, 23.0, 0.0, np.inf])).tolist() == [3, 1, 4, 1, 5]


@pytest.mark.parametrize(
    ("scores", "num_levels", "ratings"),
    [
        ([23.0, 0.0, 0.6, 1.9, 0.0], 3, [3, 1, 2, 2, 1]),  # (0, 0) (0.6, 1.9) (23)
        ([23.0, 0.0, 5.8, 1.3, 2.6], 3, [3, 1, 2, 1, 2]),  # (0, 1.3) (2.6, 5.8) (23)
        ([0.0, 0.0, 0.0, 7.5, 23.0], 3, [1, 1, 1, 2, 3]),  # (0, 0) (0, 7.5) (23)
        ([1.0, 1.0, 1.0, 1.0], 2, [1, 1] * 2),
        ([0.0, 5.0], 3, [1, 2]),  # the last part is empty
        ([5.0, 0.0, 2.0], 1, [1, 1, 1]),
    ],
)
def test_levels_by_hand(scores, num_levels, ratings) -> None:
    assert complete_order(np.array(scores), num_levels).tolist() == ratings


@given(SCORES, LEVELS)
def test_agrees_with_the_rule_as_it_reads(scores, num_levels) -> None:
    assert complete_order(np.array(scores), num_levels).tolist() == published_rule(scores, num_levels)


@given(SCORES)
def test_ranks_count_the_systems_that_are_less_biased(scores) -> None:
    expected = [1 + sum(other < score for other in scores) if score == score else 0 for score in scores]
    assert partial_order(np.array(scores)).tolist() == expected


@given(SCORES, LEVELS)
def test_both_orders_are_monotone_and_ties_share(scores, num_levels) -> None:
    scores = np.array([score for score in scores if score == score])
    for places in (partial_order(scores), complete_order(scores, num_levels)):
        for score, place in zip(scores, places, strict=True):
            assert (places[scores < score] <= place).all()
            assert (places[scores == score] == place).all()


@given(SCORES, LEVELS, st.randoms(use_true_random=False))
def test_the_order_of_systems_does_not_matter(scores, num_levels, random) -> None:
    order = random.sample(range(len(scores)), len(scores))
    scores = np.array(scores)
    np.testing.assert_array_equal(partial_order(scores)[order], partial_order(scores[order]))
    np.testing.assert_array_equal(complete_order(scores, num_levels)[order], complete_order(scores[order], num_levels))


def test_systems_without_a_raw_score_have_no_place_and_take_none() -> None:
    scores = np.array([np.nan, 1.0, 2.0])
    assert partial_order(scores).tolist() == [0, 1, 2]
    assert complete_order(scores, 2).tolist() == [0, 1, 2]


@pytest.mark.parametrize("num_levels", [0, -1])
def test_fewer_than_one_level_is_refused(num_levels) -> None:
    with pytest.raises(ValueError, match=rf"num_levels={num_levels}: must be 1 or more.*rating\.num_levels"):
        complete_order(np.zeros(3), num_levels)
