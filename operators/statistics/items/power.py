"""What a comparison of two systems on n items with k repeats can show, before it is made or after.

With the variance sigma_D^2 of the true differences of items, times 1 + (m - 1) rho where m items of a cluster have the
intra-cluster correlation rho, and the variance sigma_w^2 of the difference of one repeat of each system,

    Var = (sigma_D^2 (1 + (m - 1) rho) + sigma_w^2 / k) / n                         on n / m - 1 degrees of freedom
    power = P(|T_{df}(delta / sd)| > t_{1-alpha/2, df})                             T: Student's noncentral t
    smallest difference = (t_{1-alpha/2, df} + t_{power, df}) sd

(Miller 2024, *Adding error bars to evals*, sections 4 and 5, with t for z). A test of non-inferiority with a margin
passes two equal systems with the chance Phi(margin / sd - z_{1-alpha}).
"""

from bisect import bisect_left
from typing import NamedTuple

from tiltmeter.operators.statistics.items.repeats import Noise
from tiltmeter.operators.statistics.units import Inferred

POWER = 0.8


class Error(NamedTuple):
    """The standard error of a difference, and its degrees of freedom."""

    sd: float
    df: float


class Spread(NamedTuple):
    """What the standard error of any number of items and repeats follows from.

    Attributes:
        items: sigma_D^2 (1 + (m - 1) rho).
        noise: sigma_w^2; NaN where it is not known, and ``items`` has all of one repeat.
        units_per_item: 1 / m.
    """

    items: float
    noise: float
    units_per_item: float

    def of_two(self, correlation: float) -> "Spread":
        """Of the difference of two systems like this one, whose items' true means are so correlated."""
        return Spread(2.0 * (1.0 - correlation) * self.items, 2.0 * self.noise, self.units_per_item)

    def error(self, num_items: float, num_repeats: float) -> Error:
        """Of the difference of two systems on so many items.

        >>> Spread(0.03, 0.02, 0.1).error(100, 2)
        Error(sd=0.02, df=9.0)
        """
        noise = self.noise / num_repeats if self.noise == self.noise else 0.0
        return Error(float((self.items + noise) / num_items) ** 0.5, max(1.0, num_items * self.units_per_item - 1.0))


def spread_of(mean: Inferred, noise: Noise, num_items: int) -> Spread:
    """From the mean or difference of so many items; without repeats all is of the items, as they are with one.

    >>> spread_of(Inferred(0.1, 0.0, 0.2, 0.0025, 99.0, 100), Noise(0.001, 0.002, 100.0), 100)
    Spread(items=0.15, noise=0.2, units_per_item=1.0)
    """
    items = mean.variance - noise.variance if noise.df else mean.variance
    return Spread(max(0.0, num_items * items), num_items * noise.single, (mean.df + 1.0) / num_items)


def cluster_correlation(clustered: Spread, alone: Spread) -> float:
    """rho, from the spread by clusters and that by items; NaN where items don't differ or each is a cluster."""
    others = 1.0 / clustered.units_per_item - 1.0
    return (clustered.items / alone.items - 1.0) / others if alone.items > 0.0 and others > 0.0 else float("nan")


def smallest_detectable(error: Error, level: float, power: float = POWER) -> float:
    """The difference that is found with the chance ``power`` by an interval of this level, as above.

    >>> round(smallest_detectable(Error(0.02, 9.0), 0.95), 4), round(smallest_detectable(Error(0.02, 1e6), 0.95), 4)
    (0.0629, 0.056)
    """
    from scipy.special import stdtrit

    return float(stdtrit(error.df, (1.0 + level) / 2.0) + stdtrit(error.df, power)) * error.sd


def power_of(difference: float, error: Error, level: float) -> float:
    """The chance that a true difference is found, on either side."""
    from scipy.special import stdtrit
    from scipy.stats import nct

    reach, shift = float(stdtrit(error.df, (1.0 + level) / 2.0)), difference / error.sd
    return float(nct.sf(reach, error.df, shift) + nct.cdf(-reach, error.df, shift))


def items_for(difference: float, spread: Spread, num_repeats: float, level: float) -> int:
    """The fewest items, two at least, of which ``difference`` is the smallest that is detectable.

    >>> items_for(0.02, Spread(0.2, 0.0, 1.0), 1, 0.95)
    3927
    """

    def negative(num: int) -> float:
        return -smallest_detectable(spread.error(num, num_repeats), level)

    numbers = range(2, 1 << 40)
    return numbers[bisect_left(numbers, -difference, key=negative)]


def pass_rate(margin: float, error: Error, level: float) -> float:
    """How often equal systems pass a one-sided test of non-inferiority at 1 - level, as above.

    >>> round(pass_rate(0.01, Error(0.2**0.5 / 1000**0.5, 999.0), 0.95), 2)
    0.17
    """
    from scipy.special import ndtr, ndtri

    return float(ndtr(margin / error.sd - ndtri(level)))
