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
from tiltmeter.operators.embedding.private_release.noise import Law, coordinate_deviation

VERSION = "private_scores/2"

Score = Literal["likelihood", "projection", "norm", "nearest", "low_bits", "difference", "repeated"]
SCORES: tuple[Score, ...] = get_args(Score)

NUM_REPEATS = 3
"""Other releases of a row at most that ``repeated`` is compared with: by another name, by another key, the next row."""

_NUM_BINS = 2000
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
