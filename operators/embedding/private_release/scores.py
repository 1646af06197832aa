"""What an auditor looks at in published vectors: a battery of scores, counted on grids that are fixed beforehand.

A score sees what is published, and never the noise that was drawn. Each is large where the first vector of a pair is
the more likely one, or says how something looks that should look alike for both. A mistake in the noise does not show
in the likelihood ratio of the right law, so there are several; counts of several workers are added, and nothing but
counts leaves a worker.
"""

from collections.abc import Mapping
from math import inf, sqrt
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.embedding.private_release.noise import Law, coordinate_deviation
from tiltmeter.operators.embedding.private_release.secrets import (
    BLOCK_ROWS,
    KEY_BYTES,
    grid_step,
    keyed_digest,
    noisy_rows,
)

VERSION = "private_scores/2"

Score = Literal["likelihood", "projection", "norm", "nearest", "low_bits", "difference", "repeated"]
SCORES: tuple[Score, ...] = get_args(Score)

NUM_REPEATS = 3
"""Other releases of a row at most that ``repeated`` is compared with: by another name, by another key, the next row."""

_NUM_BINS = 2000
_NUM_RIVALS = 100
_SLACK = 1 + 1e-9
"""Of rounding errors."""

_ATOM = 1e-7
"""Scores are rounded to it: rounding errors would take an atom of the loss apart, as it has in one dimension."""
_DIGITS = 53
_FINEST, _COARSEST = -160, 64


class Pair(NamedTuple):
    """Two vectors that a mechanism should make hard to tell apart, as it specifies its noise.

    Attributes:
        image, other: ``[m]`` Phi x and Phi x'.
        law: of the noise.
        scale: s, or sigma for normal noise.
        rivals: ``[k, m]`` images of other words.
    """

    image: FloatArray
    other: FloatArray
    law: Law
    scale: float
    rivals: FloatArray

    @property
    def distance(self) -> float:
        """Of the two images."""
        return float(np.linalg.norm(self.image - self.other))

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate of the noise."""
        return coordinate_deviation(self.law, len(self.image), self.scale)


class Releases(NamedTuple):
    """What is published of one of the two, ``[n, m]`` each, with one and the same other vector beside it.

    Attributes:
        vectors: of the vector in question.
        companions: of another vector in another block of the same batch, whose image is ``companion``.
        repeated: of the vector in question once more, by another name or key; the vector itself where any row, name or
            key gave the same.
        companion: ``[m]``.
    """

    vectors: FloatArray
    companions: FloatArray
    repeated: FloatArray
    companion: FloatArray


def scores(pair: Pair, releases: Releases) -> dict[Score, FloatArray]:
    """All scores of the releases; ``[n]`` each.

    ``likelihood``
        log-likelihood ratio of the specified law, in units of its largest value ``rho`` for noise by the norm, of the
        standard deviation for normal noise.
    ``projection``
        ``<w - (Phi x + Phi x') / 2, u>`` with u the direction of Phi (x - x'), in standard deviations of a coordinate.
    ``norm``
        ``||w - Phi x|| / s``; far smaller where a vector was passed on as it is.
    ``nearest``
        1 where w is nearest to Phi x, -1 where to Phi x', 0 where to another word.
    ``low_bits``
        the finest binary digit of a coordinate: a sum of floats is no finer than its parts; the same for all on a grid.
    ``difference``
        as ``projection``, of the difference to another row of the batch: exact where rows share their noise.
    ``repeated``
        1 where a second release of the row is the same.
    """
    directions = (pair.image - pair.other) / max(pair.distance, np.finfo(np.float64).tiny)
    middle = (pair.image + pair.other) / 2
    offsets = releases.vectors - releases.companions + releases.companion - middle
    values: dict[Score, FloatArray] = {
        "likelihood": likelihood_ratio(pair, releases.vectors) / likelihood_unit(pair),
        "projection": (releases.vectors - middle) @ directions / pair.deviation,
        "norm": np.linalg.norm(releases.vectors - pair.image, axis=1) / pair.scale,
        "nearest": _nearest(pair, releases.vectors),
        "low_bits": lowest_bits(releases.vectors).min(axis=1).astype(np.float64),
        "difference": offsets @ directions / (pair.deviation * sqrt(2)),
        "repeated": (releases.vectors == releases.repeated).all(axis=1).astype(np.float64),
    }
    return {name: np.round(value / _ATOM) * _ATOM if name != "norm" else value for name, value in values.items()}


def likelihood_ratio(pair: Pair, vectors: FloatArray) -> FloatArray:
    """``ln p(w | x) - ln p(w | x')`` under the specified law; ``[n]``.

    >>> pair = Pair(np.array([0.0]), np.array([2.0]), "norm", 1.0, np.empty((0, 1)))
    >>> likelihood_ratio(pair, np.array([[-3.0], [0.5], [7.0]]))
    array([ 2.,  1., -2.])
    """
    first, second = (np.linalg.norm(vectors - image, axis=1) for image in (pair.image, pair.other))
    if pair.law == "norm":
        return np.asarray((second - first) / pair.scale)
    return np.asarray((second**2 - first**2) / (2 * pair.scale**2))


def likelihood_unit(pair: Pair) -> float:
    """Of the score ``likelihood``: rho, the largest loss, or the standard deviation ``r / sigma`` of normal noise."""
    return max(pair.distance / pair.scale, np.finfo(np.float64).tiny)


def _nearest(pair: Pair, vectors: FloatArray) -> FloatArray:
    candidates = np.concatenate([pair.image[None], pair.other[None], pair.rivals])
    norms = np.einsum("ij,ij->i", candidates, candidates)
    nearest = (norms - 2 * vectors @ candidates.T).argmin(axis=1)
    return np.asarray(np.array([1.0, -1.0, *np.zeros(len(pair.rivals))])[nearest])


def lowest_bits(values: FloatArray) -> IntArray:
    """Exponent of the last binary digit of each double that is not 0: the finest grid that it is on; 64 for 0.

    >>> lowest_bits(np.array([1.0, 1.5, 40.0, 0.0]))
    array([ 0, -1,  3, 64])
    """
    fractions, exponents = np.frexp(values)
    digits = np.abs(fractions * 2.0**_DIGITS).astype(np.int64)
    zeros = np.log2(np.maximum(digits & -digits, 1)).astype(np.int64)
    return np.where(digits == 0, _COARSEST, exponents - _DIGITS + zeros)


def score_edges(pair: Pair) -> Mapping[Score, FloatArray]:
    """Where the bins of each score's grid begin and end, from the specification alone; the first and last are open."""
    reach = 8 + pair.distance / (2 * pair.deviation)
    sure = 1 + 0.5 / _NUM_BINS
    # An atom of the loss at +-rho lies inside a bin.
    likelihood = np.linspace(-sure, sure, _NUM_BINS + 2)
    if pair.law == "gaussian":
        half = pair.distance / (2 * pair.scale)
        likelihood = np.linspace(-8 - half, 8 + half, _NUM_BINS + 1)
    grids: dict[Score, FloatArray] = {
        "likelihood": likelihood,
        "projection": np.linspace(-reach, reach, _NUM_BINS + 1),
        "norm": _norm_edges(pair),
        "nearest": np.array([-0.5, 0.5]),
        "low_bits": np.arange(_FINEST, _COARSEST, dtype=np.float64) + 0.5,
        "difference": np.linspace(-reach, reach, _NUM_BINS + 1),
        "repeated": np.array([0.5]),
    }
    return {name: np.concatenate([[-inf], edges, [inf]]) for name, edges in grids.items()}


def _norm_edges(pair: Pair) -> FloatArray:
    """Quantiles of the specified law, and ever smaller radii below: a density that jumps does so at 0."""
    shares = np.linspace(0, 1, 402)[1:-1]
    num_dimensions = len(pair.image)
    law = stats.gamma if pair.law == "norm" else stats.chi
    quantiles = law.ppf(shares, num_dimensions)
    near = np.geomspace(1e-9, 1, 80)[:-1] * quantiles[0]
    return np.unique(np.concatenate([near, quantiles]))


def count_scores(values: FloatArray, edges: FloatArray) -> IntArray:
    """How many scores fall into each bin ``edges[k] <= score < edges[k + 1]``; ``[bins]``.

    >>> count_scores(np.array([0.0, 1.0, 1.0, 7.0]), np.array([-inf, 0.5, 1.5, inf]))
    array([1, 2, 1])
    """
    places = np.searchsorted(edges, values, side="right") - 1
    return np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)


# --- pairs whose releases are planted -------------------------------------------------------------------------------


def pair_rows(vectors: FloatArray, order: IntArray, *, is_nearest: bool) -> list[int]:
    """Rows of a word, the word that it is told apart from, a companion, and rivals.

    Args:
        vectors: ``[p, d]``.
        order: ``[p]`` of the words, at random.
        is_nearest: whether the other word is the nearest to the first, and not the next in the order.

    >>> pair_rows(np.array([[0.0], [9.0], [1.0]]), np.array([0, 1, 2]), is_nearest=True)
    [0, 2, 1]
    """
    first, others = int(order[0]), order[1:]
    if is_nearest:
        nearest = int(others[np.linalg.norm(vectors[others] - vectors[first], axis=1).argmin()])
        others = np.concatenate([[nearest], others[others != nearest]])
    return [first, *(int(row) for row in others[: 2 + _NUM_RIVALS])]


class Planted(NamedTuple):
    """Words as by :func:`pair_rows`, whose releases are written by what writes a release.

    Attributes:
        vectors, images: ``[3 + k, d]`` and ``[3 + k, m]``.
        made: law and scale of the noise.
    """

    vectors: FloatArray
    images: FloatArray
    made: Specification

    @property
    def pair(self) -> Pair:
        """The two words and their rivals."""
        return Pair(self.images[0], self.images[1], self.made.law, self.made.scale, self.images[3:])

    @property
    def distance(self) -> float:
        """Of the two words."""
        return float(np.linalg.norm(self.vectors[0] - self.vectors[1]))

    @property
    def step(self) -> float:
        """Of the grid of what is written."""
        return grid_step(self.made.deviation)

    def most_stretched_claim(self, epsilon: float) -> float:
        """Largest privacy loss of the first word and any other of the words, in units of what is claimed."""
        if self.made.law != "norm":
            return 0.0
        apart = np.linalg.norm(self.vectors[1:] - self.vectors[0], axis=1)
        losses = np.linalg.norm(self.images[1:] - self.images[0], axis=1) / self.made.scale
        return float((losses[apart > 0] / (epsilon * apart[apart > 0])).max(initial=0.0)) / _SLACK

    def counts(self, seed: int, name: str, side: str, num: int) -> dict[Score, IntArray]:
        """How many releases of a word have which score, in the bins of :func:`score_edges`.

        Keys are made of the seed: they are no secret. All rows are written again by another name, and once more by
        another key.

        Args:
            name: of the batch.
            side: the ``first`` word of the pair, or the second.
            num: releases.
        """
        pair, companion = self.pair, self.images[2]
        image = pair.image if side == "first" else pair.other
        key, other = (keyed_digest(bytes(KEY_BYTES), {"study": seed, "number": number}) for number in (0, 1))
        vectors, companions = self._written(key, name, image, num)
        renamed, _ = self._written(key, f"{name}, again", image, num)
        rekeyed, _ = self._written(other, name, image, num)
        # A row that comes again in any of these ways shares its noise.
        again = (vectors == renamed).all(axis=1) | (vectors == np.roll(vectors, 1, axis=0)).all(axis=1)
        repeated = np.where(again[:, None], vectors, rekeyed)
        values, edges = scores(pair, Releases(vectors, companions, repeated, companion)), score_edges(pair)
        return {score: count_scores(values[score], edges[score]) for score in SCORES}

    def _written(self, key: bytes, name: str, image: FloatArray, num: int) -> tuple[FloatArray, FloatArray]:
        """Rows of one image, and of the companion's in the blocks after them; ``[n, m]``."""
        about = {"name": name, "law": self.made.law, "scale": self.made.scale, "step": self.step}
        start = -(-num // BLOCK_ROWS) * BLOCK_ROWS
        rows = np.concatenate([np.tile(image, (start, 1)), np.tile(self.images[2], (num, 1))])
        vectors = noisy_rows(rows, key, about, 0)
        return vectors[:num], vectors[start:]
