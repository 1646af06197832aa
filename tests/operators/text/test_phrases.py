from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.tokens import join_phrases, phrase_index

_PHRASES = st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(" ".join))


@given(st.lists(st.sampled_from("abcd")), _PHRASES)
def test_each_place_takes_the_longest_phrase_that_fits(words, phrases):
    joined = join_phrases(words, phrase_index(phrases))
    assert " ".join(joined).split() == words
    at = 0
    for word in joined:
        fitting = [phrase for phrase in phrases if f"{' '.join(words[at:])} ".startswith(f"{phrase} ")]
        assert word == max(fitting, key=len, default=words[at])
        at += len(word.split(" "))
