"""Cues added to texts, from one to the other: where a classifier's verdict of a text changes.

The psychophysics of Liang and Acuna 2020 with texts as observers. A text of n words gets one more, the mixture
(1 - alpha) c1 + alpha c2 of two cues, and flips at the alpha* at which f is 0. Only texts near the border flip within
reach, as many on one side of it as on the other. The point of subjective equality is then the mixture at which half
of them are positive. Texts are what its interval is over: classifiers that learnt the same texts and have the same ones
near their borders are no further texts.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior.networks import Network, scores

VERSION = "posterior_cues/2"

_BLOCK = 50


class CueResponses(NamedTuple):
    """Attributes:
    flips: ``[texts]``, alpha* at which the verdict changes; may be outside of [0, 1]; NaN where alpha moves nothing.
    first, second: share of the texts that are positive with either cue alone.
    """

    flips: FloatArray
    first: float
    second: float


def border_texts(network: Network, texts: FloatArray, number: int) -> IntArray:
    """Rows of the texts with f nearest to 0: half of the number on each side of it, or as many as there are on both."""
    values = scores(network, texts)
    order = np.argsort(np.abs(values), kind="stable")
    positive, negative = (order[values[order] > 0], order[values[order] <= 0])
    each = min(number // 2, len(positive), len(negative))
    return np.sort(np.concatenate([positive[:each], negative[:each]]))


def cue_responses(
    network: Network, texts: FloatArray, num_words: NDArray[np.number], cue_1: FloatArray, cue_2: FloatArray
) -> CueResponses:
    """Where texts flip between two cues.

    One word in a text is a small step, over which f is linear to within rounding of what is asked: alpha* is where the
    line through f at both cues is 0.

    Args:
        texts: ``[texts, dimensions]``, mean vectors.
        num_words: ``[texts]``.
        cue_1, cue_2: ``[dimensions]``.

    >>> linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    >>> cue_responses(linear, np.array([[0.0]]), np.array([1]), np.array([-1.0]), np.array([3.0])).flips
    array([0.25])
    """
    share = 1.0 / (np.asarray(num_words, dtype=np.float64)[:, np.newaxis] + 1.0)
    first, second = (scores(network, texts + (cue - texts) * share) for cue in (cue_1, cue_2))
    step = first - second
    moves: BoolArray = step != 0
    flips = np.where(moves, first / np.where(moves, step, 1.0), np.nan)
    return CueResponses(flips, float((first > 0).mean()), float((second > 0).mean()))


def resampled_flips(flips: FloatArray, generator: np.random.Generator, num: int) -> Iterator[FloatArray]:
    """Flips of texts that are drawn again, each with those of all classifiers that have it near their border.

    Args:
        flips: ``[texts, classifiers]``; NaN where a text is not near the border of a classifier.
        generator: draws as many texts as have a flip.
        num: resamples.

    Yields:
        Blocks of resamples, ``[resamples, flips]``.

    >>> [block] = resampled_flips(np.array([[0.2, 0.3], [np.nan, np.nan]]), np.random.default_rng(0), 2)
    >>> block.tolist()
    [[0.2, 0.3], [0.2, 0.3]]
    """
    known = flips[np.isfinite(flips).any(axis=1)]
    numbers = generator.integers(len(known), size=(num, len(known)))
    for start in range(0, num, _BLOCK):
        drawn = known[numbers[start : start + _BLOCK]]
        yield drawn.reshape(len(drawn), -1)
