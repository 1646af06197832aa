"""What classifiers say together that learnt the same texts from different seeds: estimates of the same numbers."""

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray


def error_of_mean(errors: FloatArray) -> FloatArray:
    """Standard error of the mean of independent estimates: sqrt(sum_k se_k^2) / K.

    Args:
        errors: ``[estimates, numbers]``, the standard error of each.

    >>> error_of_mean(np.array([[3.0], [4.0]]))
    array([2.5])
    """
    return np.asarray(np.sqrt((errors**2).sum(axis=0)) / len(errors))


def spread(estimates: FloatArray) -> FloatArray:
    """Standard deviation over estimates, with K - 1 in the denominator; NaN where there is one only.

    Args:
        estimates: ``[estimates, ...]``.

    >>> spread(np.array([[1.0], [3.0]])).round(6), spread(np.array([[1.0, 2.0]]))
    (array([1.414214]), array([nan, nan]))
    """
    if len(estimates) < 2:
        return np.full(estimates.shape[1:], np.nan)
    return np.asarray(estimates.std(axis=0, ddof=1))


def largest_z(gaps: FloatArray, errors: FloatArray) -> FloatArray:
    """The largest \\|gap\\| in standard errors over estimates; NaN where an error is 0 or a gap is unknown.

    Args:
        gaps: ``[estimates, numbers]``, which should be 0.
        errors: ``[estimates, numbers]``, their standard errors.

    >>> largest_z(np.array([[0.2, 0.1], [-0.3, 0.0]]), np.array([[0.1, 0.1], [0.1, 0.0]]))
    array([ 3., nan])
    """
    return np.asarray(np.abs(gaps / np.where(errors > 0, errors, np.nan)).max(axis=0))
