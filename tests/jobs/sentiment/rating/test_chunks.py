"""Chunks of texts stay what they are when texts are added."""

from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.jobs.sentiment.rating.sentences import chunks

TEXTS = [f"text {number}" for number in range(2000)]


@given(texts=st.lists(st.text(max_size=5), max_size=50), mean_size=st.integers(1, 20))
def test_each_text_is_in_one_chunk_whatever_the_order(texts, mean_size):
    found = chunks(texts, mean_size)
    assert sorted(text for chunk in found for text in chunk) == sorted(set(texts))
    assert found == chunks(reversed(texts), mean_size)


def test_a_text_that_is_added_changes_few_chunks():
    before, after = chunks(TEXTS, 100), chunks([*TEXTS, "another"], 100)
    assert 10 < len(before) < 40
    changed = [chunk for chunk in after if chunk not in before]
    assert len(changed) < 6
    assert all(50 <= len(chunk) <= 200 for chunk in after[:-1])
    assert any("another" in chunk for chunk in changed)
