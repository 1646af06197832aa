"""Rates over texts of which some belong together, such as the phrases of a sentence: these are drawn together.

By default their intervals are those of shares and means by unit (:mod:`.statistics.means`), and resamples say how far
they move with others; by any other method of ``intervals.interval``, resamples make the interval too.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.means import MIN_SHARE, mean, share
from tiltmeter.operators.statistics.resampling import (
    Estimate,
    effective_number,
    resampled_cluster_mean,
    resampled_counts,
)
from tiltmeter.operators.statistics.text_intervals import DEFAULT_METHOD, ResampleSettings, cut, spread_out
from tiltmeter.operators.statistics.units import TooFew, units_of

VERSION = "cluster_rates/2"


class Rate(NamedTuple):
    """A mean with its interval, which is NaN of too few clusters; all are without a text.

    Attributes:
        resamples: which spread as the mean does; none without an interval.
        too_few: why there is no interval.
    """

    value: float
    low: float
    high: float
    resamples: FloatArray
    too_few: TooFew | None = None


class SampledClusters:
    """Resamples of clusters, the same for all that is said about them.

    Args:
        num: clusters.
        intervals: how many resamples, and which interval.
        seed: of the run.
        about: what is resampled, as a 64-bit key.
        kind: what clusters are, in the singular.
        keys: ``[clusters]``, what tells each from others wherever it stands; None: its place does.
    """

    def __init__(
        self,
        num: int,
        intervals: ResampleSettings,
        seed: int,
        about: int,
        kind: str,
        keys: NDArray[np.uint64] | None = None,
    ) -> None:
        blocks = resampled_counts(np.zeros(num, np.int64), seed, about, intervals.num_resamples, keys=keys)
        self._counts, self._intervals, self._kind = np.concatenate(list(blocks)), intervals, kind

    def rate(self, values: NDArray[np.bool_] | NDArray[np.integer], clusters: IntArray, scale: Scale = LOGIT) -> Rate:
        """A mean over texts.

        Args:
            values: ``[texts]``.
            clusters: ``[texts]``, the number of each one's cluster.
            scale: of the mean.
        """
        if not values.size:
            return self._none(np.nan, 0.0, 1)
        estimate = resampled_cluster_mean(values, clusters, self._counts)
        if self._intervals.interval != DEFAULT_METHOD:
            return self._interval(estimate, scale)
        units, level = units_of(clusters, self._kind), self._intervals.level
        result = share(values, units, level=level) if scale is LOGIT else mean(values, units, level=level, scale=scale)
        resamples = np.empty(0) if np.isnan(result.low) else spread_out(estimate)
        return Rate(result.value, result.low, result.high, resamples, result.too_few)

    def binned_gap(self, gaps: FloatArray, bins: IntArray, clusters: IntArray) -> Rate:
        """The sum over bins of the size of what gaps there add up to, by the number of texts.

        With what was expected less what was found as gaps, and bins by what was expected, it is the expected
        calibration error. Gaps of a bin that come by chance do not cancel: of few texts it is above 0 for them.

        Args:
            gaps: ``[texts]``, in -1..1.
            bins: ``[texts]``, the number of each one's bin.
            clusters: ``[texts]``, the number of each one's cluster.
        """
        if not gaps.size:
            return self._none(np.nan, 0.0, 1)
        num = self._counts.shape[1]
        sums = np.zeros((num, int(bins.max()) + 1))
        np.add.at(sums, (clusters, bins), gaps)
        sizes = np.bincount(clusters, minlength=num).astype(np.float64)
        with np.errstate(invalid="ignore"):
            resamples = np.abs(self._counts @ sums).sum(axis=1) / (self._counts @ sizes)
        value = float(np.abs(sums.sum(axis=0)).sum() / gaps.size)
        return self._interval(Estimate(value, resamples, effective_number(sizes)), cut(0.0, 1.0))

    def _interval(self, estimate: Estimate, scale: Scale) -> Rate:
        low, high, _ = self._intervals.over(estimate, scale)
        if np.isnan(low):
            return self._none(float(estimate.value), estimate.num_texts or 0.0, MIN_SHARE)
        return Rate(float(estimate.value), float(low), float(high), spread_out(estimate))

    def _none(self, value: float, have: float, need: int) -> Rate:
        return Rate(value, np.nan, np.nan, np.empty(0), TooFew(have, need, self._kind))
