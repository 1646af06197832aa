"""Whether what a release wrote is what its certificate says: noise of known rows, and how far its map stretches them.

Whoever released knows the rows, so that ``w - Phi x`` is the noise that was really added. The scale that it should have
is computed from the certificate, epsilon and Delta, and not taken from the mechanism. Of noise by the norm the sum of n
radii has the law Gamma(n m, s), of normal noise the sum of their squares is ``sigma^2 chi2(n m)``. Directions of two
rows are independent and uniform, so that the sum of n cosines has mean 0 and variance ``n / m``, and lighter tails than
a normal number: rows, blocks, releases or keys that share noise have cosines of 1.
"""

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.embedding.private_release.noise import Law
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, keyed_digest, noisy_rows
from tiltmeter.operators.statistics.multiplicity import holm

VERSION = "private_residuals/1"

LEVEL = 1e-5
"""A wrong release has p-values far below it; a right one is given away 100,000 times before it is denied once."""

_PAIRS_AT_ONCE = 4096
_SLACK = 1 + 1e-9
"""Of rounding errors."""


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


class Verdict(NamedTuple):
    """Of a check of a release.

    Attributes:
        check: what was compared.
        p_holm: its p over all checks of the release; NaN where nothing is left to chance.
        verdict: ``within``, ``above the claim`` or ``not the specified law``.
    """

    check: Check
    p_holm: float
    verdict: str


def release_checks(
    noise: FloatArray, images: FloatArray, key: bytes, about: Mapping[str, Any], made: Specification, far: Check
) -> dict[str, Verdict]:
    """By name, whether the noise that was added is as it should be, and how far the map stretches distances.

    Args:
        noise: ``[n, m]`` that was added to the first rows.
        images: ``[n, m]`` Phi x of these.
        key, about: that the release was written by.
        made: as its certificate says.
        far: of the stretch.
    """
    checks = {"radius": radius_check(noise, made.law, made.scale)}
    pairs = _unrelated(noise, images, key, about)
    checks |= {name: cosine_check(*rows) for name, rows in pairs.items() if len(rows[0])}
    adjusted = holm(np.array([check.p for check in checks.values()]))
    verdicts = {
        name: Verdict(check, float(p), "not the specified law" if p <= LEVEL else "within")
        for (name, check), p in zip(checks.items(), adjusted, strict=True)
    }
    is_beyond = far.value > made.sensitivity * _SLACK
    return verdicts | {"stretch": Verdict(far, np.nan, "above the claim" if is_beyond else "within")}


def _unrelated(
    noise: FloatArray, images: FloatArray, key: bytes, about: Mapping[str, Any]
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Noise of rows that must have nothing to do with each other."""
    half, blocks = len(noise) // 2, len(noise) - BLOCK_ROWS
    renamed = noisy_rows(images, key, {**about, "name": f"{about['name']}, written again to be audited"}, 0)
    rekeyed = noisy_rows(images, keyed_digest(key, {"for": "audit"}), about, 0)
    return {
        "rows": (noise[: 2 * half : 2], noise[1 : 2 * half : 2]),
        "blocks": (noise[: max(min(blocks, BLOCK_ROWS), 0)], noise[BLOCK_ROWS : 2 * BLOCK_ROWS]),
        "another_name": (noise, renamed - images),
        "another_key": (noise, rekeyed - images),
    }


def _two_sided(below: float, above: float) -> float:
    return min(1.0, 2 * min(float(below), float(above)))
