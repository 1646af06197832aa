"""Artificial words, and how far explanations highlight them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.privacy.noise import check_noise, salience, with_noise

WORKED = [
    # Attributions, which words are artificial; share of the attribution, whether first, share of the words by hand.
    ([0.1, -0.6, 0.3], [False, True, False], 0.6, 1.0, 1 / 3),
    ([0.5, np.nan, 0.25, 0.0, -0.25], [False, False, True, False, False], 0.25, 0.0, 0.25),
    ([0.4, -0.4, 0.2], [True, False, False], 0.4, 0.5, 1 / 3),
    ([0.4, np.nan], [False, True], 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("attributions", "is_noise", "share", "first", "even_share"), WORKED)
def test_salience_is_that_worked_out_by_hand(attributions, is_noise, share, first, even_share):
    assert salience(np.array(attributions), np.array(is_noise)) == pytest.approx((share, first, even_share))


@pytest.mark.parametrize("attributions", [[0.0, 0.0], [np.nan, 0.0], [np.nan, np.nan]])
def test_without_an_attribution_there_is_no_salience(attributions):
    assert np.isnan(salience(np.array(attributions), np.array([True, False]))).all()


@settings(max_examples=30)
@given(st.lists(st.text("ab ", min_size=1, max_size=9), max_size=12), st.integers(0, 5))
def test_a_text_gets_its_own_word_or_stays_as_it_is_whatever_the_order(texts, seed):
    words = [f"z{len(text) % 3}" for text in texts]
    noisy = with_noise(texts, words, seed=seed)
    for text, word, result in zip(texts, words, noisy, strict=True):
        assert result == text or sorted(result.split()) == sorted([*text.split(), word])
    assert with_noise(texts[::-1], words[::-1], seed=seed) == noisy[::-1]


def test_about_the_share_of_texts_gets_its_word_and_as_often_as_asked():
    texts = [f"text {number}" for number in range(400)]
    made = with_noise(texts, ["zq"] * 400, share=0.25, times=2)
    assert made != with_noise(texts, ["zq"] * 400, share=0.25, times=2, seed=1)
    counts = [text.count("zq") for text in made]
    assert set(counts) == {0, 2}
    assert 70 <= counts.count(2) <= 130


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([["a", "b"], ["c", "A"]], "\\['a'\\] listed more than once"),
        ([["a", "b c"], ["d", "e"]], "'b c' must be one word"),
        ([["a", "b."], ["d", "e"]], "'b.' must be one word"),
        ([["a", ""], ["d", "e"]], "must be words"),
    ],
)
def test_words_that_are_not_one_for_each_are_refused(words, message):
    with pytest.raises(ValueError, match=f"models.noise.words: .*{message}"):
        check_noise("models.noise.words", words)
