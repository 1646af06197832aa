"""p-values of the permutation test of Caliskan et al. 2017 that can be trusted.

*Semantics derived automatically from language corpora contain human-like biases*, Science 356. The test asks how often
target words divided by chance would differ as much as X and Y do. Of all subsets S of X u Y with \\|S\\| = \\|X\\|,

    p = #{S: sum_{w in S} s(w) >= sum_{w in X} s(w)} / C(\\|X\\| + \\|Y\\|, \\|X\\|),

which orders the partitions as the paper's statistic does, the difference of the two sums, whose total is constant. X
itself is one of the subsets, and ties count against the finding, so p is never too small.

Azarpanah and Farhadloo 2021 take the size of that difference (section 2), which counts both directions. Two-sided
p-values do so here: they compare the sizes of the differences of the two *means*, which for sets of one size are those
of the sums, and which for others do not depend on where the scores have their zero.
"""

import math
from typing import Literal, NamedTuple, get_args

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval
from tiltmeter.operators.statistics.partitions import subset_sums
from tiltmeter.operators.statistics.partitions.subset_sums import Bounds
from tiltmeter.operators.statistics.shares import clopper_pearson

VERSION = "permutation/1"

Alternative = Literal["greater", "less", "two-sided"]
"""What would speak for X: a larger sum than by chance, a smaller one, or either."""

_UNIT = 2.0**-50
"""Scores are told apart down to this share of the largest one: 4 float64 epsilon."""

_FINEST_LATTICE = 2.0**-16
"""A common step of all scores is looked for down to this share of their range, as of scores with four digits."""

_MAX_SUMS = 2**21
"""Sums kept at a time, 16 MiB: enough for 40 words."""

_MAX_COUNTS = 6 * 10**6
"""Counts of rounded sums kept at a time, 48 MB; filling them takes some tenths of a second."""

_FIRST_COUNTS = 10**5
"""Counts on the first grid, which takes a millisecond."""

MAX_WORDS = {"certified": 1000, "monte_carlo": 4000}
"""Words of both sets together. C(1000, 500) = 2.7e299 partitions is about what float64 can count; sums of 4000 scores,
each up to 2^51 units above the smallest, stay below 2^63."""

_LEVEL = 0.95

_NEVER = np.iinfo(np.int64).max
"""No sum reaches it."""


class PValue(NamedTuple):
    """A p-value and how far it can be trusted.

    Attributes:
        value: never below the true p-value if exact or certified.
        low, high: "exact": both the value. "certified": the true p-value lies between them, and ``value`` is ``high``.
            "monte_carlo": the exact 95 % interval of Clopper and Pearson 1934.
        method: "exact", "certified" or "monte_carlo".
        standard_error: of a Monte Carlo value; NaN otherwise.
    """

    value: float
    low: float
    high: float
    method: str
    standard_error: float


class _Test(NamedTuple):
    """Counted are the subsets of the rising ``values``, as large as the observed one, with a sum up to ``limit``.

    Attributes:
        opposite: sums from here on count as well; None if the test is one-sided.
    """

    values: IntArray
    observed: IntArray
    limit: int
    opposite: int | None = None


def permutation_p_value(
    scores_x: NDArray[np.floating],
    scores_y: NDArray[np.floating],
    relative_width: float = 0.01,
    alternative: Alternative = "greater",
) -> PValue:
    """The p-value over all partitions, exact where that is cheap and between certified bounds elsewhere.

    Partitions are counted, not drawn: one by one from sorted sums of two halves of the words (up to 40 words, more if
    one set is small), else from sums rounded to a grid, which is refined until the bounds are close enough. Scores
    that are multiples of one step, as ranks and signs are, fall on the grid: their p-value is exact, or, from 2^63
    partitions on, certain to nine digits.

    Sums that differ by up to 4 eps n max\\|s\\| (eps = 2^-52, n words) are ties: rounding alone can move them so far.

    Args:
        scores_x, scores_y: ``[words of X]`` and ``[words of Y]``, the associations s(w, A, B); any finite numbers.
        relative_width: the largest (high - low) / high asked for, strictly between 0 and 1.
        alternative: ``greater`` if X would have the larger scores, ``less`` if Y would, ``two-sided`` for either.

    Returns:
        p in (0, 1]. The bounds are wider than asked for where memory (64 MB) ends the refinement: hundreds of words,
        or a score that lies as far as a thousand standard deviations from the others.

    Raises:
        ValueError: if a set is empty, a score is not finite, there are more than 1000 words, ``relative_width`` is out
            of range, or ``alternative`` is unknown.

    Of the six ways to choose two of four words only X itself reaches its sum:

    >>> permutation_p_value(np.array([0.3, 0.2]), np.array([0.1, -0.1]))
    PValue(value=0.16666666666666666, low=0.16666666666666666, high=0.16666666666666666, method='exact', \
standard_error=nan)
    """
    if not 0.0 < relative_width < 1.0:
        raise ValueError(
            f"relative_width={relative_width}: must lie strictly between 0 and 1, for example 0.01; "
            "set the p-value's relative_width"
        )
    _check_number(scores_x.size + scores_y.size, MAX_WORDS["certified"])
    test = _as_test(scores_x, scores_y, alternative)
    low, high = _count(test, relative_width)
    total = math.comb(test.values.size, test.observed.size)
    return PValue(high / total, low / total, high / total, "exact" if low == high else "certified", math.nan)


def monte_carlo_p_value(
    scores_x: NDArray[np.floating],
    scores_y: NDArray[np.floating],
    num_draws: int,
    seed: int,
    test_key: int,
    alternative: Alternative = "greater",
) -> PValue:
    """The p-value estimated from partitions drawn by chance, for comparison with work that does so.

    p = (1 + hits) / (1 + draws), so that X itself counts and p is never 0 (Phipson and Smyth 2010, *Permutation
    p-values should never be zero*); its standard error is sqrt(p (1 - p) / draws).

    Draw i is keyed by (seed, test_key, i) and by nothing else; the order of the words in their sets does not matter.

    Args:
        scores_x, scores_y: as for :func:`permutation_p_value`, with the same ties.
        num_draws: number of partitions drawn, at least 1.
        seed: the run's seed, 0 <= seed < 2^64.
        test_key: which test the draws are for, 0 <= test_key < 2^64.
        alternative: as for :func:`permutation_p_value`.

    Raises:
        ValueError: if a set is empty, a score is not finite, there are more than 4000 words, or another argument is out
            of range.

    >>> result = monte_carlo_p_value(np.array([0.3, 0.2]), np.array([0.1, -0.1]), num_draws=999, seed=0, test_key=0)
    >>> result.value, result.low < 1 / 6 < result.high
    (0.163, True)
    """
    if num_draws < 1:
        raise ValueError(f"num_draws={num_draws}: must be 1 or more, for example 10000; set num_draws")
    for name, key in {"seed": seed, "test_key": test_key}.items():
        if not 0 <= key < 2**64:
            raise ValueError(f"{name}={key}: must lie in 0..2^64 - 1; set the {name}")
    _check_number(scores_x.size + scores_y.size, MAX_WORDS["monte_carlo"])
    test = _as_test(scores_x, scores_y, alternative)
    opposite = _NEVER if test.opposite is None else test.opposite
    keys = np.uint64(seed), np.uint64(test_key)
    hits = _num_hits(test.values, test.observed.size, test.limit, opposite, num_draws, *keys)
    value = (1 + hits) / (1 + num_draws)
    _, low, high = map(float, clopper_pearson(hits, num_draws, _LEVEL))
    return PValue(value, low, high, "monte_carlo", math.sqrt(value * (1.0 - value) / num_draws))


def _count(test: _Test, relative_width: float) -> Bounds:
    """Bounds of the number of subsets that count; those with a small sum and those with a large one are no two sums."""
    if test.opposite is None:
        return _count_below(test, relative_width)
    if test.limit >= test.opposite:
        total = math.comb(test.values.size, test.observed.size)
        return Bounds(total, total)
    below, above = (_count_below(tail, relative_width) for tail in (test, _mirrored(test, test.opposite)))
    return Bounds(below.low + above.low, below.high + above.high)


def _mirrored(test: _Test, least: int) -> _Test:
    """The same subsets, by how far each value lies below the largest: those with a sum of ``least`` and more count."""
    largest = int(test.values[-1])
    return _Test(largest - test.values[::-1], largest - test.observed, test.observed.size * largest - least)


def _count_below(test: _Test, relative_width: float) -> Bounds:
    num_words, size = test.values.size, test.observed.size
    if test.values[:size].sum() > test.limit:
        exact = 0
    elif subset_sums.num_sums(num_words, size) <= _MAX_SUMS:
        exact = subset_sums.count(test.values, size, test.limit)
    elif test.values[num_words - size :].sum() <= test.limit:
        exact = math.comb(num_words, size)
    else:
        return _refine(test, relative_width)
    return Bounds(exact, exact)


def _refine(test: _Test, relative_width: float) -> Bounds:
    """Bounds from finer and finer grids, until they are close enough or the tables as long as they may be."""
    num_counts = subset_sums.num_counts(test.values, test.observed.size, test.limit)
    finest = math.ceil(num_counts / _MAX_COUNTS)
    step = finest if finest == 1 else math.ceil(num_counts / _FIRST_COUNTS)
    while True:
        bounds = subset_sums.bounds(test.values, test.observed, test.limit, step)
        width = 1.0 - bounds.low / bounds.high
        if width <= relative_width or step == finest:
            return bounds
        # Well below 1 the width is proportional to the step.
        step = max(finest, int(step * min(0.5, max(0.1, 0.8 * relative_width / width))))


def _as_test(
    scores_x: NDArray[np.floating], scores_y: NDArray[np.floating], alternative: Alternative = "greater"
) -> _Test:
    """The smaller set is the one that is counted: X has a large sum where Y has a small one."""
    _check(scores_x=scores_x, scores_y=scores_y)
    if alternative not in get_args(Alternative):
        allowed = ", ".join(get_args(Alternative))
        raise ValueError(f"alternative={alternative!r}: must be one of {allowed}; set the p-value's alternative")
    if alternative == "less":
        scores_x, scores_y = scores_y, scores_x
    scores = np.concatenate([scores_x, scores_y]).astype(np.float64)
    by_x = scores_x.size <= scores_y.size
    values, rounding = _as_integers(-scores if by_x else scores)
    observed = values[: scores_x.size] if by_x else values[scores_x.size :]
    if alternative == "two-sided":
        return _two_sided(values, observed, rounding)
    return _Test(np.sort(values), observed, int(observed.sum()) + rounding)


def _two_sided(values: IntArray, observed: IntArray, rounding: int) -> _Test:
    """Counted are sums as far as the observed one, or further, from the mean of all subsets' sums."""
    total, size, reached = int(values.sum()), observed.size, int(observed.sum())
    # The observed sum's mirror image beyond that mean, 2 total size / words - reached, need not be a whole number.
    twice_mean = 2 * total * size
    if reached * 2 * values.size <= twice_mean:
        limit, opposite = reached, -((reached * values.size - twice_mean) // values.size)
    else:
        limit, opposite = (twice_mean - reached * values.size) // values.size, reached
    return _Test(np.sort(values), observed, limit + rounding, opposite - rounding)


def _as_integers(scores: FloatArray) -> tuple[IntArray, int]:
    """How far the scores lie above the smallest, in whole units, and how far apart two sums may lie that tie."""
    scaled = scores / (np.abs(scores).max() or 1.0)
    offsets = scaled - scaled.min()
    step = _common_step(offsets)
    multiples = np.rint(offsets / step)
    # Two subsets differ in no more than n words: these errors cannot add up to more than what makes a tie below.
    if step > 2 * scores.size * _UNIT and np.abs(offsets - step * multiples).max() <= _UNIT:
        return multiples.astype(np.int64), 0
    return np.rint(offsets / _UNIT).astype(np.int64), scores.size


def _common_step(offsets: FloatArray) -> float:
    """The largest number that all offsets are multiples of, by Euclid's algorithm; 1 if all are 0."""
    largest = float(offsets.max())
    step = 0.0
    for offset in np.unique(offsets).tolist():
        rest = offset
        while rest > _FINEST_LATTICE * largest:
            step, rest = rest, abs(step - rest * round(step / rest))
    # Measured from end to end, the step has the smallest error.
    return largest / round(largest / step) if step else 1.0


@numba.njit(cache=True)
def _num_hits(
    values: IntArray, size: int, limit: int, opposite: int, num_draws: int, seed: np.uint64, test_key: np.uint64
) -> int:
    stream, zero = np.uint64(Stream.PERMUTATION.value), np.uint64(0)
    hits = 0
    for draw in range(num_draws):
        left = values.copy()
        total = 0
        for start in range(0, size, 4):
            words = philox(seed, stream, test_key, np.uint64(draw), np.uint64(start // 4), zero)
            for lane in range(min(4, size - start)):
                place = start + lane
                drawn = place + int(unit_interval(words[lane]) * (left.size - place))
                total += left[drawn]
                left[drawn] = left[place]
        hits += total <= limit or total >= opposite
    return hits


def _check(**sets: NDArray[np.floating]) -> None:
    for name, scores in sets.items():
        if scores.ndim != 1 or scores.size == 0:
            raise ValueError(f"{name} has shape {scores.shape}: must be [words] with at least one word")
        if not np.isfinite(scores).all():
            raise ValueError(f"{name} has scores that are not finite: leave out words without a vector")


def _check_number(num_words: int, most: int) -> None:
    if num_words > most:
        raise ValueError(f"{num_words} words: must be {most} or fewer in both sets together; shorten the sets")
