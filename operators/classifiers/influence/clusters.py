"""Rates over texts of which some belong together, such as the phrases of a sentence: these are drawn together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.resampling import resampled_cluster_mean, resampled_counts
from tiltmeter.operators.statistics.text_intervals import ResampleSettings

VERSION = "cluster_rates/1"


class Rate(NamedTuple):
    """A mean with its interval, which is NaN with fewer than two clusters; all are without a text."""

    value: float
    low: float
    high: float


class SampledClusters:
    """Resamples of clusters, the same for all that is said about them.

    Args:
        num: clusters.
        intervals: how many resamples, and which interval.
        seed: of the run.
        about: what is resampled, as a 64-bit key.
    """

    def __init__(self, num: int, intervals: ResampleSettings, seed: int, about: int) -> None:
        blocks = resampled_counts(np.zeros(num, np.int64), seed, about, intervals.num_resamples)
        self._counts, self._intervals = np.concatenate(list(blocks)), intervals

    def rate(self, values: NDArray[np.bool_] | NDArray[np.integer], clusters: IntArray, scale: Scale = LOGIT) -> Rate:
        """A mean over texts.

        Args:
            values: ``[texts]``.
            clusters: ``[texts]``, the number of each one's cluster.
            scale: of the mean.
        """
        if not values.size:
            return Rate(np.nan, np.nan, np.nan)
        estimate = resampled_cluster_mean(values, clusters, self._counts)
        low, high, _ = self._intervals.over(estimate, scale)
        return Rate(float(estimate.value), float(low), float(high))
