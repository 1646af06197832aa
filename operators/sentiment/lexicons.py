"""Sentiment systems that need no model: two yardsticks of bias, and two lexicons with rules.

The yardsticks are those of Lakkaraju et al. 2023, *The Effect of Human v/s Synthetic Test Data and Round-tripping on
Assessment of Sentiment Analysis Systems for Bias*: S_b, which looks at nothing but gender, and S_r, which looks at no
attribute. Every score lies in [-1, 1] and has no unit: -1 is negative, +1 positive.
"""

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval

VERSION = "sentiment/1"


def biased_female(genders: Sequence[str | None]) -> NDArray[np.float64]:
    """The biased system S_b, which looks at nothing but gender: +1 for ``female``, -1 for anything else.

    Args:
        genders: of the person in each text; None where there is none.

    Returns:
        ``[texts]``.

    >>> biased_female(["female", "male", None])
    array([ 1., -1., -1.])
    """
    return np.array([1.0 if gender == "female" else -1.0 for gender in genders], dtype=np.float64)


def random_scores(texts: Sequence[str], seed: int) -> NDArray[np.float64]:
    """The random system S_r: uniform in [-1, 1), a function of the seed and the text and of nothing else.

    The paper's is drawn anew for every row, so that one text has several scores.

    Args:
        texts: equal texts get equal scores.
        seed: of the run, 0 <= seed < 2^64.

    Returns:
        ``[texts]``.

    >>> random_scores(["I feel angry.", "I feel sad.", "I feel angry."], seed=0).round(3)
    array([0.788, 0.07 , 0.788])
    """
    keys = np.array([document_key(text) for text in texts], dtype=np.uint64)
    return _uniform(np.uint64(seed), keys)


@numba.njit(cache=True)
def _uniform(seed: np.uint64, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    stream, zero = np.uint64(Stream.RANDOM_SENTIMENT.value), np.uint64(0)
    scores = np.empty(keys.size)
    for row in range(keys.size):
        scores[row] = 2.0 * unit_interval(philox(seed, stream, keys[row], zero, zero, zero)[0]) - 1.0
    return scores


def textblob_scores(texts: Sequence[str]) -> NDArray[np.float64]:
    """Polarity by TextBlob: the mean over the words that its lexicon knows, turned by negations and modifiers.

    The lexicon and its rules are those of pattern.en (De Smedt and Daelemans 2012, *Pattern for Python*), which come
    with the package.

    Args:
        texts: in English.

    Returns:
        ``[texts]``; 0 for a text without a known word.

    >>> textblob_scores(["What great fun!", "The table is here.", ""])
    array([0.5875, 0.    , 0.    ])
    """
    from textblob.en import polarity  # imports NLTK, which takes seconds

    return np.array([polarity(text) for text in texts], dtype=np.float64)


def vader_scores(texts: Sequence[str]) -> NDArray[np.float64]:
    """The compound score of VADER.

    Hutto and Gilbert 2014, *VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text*. With
    x the sum of the valences of a text's words and emoticons, after the rules for negation, degree, capitals, contrast
    and punctuation,

        compound = x / sqrt(x^2 + 15), to four decimals.

    Args:
        texts: in English, as they were written: case and punctuation count.

    Returns:
        ``[texts]``; 0 for a text without a known word.

    >>> vader_scores(["VADER is smart, handsome, and funny.", "The table is here.", ""])
    array([0.8316, 0.    , 0.    ])
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    return np.array([analyzer.polarity_scores(text)["compound"] for text in texts], dtype=np.float64)
