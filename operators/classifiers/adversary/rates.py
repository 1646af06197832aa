"""How many texts a direction flips, how sure that is, and what it is beside directions without gender.

Intervals are over texts, drawn again with replacement (Efron 1979), in groups where texts have them, and over
embeddings: each resample takes the candidates of one bootstrap replica of these, where there are any.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.adversary.controls import excess
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.intervals import LOGIT, IntervalSettings, Scale, fisher

VERSION = "adversary_rates/2"


class Estimated(NamedTuple):
    """A number with its interval.

    Attributes:
        value, low, high: NaN where it is not known.
        resamples: ``[resamples]``, what the interval is made from; none where the number is not known.
    """

    value: float
    low: float
    high: float
    resamples: FloatArray


class Rates(NamedTuple):
    """Attributes:
    rate: A, the share of the texts that flip.
    excess: of A over the controls' mean; NaN without controls.
    p_value: of the excess, one-sided; NaN without controls.
    """

    rate: Estimated
    excess: Estimated
    p_value: float


_UNKNOWN = Estimated(np.nan, np.nan, np.nan, np.zeros(0))


def flip_rates(
    flips: FloatArray, controls: FloatArray, counts: FloatArray, settings: IntervalSettings, *, bounded: bool = True
) -> Rates:
    """A, its excess, and their intervals.

    Args:
        flips: ``[embeddings, texts]``, 1 where a text flips: of the original embedding, then of its replicas.
        controls: ``[R, texts]``, the same of each control direction; none if R is 0.
        counts: ``[resamples, texts]``, how often each resample has each text.
        settings: of the intervals.
        bounded: whether the numbers are shares; falls of a probability are means, which lie between 0 and 1 as well.

    Returns:
        NaN throughout where there is no text.
    """
    if not flips.shape[1]:
        return Rates(_UNKNOWN, _UNKNOWN, np.nan)
    rate, resampled = float(flips[0].mean()), _resampled(flips, counts)
    estimated = _estimated(rate, resampled, settings, LOGIT if bounded else fisher(1.0))
    if not len(controls):
        return Rates(estimated, _UNKNOWN, np.nan)
    result = excess(rate, controls.mean(axis=1))
    differences = resampled - _means(controls.mean(axis=0), counts)
    return Rates(estimated, _estimated(result.excess, differences, settings, fisher(1.0)), result.p_value)


def _estimated(value: float, resamples: FloatArray, settings: IntervalSettings, scale: Scale) -> Estimated:
    interval = settings.around(value, resamples, scale)
    return Estimated(value, float(interval.low), float(interval.high), resamples)


class SizedExcess(NamedTuple):
    """Attributes:
    slope: of rates over sizes.
    excess: of the rate at the size that it has.
    p_value: one-sided.
    """

    slope: float
    excess: float
    p_value: float


def sized_excess(rate: float, size: float, controls: FloatArray, control_sizes: FloatArray) -> SizedExcess:
    """The excess over controls beside which a direction has as many texts to choose from.

    More candidates are more chances. One line through rates over sizes, of the direction and all of its controls
    alike, is taken off each; what is left of them is exchangeable where the direction is one like its controls, so
    that its rank is a p-value as that of the rates is.

    Args:
        rate: A, of the direction.
        size: mean log10 of the number of texts that a text can become along it.
        controls, control_sizes: ``[R]``, the same of its controls.

    >>> sized_excess(0.5, 1.0, np.array([0.1, 0.6, 0.2]), np.ones(3))
    SizedExcess(slope=0.0, excess=0.2, p_value=0.5)
    """
    sizes, rates = np.array([size, *control_sizes]), np.array([rate, *controls])
    spread = sizes - sizes.mean()
    slope = float(spread @ rates / (spread @ spread)) if spread.any() else 0.0
    rest = rates - slope * spread
    result = excess(float(rest[0]), rest[1:])
    return SizedExcess(slope, result.excess, result.p_value)


def _resampled(flips: FloatArray, counts: FloatArray) -> FloatArray:
    """Each resample with the next of the replicas, in turn."""
    if len(flips) == 1:
        return _means(flips[0], counts)
    numbers = 1 + np.arange(len(counts)) % (len(flips) - 1)
    drawn: FloatArray = (counts * flips[numbers]).sum(axis=1) / counts.sum(axis=1)
    return drawn


def _means(values: FloatArray, counts: FloatArray) -> FloatArray:
    means: FloatArray = counts @ values / counts.sum(axis=1)
    return means


def share_of(values: FloatArray, classes: BoolArray) -> float:
    """The share of some values in the sum of all; NaN where that is none.

    >>> share_of(np.array([0.75, 0.25]), np.array([True, False]))
    0.75
    """
    total = float(values.sum())
    return float(values[classes].sum()) / total if total > 0.0 else np.nan
