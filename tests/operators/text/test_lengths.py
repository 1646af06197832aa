import math

import pytest

from tiltmeter.operators.text.lengths import text_statistics


def test_words_and_stop_words_of_a_conversation() -> None:
    # Stop words: i, am, where, is, the; go, to, the, but not "don't".
    found = text_statistics(["I am lost: where IS the library?", "Don't worry! Go to the 2nd floor."])
    assert found == (2, 14, 7.0, 7, 7, 8, 4.0, 3, 5, None, None, None, None)


def test_the_shortest_and_the_longest_text_may_have_no_word_and_no_stop_word() -> None:
    # Words 4, 1, 0; stop words: that is the, none, none.
    found = text_statistics(["That is the question", "question", "?!"], ["x", "x", "y"])
    assert found == (3, 5, 5 / 3, 0, 4, 3, 1.0, 0, 3, 2, 1.5, 1, 2)
    some = text_statistics(["a"] * 6, ["x", "y", "x", None, "y", "x"])
    assert (some.num_texts, some[-4:]) == (6, (2, 2.5, 2, 3))


def test_nothing_has_no_means() -> None:
    found = text_statistics([], [])
    assert (found.num_texts, found.num_words, found.num_conversations) == (0, 0, 0)
    assert math.isnan(found.words_per_text)
    assert found.texts_per_conversation is not None
    assert math.isnan(found.texts_per_conversation)
    assert {getattr(found, name) for name in found._fields if name.startswith(("min_", "max_"))} == {None}


def test_as_many_conversations_as_texts() -> None:
    with pytest.raises(ValueError, match="zip"):
        text_statistics(["a", "b"], ["x"])
