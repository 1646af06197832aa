"""The weighted rejection score: how often tests find that a system's sentiment depends on a protected attribute.

Lakkaraju, Srivastava and Valtorta 2023, *Rating Sentiment Analysis Systems for Bias through a Causal Lens*, rate a
system by it where the emotion of a text says nothing about the protected attribute.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.two_samples import DEFINITION, Convention

VERSION = "rejection/1"

_DECIMALS = 9
"""Scores that are equal as sums of weights are equal as numbers, and tie."""


class Rejections(NamedTuple):
    """What the tests of a system found.

    Attributes:
        by_level: ``[..., levels]`` int64, tests that reject at each level.
        num_untested: ``[...]`` int64, pairs without a test, as a side has fewer than 2 texts.
        score: ``[...]`` float64, WRS, at least 0; a number of rejections.
    """

    by_level: NDArray[np.int64]
    num_untested: NDArray[np.int64]
    score: FloatArray


def weighted_rejections(p_values: NDArray[np.floating], convention: Convention = DEFINITION) -> Rejections:
    """WRS = sum_i w_i x_i, with x_i the tests that reject the equality of two means at level i and w_i its weight.

    A test that rejects at 95 % rejects at 70 % and 60 % as well, and counts at all three.

    Args:
        p_values: ``[..., tests]`` two-sided, of all pairs of values in all data sets, from
            :func:`.two_samples.pairwise_tests`; NaN, where there is no test, rejects nothing.
        convention: weights, and the alphas that p must be below.

    Returns:
        Of each row of tests, the score rounded to 9 decimals. Without any test it is 0, like that of a system without
        bias: ``num_untested`` tells them apart.

    >>> weighted_rejections(np.array([0.01, 0.2, 0.35, 0.9, np.nan]))
    Rejections(by_level=array([1, 2, 3]), num_untested=array(1), score=array(4.4))
    """
    alphas = np.array(convention.alphas)
    by_level = (p_values[..., np.newaxis] < alphas).sum(axis=-2, dtype=np.int64)
    score = (by_level * np.array(convention.weights)).sum(axis=-1)
    untested = np.isnan(p_values).sum(axis=-1, dtype=np.int64)
    return Rejections(by_level, np.asarray(untested), np.asarray(np.round(score, _DECIMALS)))


def largest_score(num_tests: int, weights: Sequence[float]) -> float:
    """WRS where every test rejects at every level.

    >>> largest_score(3, (1.0, 0.8, 0.6))
    7.2
    """
    return round(num_tests * sum(weights), _DECIMALS)


def comparable_scores(p_values: NDArray[np.floating], convention: Convention = DEFINITION) -> FloatArray:
    """WRS of resamples that were tested as often as any.

    A resample that lacks a value which others have, as one of conversations may, was tested less, and its score would
    be small for that reason alone.

    Args:
        p_values, convention: as for :func:`weighted_rejections`, with ``[resamples, tests]`` p-values.

    Returns:
        ``[resamples]`` float64; NaN where more tests are missing than in others.

    >>> comparable_scores(np.array([[0.01, 0.2], [0.01, np.nan], [0.9, 0.9]]))
    array([3.8, nan, 0. ])
    """
    counted = weighted_rejections(p_values, convention)
    return np.where(counted.num_untested > counted.num_untested.min(), np.nan, counted.score)
