"""How far words are from a posterior: the mean distance of their vectors to its draws (Liang and Acuna 2020, Table 1).

The paper doesn't name its distance. Its values lie around one half, and those to the two posteriors mirror each other
there, which the angle / pi and (1 - cos) / 2 of a prior symmetric around 0 do and the cosine distance does not:

    P(+) E[d | +] + P(-) E[d | -] = E_{p0}[d]                                                       (T)

by the law of total expectation, with E_{p0}[d] = 1/2. (T) holds for every prior and every word, and is checked.
"""

from typing import Literal, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "posterior_distance/1"

Distance = Literal["angle", "half_cosine"]

NUM_BATCHES = 100
"""Consecutive draws of which means are taken: their spread has the error of a mean of dependent draws in it."""

_BLOCK_WORDS = 2000


class Means(NamedTuple):
    """Attributes:
    mean: ``[words]``, of the distance over all draws.
    standard_error: ``[words]``, by batch means.
    """

    mean: FloatArray
    standard_error: FloatArray


def mean_distances(draws: FloatArray, words: FloatArray, distance: Distance = "angle") -> Means:
    """The mean distance of each word to the draws, and its Monte Carlo error.

    The error is that of batch means (Flegal and Jones 2010, *Batch means and spectral variance estimators in Markov
    chain Monte Carlo*): chains are cut into batches of consecutive draws, and the spread of their means is what the
    mean of all varies by, whatever the dependence within a batch. It needs no autocorrelations of each word.

    Args:
        draws: ``[chains, draws, dimensions]``; no vector of length 0.
        words: ``[words, dimensions]``; NaN, and length 0, give NaN.
        distance: ``angle`` / pi, or ``half_cosine`` (1 - cos) / 2; both are 0 for one direction and 1 for opposites.

    >>> mean_distances(np.array([[[1.0, 0.0], [0.0, 2.0]]]), np.array([[3.0, 0.0]])).mean
    array([0.25])
    """
    units = draws / np.linalg.norm(draws, axis=-1, keepdims=True)
    size = max(1, draws.shape[0] * draws.shape[1] // NUM_BATCHES)
    batches = [part for chain in units for part in _batches(chain, size)]
    weights = np.array([len(part) for part in batches], dtype=np.float64)
    directions = _unit(words)
    columns = [
        _batch_means(batches, directions[start : start + _BLOCK_WORDS], distance)
        for start in range(0, len(words), _BLOCK_WORDS)
    ]
    by_batch = np.concatenate(columns, axis=1) if columns else np.empty((len(batches), 0))
    mean = np.average(by_batch, axis=0, weights=weights)
    spread = np.average((by_batch - mean) ** 2, axis=0, weights=weights)
    return Means(mean, np.sqrt(spread / max(1, len(batches) - 1)))


def _batches(chain: FloatArray, size: int) -> list[FloatArray]:
    """Parts of at least ``size`` draws."""
    return np.array_split(chain, max(1, len(chain) // size))


def _batch_means(batches: list[FloatArray], directions: FloatArray, distance: Distance) -> FloatArray:
    """``[batches, words]``."""
    if distance == "half_cosine":
        return np.stack([(1.0 - directions @ part.mean(axis=0)) / 2.0 for part in batches])
    return np.stack([np.arccos(np.clip(part @ directions.T, -1.0, 1.0)).mean(axis=0) / np.pi for part in batches])


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.nan))


class Identity(NamedTuple):
    """Attributes:
    gap: ``[words]``, P(+) d+ + P(-) d- - E_{p0}[d].
    standard_error: ``[words]``.
    """

    gap: FloatArray
    standard_error: FloatArray


def identity(positive: Means, negative: Means, prior: Means, probability: float, standard_error: float) -> Identity:
    """How far (T) is from holding, word by word.

    Args:
        positive, negative, prior: distances to draws of the posteriors and of the prior, independent of each other.
        probability, standard_error: P(+), and its error.

    >>> half = Means(np.array([0.5]), np.array([0.0]))
    >>> identity(Means(np.array([0.4]), np.array([0.0])), Means(np.array([0.6]), np.array([0.0])), half, 0.5, 0.0).gap
    array([0.])
    """
    other = 1.0 - probability
    gap = probability * positive.mean + other * negative.mean - prior.mean
    variance = (
        (probability * positive.standard_error) ** 2
        + (other * negative.standard_error) ** 2
        + prior.standard_error**2
        + ((positive.mean - negative.mean) * standard_error) ** 2
    )
    return Identity(gap, np.sqrt(variance))
