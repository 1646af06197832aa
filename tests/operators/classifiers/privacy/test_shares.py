"""Shares of attributions that fall on listed words and on words of a lexicon."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.privacy.shares import direction_of, lexicon_shares, listed_share, shares
from tiltmeter.operators.text.listed_words import WordList

LISTED = WordList(["I", "kind of", "sorry"])
LEXICON = {"good": 0.9, "awful": -0.8, "sorry": -0.4}
WORKED = [
    # Words, attributions, direction of the explained class; shares on L, with the right sign and with any, by hand.
    (["I", "feel", "good"], [0.2, 0.2, 0.6], 1.0, 0.2, 0.6, 0.6),
    (["kind", "of", "awful", ",", "sorry"], [0.1, -0.3, 0.5, 0.0, -0.1], -1.0, 0.5, 0.5, 0.6),
    (["good", "or", "awful", "?"], [-0.4, 0.1, 0.2, 0.1], 0.0, 0.0, 0.5, 0.75),
]


@pytest.mark.parametrize(("words", "values", "direction", "on_list", "right_sign", "any_sign"), WORKED)
def test_shares_of_three_sentences_are_those_worked_out_by_hand(
    words, values, direction, on_list, right_sign, any_sign
):
    attributions = np.array(values)
    is_listed = np.array([entry is not None for entry in LISTED.entries(words)])
    assert listed_share(attributions, is_listed) == pytest.approx(on_list)
    valences = np.array([LEXICON.get(word, np.nan) for word in words])
    assert lexicon_shares(attributions, valences, direction) == (pytest.approx(right_sign), pytest.approx(any_sign))


@settings(max_examples=30)
@given(st.lists(st.floats(-10, 10, allow_nan=False), min_size=1, max_size=8), st.data())
def test_a_share_lies_between_0_and_1_heeds_no_unit_and_adds_up_to_1_with_that_of_the_other_words(values, data):
    is_listed = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), dtype=bool)
    attributions = np.array(values)
    share = listed_share(attributions, is_listed)
    if not np.abs(attributions).any():
        assert np.isnan(share)
        return
    assert 0 <= share <= 1 + 1e-12
    assert listed_share(attributions, ~is_listed) == pytest.approx(1 - share, abs=1e-9)
    assert listed_share(attributions * 8.0, is_listed) == pytest.approx(share, abs=1e-9)


def test_words_that_were_not_read_have_no_share_and_sentences_without_attribution_no_value():
    assert shares(np.array([np.nan, 2.0, -2.0])).tolist() == [0.0, 0.5, 0.5]
    nothing = np.array([0.0, np.nan])
    assert np.isnan(listed_share(nothing, np.array([True, False])))
    assert np.isnan(lexicon_shares(nothing, np.array([0.5, np.nan]), 1.0)).all()


def test_directions_of_classes_are_evenly_apart():
    assert [direction_of(number, 5) for number in range(5)] == [-1.0, -0.5, 0.0, 0.5, 1.0]
