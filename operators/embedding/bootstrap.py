"""The streaming bootstrap of Chamandy et al. 2012 (*Estimating uncertainty for massive data streams*).

Resampling n lines with replacement gives each line a count that tends to Poisson(1). Drawing every count independently
needs no n and no second pass: a line decides by itself how often each replica sees it, so one pass over a corpus feeds
all replicas, and the corpus may lie in any number of shards.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.philox import Stream, philox

VERSION = "bootstrap/1"

ORIGINAL = 0
"""Replica 0 is the corpus itself: every line once. The point estimates come from it, the intervals from the others."""


def _poisson_thresholds() -> NDArray[np.uint64]:
    """P(k <= i) for k ~ Poisson(1), i = 0, 1, ..., in units of 2^-64, until it reaches 1 - 2^-53."""
    cumulative = math.exp(-1.0) * np.cumsum([1.0 / math.factorial(k) for k in range(19)])
    below_one = cumulative[cumulative < 1.0]
    return np.array([int(p * 2.0**64) for p in below_one], dtype=np.uint64)


_THRESHOLDS = _poisson_thresholds()


@numba.njit(cache=True)
def _poisson(bits: np.uint64, thresholds: NDArray[np.uint64]) -> int:
    count = 0
    while count < thresholds.size and bits >= thresholds[count]:
        count += 1
    return count


@numba.njit(cache=True)
def _fill(
    multiplicities: NDArray[np.uint8],
    seed: np.uint64,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    thresholds: NDArray[np.uint64],
) -> None:
    stream = np.uint64(Stream.LINE_MULTIPLICITY.value)
    num_lines, num_columns = multiplicities.shape
    for row in range(num_lines):
        multiplicities[row, 0] = 1
        for start in range(0, num_columns - 1, 4):
            words = philox(seed, stream, documents[row], np.uint64(lines[row]), np.uint64(start // 4), np.uint64(0))
            for lane in range(min(4, num_columns - 1 - start)):
                multiplicities[row, 1 + start + lane] = _poisson(words[lane], thresholds)


@numba.njit(cache=True)
def _fill_replica(
    multiplicities: NDArray[np.uint8],
    seed: np.uint64,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    draw: int,
    thresholds: NDArray[np.uint64],
) -> None:
    stream, quarter = np.uint64(Stream.LINE_MULTIPLICITY.value), np.uint64(draw // 4)
    for row in range(multiplicities.size):
        words = philox(seed, stream, documents[row], np.uint64(lines[row]), quarter, np.uint64(0))
        multiplicities[row] = _poisson(words[draw % 4], thresholds)


def line_multiplicities(
    seed: int, documents: NDArray[np.uint64], lines: NDArray[np.int32], num_replicas: int
) -> NDArray[np.uint8]:
    """How often each line counts in each replica.

    Column 0 is the original corpus (all ones); column r >= 1 holds independent Poisson(1) draws, by inversion of
    64-bit uniform numbers keyed by (seed, document, line, replica).

    Args:
        seed: the run's seed, 0 <= seed < 2^64.
        documents: ``[lines]`` keys from :func:`.compute.keys.document_key`.
        lines: ``[lines]`` line number within the document, from 0.
        num_replicas: number of bootstrap replicas, the original not counted.

    Returns:
        ``[lines, 1 + num_replicas]`` counts.

    >>> line_multiplicities(0, np.array([7, 7], np.uint64), np.array([0, 1], np.int32), 5)
    array([[1, 2, 1, 1, 1, 3],
           [1, 1, 2, 1, 2, 3]], dtype=uint8)
    """
    multiplicities = np.empty((len(documents), 1 + num_replicas), dtype=np.uint8)
    _fill(multiplicities, np.uint64(seed), documents, lines, _THRESHOLDS)
    return multiplicities


def replica_multiplicities(
    seed: int, documents: NDArray[np.uint64], lines: NDArray[np.int32], replica: int
) -> NDArray[np.uint8]:
    """Column ``replica`` of :func:`line_multiplicities`, without the others.

    >>> replica_multiplicities(0, np.array([7, 7], np.uint64), np.array([0, 1], np.int32), 5)
    array([3, 3], dtype=uint8)
    """
    multiplicities = np.ones(len(documents), dtype=np.uint8)
    if replica != ORIGINAL:
        _fill_replica(multiplicities, np.uint64(seed), documents, lines, replica - 1, _THRESHOLDS)
    return multiplicities
