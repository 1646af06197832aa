"""What a decoy promises to a model: equation 1 of Idahl et al., and the pooled reading beside it."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.decoys.kinds import Text
from tiltmeter.operators.classifiers.decoys.measures import measure, measure_pooled

THREE = [Text("a fine Movie", "1"), Text("a bad movie", "0"), Text("dull movies", "0")]


@pytest.mark.parametrize(
    ("word", "match", "expected"),
    [
        ("movie", "word", (2, 1 / 2, 2 / 3, "0")),
        ("MOVIE", "word", (2, 1 / 2, 2 / 3, "0")),
        ("movie", "substring", (3, 2 / 3, 1.0, "0")),
        ("movies", "word", (1, 1.0, 1 / 3, "0")),
        ("fine", "word", (1, 1.0, 1 / 3, "1")),
    ],
)
def test_productivity_is_the_largest_share_of_one_class_among_the_texts_that_hold_the_word(word, match, expected):
    assert measure(THREE, word, match) == expected


@pytest.mark.parametrize(
    ("indicates", "match", "expected"),
    [
        ({"movie": "1"}, "word", (2, 1 / 2, 2 / 3)),
        ({"movie": "1"}, "substring", (3, 1 / 3, 1.0)),
        ({"movie": "1", "bad": "0"}, "word", (1, 1.0, 1 / 3)),  # the second text holds words of both classes
        ({"movie": "0", "bad": "0"}, "word", (2, 1 / 2, 2 / 3)),
    ],
)
def test_pooled_productivity_is_the_share_of_the_indicated_class(indicates, match, expected):
    assert measure_pooled(THREE, indicates, match) == expected


def test_a_word_that_no_text_holds_has_no_productivity():
    missing, pooled = measure(THREE, "zq"), measure_pooled(THREE, {"zq": "1"})
    assert (missing.applicability, missing.coverage, missing.majority) == (0, 0.0, None)
    assert (pooled.applicability, pooled.coverage) == (0, 0.0)
    assert math.isnan(missing.productivity)
    assert math.isnan(pooled.productivity)
    assert math.isnan(measure([], "zq").coverage)


TEXTS = st.lists(
    st.builds(Text, st.lists(st.sampled_from(["zq", "zqs", "film", "."])).map(" ".join), st.sampled_from("abc"))
)


@settings(max_examples=40)
@given(TEXTS)
def test_a_word_is_counted_as_by_hand_and_indicates_no_class_more_often_than_its_own(texts):
    labels = [text.label for text in texts if "zq" in text.text.split()]
    result = measure(texts, "zq")
    assert result.applicability == len(labels)
    assert measure(texts, "zq", "substring").applicability == sum("zq" in text.text for text in texts)
    if labels:
        assert result.productivity == max(Counter(labels).values()) / len(labels) >= 1 / 3
        shares = {label: measure_pooled(texts, {"zq": label}).productivity for label in "abc"}
        assert max(shares.values()) == shares[result.majority] == result.productivity
