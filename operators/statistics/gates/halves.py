"""Runs that differ by chance alone, made of logs that are there: halves of repeats, or labels that are swapped."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray


def num_right(means: FloatArray, variances: FloatArray, repeats: NDArray[np.integer]) -> IntArray | None:
    """How many repeats of each item score 1, where all score 0 or 1 and every item has two at least; else None.

    Only repeats of 0 and 1 have the unbiased variance k m (1 - m) / (k - 1) at the mean m.

    >>> num_right(np.array([0.5, 1.0]), np.array([1 / 3, 0.0]), np.array([4, 4]))
    array([2, 4])
    """
    if repeats.min() < 2:
        return None
    is_right = np.isclose(variances, means * (1.0 - means) * repeats / (repeats - 1), atol=1e-9)
    return np.rint(means * repeats).astype(np.int64) if is_right.all() else None


def halves(right: IntArray, repeats: NDArray[np.integer], num: int, rng: np.random.Generator) -> FloatArray:
    """Mean of one random half of an item's repeats less that of the other: ``[items]`` to ``[num, items]``."""
    half = repeats // 2
    drawn = rng.hypergeometric(right, repeats - right, half, (num, right.size))
    return np.asarray(drawn / half - (right - drawn) / (repeats - half), dtype=np.float64)


def swapped(sums: FloatArray, num: int, rng: np.random.Generator) -> FloatArray:
    """Sums of units, the labels of both systems swapped in half of them: ``[units]`` to ``[num, units]``."""
    return np.asarray(sums * rng.choice((-1.0, 1.0), (num, sums.size)), dtype=np.float64)
