"""Tests of whether sentiment differs between the values of a protected attribute: Student's t of two samples.

Lakkaraju, Srivastava and Valtorta 2023, *Rating Sentiment Analysis Systems for Bias through a Causal Lens*, compare the
scores of the texts about one value (female) with those about another (male), without assuming equal variances:

t = (mean1 - mean2) / sqrt(s1^2 / n1 + s2^2 / n2).

Cells are groups of texts with one such value. Whatever leads them, such as bootstrap replicates, is kept.
"""

from collections.abc import Hashable, Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "two_samples/1"

ROUNDING = 1e-12
"""Scores lie in [-1, 1]: means that are as near to each other, and standard deviations as near to 0, differ by rounding
alone. The mean of a million scores errs by 1e-16."""

LEVELS = (95, 70, 60)
"""What the levels of confidence are called, in percent."""


class Convention(NamedTuple):
    """How pairs of values are tested, and what a rejection counts.

    Attributes:
        weights: what a rejection at each of the levels counts.
        alphas: a test rejects at a level where its two-sided p is below.
        df: degrees of freedom: ``welch`` for the approximation of Welch and Satterthwaite, ``pooled`` for n1 + n2 - 2.
        offset: added to the denominator of t, in the unit of the scores.
        decimals: that scores are rounded to before anything is computed of them; None: they stay as they are.
    """

    weights: tuple[float, ...]
    alphas: tuple[float, ...]
    df: Literal["welch", "pooled"]
    offset: float
    decimals: int | None = None


DEFINITION = Convention((1.0, 0.8, 0.6), (0.05, 0.30, 0.40), "welch", 0.0)
"""As the paper defines it."""

PUBLISHED = Convention((1.0, 0.7, 0.6), (0.025, 0.15, 0.20), "pooled", 1e-4)
"""As the program computes it that was published with the paper (github.com/ai4society/causal-sas-rating): it halves an
alpha that is halved already, so that what it calls 95, 70 and 60 % are 97.5, 85 and 80 %."""


class Coded(NamedTuple):
    """Attributes:
    codes: ``[texts]`` int64, the place of each text's value among ``values``.
    values: without repetition.
    """

    codes: NDArray[np.int64]
    values: list[Hashable]


class Moments(NamedTuple):
    """Sample moments of the scores in each cell, all ``[..., cells]``.

    Attributes:
        num: int64, number of scores.
        mean: float64 in the unit of the scores; NaN in an empty cell.
        variance: float64 in its square, with num - 1 in the denominator; NaN where there are fewer than 2 scores.
    """

    num: NDArray[np.int64]
    mean: FloatArray
    variance: FloatArray

    def of(self, cells: int | NDArray[np.integer]) -> "Moments":
        """Those of one cell, or of several with their repetitions."""
        return Moments(self.num[..., cells], self.mean[..., cells], self.variance[..., cells])


class TTest(NamedTuple):
    """Two-sided t-tests, all float64 of one shape; NaN where a side has fewer than 2 scores, and nothing is tested.

    Attributes:
        t: positive where the first mean is the larger.
        df: degrees of freedom.
        p: in [0, 1].
    """

    t: FloatArray
    df: FloatArray
    p: FloatArray


def coded(values: Iterable[Hashable]) -> Coded:
    """Numbers for values such as genders, or pairs of gender and race, in the order in which they are first seen.

    >>> coded(["neutral", "male", "neutral"])
    Coded(codes=array([0, 1, 0]), values=['neutral', 'male'])
    """
    places: dict[Hashable, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return Coded(np.array(codes, dtype=np.int64), list(places))


def snapped(values: FloatArray, rounding: float = ROUNDING) -> FloatArray:
    """0 where a value is no larger than rounding, either way; NaN stays."""
    return np.where(np.abs(values) <= rounding, 0.0, values)


def moments(
    scores: NDArray[np.floating],
    cells: NDArray[np.integer],
    num_cells: int,
    counts: NDArray[np.integer] | None = None,
) -> Moments:
    """Number, mean and sample variance of the scores in each cell, of the texts or of resamples of them.

    Mean and then squared deviations from it: in one pass, a small variance is lost in the difference of two large sums
    (Chan, Golub and LeVeque 1983, *Algorithms for computing the sample variance*). A variance of up to ROUNDING^2 is
    made 0, so that scores that are equal vary by nothing, in replicates as in the data.

    Args:
        scores: ``[texts]``, in [-1, 1].
        cells: ``[texts]``, the cell of each, in 0..num_cells - 1.
        num_cells: how many there are, empty ones too.
        counts: ``[replicates, texts]``, how often each replicate has a text, for example from
            :func:`.resampling.resampled_counts`; None for the texts themselves.

    Returns:
        ``[cells]``, or ``[replicates, cells]``.

    Raises:
        ValueError: if the arrays do not have the same texts, a score is not finite, or there is no such cell.

    >>> moments(np.array([0.1, 0.1, 0.1, 1.0, -1.0]), np.array([0, 0, 0, 1, 1]), 3)
    Moments(num=array([3, 2, 0]), mean=array([0.1, 0. , nan]), variance=array([ 0.,  2., nan]))
    """
    multiplicities = np.ones(scores.shape, dtype=np.int64) if counts is None else counts
    _check(scores, cells, num_cells, multiplicities)
    in_cells = (cells == cell for cell in range(num_cells))
    each = [_moments(scores[chosen].astype(np.float64), multiplicities[..., chosen]) for chosen in in_cells]
    num, mean, variance = (np.stack(parts, axis=-1) for parts in zip(*each, strict=True))
    return Moments(num, mean, variance)


def two_sample_t(first: Moments, second: Moments, convention: Convention = DEFINITION) -> TTest:
    """Tests of equal means, t = (mean1 - mean2) / (sqrt(s1^2 / n1 + s2^2 / n2) + offset).

    The degrees of freedom of Welch 1947 and Satterthwaite 1946 are, with v = s^2 / n,
    (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)).

    Where no side varies, Welch's are not defined, and n1 + n2 - 2 are taken. Without offset, equal means then give
    t = 0 and p = 1, different ones an infinite t and p = 0. Means are equal if they differ by up to ROUNDING.

    Args:
        first, second: ``[...]``, broadcast against each other.
        convention: offset and degrees of freedom.

    >>> result = moments(np.array([1.0, 2.0, 3.0, 3.0, 5.0]) / 5, np.array([0, 0, 0, 1, 1]), 2)
    >>> [round(float(value), 4) for value in two_sample_t(result.of(0), result.of(1))]
    [-1.7321, 1.6842, 0.2482]
    """
    from scipy.special import stdtr

    v1, v2 = first.variance / first.num, second.variance / second.num
    difference = snapped(first.mean - second.mean)
    error = np.asarray(np.sqrt(v1 + v2) + convention.offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((difference == 0.0) & (error == 0.0), 0.0, difference / error)
    df = np.where(np.isnan(t), np.nan, first.num + second.num - 2.0)
    if convention.df == "welch":
        df = np.where(v1 + v2 > 0.0, _welch(v1, first.num, v2, second.num), df)
    return TTest(t, df, np.asarray(2.0 * stdtr(df, -np.abs(t))))


def pairwise_tests(cells: Moments, convention: Convention = DEFINITION) -> TTest:
    """Tests of every two cells against each other.

    Args:
        cells: ``[..., cells]``.
        convention: offset and degrees of freedom.

    Returns:
        ``[..., pairs]``, the pairs in the order of ``itertools.combinations(range(cells), 2)``.

    >>> result = moments(np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0]), np.array([0, 0, 1, 1, 2, 2]), 3)
    >>> pairwise_tests(result).t
    array([  0., -inf, -inf])
    """
    first, second = np.triu_indices(cells.num.shape[-1], 1)
    return two_sample_t(cells.of(first), cells.of(second), convention)


def _moments(scores: FloatArray, counts: NDArray[np.integer]) -> Moments:
    """Of the scores of one cell, ``[...]``."""
    num = np.asarray(counts.sum(axis=-1, dtype=np.int64))
    # Measured from one of them, scores that are all equal are exactly 0: their mean is that score to the last bit.
    reference = scores[0] if scores.size else 0.0
    offsets = scores - reference
    mean = (counts * offsets).sum(axis=-1) / np.where(num > 0, num, np.nan)
    squares = (counts * (offsets - mean[..., np.newaxis]) ** 2).sum(axis=-1)
    variance = squares / np.where(num > 1, num - 1, np.nan)
    return Moments(num, reference + mean, snapped(variance, ROUNDING**2))


def _welch(v1: FloatArray, n1: NDArray[np.int64], v2: FloatArray, n2: NDArray[np.int64]) -> FloatArray:
    # By the share of each side: squares of small variances would underflow.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = v1 / (v1 + v2)
        return np.asarray(1.0 / (share**2 / (n1 - 1) + (1.0 - share) ** 2 / (n2 - 1)))


def _check(
    scores: NDArray[np.floating], cells: NDArray[np.integer], num_cells: int, counts: NDArray[np.integer]
) -> None:
    if scores.ndim != 1 or cells.shape != scores.shape or counts.shape[-1:] != scores.shape:
        raise ValueError(
            f"scores {scores.shape}, cells {cells.shape} and counts {counts.shape}: must be [texts], [texts] and "
            "[replicates, texts] of the same texts"
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"scores hold {scores[~np.isfinite(scores)][0]}: leave out texts without a score")
    outside = cells[(cells < 0) | (cells >= num_cells)]
    if num_cells < 1 or outside.size:
        raise ValueError(
            f"cells hold {outside[:1]} of {num_cells}: there must be a cell, and cells must lie in 0..{num_cells - 1}; "
            "leave out texts without a value, and data sets without texts"
        )
