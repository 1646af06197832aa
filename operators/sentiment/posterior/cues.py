"""Cues added to texts, from one to the other: where a classifier's verdict of a text changes.

The psychophysics of Liang and Acuna 2020 with texts as observers. A text of n words gets one more, the mixture
(1 - alpha) c1 + alpha c2 of two cues, and flips at the alpha* at which f is 0. Only texts near the border flip within
reach, as many on one side of it as on the other. The point of subjective equality is then the mixture at which half of
them are positive.

That is a point of one curve only where all texts move to the same side. The sign of f(c1) - f(c2) is nearly one for
each classifier, and need not be the same in two: the unit of the direction is the training. So there is a PSE where at
least 95 % of the texts of every classifier move to one side, over these; a difference of the shares that are positive
with either cue there always is. Both are of texts, each with all classifiers that have it near their border, and of the
trainings of these.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior.networks import Network, scores
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import Inferred, units_of

VERSION = "posterior_cues/3"

ONE_WAY = 0.95
"""Share of the texts of every classifier that moves to one side, for there to be a PSE."""

_BLOCK = 50
_MOST_SIGNS = 1_000
"""Of which 2^(1 - k) is a number."""


class Border(NamedTuple):
    """A classifier, and the texts near its border: their rows, vectors and numbers of words."""

    network: Network
    rows: IntArray
    vectors: FloatArray
    num_words: IntArray

    @classmethod
    def of(cls, network: Network, texts: FloatArray, num_words: IntArray, number: int) -> Self:
        """The border in texts ``[texts, dimensions]``; other arguments as of :func:`border_texts`."""
        rows = border_texts(network, texts, number)
        return cls(network, rows, texts[rows], num_words[rows])


class CueResponses(NamedTuple):
    """Attributes:
    flips: ``[texts]``, alpha* at which the verdict changes; may be outside of [0, 1]; NaN where alpha moves nothing.
    steps: ``[texts]``, f with the first cue less f with the second.
    first, second: ``[texts]``, whether each is positive with either cue alone.
    """

    flips: FloatArray
    steps: FloatArray
    first: BoolArray
    second: BoolArray

    @property
    def towards_first(self) -> float:
        """Share of the texts that the first cue makes more positive than the second; half where none moves."""
        moved = self.steps[self.steps != 0.0]
        return float((moved > 0.0).mean()) if moved.size else 0.5


def border_texts(network: Network, texts: FloatArray, number: int) -> IntArray:
    """Rows of the texts with f nearest to 0: half of the number on each side of it, or as many as there are on both."""
    values = scores(network, texts)
    order = np.argsort(np.abs(values), kind="stable")
    positive, negative = (order[values[order] > 0], order[values[order] <= 0])
    each = min(number // 2, len(positive), len(negative))
    return np.sort(np.concatenate([positive[:each], negative[:each]]))


def cue_responses(
    network: Network, texts: FloatArray, num_words: NDArray[np.number], cue_1: FloatArray, cue_2: FloatArray
) -> CueResponses:
    """Where texts flip between two cues.

    One word in a text is a small step, over which f is linear to within rounding of what is asked: alpha* is where the
    line through f at both cues is 0.

    Args:
        texts: ``[texts, dimensions]``, mean vectors.
        num_words: ``[texts]``.
        cue_1, cue_2: ``[dimensions]``.

    >>> linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    >>> cue_responses(linear, np.array([[0.0]]), np.array([1]), np.array([-1.0]), np.array([3.0])).flips
    array([0.25])
    """
    share = 1.0 / (np.asarray(num_words, dtype=np.float64)[:, np.newaxis] + 1.0)
    first, second = (scores(network, texts + (cue - texts) * share) for cue in (cue_1, cue_2))
    step = first - second
    moves: BoolArray = step != 0
    flips = np.where(moves, first / np.where(moves, step, 1.0), np.nan)
    return CueResponses(flips, step, first > 0, second > 0)


def one_way(responses: Sequence[CueResponses]) -> list[FloatArray] | None:
    """Of each classifier the flips of the texts that move as most do, NaN for others; None where directions differ.

    >>> up = CueResponses(np.array([0.3]), np.array([1.0]), np.array([True]), np.array([False]))
    >>> one_way([up, up]), one_way([up, up._replace(steps=np.array([-1.0]))])
    ([array([0.3]), array([0.3])], None)
    """
    shares = [response.towards_first for response in responses]
    for sign, towards in ((1.0, shares), (-1.0, [1.0 - share for share in shares])):
        if all(share >= ONE_WAY for share in towards):
            return [np.where(sign * response.steps > 0.0, response.flips, np.nan) for response in responses]
    return None


def by_text(borders: Sequence[Border], flips: Sequence[FloatArray]) -> tuple[IntArray, FloatArray]:
    """Which texts are near a border, ``[texts]``, and their flips, ``[texts, classifiers]``.

    A flip is NaN where its text is not near the border of its classifier.
    """
    texts = np.unique(np.concatenate([border.rows for border in borders]))
    of_texts = np.full((len(texts), len(borders)), np.nan)
    for number, (border, of_border) in enumerate(zip(borders, flips, strict=True)):
        of_texts[np.searchsorted(texts, border.rows), number] = of_border
    return texts, of_texts


def middle(flips: FloatArray, level: float) -> Inferred:
    """The mixture at which half of the flips lie below, with the interval of Woodruff 1952.

    The share of flips up to the middle has an interval, by texts and by classifiers (:mod:`.statistics.means`); its
    ends are the shares at which the ends of the middle are read off the flips.

    Args:
        flips: ``[texts, classifiers]``; NaN where a text is not near the border of a classifier.
        level: nominal coverage.

    >>> inferred = middle(np.arange(40.0)[:, np.newaxis] / 40, 0.95)
    >>> inferred.value, inferred.low, inferred.high
    (0.475, 0.325, 0.65)
    """
    texts, columns = np.nonzero(np.isfinite(flips))
    values = flips[texts, columns]
    pse = float(np.quantile(values, 0.5, method="inverted_cdf"))
    below = values <= pse
    by_classifier = np.bincount(columns, below, flips.shape[1]) / np.maximum(
        np.bincount(columns, None, flips.shape[1]), 1
    )
    shares = by_classifier[np.isfinite(flips).any(axis=0)]
    inferred = mean(below.astype(np.float64), units_of(texts, "text"), level=level, scale=LOGIT, seeds=shares)
    ordered = np.sort(values)
    ends = [np.nan if np.isnan(end) else ordered[_rank(end, values.size)] for end in (inferred.low, inferred.high)]
    return inferred._replace(value=pse, low=float(ends[0]), high=float(ends[1]), p=float("nan"))


def _rank(share: float, num: int) -> int:
    """Of the smallest number that so many do not exceed."""
    return min(max(int(np.ceil(share * num)) - 1, 0), num - 1)


def effect(responses: Sequence[CueResponses], rows: Sequence[IntArray], level: float) -> Inferred:
    """Share of texts that are positive with the first cue less that with the second, by texts and by classifiers.

    Args:
        responses: of each classifier.
        rows: of each, the texts near its border.
        level: nominal coverage.

    Returns:
        p of a difference of 0, by Student's t; what it says is of these classifiers alone where there is one.
    """
    moves = [response.first.astype(np.float64) - response.second for response in responses]
    units = units_of(np.concatenate(list(rows)), "text")
    shares = np.array([move.mean() for move in moves])
    every = np.concatenate(moves)
    inferred = mean(every, units, level=level, scale=FISHER, seeds=shares)
    if (
        inferred.variance == 0.0 and inferred.value != 0.0
    ):  # all texts move: no less than what signs of texts could show
        inferred = inferred._replace(p=2.0 ** (1 - min(int(np.count_nonzero(units.sums(every))), _MOST_SIGNS)))
    return inferred


def resampled_flips(flips: FloatArray, generator: np.random.Generator, num: int) -> Iterator[FloatArray]:
    """Flips of texts that are drawn again, each with those of all classifiers that have it near their border.

    Args:
        flips: ``[texts, classifiers]``; NaN where a text is not near the border of a classifier.
        generator: draws as many texts as have a flip.
        num: resamples.

    Yields:
        Blocks of resamples, ``[resamples, flips]``.

    >>> [block] = resampled_flips(np.array([[0.2, 0.3], [np.nan, np.nan]]), np.random.default_rng(0), 2)
    >>> block.tolist()
    [[0.2, 0.3], [0.2, 0.3]]
    """
    known = flips[np.isfinite(flips).any(axis=1)]
    numbers = generator.integers(len(known), size=(num, len(known)))
    for start in range(0, num, _BLOCK):
        drawn = known[numbers[start : start + _BLOCK]]
        yield drawn.reshape(len(drawn), -1)
