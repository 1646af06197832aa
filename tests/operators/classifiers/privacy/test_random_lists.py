import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.privacy.random_lists import random_list

COUNTS = {f"word{number}": number for number in range(1, 61)}


@settings(max_examples=30)
@given(st.sets(st.sampled_from(sorted(COUNTS)), max_size=40), st.integers(0, 9))
def test_a_random_list_has_as_many_words_that_are_not_listed_while_there_are_some(listed, seed):
    drawn = random_list(COUNTS, frozenset(listed), np.random.default_rng(seed))
    assert not drawn & listed
    assert len(drawn) == min(len(listed), len(COUNTS) - len(listed))


def test_a_word_takes_the_place_of_one_about_as_frequent_and_lists_differ():
    lists = {random_list(COUNTS, frozenset({"word50"}), np.random.default_rng(seed)) for seed in range(30)}
    words = {word for (word,) in lists}
    assert words <= {f"word{number}" for number in range(45, 56)} - {"word50"}
    assert len(words) > 3


def test_listed_words_that_no_text_has_are_not_replaced():
    assert random_list(COUNTS, frozenset({"never"}), np.random.default_rng(0)) == frozenset()
