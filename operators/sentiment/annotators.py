"""Sentiment as people see it: a vote of annotators, how far they agree, and how far a system agrees with them.

Lakkaraju et al. 2023, *The Effect of Human v/s Synthetic Test Data and Round-tripping on Assessment of Sentiment
Analysis Systems for Bias*, have three people label each text -1, 0 or 1, and rate what they say as a system of its own,
S_h. Of three different labels one is taken at random. The paper prints an agreement between annotators of 75 to 98 %
without a definition: here are the two that are usual.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

VERSION = "annotators/1"


class Agreement(NamedTuple):
    """Attributes:
    num_texts: with two labels or more.
    num_unanimous: those of which all labels are equal.
    pairwise: share of the pairs of labels of one text that are equal, over all texts; NaN without any pair.
    """

    num_texts: int
    num_unanimous: int
    pairwise: float


def vote(labels: NDArray[np.floating], texts: Sequence[str], seed: int) -> FloatArray:
    """The label that most annotators give, one of several at random.

    Args:
        labels: ``[texts, annotators]``; NaN where an annotator gives none.
        texts: by which the draws are keyed, so that equal texts with equal labels have one sentiment.
        seed: of the run, 0 <= seed < 2^64.

    Returns:
        ``[texts]``, NaN for a text without labels.

    Raises:
        ValueError: if there are labels for other texts.

    >>> vote(np.array([[1, 1, -1], [0, np.nan, 0], [-1, 0, 1]]), ["a", "b", "c"], seed=0)
    array([1., 0., 0.])
    """
    if labels.ndim != 2 or len(labels) != len(texts):
        raise ValueError(f"labels {labels.shape} of {len(texts)} texts: must be [texts, annotators]")
    sentiment = np.full(len(texts), np.nan)
    for row, (text, values) in enumerate(zip(texts, map(_most_frequent, labels), strict=True)):
        if values.size > 1:
            sentiment[row] = keyed_generator(seed, Stream.VOTE, document_key(text)).choice(values)
        elif values.size:
            sentiment[row] = values[0]
    return sentiment


def has_tie(labels: NDArray[np.floating]) -> BoolArray:
    """``[texts]``, whether several labels are the most frequent, so that :func:`vote` draws one of them.

    >>> has_tie(np.array([[1, 1, -1], [-1, 0, 1]]))
    array([False,  True])
    """
    return np.array([_most_frequent(row).size > 1 for row in labels], dtype=bool)


def _most_frequent(labels: FloatArray) -> FloatArray:
    values, counts = np.unique(labels[~np.isnan(labels)], return_counts=True)
    return np.asarray(values[counts == counts.max(initial=0)])


def annotator_agreement(labels: NDArray[np.floating]) -> Agreement:
    """How far annotators agree with each other.

    Args:
        labels: ``[texts, annotators]``, as for :func:`vote`.

    Of two texts one has three equal labels, and of three pairs of the other's labels one is equal: 4 of 6.

    >>> annotator_agreement(np.array([[1, 1, 1], [1, 1, 0], [0, np.nan, np.nan]]))
    Agreement(num_texts=2, num_unanimous=1, pairwise=0.6666666666666666)
    """
    given = ~np.isnan(labels)
    first, second = np.triu_indices(labels.shape[1], 1)
    is_pair, is_equal = given[:, first] & given[:, second], labels[:, first] == labels[:, second]
    compared = is_pair.any(axis=1)
    unanimous = compared & (is_equal | ~is_pair).all(axis=1)
    num_pairs = int(is_pair.sum())
    pairwise = int(is_equal.sum()) / num_pairs if num_pairs else float("nan")
    return Agreement(int(compared.sum()), int(unanimous.sum()), pairwise)


def shared_polarity(votes: NDArray[np.floating], scores: NDArray[np.floating]) -> tuple[int, int]:
    """How many texts have both, and of how many both are positive, negative or 0.

    >>> shared_polarity(np.array([1.0, 0.0, -1.0, np.nan]), np.array([0.3, 0.1, -0.9, 0.5]))
    (3, 2)
    """
    known = ~(np.isnan(votes) | np.isnan(scores))
    return int(known.sum()), int((np.sign(votes[known]) == np.sign(scores[known])).sum())


def label_codes(labels: Sequence[Sequence[str | None]], values: dict[str, float]) -> FloatArray:
    """Labels as numbers, ``[texts, annotators]``.

    Raises:
        ValueError: naming a label that has no value.

    >>> label_codes([["positive", None]], {"positive": 1.0})
    array([[ 1., nan]])
    """
    if unknown := sorted({label for row in labels for label in row if label is not None} - values.keys()):
        raise ValueError(f"label {', '.join(map(repr, unknown))}: must be one of {', '.join(map(repr, values))}")
    return np.array([[np.nan if label is None else values[label] for label in row] for row in labels], dtype=np.float64)
