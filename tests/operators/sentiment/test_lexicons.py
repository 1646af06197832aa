import socket

import nltk
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textblob import TextBlob

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.lexicons import biased_female, random_scores, textblob_scores, vader_scores

LEXICONS = [textblob_scores, vader_scores]


def test_the_biased_system_sees_nothing_but_gender() -> None:
    scores = biased_female(["female", "male", "neutral", None, "female"])
    assert scores.dtype == np.float64
    assert scores.tolist() == [1, -1, -1, -1, 1]


@pytest.mark.parametrize("seed", [0, 5, 2**64 - 1])
def test_random_scores_are_numbers_of_philox(seed) -> None:
    text = "I feel angry."
    # numpy steps its counter before it draws.
    generator = np.random.Philox(key=seed | Stream.RANDOM_SENTIMENT << 64, counter=document_key(text) - 1)
    expected = 2 * (int(generator.random_raw()) >> 11) / 2**53 - 1
    assert random_scores([text], seed).tolist() == [expected]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.integers(0, 2**64 - 1))
def test_random_scores_depend_on_the_seed_and_the_text_alone(texts, seed) -> None:
    scores = random_scores(texts, seed)
    assert scores.shape == (len(texts),)
    assert scores.tolist() == [random_scores([text], seed)[0] for text in texts]


def test_textblob_is_what_the_library_says() -> None:
    published = textblob_scores(["Textblob is amazingly simple to use. What great fun!"])  # TextBlob's documentation
    assert published.tolist() == pytest.approx([0.39166666666666666], abs=1e-12)
    texts = ["I hate this!", "An awesome, if slow, film :)", "not bad at all", "She said: 'no'.", "Ça va très bien."]
    assert textblob_scores(texts).tolist() == [TextBlob(text).sentiment.polarity for text in texts]


def test_vader_as_published() -> None:
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
def test_texts_without_a_known_word_are_neutral(scores) -> None:
    assert scores(["", " \n", "...", "4711", "Ωμέγα"]).tolist() == [0] * 5
    assert scores([]).shape == (0,)
    assert scores([]).dtype == np.float64


@pytest.mark.parametrize("scores", LEXICONS)
def test_lexicons_come_with_the_packages(scores, monkeypatch) -> None:
    def refuse(*_):
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(nltk.data, "path", [])
    assert scores(["I love it"])[0] > 0
