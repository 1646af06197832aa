"""Sigmoids that fit the response curve of flips."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD, Estimate, response_curve
from tiltmeter.operators.psychophysics.rows import checked_rows, extremes, mean_and_sd
from tiltmeter.operators.psychophysics.sigmoid import Sigmoid, sigmoid_regression

GRID: FloatArray = np.linspace(-1.4625, 1.4625, 40)
"""Where :func:`fitted` reads the curve, in sample standard deviations from the mean; see there."""

_JND_PER_SCALE = {"normal": JND_PER_SD, "logistic": 2.1972245773362196}  # 2 log(3), for the same shares
_ROWS_AT_ONCE = 1024


def fitted(flips: NDArray[np.floating], sigmoid: Sigmoid = "normal") -> Estimate:
    """PSE and JND of the sigmoid that fits the response shares best (maximum likelihood).

    Maximises sum_k [p_k log F_k + (1 - p_k) log(1 - F_k)], F_k = F((alpha_k - PSE) / scale), with p_k the response
    share at alpha_k, and F the cumulative normal, for which JND = 1.349 scale, or the ``logistic`` curve
    1 / (1 + exp(-x)), for which JND = 2.197 scale: the distance of the quartiles, which is the window of equation 6.
    Newton's method in float64, each row until its step falls below 1e-8.

    Each row has its own 40 alphas, at mean +- 0.0375, 0.1125, ..., 1.4625 sample standard deviations of its flips, so
    the fit is determined wherever the flips lie and however narrow they are: about the 7 % to 93 % levels, where
    psychophysics places its stimuli. The width settles the bias of the fit. For n >= 8 normal flips the expected JND is
    (1 - 0.25/n) of the true one, the same as for :func:`.forced_choice.moments` (0.8 % low at n = 32, 6 % of its
    standard error); out to +- 4 standard deviations it would be (1 - 0.93/n), 2.9 % low. PSE is unbiased by symmetry.

    Args:
        flips: ``[rows, replicas]``; non-finite flips are left out.
        sigmoid: F.

    Returns:
        Both NaN where the fit is undefined: with fewer than 2 finite flips, or where all flips are equal.

    Raises:
        ValueError: if ``flips`` is not two-dimensional.
        ArithmeticError: if Newton's method has not settled after 50 steps; 5 are usual, 12 were seen
            for very heavy tails.

    >>> from scipy.special import ndtri
    >>> estimate = fitted(0.6 + 0.1 * ndtri(np.arange(0.005, 1.0, 0.01))[np.newaxis])
    >>> estimate.pse.round(3), (estimate.jnd / JND_PER_SD).round(3)
    (array([0.6]), array([0.1]))
    """
    rows = checked_rows(flips)
    starts = range(0, max(len(rows), 1), _ROWS_AT_ONCE)
    parts = [_fit(rows[start : start + _ROWS_AT_ONCE], sigmoid) for start in starts]
    return Estimate(np.concatenate([part.pse for part in parts]), np.concatenate([part.jnd for part in parts]))


def _fit(rows: FloatArray, sigmoid: Sigmoid) -> Estimate:
    # Differences of near numbers are exact, so measured from its smallest flip a row may be as narrow as it likes.
    origin, _ = extremes(rows)
    offsets = rows - np.where(np.isfinite(origin), origin, 0.0)[:, np.newaxis]
    mean, sd = mean_and_sd(offsets)
    pse, jnd = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    defined = np.flatnonzero(sd > 0)
    mean, sd = mean[defined], sd[defined]
    standardised = (offsets[defined] - mean[:, np.newaxis]) / sd[:, np.newaxis]
    # A flip at least lies within 1 of the mean and one at least 0.7 off: the shares rise, as the fit needs.
    intercept, slope = sigmoid_regression(response_curve(standardised, GRID), GRID, sigmoid).T
    pse[defined] = origin[defined] + (mean - sd * intercept / slope)
    jnd[defined] = _JND_PER_SCALE[sigmoid] * sd / slope
    return Estimate(pse, jnd)
