"""Parts of texts that share no group, balanced ones among them; and what a mean over repeated splits is worth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.designs.splits import num_tested, repeated
from tiltmeter.operators.statistics.intervals import Scale, bootstrap_interval

VERSION = "error_splits/2"

_HALF = 0.5
_MIN_UNITS = 5

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


class Mean(NamedTuple):
    """Over repeated splits.

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


def mean_of(
    values: NDArray[np.floating], test_share: float, units: float, level: float, scale: Scale, *, is_share: bool
) -> Mean:
    """The mean of J splits with its interval (:func:`.repeated`), and the band of a single split, by (1 + 1/J) s^2.

    A share spreads at least as one of so many units. An AUROC and differences of what mostly agrees spread less, so
    that units count for them, and for all bands, only where all splits agree. Fewer than five units in a split give
    these no band: it would hold the next one in 81 % of cases, of an AUROC of two errors.

    Args:
        values: ``[splits]``; NaN is left out.
        test_share: of the texts that each split tests on.
        units: that decide the measure in the test part of a split.
        level: nominal coverage.
        scale: of the measure, whose range neither leaves.
        is_share: whether it is a share of units.

    >>> from tiltmeter.operators.statistics.intervals import LOGIT
    >>> [round(value, 3) for value in mean_of(np.array([0.7, 0.8, 0.9]), 0.2, 100, 0.95, LOGIT, is_share=True)]
    [0.8, 0.398, 0.96, 0.12, 0.992]
    """
    known = np.asarray(values, dtype=np.float64)[~np.isnan(values)]
    agree = known.size < 2 or float(np.ptp(known)) == 0.0
    in_all = num_tested(units / test_share, test_share, max(known.size, 1)) if agree or is_share else np.inf
    mean = repeated(known, test_share=test_share, tested_units=in_all, level=level, scale=scale)
    if not is_share and units < _MIN_UNITS:
        return Mean(mean.mean, mean.low, mean.high, np.nan, np.nan)
    if agree:
        band = repeated(known, test_share=_HALF, tested_units=units, level=level, scale=scale)
        return Mean(mean.mean, mean.low, mean.high, band.low, band.high)
    spread = (1 + 1 / known.size) ** 0.5
    low, high, _ = bootstrap_interval(mean.mean, known, level, "centred", scale, spread=spread)
    return Mean(mean.mean, mean.low, mean.high, float(low), float(high))


def _spread_of_mean(num: int, test_share: float) -> float:
    """In standard deviations of a split."""
    return float((1 / num + test_share / (1 - test_share)) ** 0.5)


def draws_of_mean(values: NDArray[np.floating], test_share: float) -> FloatArray:
    """Values that spread around the mean of the splits as it does, one for each split.

    The difference of two means over the same splits spreads as the differences of these do, so that it is judged by
    Nadeau and Bengio's t-test of two methods on the same splits.

    Args:
        values: ``[splits]``; NaN where a split has none.
        test_share: as for :func:`mean_of`.

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
