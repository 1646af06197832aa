"""Who debugs a model: what is shown without explanations, what is taken for a wrong reason, and texts without it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.decoys.debugging import (
    by_oracle,
    by_predictions,
    identified,
    is_complete,
    suspects,
    without_words,
)
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy
from tiltmeter.operators.text.listed_words import folded_words

DECOY = InsertedDecoy(("zq0", "zq1"))


def shown(**values):
    return Explained(list(values), np.array(list(values.values()), dtype=float))


THREE = [shown(bad=-2.0, zq0=1.0, film=0.5), shown(film=3.0, zq1=2.0, the=0.1), shown(bad=1.0, zq0=4.0, zq1=0.0)]


@pytest.mark.parametrize(
    ("k", "judgement", "num_suspects", "words"),
    [
        (1, "recognition", 1, ["", "", "zq0"]),
        (2, "recognition", 1, ["zq0", "zq0 zq1", "zq0 zq1"]),
        (1, "frequency", 1, ["bad", "bad", "bad"]),  # one word of each, and the first that was shown stays
        (2, "frequency", 1, ["bad", "bad", "bad"]),  # bad and zq0 twice each in the end, bad before zq0
        (2, "frequency", 2, ["bad zq0", "bad zq0", "bad zq0"]),
        (3, "frequency", 1, ["bad", "film", "bad"]),
    ],
)
def test_what_is_taken_for_a_wrong_reason_after_each_of_three_instances(k, judgement, num_suspects, words):
    suspected = suspects(THREE, DECOY, k, judgement, num_suspects)
    assert [" ".join(sorted(those)) for those in suspected] == words
    assert identified(suspected, DECOY).tolist() == [float("zq" in line) for line in words]


def test_with_predictions_alone_the_words_stand_out_that_go_with_the_predicted_class():
    texts = [["zq", "a"], ["zq", "b"], ["a", "c"]]
    first, second, third = by_predictions(texts, ["good", "good", "bad"])
    # zq is in 2 of 2 texts predicted as good and 0 of 1 as bad; a in 1 of 2 and 1 of 1; c in 0 of 2 and 1 of 1.
    zq, c = math.log((2.5 / 3) / (0.5 / 2)), math.log((1.5 / 2) / (0.5 / 3))
    a = math.log((1.5 / 2) / (1.5 / 3))
    assert first.values == pytest.approx([zq, 0.0])  # a speaks for the other class
    assert second.values == pytest.approx([zq, math.log((1.5 / 3) / (0.5 / 2))])
    assert third.values == pytest.approx([a, c])
    assert first.words == texts[0]


def test_predictions_of_one_class_alone_tell_no_word_that_all_texts_lack_or_that_nothing_was_read_of():
    [only] = by_predictions([["zq"]], ["good"])
    assert only.values == pytest.approx([math.log((1.5 / 2) / 0.5)])
    nothing, _ = by_predictions([[], ["a"]], [None, "good"])
    assert top_words(nothing, 3) == []


def test_the_oracle_shows_the_decoy_and_nothing_else():
    first, second = by_oracle([["a", "zq0", "zq1"], ["a"]], DECOY)
    assert [first.words[place] for place in top_words(first, 3)] == ["zq0", "zq1"]
    assert top_words(second, 3) == []
    assert identified(suspects([second, first], DECOY, 1, "recognition"), DECOY).tolist() == [0.0, 1.0]


def test_words_that_hold_a_word_are_recognised_where_substrings_count():
    whole, part = DeletedDecoy("movie"), DeletedDecoy("movie", match="substring")
    instances = [shown(movies=2.0, Movie=0.0), shown(movie=2.0)]
    assert [sorted(words) for words in suspects(instances, whole, 1, "recognition")] == [[], ["movie"]]
    assert [sorted(words) for words in suspects(instances, part, 1, "recognition")] == [["movies"], ["movie", "movies"]]
    complete = [is_complete(*those) for those in ((["movies"], whole), (["movies"], part), ([], part))]
    assert complete == [False, True, False]
    assert by_oracle([["movies", "movie"]], whole)[0].values.tolist() == [0.0, 1.0]
    assert by_oracle([["movies", "movie"]], part)[0].values.tolist() == [1.0, 1.0]
    assert by_oracle([["movie"]], None)[0].values.tolist() == [0.0]


@given(st.text(alphabet="ab Z'.-,!é", max_size=30), st.sets(st.sampled_from(["a", "b", "zb", "ab", "!", "é"])))
def test_a_text_without_words_has_all_its_others(text, words):
    left = without_words(text, words)
    assert not set(folded_words(left)) & words
    assert "".join(folded_words(left)) == "".join(word for word in folded_words(text) if word not in words)
    assert without_words("A Movie,  a movie-goer", {"movie"}) == "A ,  a -goer"
