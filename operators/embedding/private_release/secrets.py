"""Noise for vectors that are really given away: from a secret key, and published on a grid.

A public seed would let anybody subtract the noise. Here it is drawn by ChaCha20 under ``BLAKE2b(key; whatever defines
the release, number of the block of rows)``: the same bits whoever draws them, unknown without the key, and never the
same for two releases. What is published are multiples of a power of two: the low bits of a sum of floats say something
of its parts (Mironov 2012), and rounding what is ideal is post-processing.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from math import floor, log2
from typing import Any

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.embedding.private_release.noise import Law, draw_noise, norm_quantile
from tiltmeter.operators.embedding.private_release.projections import clipped

VERSION = "private_noise_of_a_key/1"

KEY_BYTES = 32
BLOCK_ROWS = 1024
"""Rows that share a stream of numbers; a block is always drawn whole, so that a row's noise depends on no other row."""

STEPS = 1024
"""Of the grid, that a standard deviation of the noise has at least."""
LARGEST = 2.0**52
"""In steps of the grid: a double has no digit for the step of what is larger."""

UNLIKELY = 1e-12
"""Chance that the noise of a row is larger than it is taken to be."""


def keyed_digest(key: bytes, about: Mapping[str, object]) -> bytes:
    """What nobody can compute, or check a guess by, without the key; 32 bytes.

    Args:
        key: secret, :data:`KEY_BYTES` long.
        about: strings and numbers; floats by their shortest exact spelling.

    >>> keyed_digest(bytes(32), {"row": 1}) == keyed_digest(bytes(32), {"row": 2})
    False
    """
    text = json.dumps(about, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), key=key, digest_size=KEY_BYTES, person=b"tiltmeter").digest()


def content_digest(key: bytes, vectors: FloatArray) -> str:
    """Of all rows at once, in hexadecimal digits: says nothing of them to those who lack the key.

    >>> len(content_digest(bytes(32), np.zeros((2, 3))))
    64
    """
    plain = np.ascontiguousarray(vectors, dtype="<f8")
    digest = hmac.new(key, repr(plain.shape).encode(), hashlib.sha256)
    digest.update(plain.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Rows:
    """What is released, row by row: private vectors, or the public vectors of private words.

    Attributes:
        vectors: ``[p, d]``.
        order: ``[rows]`` which of them is released in each row; None: all of them, in their order.
        radius: that private vectors are shortened to as they are released; None: they are not.
    """

    vectors: FloatArray
    order: IntArray | None
    radius: float | None = None

    @property
    def num(self) -> int:
        """Of rows."""
        return len(self.vectors if self.order is None else self.order)

    def block(self, start: int, end: int) -> FloatArray:
        """Vectors of some rows, as they are released."""
        rows = self.vectors[start:end] if self.order is None else self.vectors[self.order[start:end]]
        return clipped(rows, self.radius) if self.radius else rows

    def digest(self, key: bytes) -> str:
        """Of all rows, which says nothing to those who lack the key."""
        places = [] if self.order is None else [content_digest(key, self.order.astype(np.float64))]
        vectors = clipped(self.vectors, self.radius) if self.radius else self.vectors
        return " ".join([content_digest(key, vectors), *places])


def secret_generator(key: bytes, about: Mapping[str, object], block: int) -> np.random.Generator:
    """ChaCha20 for one block of rows of one release.

    Raises:
        ModuleNotFoundError: without the package randomgen.
    """
    from randomgen import ChaCha

    derived = keyed_digest(key, {**about, "block": block})
    return np.random.Generator(ChaCha(key=int.from_bytes(derived, "little"), counter=0, rounds=20))


def generator_versions() -> str:
    """Of the packages that make numbers of a stream: others may make other numbers, which would be a second release.

    >>> generator_versions().startswith("numpy ")
    True
    """
    return f"numpy {np.__version__}, randomgen {version('randomgen')}"


def grid_step(deviation: float) -> float:
    """The power of two next below a 1024th of a coordinate's standard deviation.

    >>> grid_step(1.5) == 2.0**-10, grid_step(0.9) == 2.0**-11
    (True, True)
    """
    return float(2.0 ** floor(log2(deviation / STEPS)))


def on_grid(values: FloatArray, step: float) -> FloatArray:
    """Multiples of a step that is a power of two, halves to the even one; without a negative zero.

    Raises:
        ValueError: where a double has no digit for the step, or for a value that is not finite.

    >>> on_grid(np.array([0.3, 0.375, -0.1]), 0.25)
    array([0.25, 0.5 , 0.  ])
    """
    placed = np.asarray(values / step)
    if placed.size and not (placed.max() < LARGEST and placed.min() > -LARGEST):
        raise ValueError("a vector is not finite, or too long for the grid of what is published")
    np.rint(placed, out=placed)
    placed *= step
    placed += 0.0
    return placed


def off_grid_chance(num_dimensions: int, magnitude: float, step: float, num_terms: int) -> float:
    """Chance at most that rounding errors take some coordinate into another cell than exact arithmetic would.

    ``m (2 e / g)`` with the error ``e = (d + 8) u M`` of a coordinate before it is rounded: a density of width g or
    more puts at most that much near the ends of cells, as g is far below the noise.

    Args:
        num_dimensions: m.
        magnitude: M, bound on the sum of the sizes of the terms of a coordinate.
        step: g.
        num_terms: d, of the product.

    >>> off_grid_chance(54, 50.0, 2.0**-8, 300) < 1e-6
    True
    """
    error = (num_terms + 8) * float(np.finfo(np.float64).eps) * magnitude
    return min(1.0, num_dimensions * 2 * error / step)


def largest_term(made: Specification, projection: FloatArray | None, norm: float) -> float:
    """Bound on the terms of what is published, for vectors up to a norm; noise exceeds its part hardly ever.

    No coordinate of an image is a sum of more than the norm of the longest row of the map times that of the vector.

    Args:
        projection: ``[m, d]``; None: the vectors as they are.
    """
    noise = norm_quantile(made.num_dimensions, made.scale, UNLIKELY) if made.law == "norm" else 10 * made.deviation
    longest = 1.0 if projection is None else float(np.linalg.norm(projection, axis=1).max())
    return longest * norm + noise


def rounding_chance(made: Specification, largest: float, num_rows: int, num_terms: int) -> float:
    """Chance at most that rounding errors change a row of a release.

    Args:
        largest: as by :func:`largest_term`.
        num_rows: of the release.
        num_terms: d, of the product.
    """
    chance = off_grid_chance(made.num_dimensions, largest, grid_step(made.deviation), num_terms)
    return min(1.0, num_rows * (chance + UNLIKELY))


def noisy_block(
    images: FloatArray, key: bytes, about: Mapping[str, object], block: int, law: Law, scale: float, step: float
) -> FloatArray:
    """What is published of one block of rows.

    Args:
        images: ``[n, m]`` with n <= :data:`BLOCK_ROWS`: Phi x of the block's rows, from its first on.
        key, about, block: as for :func:`secret_generator`.
        law, scale: of the noise.
        step: of the grid.

    Returns:
        ``[n, m]`` multiples of the step.
    """
    generator = secret_generator(key, about, block)
    noise = draw_noise(generator, law, (BLOCK_ROWS, images.shape[1]), scale)[: len(images)]
    noise += images
    return on_grid(noise, step)


def noisy_rows(images: FloatArray, key: bytes, about: Mapping[str, Any], start: int) -> FloatArray:
    """What a release writes of rows from the row ``start`` on, block by block; audits plant rows written by it, too.

    Args:
        images: ``[n, m]``.
        about: with ``law``, ``scale`` and ``step``; all of it defines the noise.
        start: a multiple of :data:`BLOCK_ROWS`.
    """
    noise = about["law"], about["scale"], about["step"]
    blocks = [
        noisy_block(images[first : first + BLOCK_ROWS], key, about, (start + first) // BLOCK_ROWS, *noise)
        for first in range(0, len(images), BLOCK_ROWS)
    ]
    return np.concatenate(blocks) if blocks else np.empty_like(images)
