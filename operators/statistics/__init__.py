"""Intervals, tests and resamples that the measures share.

bootstrap_interval     interval of an estimate by its bootstrap replicas
percentile_interval    the central interval of the replicas alone
resampled_interval     interval of a number of texts by its resamples; of shares, by the score
resampled_counts       bootstrap resamples of texts, within strata and by whole conversations
permutation_p_value    p-value over all partitions of two sets, exact or between certified bounds
monte_carlo_p_value    p-value over drawn partitions
pairwise_tests         t-tests of every two cells, from :func:`.two_samples.moments`
holm                   p-values adjusted for the number of tests
benjamini_hochberg     p-values adjusted for the share of false discoveries
correlation_matrix     correlation of every two columns; :mod:`.statistics.correlation` has p-values

>>> import numpy as np
>>> permutation_p_value(np.array([0.3, 0.2]), np.array([0.1, -0.1])).value.__round__(4)
0.1667
"""

from tiltmeter.operators.statistics.correlation import correlation_matrix
from tiltmeter.operators.statistics.intervals import (
    bootstrap_interval,
    percentile_interval,
)
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.partitions.permutation import monte_carlo_p_value, permutation_p_value
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.text_intervals import resampled_interval
from tiltmeter.operators.statistics.two_samples import pairwise_tests

__all__ = [
    "benjamini_hochberg",
    "bootstrap_interval",
    "correlation_matrix",
    "holm",
    "monte_carlo_p_value",
    "pairwise_tests",
    "percentile_interval",
    "permutation_p_value",
    "resampled_counts",
    "resampled_interval",
]
