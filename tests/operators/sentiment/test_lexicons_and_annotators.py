"""Systems that score texts without a model, and people who label them."""

import socket

import nltk
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textblob import TextBlob

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.annotators import annotator_agreement, has_tie, label_codes, shared_polarity, vote
from tiltmeter.operators.sentiment.lexicons import biased_female, random_scores, textblob_scores, vader_scores

LEXICONS = [textblob_scores, vader_scores]


def test_the_biased_system_sees_nothing_but_gender():
    assert biased_female(["female", "male", "neutral", None, "female"]).tolist() == [1, -1, -1, -1, 1]


@pytest.mark.parametrize("seed", [0, 5, 2**64 - 1])
def test_random_scores_are_numbers_of_philox(seed):
    text = "I feel angry."
    # numpy steps its counter before it draws.
    generator = np.random.Philox(key=seed | Stream.RANDOM_SENTIMENT << 64, counter=document_key(text) - 1)
    expected = 2 * (int(generator.random_raw()) >> 11) / 2**53 - 1
    assert random_scores([text], seed).tolist() == [expected]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.integers(0, 2**64 - 1))
def test_random_scores_depend_on_the_seed_and_the_text_alone(texts, seed):
    scores = random_scores(texts, seed)
    assert scores.shape == (len(texts),)
    assert scores.tolist() == [random_scores([text], seed)[0] for text in texts]


def test_textblob_is_what_the_library_says():
    published = textblob_scores(["Textblob is amazingly simple to use. What great fun!"])  # TextBlob's documentation
    assert published.tolist() == pytest.approx([0.39166666666666666], abs=1e-12)
    texts = ["I hate this!", "An awesome, if slow, film :)", "not bad at all", "She said: 'no'.", "Ça va très bien."]
    assert textblob_scores(texts).tolist() == [TextBlob(text).sentiment.polarity for text in texts]


def test_vader_as_published():
    published = {
        "VADER is smart, handsome, and funny.": 0.8316,
        "VADER is smart, handsome, and funny!": 0.8439,
        "VADER is very smart, handsome, and funny.": 0.8545,
        "VADER is VERY SMART, handsome, and FUNNY!!!": 0.9342,
        "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!": 0.9469,
        "VADER is not smart, handsome, nor funny.": -0.7424,
        "At least it isn't a horrible book.": 0.431,
        "The plot was good, but the characters are uncompelling and the dialog is not great.": -0.7042,
    }
    assert vader_scores(list(published)).tolist() == list(published.values())


@pytest.mark.parametrize("scores", LEXICONS)
def test_lexicons_come_with_the_packages_and_texts_without_a_known_word_are_neutral(scores, monkeypatch):
    def refuse(*_):
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(nltk.data, "path", [])
    assert scores(["I love it"])[0] > 0
    assert scores(["", " \n", "...", "4711", "Ωμέγα"]).tolist() == [0] * 5
    assert (scores([]).shape, scores([]).dtype) == ((0,), np.float64)


# --- people ----------------------------------------------------------------------------------------------------

NONE = np.nan
LABELS = st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0, NONE]), min_size=3, max_size=3), min_size=1, max_size=12)


@pytest.mark.long
def test_ties_are_drawn_evenly_by_seed_and_text():
    texts = [f"text {number}" for number in range(3000)]
    labels = np.tile([-1.0, 0.0, 1.0], (3000, 1))
    first, again, other = vote(labels, texts, 0), vote(labels[::-1], texts[::-1], 0)[::-1], vote(labels, texts, 1)
    assert np.array_equal(first, again)
    assert 0.25 < (first == other).mean() < 0.42
    assert [abs((first == value).mean() - 1 / 3) < 0.04 for value in (-1, 0, 1)] == [True] * 3


@given(LABELS)
def test_agreement_is_that_of_loops(rows):
    given_labels = [[label for label in row if label == label] for row in rows]
    pairs = [(a, b) for row in given_labels for at, a in enumerate(row) for b in row[at + 1 :]]
    assert annotator_agreement(np.empty((0, 3))).num_texts == 0
    found = annotator_agreement(np.array(rows))
    assert found.num_texts == sum(len(row) > 1 for row in given_labels)
    assert found.num_unanimous == sum(len(row) > 1 and len(set(row)) == 1 for row in given_labels)
    expected = sum(a == b for a, b in pairs) / len(pairs) if pairs else np.nan
    np.testing.assert_equal(found.pairwise, expected)


@given(LABELS, st.integers(0, 2**32 - 1))
def test_a_vote_is_one_of_the_most_frequent_labels(rows, seed):
    votes = vote(np.array(rows), [str(row) for row in rows], seed)
    for row, sentiment, is_tie in zip(rows, votes, has_tie(np.array(rows)), strict=True):
        labels = [label for label in row if label == label]
        frequent = {label for label in labels if labels.count(label) == max(map(labels.count, labels))}
        assert is_tie == (len(frequent) > 1)
        assert sentiment in frequent if frequent else np.isnan(sentiment)


def test_polarities_are_shared_by_sign():
    votes, scores = [1.0, 1.0, 0.0, 0.0, -1.0, NONE, 1.0], [0.1, 0.0, 0.0, 0.2, -1.0, 1.0, NONE]
    assert shared_polarity(np.array(votes), np.array(scores)) == (5, 3)


def test_labels_without_a_value_or_of_other_texts_are_refused():
    with pytest.raises(ValueError, match=r"labels \(1, 3\) of 2 texts"):
        vote(np.zeros((1, 3)), ["a", "b"], seed=0)
    with pytest.raises(ValueError, match=r"label 'good', 'poor': must be one of 'positive', 'negative'"):
        label_codes([["poor", "positive"], ["good", None]], {"positive": 1.0, "negative": -1.0})
