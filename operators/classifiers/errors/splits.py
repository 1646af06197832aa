"""Parts of texts that share no group, balanced ones among them; and what a mean over repeated splits is worth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.intervals import LINEAR, Scale, bootstrap_interval

VERSION = "error_splits/1"

BALANCE, SPLIT = 0, 1
"""What is drawn; the second number of a key."""


def shuffled_groups(groups: Sequence[str], seed: int, about: int) -> IntArray:
    """The place of each text's group in an order that depends on the seed, ``about`` and the groups' names alone."""
    names = sorted(set(groups), key=lambda name: (document_key(f"{seed}\n{about}\n{name}"), name))
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in groups], dtype=np.int64)


def folds_of(groups: Sequence[str], num_folds: int, seed: int, about: int) -> IntArray:
    """The fold of each text, from 0; all texts of a group are in one, and folds have as many groups as one another.

    Raises:
        ValueError: if there are fewer groups than folds.
    """
    places = shuffled_groups(groups, seed, about)
    if len(set(groups)) < num_folds:
        raise ValueError(f"{len(set(groups))} groups of texts: must be at least {num_folds}, one for each fold")
    return places % num_folds


def is_tested(groups: Sequence[str], share: float, seed: int, about: int) -> BoolArray:
    """Whether each text is in the test part, which has about this share of the groups, one at least.

    >>> is_tested(["a", "b", "c", "d", "a"], 0.25, seed=0, about=0).tolist()
    [False, True, False, False, False]
    """
    num_groups = len(set(groups))
    return shuffled_groups(groups, seed, about) < max(1, round(share * num_groups))


def balanced_rows(errors: BoolArray, seed: int, about: int) -> IntArray:
    """All errors and as many texts without one, drawn; or the other way round, where most texts are errors.

    Returns:
        Rows in rising order.

    >>> rows = balanced_rows(np.array([True, False, False, True, False]), seed=0, about=0)
    >>> len(rows), {0, 3} <= set(rows.tolist())
    (4, True)
    """
    kinds = [np.flatnonzero(errors), np.flatnonzero(~errors)]
    num = min(map(len, kinds))
    generator = keyed_generator(seed, Stream.ERROR_CHARACTERISATION, BALANCE, about)
    drawn = [kind if len(kind) == num else generator.choice(kind, num, replace=False) for kind in kinds]
    return np.sort(np.concatenate(drawn))


class Repeated(NamedTuple):
    """A mean over repeated splits.

    Attributes:
        mean: of the splits.
        low, high: interval of the mean.
        band_low, band_high: what holds the value of one more split.
    """

    mean: float
    low: float
    high: float
    band_low: float
    band_high: float


def repeated(values: NDArray[np.floating], test_share: float, level: float = 0.95, scale: Scale = LINEAR) -> Repeated:
    """The mean of J splits, with its interval and the band of a single split.

    Splits share training texts, so that their variance s^2 tells too little of the mean's. Nadeau and Bengio 2003
    (*Inference for the generalization error*) take (1/J + n_test/n_train) s^2 for it, here with Student's t of J - 1
    degrees of freedom; the band of one more split has (1 + 1/J) s^2.

    Args:
        values: ``[splits]``; NaN is left out.
        test_share: of the texts that each split tests on.
        scale: of the measure, whose range neither interval nor band leaves.

    >>> [round(value, 3) for value in repeated(np.array([0.7, 0.8, 0.9]), 0.2)]
    [0.8, 0.471, 1.129, 0.303, 1.297]
    >>> from tiltmeter.operators.statistics.intervals import LOGIT
    >>> [round(value, 3) for value in repeated(np.array([0.7, 0.8, 0.9]), 0.2, scale=LOGIT)]
    [0.8, 0.3, 0.974, 0.12, 0.992]
    """
    known = np.asarray(values, dtype=np.float64)[~np.isnan(values)]
    if known.size < 2:
        return Repeated(float(known.mean()) if known.size else np.nan, *[np.nan] * 4)
    mean = float(known.mean())
    spreads = _spread_of_mean(known.size, test_share), (1 + 1 / known.size) ** 0.5
    inner, outer = (bootstrap_interval(mean, known, level, "centred", scale, spread=spread) for spread in spreads)
    return Repeated(mean, float(inner.low), float(inner.high), float(outer.low), float(outer.high))


def _spread_of_mean(num: int, test_share: float) -> float:
    """In standard deviations of a split."""
    return float((1 / num + test_share / (1 - test_share)) ** 0.5)


def draws_of_mean(values: NDArray[np.floating], test_share: float) -> FloatArray:
    """Values that spread around the mean of the splits as it does, one for each split.

    The difference of two means over the same splits spreads as the differences of these do, so that it is judged by
    Nadeau and Bengio's t-test of two methods on the same splits.

    Args:
        values: ``[splits]``; NaN where a split has none.
        test_share: as for :func:`repeated`.

    Returns:
        ``[splits]``, NaN for the same ones; all with fewer than two values.

    >>> draws_of_mean(np.array([0.7, np.nan, 0.9]), 0.2).round(3)
    array([0.713,   nan, 0.887])
    """
    known = np.asarray(values, dtype=np.float64)[~np.isnan(values)]
    if known.size < 2:
        return np.full(len(values), np.nan)
    mean = known.mean()
    return np.asarray(mean + _spread_of_mean(known.size, test_share) * (values - mean))
