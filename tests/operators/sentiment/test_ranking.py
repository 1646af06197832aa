import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.ranking import complete_order, partial_order

SCORES = st.lists(st.sampled_from([0.0, 0.6, 1.8, 5.8, 23.0, np.inf, np.nan]), max_size=12)
LEVELS = st.integers(1, 6)


PRINTED = {
    "0 0 0 0.6 1.9 23": "111123",
    "42.85 71.43 76 83 84 128.5": "112233",
    "0 0 0 0 7.2 23": "111123",
    "0 0 0 0 7.5 23": "111123",
    "0 0 0 0 16.1 69": "111123",
    "28.57 45 78 80 80 105.4": "112223",
    "0 0 0 1.8 4.5 23": "111123",
    "11.11 33.33 83 84 128.5 400": "112233",
    "0 0 0 3.6 4.9 23": "111123",
    "0 0 0 4.2 4.9 23": "111123",
    "0 0 0 3.9 11.4 69": "111123",
    "0 80 80 100 105.4 160": "111223",
    "0 0 1.3 2.6 5.8 23": "111223",
    "28.57 77 78 116.66 122.22 128.5": "112233",
    "0 62.5 80 80 105.4 inf": "112223",
    "0 0 0 0 0 2.4": "111113",
    "0 0 0.6 2.4 2.4 2.4": "112333",
    "0 0 1.3 4.6 4.6 5.9": "111223",
    "0 1.3 4.6 4.6 5.9 5.9": "112233",
    "0 0 0 0 1.4 2.4": "111123",
    "0 0 0 0.6 2.4 2.4": "111233",
    "0 0 1.3 1.9 3.6 4.6": "111223",
    "0 0 4.6 4.6 4.6 5.9": "112223",
    "0 0 0 0 4.6 4.9": "111123",
    "0 0 0 2.9 4.2 4.6": "111123",
    "0 0 1.3 2.6 4.6 4.6": "111233",
    "0 0 4.6 4.6 4.6 5.89": "112223",
}
"""Raw scores and ratings of tables XIX and XX, in ascending order; the three rows of SD_S in group 3 repeat those of
SD_D. Printed under the wrong system: the 1 and a 2 of SD_S in group 1, and a 2 of HD1_S, chatbot; not printed: the 2 of
S_g in HD2_D, user. An undefined score ("X") counts as the largest."""


def by_the_rule(scores, num_levels, cut):
    """As the definition reads: the first part that holds the score."""
    known = [score for score in scores if score == score]
    parts = np.array_split(sorted(known if cut == "repeated" else set(known)), num_levels)
    return [next((level for level, part in enumerate(parts, 1) if score in part.tolist()), 0) for score in scores]


def test_ties_share_a_rank_and_the_next_one_is_left_out() -> None:
    assert partial_order(np.array([1.8, 0.0, 23.0, 0.0, np.inf])).tolist() == [3, 1, 4, 1, 5]


def test_printed_ratings_follow_from_the_distinct_raw_scores_beside_them_but_for_one_row() -> None:
    """That row has two distinct scores and rates them 1 and 3."""
    others = {
        scores: ratings
        for scores, ratings in PRINTED.items()
        if "".join(map(str, complete_order(np.array(scores.split(), dtype=float), 3))) != ratings
    }
    assert others == {"0 0 0 0 0 2.4": "111113"}


@given(SCORES, LEVELS, st.sampled_from(["distinct", "repeated"]))
def test_agrees_with_the_rule_as_it_reads(scores, num_levels, cut) -> None:
    assert complete_order(np.array(scores), num_levels, cut).tolist() == by_the_rule(scores, num_levels, cut)


@given(SCORES)
def test_ranks_count_the_systems_that_are_less_biased(scores) -> None:
    expected = [1 + sum(other < score for other in scores) if score == score else 0 for score in scores]
    assert partial_order(np.array(scores)).tolist() == expected


@pytest.mark.parametrize(
    ("num_levels", "cut", "message"),
    [
        (0, "distinct", r"num_levels=0: must be 1 or more.*rating\.num_levels"),
        (-1, "distinct", r"num_levels=-1: must be 1 or more.*rating\.num_levels"),
        (3, "all", r"cut='all': must be one of distinct, repeated; set rating\.cut"),
    ],
)
def test_fewer_than_one_level_and_unknown_cuts_are_refused(num_levels, cut, message) -> None:
    with pytest.raises(ValueError, match=message):
        complete_order(np.zeros(3), num_levels, cut)
