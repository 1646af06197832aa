"""Rows of flips, of which non-finite ones are left out."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray


def checked_rows(flips: NDArray[np.floating]) -> FloatArray:
    """As float64.

    Raises:
        ValueError: if ``flips`` is not two-dimensional.
    """
    rows = np.asarray(flips, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"flips has shape {rows.shape}: must be [rows, replicas]")
    return rows


def mean_and_sd(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sample standard deviation ``[rows]`` of the finite values; the latter exactly 0 where all are equal."""
    finite = np.isfinite(rows)
    num = finite.sum(axis=1)
    mean = np.where(finite, rows, 0.0).sum(axis=1) / np.where(num > 0, num, np.nan)
    deviations = np.where(finite, rows - mean[:, np.newaxis], 0.0)
    sd = np.sqrt((deviations**2).sum(axis=1) / np.where(num > 1, num - 1, np.nan))
    smallest, largest = extremes(rows)
    return mean, np.where((num > 1) & (smallest == largest), 0.0, sd)


def extremes(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest finite value ``[rows]``; inf and -inf where there is none."""
    finite = np.isfinite(rows)
    smallest = np.where(finite, rows, np.inf).min(axis=1, initial=np.inf)
    return smallest, np.where(finite, rows, -np.inf).max(axis=1, initial=-np.inf)
