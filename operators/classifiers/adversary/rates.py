"""How many texts a direction flips, how sure that is, and what it is beside directions without gender.

Intervals are of other texts of this kind, by the unit that was drawn: texts, or the groups that they are in. A share
has Korn and Graubard's, an excess that of a mean between -1 and 1 (:mod:`.means`). Where the candidates of bootstrap
replicas of the embedding are known, one embedding was drawn as well: the variance over replicas is added.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.adversary.controls import excess
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean, share
from tiltmeter.operators.statistics.units import Inferred, Units

VERSION = "adversary_rates/3"

_ROUNDING = 1e-9
"""By which means of equal sizes may differ."""


class Rates(NamedTuple):
    """Attributes:
    rate: A, the share of the texts that flip.
    excess: of A over the controls' mean; None without controls.
    p_value: of the excess, one-sided; NaN without controls.
    """

    rate: Inferred
    excess: Inferred | None
    p_value: float


def flip_rates(flips: FloatArray, controls: FloatArray, units: Units, *, level: float) -> Rates:
    """A, its excess, and their intervals.

    Args:
        flips: ``[embeddings, texts]``, 1 where a text flips: of the original embedding, then of its replicas.
        controls: ``[R, texts]``, the same of each control direction; none if R is 0.
        units: of the texts, of which there is one at least.
        level: nominal coverage.
    """
    replicas = _spreading(flips[1:].mean(axis=1))
    if replicas is None:
        rate = share(flips[0], units, level=level)
    else:
        rate = mean(flips[0], units, level=level, scale=LOGIT, seeds=replicas)
    if not len(controls):
        return Rates(rate, None, np.nan)
    beyond = mean(flips[0] - controls.mean(axis=0), units, level=level, scale=FISHER, seeds=replicas)
    return Rates(rate, beyond, excess(rate.value, controls.mean(axis=1)).p_value)


def _spreading(rates: FloatArray) -> FloatArray | None:
    """Numbers whose mean has the variance of one of the rates: the original is one embedding, and not their mean."""
    return rates * np.sqrt(len(rates)) if len(rates) > 1 else None


def resampled_rates(flips: FloatArray, controls: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A and E in resamples of the texts, each with the next of the replicas; what later runs are compared by.

    Args:
        flips, controls: as for :func:`flip_rates`.
        counts: ``[resamples, texts]``, how often each resample has each text.
    """
    numbers = 1 + np.arange(len(counts)) % (len(flips) - 1) if len(flips) > 1 else np.zeros(len(counts), np.int64)
    rates = (counts * flips[numbers]).sum(axis=1) / counts.sum(axis=1)
    beside = counts @ controls.mean(axis=0) / counts.sum(axis=1) if len(controls) else np.full(len(counts), np.nan)
    return rates, rates - beside


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
    slope = float(spread @ rates / (spread @ spread)) if np.ptp(sizes) > _ROUNDING else 0.0
    rest = rates - slope * spread
    result = excess(float(rest[0]), rest[1:])
    return SizedExcess(slope, result.excess, result.p_value)


def share_of(values: FloatArray, classes: BoolArray) -> float:
    """The share of some values in the sum of all; NaN where that is none.

    >>> share_of(np.array([0.75, 0.25]), np.array([True, False]))
    0.75
    """
    total = float(values.sum())
    return float(values[classes].sum()) / total if total > 0.0 else np.nan
