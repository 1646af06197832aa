"""How far the mean of items varies because a system answers an item otherwise when it is asked again.

With the unbiased variance s_i^2 of the k_i repeats of item i, and the share c_i that it has in the mean,

    V_w = sum_i c_i^2 s_i^2 / k_i                on sum_i (k_i - 1) degrees of freedom

(Miller 2024, *Adding error bars to evals*, section 3). That is the whole variance of *these items, sampled anew*; of
*items like these* it is the part that more repeats take away. An item with one repeat has no s_i^2, and gets the mean
of those that have one; of one repeat of everything, nothing is known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.statistics.intervals import LINEAR
from tiltmeter.operators.statistics.means import interval_ends, student_p
from tiltmeter.operators.statistics.units import Inferred, TooFew


class Noise(NamedTuple):
    """Attributes:
    variance: V_w; NaN where no item has two repeats.
    single: what it would be with one repeat of each item.
    df: degrees of freedom; 0 where no item has two repeats.
    """

    variance: float
    single: float
    df: float

    def plus(self, other: "Noise") -> "Noise":
        """Of the difference of two means, with Welch and Satterthwaite's degrees of freedom.

        >>> Noise(1.0, 2.0, 10.0).plus(Noise(1.0, 3.0, 10.0))
        Noise(variance=2.0, single=5.0, df=20.0)
        """
        total, df = self.variance + other.variance, min(self.df, other.df) and self.df + other.df
        if total > 0.0:
            df = total**2 / (self.variance**2 / self.df + other.variance**2 / other.df)
        return Noise(total, self.single + other.single, df)


def noise_of(variances: NDArray[np.floating], counts: NDArray[np.integer], shares: NDArray[np.floating]) -> Noise:
    """V_w as above.

    Args:
        variances: ``[items]``, s_i^2; NaN of a single repeat.
        counts: ``[items]``, k_i.
        shares: ``[items]``, c_i.

    >>> noise_of(np.array([0.5, 0.0, np.nan]), np.array([2, 2, 1]), np.full(3, 1 / 3))
    Noise(variance=0.05555555555555555, single=0.08333333333333333, df=2.0)
    """
    known = ~np.isnan(variances)
    if not known.any():
        return Noise(np.nan, np.nan, 0.0)
    weighted = np.square(shares) * np.where(known, variances, variances[known].mean())
    return Noise(float((weighted / counts).sum()), float(weighted.sum()), float((counts[known] - 1).sum()))


def sampled_anew(value: float, noise: Noise, level: float) -> Inferred:
    """A mean of these very items, by Student's t; null of p: without end of repeats it is 0.

    >>> result = sampled_anew(0.1, Noise(0.0025, 0.005, 40.0), level=0.95)
    >>> round(result.low, 4), round(result.high, 4), round(result.p, 4)
    (-0.0011, 0.2011, 0.0523)
    """
    if not noise.variance > 0.0:
        few = TooFew(0, 1, "item whose repeats differ" if noise.df else "item with two repeats of each system")
        return Inferred(value, np.nan, np.nan, np.nan, np.nan, 0, too_few=few)
    low, high, _ = interval_ends(value, noise.variance, noise.df, noise.df + 1.0, level, LINEAR, "repeat")
    return Inferred(value, low, high, noise.variance, noise.df, 0, student_p(value, noise.variance, noise.df))


def are_right_or_wrong(
    means: NDArray[np.floating], variances: NDArray[np.floating], counts: NDArray[np.integer]
) -> bool:
    """Whether all repeats are 0 or 1, by the mean and variance of each item's: sum x^2 = sum x.

    >>> [are_right_or_wrong(np.array([0.5, x]), np.array([0.5, np.nan]), np.array([2, 1])) for x in (1.0, 0.3)]
    [True, False]
    """
    squares = np.nan_to_num(variances) * (counts - 1.0) + counts * np.square(means)
    return bool(np.allclose(squares, counts * means) and ((means >= 0.0) & (means <= 1.0)).all())
