"""Whether what a release wrote is what its certificate says: noise of known rows, and how far its map stretches them.

Whoever released knows the rows, so that ``w - Phi x`` is the noise that was really added. The scale that it should have
is computed from the certificate, epsilon and Delta, and not taken from the mechanism. Of noise by the norm the sum of n
radii has the law Gamma(n m, s), of normal noise the sum of their squares is ``sigma^2 chi2(n m)``. Directions of two
rows are independent and uniform, so that the sum of n cosines has mean 0 and variance ``n / m``, and lighter tails than
a normal number: rows, blocks, releases or keys that share noise have cosines of 1.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.noise import Law

VERSION = "private_residuals/1"

_PAIRS_AT_ONCE = 4096


class Check(NamedTuple):
    """Attributes:
    value: of a statistic.
    expected: what the certificate makes of it.
    p: chance of one as far off, if the certificate is right; NaN where nothing is left to chance.
    num: rows, or pairs of them.
    """

    value: float
    expected: float
    p: float
    num: int


def radius_check(noise: FloatArray, law: Law, scale: float) -> Check:
    """Mean radius of noise by the norm, in units of its scale, or mean square of normal noise; units are rows.

    Args:
        noise: ``[n, m]``.
        scale: s or sigma, as the certificate has it.

    >>> check = radius_check(np.full((2, 1), 7.0), "norm", 1.0)
    >>> check.value, check.expected, round(check.p, 4)
    (7.0, 1.0, 0.0)
    """
    num, num_dimensions = noise.shape
    squares = np.einsum("ij,ij->i", noise, noise) / scale**2
    by_norm = law == "norm"
    total = float(np.sqrt(squares).sum() if by_norm else squares.sum())
    whole = stats.gamma(num * num_dimensions) if by_norm else stats.chi2(num * num_dimensions)
    return Check(total / num, float(num_dimensions), _two_sided(whole.cdf(total), whole.sf(total)), num)


def cosine_check(noise: FloatArray, other: FloatArray) -> Check:
    """Mean cosine of the noise of two rows each; units are pairs of rows.

    Args:
        noise, other: ``[n, m]``; no row in two pairs.

    >>> cosine_check(np.eye(3), np.eye(3)).value
    1.0
    """
    lengths = np.linalg.norm(noise, axis=1) * np.linalg.norm(other, axis=1)
    dots = np.einsum("ij,ij->i", noise, other)
    cosines = np.divide(dots, lengths, out=np.ones(len(dots)), where=lengths > 0)
    z = float(cosines.sum()) * sqrt(noise.shape[1] / max(len(cosines), 1))
    p = 2 * float(stats.norm.sf(abs(z)))
    return Check(float(cosines.mean()) if len(cosines) else 0.0, 0.0, p, len(cosines))


def stretch_check(vectors: FloatArray, projection: FloatArray | None, sensitivity: float) -> Check:
    """Largest ``||Phi (x - x')|| / ||x - x'||`` of all pairs of some vectors, by explicit differences: no tile, no
    product that loses digits; beside the Delta of the certificate, that it must not exceed.

    >>> stretch_check(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 3.0]]), 1.0).value
    3.0
    """
    first, second = np.triu_indices(len(vectors), 1)
    largest = 0.0
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        apart = vectors[first[part]] - vectors[second[part]]
        images = apart if projection is None else apart @ projection.T
        lengths, stretched = np.linalg.norm(apart, axis=1), np.linalg.norm(images, axis=1)
        largest = max(largest, float(np.max(stretched[lengths > 0] / lengths[lengths > 0], initial=0.0)))
    return Check(largest, sensitivity, np.nan, len(first))


def most_stretched(vectors: FloatArray, projection: FloatArray | None, num: int) -> FloatArray:
    """Rows that lie far out along the direction that the map stretches most, ``num`` at most: where a Delta that is
    too small shows first."""
    if projection is None or len(vectors) <= num:
        return vectors[:num]
    _, _, directions = np.linalg.svd(projection, full_matrices=False)
    order = np.argsort(vectors @ directions[0], kind="stable")
    return np.asarray(vectors[np.concatenate([order[: num // 2], order[len(order) - (num - num // 2) :]])])


def _two_sided(below: float, above: float) -> float:
    return min(1.0, 2 * min(float(below), float(above)))
