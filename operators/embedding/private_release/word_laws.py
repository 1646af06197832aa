"""Words in place of words: the exponential mechanism over a public vocabulary, exactly.

The exponential mechanism writes y for x with the chance

    P(y | x) = exp(-epsilon min(d(x, y), gamma) / 2) / Z(x).

Without gamma it is SanText (Yue et al. 2021). With gamma it is the truncated mechanism of Carvalho et al. 2023, whose
bucket of all words beyond gamma gives each of them the weight ``exp(-epsilon gamma / 2)``: the exponential mechanism of
the metric ``min(d, gamma)``, so that it is private with respect to it, with no slack, for any gamma. As y = x makes
``d(x', y) - d(x, y)`` as large as the triangle inequality lets it be, the loss of two words over all y is exactly

    L(x, x') = epsilon min(d(x, x'), gamma) / 2 + ln Z(x') - ln Z(x),

of which half the bound is certain, and the rest what the normalisers really differ by. All pairs of a vocabulary are
computed, and so is what the best guess names: ``sum_y max_x pi(x) P(y | x)`` for a prior pi.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

VERSION = "word_laws/1"

_ROWS, _COLUMNS = 256, 4096
_CLOSE = 1e-3
"""Share of a loss by which what is found for it may be less."""
_NEAR = 1e-3
"""Squared distance, as a share of the sum of squared norms, below which products lose too many digits."""


class Law(NamedTuple):
    """Of the exponential mechanism.

    Attributes:
        epsilon: per unit of distance.
        gamma: distance beyond which words are alike; infinite: none.
    """

    epsilon: float
    gamma: float = inf

    def weights(self, distances: FloatArray) -> FloatArray:
        """Of words at these distances, before they are divided by their sum.

        >>> Law(2.0, gamma=1.0).weights(np.array([0.0, 0.5, 9.0])).round(3)
        array([1.   , 0.607, 0.368])
        """
        return np.asarray(np.exp(-self.epsilon / 2 * np.minimum(distances, self.gamma)))


def distances(block: FloatArray, others: FloatArray) -> FloatArray:
    """Euclidean, ``[n, k]``, to ten digits; exactly 0 of equal vectors.

    >>> distances(np.array([[0.0, 3.0]]), np.array([[0.0, 3.0], [4.0, 0.0]]))
    array([[0., 5.]])
    """
    centre = others.mean(axis=0)
    rows, columns = block - centre, others - centre
    sizes = np.add.outer(np.einsum("ij,ij->i", rows, rows), np.einsum("ij,ij->i", columns, columns))
    squares = sizes - 2 * rows @ columns.T
    first, second = np.nonzero(squares <= _NEAR * sizes)
    for start in range(0, len(first), _COLUMNS):
        one, other = first[start : start + _COLUMNS], second[start : start + _COLUMNS]
        squares[one, other] = np.square(block[one] - others[other]).sum(axis=1)
    return np.asarray(np.sqrt(squares))


def _tiles(block: FloatArray, vectors: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Distances of a block to some of all vectors at a time."""
    for start in range(0, len(vectors), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        yield part, distances(block, vectors[part])


def log_normalisers(block: FloatArray, vectors: FloatArray, law: Law) -> FloatArray:
    """ln Z of the words of a block; ``[n]``.

    Args:
        block: ``[n, d]``, which are in the vocabulary.
        vectors: ``[p, d]`` of the vocabulary, no two of them equal.

    >>> log_normalisers(np.zeros((1, 1)), np.array([[0.0], [2.0]]), Law(1.0)).round(3)
    array([0.313])
    """
    sums = np.zeros(len(block))
    for _, apart in _tiles(block, vectors):
        sums += law.weights(apart).sum(axis=1)
    return np.asarray(np.log(sums))


class Losses(NamedTuple):
    """Of the words of a block, as x, against all words of the vocabulary.

    Attributes:
        loss: largest over pairs: what no output ever tells more.
        pair: the two rows of it.
        ratio: largest loss as a share of its bound ``epsilon min(d, gamma)``; at most 1.
        reach: largest ``min(d, gamma)``.
        near: ``[n]`` loss of each word and its nearest other.
        named: of each prior, the sum over these words, as y, of the chance that the best guess is right and y written.
    """

    loss: float
    pair: tuple[int, int]
    ratio: float
    reach: float
    near: FloatArray
    named: FloatArray


def losses(vectors: FloatArray, start: int, end: int, law: Law, log_z: FloatArray, log_priors: FloatArray) -> Losses:
    """Exact losses of the words from ``start`` to ``end``.

    Args:
        vectors: ``[p, d]``, no two of them equal.
        log_z: ``[p]``, as by :func:`log_normalisers`.
        log_priors: ``[priors, p]`` logarithms of the chance of each word.
    """
    num, z = end - start, log_z[start:end]
    nearest, neighbours = np.full(num, inf), np.zeros(num, np.int64)
    most, ratio, reach, pair = 0.0, 0.0, 0.0, (start, start)
    guesses = np.full((len(log_priors), num), -inf)
    for part, apart in _tiles(vectors[start:end], vectors):
        bounds = law.epsilon * np.minimum(apart, law.gamma)
        loss = bounds / 2 + np.abs(np.subtract.outer(z, log_z[part]))
        ratios = np.divide(loss, bounds, out=np.zeros_like(loss), where=bounds > 0)
        if loss.max() > most:
            row, column = np.unravel_index(int(loss.argmax()), loss.shape)
            most, pair = float(loss.max()), (start + int(row), part.start + int(column))
        ratio, reach = max(ratio, float(ratios.max())), max(reach, float(bounds.max()) / law.epsilon)
        chances = [(prior[part] - log_z[part] - bounds / 2).max(axis=1) for prior in log_priors]
        guesses = np.maximum(guesses, chances)
        apart[apart == 0] = inf  # a word and itself
        places = apart.argmin(axis=1)
        closest = apart[np.arange(num), places]
        neighbours[closest < nearest] = (part.start + places)[closest < nearest]
        nearest = np.minimum(nearest, closest)
    near = law.epsilon * np.minimum(nearest, law.gamma) / 2 + np.abs(z - log_z[neighbours])
    return Losses(most, pair, ratio, reach, near, np.exp(guesses).sum(axis=1))


def epsilon_of_loss(loss: float, reach: float, largest: Callable[[float], float]) -> float:
    """Epsilon whose largest loss is the one that is asked for, or less by a thousandth at most; to six digits.

    The largest loss lies between a half and the whole of ``epsilon reach``, and never rises faster than with the reach.

    Args:
        loss: positive.
        reach: largest ``min(d, gamma)``.
        largest: loss of an epsilon, over all pairs.

    >>> round(epsilon_of_loss(3.0, 2.0, lambda epsilon: 1.2 * epsilon), 2)
    2.5
    """
    wanted, low = (1 - _CLOSE / 2) * loss, loss / reach
    epsilon = brentq(lambda value: largest(value) - wanted, low / 2, 2 * low, rtol=_CLOSE / 8)
    return float(f"{epsilon:.6g}")


def draw_words(rows: IntArray, uniforms: FloatArray, vectors: FloatArray, law: Law) -> IntArray:
    """A word of the vocabulary for each word of a text, by the exponential mechanism; ``[n]`` rows.

    By the inverse of the distribution function: what is drawn of a word follows from its own uniform number, wherever
    it stands, and is right but for rounding, whose chance :func:`rounding_chance` bounds.

    Args:
        rows: ``[n]`` of the words.
        uniforms: ``[n]`` in [0, 1).
        vectors: ``[p, d]``, no two of them equal.

    >>> draw_words(np.array([0, 0]), np.array([0.1, 0.9]), np.array([[0.0], [1.0]]), Law(1.0))
    array([0, 1])
    """
    distinct, places = np.unique(rows, return_inverse=True)
    drawn = np.empty(len(rows), np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(len(distinct) + 1))
    for start in range(0, len(distinct), _ROWS):
        part = distinct[start : start + _ROWS]
        sums = law.weights(distances(vectors[part], vectors)).cumsum(axis=1)
        for number, line in enumerate(sums, start):
            same = order[ends[number] : ends[number + 1]]
            drawn[same] = np.searchsorted(line, uniforms[same] * line[-1], side="right")
    return np.minimum(drawn, len(vectors) - 1)


def rounding_chance(num_words: int, size: int) -> float:
    """Chance at most that rounding changes a word of a release: uniform numbers have 53 bits, and sums of p weights of
    at most 1 are wrong by less than p units of the last place.

    >>> rounding_chance(1000, 10_000) < 1e-8
    True
    """
    return min(1.0, num_words * (2 * size + 8) * float(np.finfo(np.float64).eps))
