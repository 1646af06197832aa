"""A number among those of controls: things of the same kind of which nothing is to be found."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

VERSION = "controls/1"


def rank_p(value: float, controls: NDArray[np.floating], *, sides: Literal[1, 2]) -> float:
    """p = (1 + #{A_r >= A}) / (R + 1): exact where the thing is one of the kind the controls are.

    Phipson and Smyth 2010, *Permutation p-values should never be zero*. Ties count.

    Args:
        value: A, of the thing.
        controls: ``[R]``; NaN is left out.
        sides: 1 for large numbers alone, 2 for those far from 0.

    Returns:
        NaN without a control, or where the value is NaN.

    >>> rank_p(3.0, np.array([1.0, 2.0, 3.0]), sides=1), rank_p(-3.0, np.array([1.0, 2.0, 2.5]), sides=2)
    (0.5, 0.25)
    """
    known = controls[~np.isnan(controls)]
    if not known.size or math.isnan(value):
        return float("nan")
    reached = known >= value if sides == 1 else np.abs(known) >= abs(value)
    return float((1 + np.count_nonzero(reached)) / (1 + known.size))


def controls_needed(num_tests: int, alpha: float = 0.05) -> int:
    """The fewest controls with which the least p of so many tests, m / (R + 1) after Holm, is at most alpha.

    >>> controls_needed(1), controls_needed(6)
    (19, 119)
    """
    return math.ceil(num_tests / alpha - 1e-9) - 1
