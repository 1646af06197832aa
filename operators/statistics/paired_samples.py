"""Student's t-test of paired samples (Student 1908, *The probable error of a mean*).

Of n differences d with mean m and sample variance s^2, t = m / sqrt(s^2 / n) has n - 1 degrees of freedom if they are
drawn from a normal distribution whose mean is 0.
"""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.two_samples import TTest

VERSION = "paired_samples/1"


def paired_t(differences: NDArray[np.floating]) -> TTest:
    """A two-sided test of whether the mean difference is 0.

    Args:
        differences: ``[pairs]``; NaN, where a pair lacks a side, is left out.

    Returns:
        All NaN of fewer than 2 differences; p = 1 where all are 0, and 0 where all are the same other number.

    >>> [round(float(value), 4) for value in paired_t(np.array([1.0, 2.0, np.nan, 3.0]))]
    [3.4641, 2.0, 0.0742]
    """
    from scipy.special import stdtr  # importing it takes time

    known = np.asarray(differences, dtype=np.float64)[~np.isnan(differences)]
    if known.size < 2:
        return TTest(*np.full((3, 1), np.nan)[:, 0])
    mean, error, df = known.mean(), known.std(ddof=1) / np.sqrt(known.size), float(known.size - 1)
    if np.ptp(known) == 0.0:  # the rounding of a mean is no variance
        mean, error = known[0], 0.0
    with np.errstate(divide="ignore"):
        t = np.asarray(0.0 if mean == 0.0 else mean / error)
    return TTest(t, np.asarray(df), np.asarray(2.0 * stdtr(df, -np.abs(t))))
