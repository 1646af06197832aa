"""Two systems on the same items: McNemar's exact test, and a paired bootstrap that draws whole clusters of items.

Of items that one system gets right and the other wrong, b and c in number, McNemar 1947 (*Note on the sampling error of
the difference between correlated proportions*) asks whether b is what half of b + c chances give; exactly, by the
binomial distribution, p = min(1, 2 P(X <= min(b, c))).

Items that are made from one template fail together, so that a resample draws templates (Cameron, Gelbach and Miller
2008, *Bootstrap-based improvements for inference with clustered errors*): as many clusters as there are, with
replacement, each with all of its items, and the difference is that of all items drawn: a ratio of two sums.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.philox import Stream, philox
from tiltmeter.operators.statistics.resampling import Estimate, effective_number

VERSION = "paired_items/1"

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_BLOCK = 8


class McNemar(NamedTuple):
    """Attributes:
    first_only, second_only: items that one of the systems alone gets right.
    p: two-sided, exact.
    """

    first_only: int
    second_only: int
    p: float


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """McNemar's exact test.

    Args:
        first, second: ``[items]``, whether each system gets an item right.

    Returns:
        p = 1 where no item tells the systems apart.

    >>> mcnemar(np.array([True] * 6 + [False]), np.array([False] * 5 + [True, False]))
    McNemar(first_only=5, second_only=0, p=0.0625)
    """
    from scipy.special import bdtr

    first_only, second_only = int((first & ~second).sum()), int((second & ~first).sum())
    num = first_only + second_only
    p = min(1.0, 2.0 * float(bdtr(min(first_only, second_only), num, 0.5))) if num else 1.0
    return McNemar(first_only, second_only, p)


def paired_bootstrap(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    clusters: NDArray[np.integer] | None,
    seed: int,
    about: int,
    num_resamples: int,
) -> Estimate:
    """The mean difference of two systems over the items, with resamples of whole clusters.

    Args:
        first, second: ``[items]``, the score of each system for each item; finite.
        clusters: ``[items]``, the number of each one's cluster, from 0, of which none is empty; None: items are drawn.
        seed: of the run, 0 <= seed < 2^64.
        about: what is drawn, as a 64-bit key: the same items in the same order are drawn alike for all systems.
        num_resamples: how many.

    Returns:
        ``second`` less ``first``; it counts for as many clusters as would spread as much if all were of one size.

    Raises:
        ValueError: without items.

    >>> first, second = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])
    >>> paired_bootstrap(first, second, np.array([0, 0, 1, 1]), 0, 0, 3)
    Estimate(value=0.5, resamples=array([0.5, 0.5, 0.5]), num_texts=2.0)
    """
    if not first.size:
        raise ValueError("there are no items to compare")
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    numbers = np.arange(first.size) if clusters is None else clusters
    sizes = np.bincount(numbers).astype(np.float64)
    sums = np.asarray(np.bincount(numbers, weights=differences), dtype=np.float64)
    resamples = _resampled(sums, sizes, np.uint64(seed), np.uint64(about), num_resamples)
    return Estimate(float(differences.mean()), resamples, effective_number(sizes))


def clustered_p(estimate: Estimate) -> float:
    """The two-sided p-value of a difference by its resamples.

    Student's t of the difference over the spread of the resamples, which is too small by sqrt((n - 1) / n) for n
    clusters, with n - 1 degrees of freedom.

    Args:
        estimate: by :func:`paired_bootstrap`.

    Returns:
        1 where the difference is 0; NaN of fewer than two clusters.

    >>> round(clustered_p(Estimate(1.0, np.array([0.0, 1.0, 2.0]), num_texts=5.0)), 4)
    0.4216
    """
    from scipy.special import stdtr

    num = float(estimate.num_texts or 0.0)
    if num < 2.0:
        return float("nan")
    error = float(np.std(estimate.resamples, ddof=1)) * np.sqrt(num / (num - 1.0))
    if estimate.value == 0.0:
        return 1.0
    return float(2.0 * stdtr(num - 1.0, -abs(float(estimate.value)) / error)) if error else 0.0


def _resampled(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], seed: np.uint64, about: np.uint64, num_resamples: int
) -> NDArray[np.float64]:
    pairs = np.ascontiguousarray(np.stack([sums, sizes], axis=1))
    resamples = np.empty(num_resamples)
    _fill_resamples(pairs, seed, np.uint64(Stream.PAIRED_ITEMS.value), about, resamples)
    return resamples


@numba.njit(cache=True, error_model="numpy")
def _fill_resamples(
    pairs: NDArray[np.float64], seed: np.uint64, stream: np.uint64, about: np.uint64, resamples: NDArray[np.float64]
) -> None:
    """Each 64-bit word draws two clusters, by its halves (Lemire 2019, *Fast random integer generation in an interval*,
    without its rejections): no cluster's chance differs from another's by more than 2^-32."""
    num = pairs.shape[0]
    size = np.uint64(num)
    places = np.empty(_BLOCK, dtype=np.int64)
    for resample in range(resamples.size):
        total, weight = 0.0, 0.0
        for start in range(0, num, _BLOCK):
            words = philox(seed, stream, about, np.uint64(resample), np.uint64(start // _BLOCK), np.uint64(0))
            for lane in range(4):
                places[2 * lane] = np.int64((words[lane] & _LOW) * size >> _HALF)
                places[2 * lane + 1] = np.int64((words[lane] >> _HALF) * size >> _HALF)
            for lane in range(min(_BLOCK, num - start)):
                total += pairs[places[lane], 0]
                weight += pairs[places[lane], 1]
        resamples[resample] = total / weight
