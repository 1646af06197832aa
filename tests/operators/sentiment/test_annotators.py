import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.annotators import (
    annotator_agreement,
    has_tie,
    label_codes,
    shared_polarity,
    vote,
)

NONE = np.nan
LABELS = st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0, NONE]), min_size=3, max_size=3), min_size=1, max_size=12)


def test_ties_are_drawn_evenly_by_seed_and_text() -> None:
    texts = [f"text {number}" for number in range(3000)]
    labels = np.tile([-1.0, 0.0, 1.0], (3000, 1))
    first, again, other = vote(labels, texts, 0), vote(labels[::-1], texts[::-1], 0)[::-1], vote(labels, texts, 1)
    assert np.array_equal(first, again)
    assert 0.25 < (first == other).mean() < 0.42
    assert [abs((first == value).mean() - 1 / 3) < 0.04 for value in (-1, 0, 1)] == [True] * 3


@given(LABELS)
def test_agreement_is_that_of_loops(rows) -> None:
    given_labels = [[label for label in row if label == label] for row in rows]
    pairs = [(a, b) for row in given_labels for at, a in enumerate(row) for b in row[at + 1 :]]
    assert annotator_agreement(np.empty((0, 3))).num_texts == 0
    found = annotator_agreement(np.array(rows))
    assert found.num_texts == sum(len(row) > 1 for row in given_labels)
    assert found.num_unanimous == sum(len(row) > 1 and len(set(row)) == 1 for row in given_labels)
    expected = sum(a == b for a, b in pairs) / len(pairs) if pairs else np.nan
    np.testing.assert_equal(found.pairwise, expected)


@given(LABELS, st.integers(0, 2**32 - 1))
def test_a_vote_is_one_of_the_most_frequent_labels(rows, seed) -> None:
    votes = vote(np.array(rows), [str(row) for row in rows], seed)
    for row, sentiment, is_tie in zip(rows, votes, has_tie(np.array(rows)), strict=True):
        labels = [label for label in row if label == label]
        frequent = {label for label in labels if labels.count(label) == max(map(labels.count, labels))}
        assert is_tie == (len(frequent) > 1)
        assert sentiment in frequent if frequent else np.isnan(sentiment)


def test_polarities_are_shared_by_sign() -> None:
    votes, scores = [1.0, 1.0, 0.0, 0.0, -1.0, NONE, 1.0], [0.1, 0.0, 0.0, 0.2, -1.0, 1.0, NONE]
    assert shared_polarity(np.array(votes), np.array(scores)) == (5, 3)


def test_labels_without_a_value_or_of_other_texts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"labels \(1, 3\) of 2 texts"):
        vote(np.zeros((1, 3)), ["a", "b"], seed=0)
    with pytest.raises(ValueError, match=r"label 'good', 'poor': must be one of 'positive', 'negative'"):
        label_codes([["poor", "positive"], ["good", None]], {"positive": 1.0, "negative": -1.0})
