"""How far a public map can stretch distances, certified: what noise has to be made for.

Definition 2 of Feyisetan and Kasiviswanathan 2021: ``Delta = max ||Phi (x - x')|| / ||x - x'||`` over a set of vectors.
Over a finite public vocabulary the maximum is taken over all pairs, tile by tile: squared distances by matrix products
in single precision, then those pairs by explicit differences in double precision that come near the maximum, and those
whose vectors are so near to each other that the products would lose their digits. Over all vectors of R^d it is the
largest singular value. The paper's ``1 + beta`` (lemma 4) is a bound that may fail; :func:`failure_bound` says how
often, by a union bound over the pairs of a vocabulary.
"""

from collections.abc import Sequence
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "sensitivity/1"

_NEAR = 0.02
"""Squared distance, as a share of the sum of squared norms, below which pairs are left to explicit differences."""
_PAIRS_AT_ONCE = 4096

Singles = NDArray[np.float32]


class Stretch(NamedTuple):
    """The pair of a tile that a map stretches most.

    Attributes:
        ratio: ``||Phi (x - x')|| / ||x - x'||`` of the pair; 0 without a pair of different vectors.
        upper: no pair of the tile is stretched more, rounding errors included.
        first, second: rows of the pair in the two blocks; -1 without one.
    """

    ratio: float
    upper: float
    first: int
    second: int


def largest_stretches(
    block: FloatArray, other: FloatArray, projections: Sequence[FloatArray], *, is_diagonal: bool = False
) -> list[Stretch]:
    """Of each map, the pair of a vector of one block and one of the other that it stretches most.

    Args:
        block, other: ``[n, d]`` and ``[k, d]``, finite; vectors that are equal are passed over.
        projections: maps ``[m, d]``.
        is_diagonal: whether both blocks are the same, so that each pair would come twice.

    >>> flat = np.array([[2.0, 0.0]])
    >>> [pair] = largest_stretches(np.zeros((1, 2)), np.array([[0.0, 3.0], [1.0, 1.0]]), [flat])
    >>> round(pair.ratio, 6), pair.first, pair.second
    (1.414214, 0, 1)
    """
    centre = block.mean(axis=0)
    size = max(float(np.abs(block - centre).max()), float(np.abs(other - centre).max())) or 1.0
    centred = (block - centre) / size, (other - centre) / size
    tile = _Tile.of(*centred, is_diagonal)
    near = np.argwhere(tile.is_near)
    highest = [_candidates(*centred, projection, tile) for projection in projections]
    return [
        _explicit(block, other, projection, np.concatenate([far, near]))
        for projection, far in zip(projections, highest, strict=True)
    ]


class _Tile(NamedTuple):
    """Squared distances of all pairs of two blocks, in single precision.

    Attributes:
        squares: of the distances.
        sizes: sums of the two squared norms, in units of which the products are wrong.
        is_near: pairs whose distance the products can't give.
        is_counted: pairs whose distance they give.
    """

    squares: Singles
    sizes: Singles
    is_near: BoolArray
    is_counted: BoolArray

    @classmethod
    def of(cls, block: FloatArray, other: FloatArray, is_diagonal: bool) -> "_Tile":
        squares, sizes = _squared_distances(block, other)
        is_counted = squares > _NEAR * sizes
        is_near = ~is_counted
        if is_diagonal:
            below = np.tri(len(block), dtype=np.bool_)
            is_near &= ~below
            is_counted &= ~below
        return cls(squares, sizes, is_near, is_counted)


def _squared_distances(block: FloatArray, other: FloatArray) -> tuple[Singles, Singles]:
    """Of all pairs, beside the sums of their squared norms."""
    rows, columns = block.astype(np.float32), other.astype(np.float32)
    sizes = np.add.outer(np.einsum("ij,ij->i", rows, rows), np.einsum("ij,ij->i", columns, columns))
    squares = rows @ columns.T
    squares *= -2
    squares += sizes
    return squares, sizes


def _candidates(block: FloatArray, other: FloatArray, projection: FloatArray, tile: _Tile) -> IntArray:
    """Pairs whose ratio comes so near to the highest by products that either may be the larger.

    ``|fl(a'b) - a'b| <= d u |a| |b|``, twice for the distance and its image, each at most sigma^2 as large.
    """
    images, _ = _squared_distances(block @ projection.T, other @ projection.T)
    ratios = np.divide(images, tile.squares, out=np.zeros_like(images), where=tile.is_counted)
    highest, squared_sigma = float(ratios.max(initial=0.0)), spectral_sensitivity(projection) ** 2
    unit = 2.0 * (projection.shape[1] + 4) * float(np.finfo(np.float32).eps)
    widest = unit / _NEAR * (squared_sigma + highest)
    places = np.argwhere(tile.is_counted & (ratios >= highest - 2 * widest))
    # The further apart two vectors are, the fewer digits the products lose; of a map that keeps nearly all of all
    # distances, whole tiles would come near the maximum otherwise.
    rows, columns = places.T
    values = ratios[rows, columns].astype(np.float64)
    slacks = unit * (squared_sigma + values) * tile.sizes[rows, columns] / tile.squares[rows, columns]
    is_candidate = values + slacks >= (values - slacks).max(initial=0.0)
    return np.asarray(places[is_candidate])


def _explicit(block: FloatArray, other: FloatArray, projection: FloatArray, pairs: IntArray) -> Stretch:
    ratio, place = 0.0, (-1, -1)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = pairs[start : start + _PAIRS_AT_ONCE]
        differences = block[part[:, 0]] - other[part[:, 1]]
        lengths = np.linalg.norm(differences, axis=1)
        images = np.linalg.norm(differences @ projection.T, axis=1)
        ratios = np.divide(images, lengths, out=np.zeros_like(images), where=lengths > 0)
        if (best := int(ratios.argmax())) >= 0 and ratios[best] > ratio:
            ratio, place = float(ratios[best]), (int(part[best, 0]), int(part[best, 1]))
    return Stretch(ratio, ratio + _rounding(projection) if place[0] >= 0 else 0.0, *place)


def _rounding(projection: FloatArray) -> float:
    """Of a ratio by explicit differences in double precision: ``(d + 4) u ||Phi||_F`` bounds all of its products."""
    return float((projection.shape[1] + 4) * np.finfo(np.float64).eps * np.linalg.norm(projection)) + 1e-15


def largest_distance(block: FloatArray, other: FloatArray) -> float:
    """Of a vector of one block and one of the other; the pair is found by products, its distance by differences.

    >>> largest_distance(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 1.0]]))
    5.0
    """
    squares = np.add.outer(np.einsum("ij,ij->i", block, block), np.einsum("ij,ij->i", other, other))
    squares -= 2 * (block @ other.T)
    first, second = np.unravel_index(int(squares.argmax()), squares.shape)
    return float(np.linalg.norm(block[first] - other[second]))


def typical_stretch(differences: FloatArray, projection: FloatArray) -> float:
    """Median of ``||Phi z|| / ||z||`` over differences of vectors that are not 0.

    >>> typical_stretch(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([[2.0, 0.0]]))
    2.0
    """
    lengths, images = np.linalg.norm(differences, axis=1), np.linalg.norm(differences @ projection.T, axis=1)
    return float(np.median(images[lengths > 0] / lengths[lengths > 0]))


def spectral_sensitivity(projection: FloatArray) -> float:
    """Delta over all vectors: the largest singular value of ``[m, d]``.

    >>> spectral_sensitivity(np.diag([3.0, 1.0]))
    3.0
    """
    return float(np.linalg.norm(projection, ord=2))


def failure_bound(num_words: int, num_dimensions: int, beta: float) -> float:
    """Chance at most that a Gaussian map stretches some pair of p vectors by more than ``1 + beta``.

    ``p (p - 1) / 2 Pr[chi2_m > m (1 + beta)^2]``: the squared stretch of one pair has the law of chi2_m / m.

    >>> from math import log10
    >>> round(log10(failure_bound(400_000, 54, 0.9)), 1), round(log10(failure_bound(2_200_000, 54, 0.9)), 1)
    (-6.2, -4.7)
    """
    log_tail = float(stats.chi2.logsf(num_dimensions * (1 + beta) ** 2, num_dimensions))
    return min(1.0, exp(log(num_words) + log(max(num_words - 1, 1) / 2) + log_tail)) if num_words > 1 else 0.0


def distinct_rows(vectors: NDArray[np.floating]) -> IntArray:
    """The first row of each different vector, in order.

    >>> distinct_rows(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0]]))
    array([0, 1])
    """
    # Bytes are sorted several times as fast as rows of numbers; a sum with 0 has no negative zero.
    plain = np.ascontiguousarray(vectors + vectors.dtype.type(0))
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    _, rows = np.unique(whole, return_index=True)
    return np.sort(rows)


class Distances(NamedTuple):
    """Of the vectors of a vocabulary.

    Attributes:
        nearest: median over words of the distance to the nearest other word.
        median: of all pairs.
    """

    nearest: float
    median: float


def typical_distances(sample: FloatArray, rows: IntArray, vectors: FloatArray) -> Distances:
    """Distances from some words to all: the median of the nearest, and the median of all.

    Args:
        sample: ``[n, d]``, which are ``rows`` of the vectors, so that no word is its own neighbour.
        vectors: ``[p, d]``, no two of them equal.

    >>> typical_distances(np.array([[0.0]]), np.array([0]), np.array([[0.0], [1.0], [5.0], [9.0]]))
    Distances(nearest=1.0, median=5.0)
    """
    norms = np.einsum("ij,ij->i", vectors, vectors)
    nearest, between = [], []
    for vector, row in zip(sample, rows, strict=True):
        squares = norms - 2 * (vectors @ vector) + vector @ vector
        squares[row] = inf
        closest = int(squares.argmin())
        nearest.append(float(np.linalg.norm(vectors[closest] - vector)))
        between.append(np.sqrt(np.maximum(np.delete(squares, row), 0.0)))
    return Distances(float(np.median(nearest)), float(np.median(np.concatenate(between))))
