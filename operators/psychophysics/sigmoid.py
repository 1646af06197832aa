"""Probit and logistic regression on many rows at once: the sigmoid that fits observed response shares best."""

from typing import Literal

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray

_MAX_STEPS = 50
_TOLERANCE = 1e-8


Sigmoid = Literal["normal", "logistic"]
"""F: the cumulative distribution of a standard normal, or 1 / (1 + exp(-x))."""


def sigmoid_regression(shares: FloatArray, grid: FloatArray, sigmoid: Sigmoid = "normal") -> FloatArray:
    """Fit F(intercept + slope z) to response shares at the points z of a grid.

    Maximises sum_k [p_k log F_k + (1 - p_k) log(1 - F_k)] with Newton's method, in each row until its step falls below
    1e-8; a row stops by itself, whatever else is in the batch.

    Args:
        shares: ``[rows, points]``, rising in each row, more than one value within (0, 1): the maximum then exists.
        grid: ``[points]``; best in units in which the answer is near intercept 0 and slope 1, where the search starts.
        sigmoid: F.

    Returns:
        ``[rows, 2]`` intercept and slope.

    Raises:
        ArithmeticError: if a row has not settled after 50 steps; 5 are usual.

    >>> from scipy.special import ndtr
    >>> sigmoid_regression(ndtr(0.5 + 2.0 * np.arange(-1, 1, 0.1))[np.newaxis], np.arange(-1, 1, 0.1)).round(6)
    array([[0.5, 2. ]])
    """
    parameters = np.tile([0.0, 1.0], (len(shares), 1))
    active = np.arange(len(shares))
    for _ in range(_MAX_STEPS):
        step = _newton_step(shares[active], grid, parameters[active], sigmoid)
        # The likelihood is concave, but far from its top a full step can overshoot.
        parameters[active] += np.clip(step, -1.0, 1.0)
        settled = np.abs(step).max(axis=1) <= _TOLERANCE
        active = active[~settled]
        if active.size == 0:
            return parameters
    raise ArithmeticError(
        f"{sigmoid} fit of {active.size} rows not settled after {_MAX_STEPS} steps: {shares[active[0]]}"
    )


def _newton_step(shares: FloatArray, grid: FloatArray, parameters: FloatArray, sigmoid: Sigmoid) -> FloatArray:
    linear = parameters[:, :1] + parameters[:, 1:] * grid
    score, weight = (_normal if sigmoid == "normal" else _logistic)(shares, linear)
    gradient_0, gradient_1 = score.sum(axis=1), (score * grid).sum(axis=1)
    w_0, w_1, w_2 = (values.sum(axis=1) for values in (weight, weight * grid, weight * grid**2))
    determinant = w_0 * w_2 - w_1**2
    step_0 = (w_2 * gradient_0 - w_1 * gradient_1) / determinant
    step_1 = (w_0 * gradient_1 - w_1 * gradient_0) / determinant
    return np.stack([step_0, step_1], axis=1)


def _normal(shares: FloatArray, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First derivative of the log likelihood by the linear predictor, and minus the second."""
    rising, falling = _hazards(linear)
    score = shares * rising - (1.0 - shares) * falling
    weight = shares * rising * (rising + linear) + (1.0 - shares) * falling * (falling - linear)
    return score, weight


def _logistic(shares: FloatArray, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
    from scipy.special import expit

    expected = expit(linear)
    return shares - expected, expected * expit(-linear)


def _hazards(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """phi(x)/Phi(x) and phi(x)/(1 - Phi(x)), the derivatives of log Phi(x) and of -log(1 - Phi(x)), for any x.

    Through erfcx(u) = exp(u^2) erfc(u), which does not underflow in the tail; erfcx(-u) = 2 exp(u^2) - erfcx(u).
    """
    from scipy.special import erfcx

    u = np.abs(x) / np.sqrt(2.0)
    tail = erfcx(u)
    # Beyond |x| = 37 the exponential is infinite and its hazard 0, which is right.
    with np.errstate(over="ignore"):
        body = 2.0 * np.exp(u * u) - tail
    near, far = np.sqrt(2.0 / np.pi) / body, np.sqrt(2.0 / np.pi) / tail
    return np.where(x > 0, near, far), np.where(x > 0, far, near)
