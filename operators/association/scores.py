"""Association tests of word embeddings: WEAT and WEFAT (Caliskan et al. 2017), by any measure and any statistic.

*Semantics derived automatically from language corpora contain human-like biases*, Science 356, takes means of cosines;
Azarpanah and Farhadloo 2021 (*Measuring Biases of Word Embeddings: What Similarity Measures and Descriptive Statistics
to Use?*) vary both choices. The measures come from :func:`.similarity.pairwise` as ``[replicas, words,
attributes]``. Every replica counts by itself: one in which a word has no vector (NaN) gets no value for what needs that
word.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import Measure, orientation
from tiltmeter.operators.statistics.intervals import Scale, fisher

VERSION = "association/4"

Statistic = Literal["mean", "median", "min", "max", "smallest_gap"]

UNDIRECTED: frozenset[Statistic] = frozenset({"smallest_gap"})
"""What says how far apart a word's attributes are, and not which of the two sets is the nearer one."""

_STATISTICS: Mapping[Statistic, Callable[..., Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}

_ROUNDING = 1e-12
"""Relative to the numbers that a difference is taken of, or to 1 where they are smaller: below, it is rounding."""


def associations(
    to_a: NDArray[np.floating], to_b: NDArray[np.floating], statistic: Statistic, measure: Measure
) -> FloatArray:
    """How much nearer each word lies to attributes A than to attributes B: positive where A is the nearer set.

    With f the statistic, over the attributes of a set, of the measure m itself:

        s(w, A, B) = f_{a in A} m(w, a) - f_{b in B} m(w, b)  for a similarity,
        s(w, A, B) = f_{b in B} m(w, b) - f_{a in A} m(w, a)  for a distance.

    So ``min`` compares the farthest attributes of the two sets by the cosine and the nearest by a distance, ``max`` the
    nearest by the cosine and the farthest by a distance. ``smallest_gap`` is equation 2 of Azarpanah and Farhadloo
    2021, the smallest possible association of a word with the two sets,

        s(w, A, B) = min_{a in A, b in B} |m(w, a) - m(w, b)|,

    which is never negative and the same if A and B are exchanged: it has no direction.

    Args:
        to_a, to_b: ``[replicas, words, attributes of A or B]``, the measure between words and attributes.
        statistic: f.
        measure: what ``to_a`` and ``to_b`` hold.

    Returns:
        ``[replicas, words]`` float64 in the unit of the measure; NaN for a word that has no vector in the replica, and
        for all words of a replica in which an attribute has none.

    Raises:
        ValueError: if ``statistic`` or ``measure`` is unknown, a set is empty, or the arrays do not have the same
            replicas and words.

    >>> associations(np.array([[[0.5, 0.1]]]), np.array([[[0.2, 0.2]]]), "mean", "cosine").round(4)
    array([[0.1]])
    >>> associations(np.array([[[0.5, 0.1]]]), np.array([[[0.2, 0.9]]]), "smallest_gap", "manhattan").round(4)
    array([[0.1]])
    """
    if statistic not in get_args(Statistic):
        allowed = ", ".join(get_args(Statistic))
        raise ValueError(f"statistic={statistic!r}: must be one of {allowed}; set the association's statistic")
    _check(to_a, to_b)
    if statistic == "smallest_gap":
        return _smallest_gaps(to_a, to_b)
    near_a, near_b = (orientation(measure) * _STATISTICS[statistic](to, axis=2) for to in (to_a, to_b))
    return np.asarray(near_a - near_b, dtype=np.float64)


def _smallest_gaps(to_a: NDArray[np.floating], to_b: NDArray[np.floating]) -> FloatArray:
    """In order, a number of A and one of B that are nearest to each other have no other number between them."""
    both = np.concatenate([to_a, to_b], axis=2).astype(np.float64)
    order = np.argsort(both, axis=2)
    of_a = order < to_a.shape[2]
    gaps = np.diff(np.take_along_axis(both, order, axis=2), axis=2)
    smallest = np.where(of_a[..., 1:] != of_a[..., :-1], gaps, np.inf).min(axis=2)
    return np.where(np.isnan(both).any(axis=2), np.nan, smallest)


def weat_score(scores: NDArray[np.floating], num_x: int) -> FloatArray:
    """The WEAT test statistic: how much more the targets X go with A than the targets Y do, summed over the words.

    s(X, Y, A, B) = sum_{x in X} s(x, A, B) - sum_{y in Y} s(y, A, B).

    With as many words in X as in Y it has the sign of :func:`effect_size`. Otherwise the larger set weighs more, and
    the signs may differ: a score of 0 says that X and Y go alike with A only for sets of equal size.

    Args:
        scores: ``[replicas, words]`` from :func:`associations`, the words of X before those of Y.
        num_x: words in X.

    Returns:
        ``[replicas]`` float64 in the unit of the scores; NaN in replicas where any score is.

    Raises:
        ValueError: if X or Y is empty.

    >>> weat_score(np.array([[3.0, 1.0, 0.5, -1.0]]), num_x=2)
    array([4.5])
    >>> targets = np.array([[0.3, 0.2, 0.1, 0.4]])
    >>> weat_score(targets, num_x=3).round(1), effect_size(targets, num_x=3).round(1)
    (array([0.2]), array([-1.5]))
    """
    _check_targets(scores, num_x)
    return np.asarray(scores[:, :num_x].sum(axis=1) - scores[:, num_x:].sum(axis=1))


def effect_size(scores: NDArray[np.floating], num_x: int, ddof: int = 1) -> FloatArray:
    """The WEAT effect size: how far apart the associations of the two target sets lie, in standard deviations.

    d = (mean_{x in X} s(x, A, B) - mean_{y in Y} s(y, A, B)) / sd_{w in X u Y} s(w, A, B).

    Args:
        scores: ``[replicas, words]`` from :func:`associations`, the words of X before those of Y.
        num_x: words in X.
        ddof: 1 for the sample standard deviation, which reproduces the published values; 0 for the population's,
            with which \\|d\\| <= 2 for target sets of one size.

    Returns:
        ``[replicas]`` float64, no unit; positive where X goes with A and Y with B. NaN in replicas where any score is,
        or where all scores are equal within rounding: 1e-12 of the largest, or 1e-12 where that is below 1.

    Raises:
        ValueError: if ``ddof`` is neither 0 nor 1, or X or Y is empty.

    >>> effect_size(np.array([[1.0, -1.0]]), num_x=1, ddof=0)
    array([2.])
    """
    _check_targets(scores, num_x)
    difference = scores[:, :num_x].mean(axis=1) - scores[:, num_x:].mean(axis=1)
    return np.asarray(difference / _spread(scores, ddof))


def effect_scale(num_first: int, num_second: int, ddof: int = 1) -> Scale:
    """On what scale intervals of effect sizes are reckoned: an effect size is a correlation in other units.

    With m and n values in two groups, N = m + n, their point-biserial correlation is r = d sqrt(m n / (N (N - ddof))).

    Args:
        num_first, num_second: targets X and Y of :func:`effect_size`, or attributes A and B of :func:`wefat`.
        ddof: of the effect size.

    >>> effect_scale(8, 8, ddof=0).high, round(effect_scale(1, 1).high, 4)
    (2.0, 1.4142)
    """
    num = num_first + num_second
    return fisher(math.sqrt(num * (num - ddof) / (num_first * num_second)))


def wefat(to_a: NDArray[np.floating], to_b: NDArray[np.floating], measure: Measure, ddof: int = 1) -> FloatArray:
    """The word embedding factual association test: each word's association in standard deviations of its own.

    s(w, A, B) = (mean_{a in A} m(w, a) - mean_{b in B} m(w, b)) / sd_{x in A u B} m(w, x), with the sign turned for a
    distance as in :func:`associations`.

    Args:
        to_a, to_b: ``[replicas, words, attributes of A or B]``, the measure m between words and attributes.
        measure: what ``to_a`` and ``to_b`` hold.
        ddof: 1 for the sample standard deviation, 0 for the population's, as in :func:`effect_size`.

    Returns:
        ``[replicas, words]`` float64, no unit; positive where A is the nearer set. NaN where :func:`associations` is,
        or where a word is as near to all attributes within rounding.

    Raises:
        ValueError: if ``measure`` is unknown, ``ddof`` is neither 0 nor 1, a set is empty, or the arrays do not have
            the same replicas and words.

    >>> wefat(np.array([[[0.9, 0.7]]]), np.array([[[0.1, 0.3]]]), "cosine", ddof=0).round(4)
    array([[1.8974]])
    """
    difference = associations(to_a, to_b, "mean", measure)
    return np.asarray(difference / _spread(np.concatenate([to_a, to_b], axis=2), ddof))


def _spread(values: NDArray[np.floating], ddof: int) -> FloatArray:
    """Standard deviation over the last axis; NaN where it is rounding, and a ratio to it would be noise."""
    if ddof not in (0, 1):
        raise ValueError(f"ddof={ddof}: must be 1 (sample, as published) or 0 (population); set the association's ddof")
    return np.where(np.ptp(values, axis=-1) > _rounding(values), values.std(axis=-1, ddof=ddof), np.nan)


def _rounding(values: NDArray[np.floating]) -> FloatArray:
    return np.asarray(_ROUNDING * np.maximum(np.abs(values).max(axis=-1), 1.0))


def _check(to_a: NDArray[np.floating], to_b: NDArray[np.floating]) -> None:
    for name, to in (("to_a", to_a), ("to_b", to_b)):
        if to.ndim != 3 or to.shape[2] == 0:
            raise ValueError(f"{name} has shape {to.shape}: must be [replicas, words, attributes], with an attribute")
    if to_a.shape[:2] != to_b.shape[:2]:
        raise ValueError(f"to_a {to_a.shape} and to_b {to_b.shape}: must share their replicas and words (first axes)")


def _check_targets(scores: NDArray[np.floating], num_x: int) -> None:
    if scores.ndim != 2 or not 1 <= num_x < scores.shape[1]:
        raise ValueError(
            f"num_x={num_x} of scores {scores.shape}: scores must be [replicas, words], with a word in X and one in Y"
        )
