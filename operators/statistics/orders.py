"""Which of several numbers is the smallest, and which order of them can be told from chance.

Let the numbers x_i of models i have bootstrap replicas x*_ir that are drawn jointly: those of one r rest on the same
draws of what models share, and on nothing in common where they share nothing. With the standard deviation s_ij of
x*_ir - x*_jr over R replicas,

    t_ij = (x_i - x_j) / s_ij.

All pairs are judged at once by max |t_ij| (Westfall and Young 1993; Tukey 1953), whose law without any differences is
drawn: numbers and replicas of it have the covariance of the replicas at hand, and each draw has an s_ij of its own, so
that few replicas cost what they should (of two models it is Student's t of R - 1 degrees of freedom). Two models are
told apart where their p is at most 1 - level. From that follow intervals of ranks that hold all true ranks at once
(Mogstad, Romano, Shaikh and Wilhelm 2024, *Inference for Ranks*): below a model stand at least those that are told
apart from it and smaller. Percentiles of ranks in replicas would not hold them: whichever of two equal models has the
smaller number in the data has it in most replicas too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import check_level

VERSION = "orders/1"

_NUM_DRAWS, _BLOCK, _MIN_REPLICAS = 9_999, 1_000, 2


class Orders(NamedTuple):
    """What may be said of the order of models; the smallest comes first.

    Attributes:
        rank: ``[models]``, of the numbers themselves, from 1; of equal ones the first given.
        rank_low, rank_high: ends of intervals that hold all ranks at once.
        tier_low, tier_high: the same for groups, of which any two models of different ones are told apart.
        first: ``[models, models]`` share of replicas in which the model of the row has less; ties count half.
        low, high: of the differences, row less column, all at once.
        p_max_t: of the differences, for all pairs at once.
        num_replicas: that all models have.
    """

    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    tier_low: IntArray
    tier_high: IntArray
    first: FloatArray
    low: FloatArray
    high: FloatArray
    p_max_t: FloatArray
    num_replicas: int


class _Differences(NamedTuple):
    first: FloatArray
    low: FloatArray
    high: FloatArray
    p_max_t: FloatArray


def orders(values: FloatArray, replicas: NDArray[np.floating], level: float, generator: np.random.Generator) -> Orders:
    """Of numbers with their replicas.

    Args:
        values: ``[models]``.
        replicas: ``[models, replicas]``; a replica that a model lacks (NaN) counts for none.
        level: of intervals, and that no two equal models are told apart.
        generator: of draws without differences.

    Returns:
        Shares, intervals of differences and p are NaN with fewer than 2 replicas, and no two models are told apart.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> noise = np.random.default_rng(0).normal(size=(3, 32))
    >>> result = orders(np.array([9.0, 0.1, 0.0]), noise, 0.95, np.random.default_rng(1))
    >>> result.rank, result.tier_low, result.tier_high
    (array([3, 2, 1]), array([3, 1, 1]), array([3, 2, 2]))
    """
    check_level(level)
    known = replicas[:, np.isfinite(replicas).all(axis=0)].astype(np.float64)
    differences = values[:, np.newaxis] - values
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable") + 1
    if known.shape[1] < _MIN_REPLICAS:
        unknown = np.full(differences.shape, np.nan)
        return _ordered(rank, np.zeros(differences.shape, np.bool_), _Differences(*(unknown,) * 4), known.shape[1])
    spread = _spreads(np.cov(known)[np.newaxis])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(differences == 0.0, 0.0, np.abs(differences) / spread)
    largest = np.sort(_largest_by_chance(known, generator))
    above = largest.size - np.searchsorted(largest, t - 1e-12)
    p = (1 + above) / (1 + largest.size)
    reach = largest[int(np.ceil(level * (1 + largest.size))) - 1] * spread
    before = known[:, np.newaxis] - known
    first = ((before < 0).mean(axis=2) + (before <= 0).mean(axis=2)) / 2
    judged = _Differences(first, differences - reach, differences + reach, p)
    return _ordered(rank, p <= 1.0 - level, judged, known.shape[1])


def _ordered(rank: IntArray, is_apart: BoolArray, judged: _Differences, num_replicas: int) -> Orders:
    is_less = rank[:, np.newaxis] < rank
    low = 1 + (is_apart & ~is_less).sum(axis=1)
    high = rank.size - (is_apart & is_less).sum(axis=1)
    # A group ends behind the k first where each of these is told apart from each of the others.
    ends = [k for k in range(1, rank.size + 1) if is_apart[np.ix_(rank <= k, rank > k)].all()]
    tier_high = np.array([min(end for end in ends if end >= one) for one in rank])
    tier_low = np.array([1 + max([0, *(end for end in ends if end < one)]) for one in rank])
    return Orders(rank, low, high, tier_low, tier_high, *judged, num_replicas)


def _largest_by_chance(known: FloatArray, generator: np.random.Generator) -> FloatArray:
    """``[draws]``, max |t| of models that do not differ, whose numbers go together as the replicas do."""
    num_models, num_replicas = known.shape
    sizes, axes = np.linalg.eigh(np.cov(known))
    factor = (axes * np.sqrt(np.maximum(sizes, 0.0))).T
    largest = np.empty(_NUM_DRAWS)
    for start in range(0, _NUM_DRAWS, _BLOCK):
        num = min(_BLOCK, _NUM_DRAWS - start)
        drawn = generator.standard_normal((num, 1 + num_replicas, num_models)) @ factor
        around = drawn[:, 1:] - drawn[:, 1:].mean(axis=1, keepdims=True)
        spread = _spreads(np.swapaxes(around, 1, 2) @ around / (num_replicas - 1))
        distance = np.abs(drawn[:, 0, :, np.newaxis] - drawn[:, 0, np.newaxis])
        t = np.divide(distance, spread, out=np.zeros_like(distance), where=spread > 0.0)
        largest[start : start + num] = t.max(axis=(1, 2))
    return largest


def _spreads(covariances: FloatArray) -> FloatArray:
    """``[..., models, models]``, standard deviations of differences."""
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    squares = variances[:, :, np.newaxis] + variances[:, np.newaxis] - 2.0 * covariances
    # What rounding leaves of equal models is no spread.
    return np.sqrt(np.where(squares > 1e-12 * variances.max(axis=1)[:, np.newaxis, np.newaxis], squares, 0.0))
