"""Intervals over bootstrap replicas (Efron 1979, *Bootstrap methods: another look at the jackknife*).

A replica is the statistic of a resampled corpus. Of the statistic of the corpus itself, t, with replicas t*_r of mean m
and standard deviation s, the intervals of nominal coverage 1 - 2a are

    percentile       q(a), q(1 - a)                               the quantiles of the replicas
    reflected        2 t - q(1 - a), 2 t - q(a)                   (Davison and Hinkley 1997, section 5.2)
    bias_corrected   q(Phi(2 z0 + z_a)), q(Phi(2 z0 - z_a))       z0 = Phi^-1(share of t*_r below t) (Efron 1981)
    centred          t -+ t_{R-1}(1 - a) s                        around the estimate, with Student's t
    averaged         m -+ t_{R-1}(1 - a) s, extended to hold t    around the mean of the replicas; of sizes, and where
                                                                  resampling shifts a number, centred

The mean of the replicas averages out the noise of training and much of that of the lines, as bagging does (Breiman
1996, *Bagging predictors*), and so lies nearer to what other corpora say than the estimate itself. But it leans with
whatever resampling does to a statistic: a resampled corpus has fewer different lines, its vectors are noisier, what
grows with precision shrinks, and what grows with noise, such as a mean of absolute values or a length, grows. Such a
shift, (m - t) / s, is made once by the sample and once more by its resamples: an interval around m then lies a shift
too far. So sizes (``of_size``) are centred whatever the data say, and other numbers where the size of their shift
exceeds ``MOST_SHIFT``. Of the mean size of 32 words of noise, 8 and 32 replicas, the hull held the mean over other
corpora in 62 and 51 %, around the estimate 98 and 99 % (``benchmarks.calibration``). What a size would be without any
noise no interval holds. Which of them hold what they should was measured: ``benchmarks.coverage``.

What is reckoned from the estimate could leave the range of a statistic, and percentiles can't. Statistics with borders
are therefore reckoned with on the scale on which their spread hardly depends on where they lie (:class:`Scale`).
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.arrays import FloatArray

_MIN_VALUES = 2


class Interval(NamedTuple):
    """Ends of intervals and how many values each rests on; the shape of the values less the reduced axis.

    Attributes:
        low, high: float64, in the unit of the values; NaN where fewer than 2 values are finite.
        num: int64, number of finite values.
    """

    low: FloatArray
    high: FloatArray
    num: NDArray[np.int64]


class Scale(NamedTuple):
    """On what scale an interval is reckoned, and between which borders the statistic lies.

    Attributes:
        forward, backward: there and back; of what lies on a border or beyond, ``forward`` gives no finite number.
        low, high: the borders.
        is_size: whether noise alone makes the statistic larger or smaller: a mean of absolute values, a length, a share
            of variance, a count of sides, a standard deviation.
    """

    forward: Callable[[FloatArray], FloatArray]
    backward: Callable[[FloatArray], FloatArray]
    low: float
    high: float
    is_size: bool = False


def fisher(limit: float) -> Scale:
    """Of correlations in other units, such as effect sizes, between -limit and limit: artanh(x / limit)."""
    return Scale(lambda x: np.arctanh(x / limit), lambda z: limit * np.tanh(z), -limit, limit)


LINEAR = Scale(lambda x: x, lambda x: x, -np.inf, np.inf)
"""Without borders."""

LOG = Scale(np.log, np.exp, 0.0, np.inf)
"""Of standard deviations, widths and ratios."""

LOGIT = Scale(lambda x: np.log(x) - np.log1p(-x), lambda z: 1.0 / (1.0 + np.exp(-z)), 0.0, 1.0)
"""Of shares, and of means of sizes that do not exceed 1."""

FISHER = fisher(1.0)
"""Of correlations, cosines and means of them (Fisher 1915)."""


def of_size(scale: Scale) -> Scale:
    """Of a statistic that is a size, between the borders of a scale: reckoned without it, and cut there.

    Resamples of what is mostly noise are larger by half and spread as much more. On a logarithmic or logistic scale
    their spread, taken around the smaller estimate, would be that much too narrow: it held 92 % instead of 98.

    >>> of_size(LOGIT).is_size, of_size(LOGIT).high, LOGIT.is_size
    (True, 1.0, False)
    """
    return Scale(LINEAR.forward, LINEAR.backward, scale.low, scale.high, is_size=True)


Method = Literal["averaged", "centred", "percentile", "reflected", "bias_corrected"]

DEFAULT_METHOD: Method = "averaged"
"""Of intervals over the replicas of a corpus: the one that covers in ``benchmarks.coverage``."""

MOST_SHIFT = 1.0
"""Standard deviations of the replicas by which their mean may lie off the estimate in an interval around that mean.

Simulated, 32 words of noise of sd 1 around leanings of sd 0, 1 and 3, 32 replicas: with a limit of 1 the mean over
other corpora is held in 99, 96 and 92 %, with one of Student's t in 84, 70 and 91 %."""

HOLDS_ITS_ESTIMATE: frozenset[Method] = frozenset({"averaged", "centred"})
"""By construction; by the others an estimate may lie outside of its own interval."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class IntervalSettings:
    """Which intervals a measure makes over the replicas of a corpus.

    Attributes:
        level: nominal coverage of the intervals.
        interval: their method, as :func:`bootstrap_interval` has them.
    """

    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.95
    interval: Method = DEFAULT_METHOD

    def around(
        self, estimate: NDArray[np.floating] | float, values: NDArray[np.floating], scale: Scale = LINEAR
    ) -> Interval:
        """:func:`bootstrap_interval` by these settings.

        >>> IntervalSettings(0.5, "percentile").around(4.0, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))[:2]
        (array(2.), array(4.))
        """
        return bootstrap_interval(estimate, values, self.level, self.interval, scale)


def bootstrap_interval(
    estimate: NDArray[np.floating] | float,
    values: NDArray[np.floating],
    level: float = 0.95,
    method: Method = DEFAULT_METHOD,
    scale: Scale = LINEAR,
    df: float | None = None,
    spread: float = 1.0,
) -> Interval:
    """The interval of an estimate by its bootstrap replicas, as above.

    Args:
        estimate: ``[...]``, of the original corpus.
        values: ``[..., replicas]``; NaN and infinite values are left out.
        level: nominal coverage, strictly between 0 and 1.
        method: which interval.
        scale: of the statistic; percentiles are the same on every scale. Where the estimate or a value lies on a
            border, which has no place on the scale, the interval is the linear one, cut at the borders.
        df: degrees of freedom of Student's t, if they are not those of the values.
        spread: standard deviation of the estimate in units of that of the values; with Student's t only.

    Returns:
        NaN for both ends where fewer than 2 values are finite, and, but for percentiles, where the estimate is not.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1, or ``method`` is unknown.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> [
    ...     [float(end.round(2)) for end in bootstrap_interval(4.0, values, 0.5, method)[:2]]
    ...     for method in ("averaged", "centred", "percentile", "reflected", "bias_corrected")
    ... ]
    [[1.83, 4.17], [2.83, 5.17], [2.0, 4.0], [4.0, 6.0], [3.58, 4.83]]
    >>> interval = bootstrap_interval(0.9, np.array([0.8, 0.85, 0.95]), 0.95, "centred", FISHER)
    >>> float(interval.low.round(3)), float(interval.high.round(3))
    (-0.186, 0.996)
    """
    check_level(level)
    if method not in get_args(Method):
        raise ValueError(f"method={method!r}: must be one of {', '.join(get_args(Method))}")
    if method == "percentile":
        return percentile_interval(values, level)
    centre = np.asarray(estimate, dtype=np.float64)
    centre, replicas = np.where(np.isfinite(centre), centre, np.nan), np.asarray(values, np.float64)
    if method == "bias_corrected":
        return _bias_corrected(centre, replicas, level)
    if method == "reflected":
        return _on_scale(lambda t, among: _reflected(t, among, level), centre, replicas, scale)
    around = _centred if method == "centred" else partial(_averaged, limit=0.0 if scale.is_size else MOST_SHIFT)
    low, high, num = _on_scale(lambda t, among: around(t, among, level, df, spread), centre, replicas, scale)
    # There and back, a number may come out a rounding away.
    return Interval(np.minimum(low, centre), np.maximum(high, centre), num)


def shift(
    estimate: NDArray[np.floating] | float, values: NDArray[np.floating], scale: Scale = LINEAR
) -> NDArray[np.floating]:
    """How far the mean of the replicas lies off the estimate, in standard deviations of theirs: (m - t) / s.

    Args:
        estimate: ``[...]``, of the original corpus.
        values: ``[..., replicas]``; NaN and infinite values are left out.
        scale: that the interval is reckoned on; where the estimate or a value lies on a border, the linear one.

    Returns:
        ``[...]``; 0 where nothing differs, infinite where equal values differ from the estimate, NaN where the estimate
        is not finite or fewer than 2 values are.

    >>> float(shift(4.0, np.array([1.0, 2.0, 3.0, np.nan]))), float(shift(1.0, np.ones(3)))
    (-2.0, 0.0)
    """
    centre, replicas = np.asarray(estimate, dtype=np.float64), np.asarray(values, np.float64)
    plain = _shift(centre, replicas)
    if scale.forward is LINEAR.forward:
        return plain
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved, among, on_border = _moved(centre, replicas, scale)
        return np.where(on_border, plain, _shift(moved, among))


def _shift(centre: FloatArray, values: FloatArray) -> FloatArray:
    mean, sd, _ = _moments(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((mean == centre) & (sd == 0), 0.0, (mean - centre) / sd)


def _moved(centre: FloatArray, values: FloatArray, scale: Scale) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Both on the scale, and where one of them lies on a border, which is infinitely far."""
    finite = np.isfinite(values)
    moved, among = scale.forward(centre), scale.forward(np.where(finite, values, np.nan))
    on_border = ~np.isfinite(moved) | (finite & ~np.isfinite(among)).any(axis=-1)
    return moved, among, on_border


def _on_scale(
    interval: Callable[[FloatArray, FloatArray], Interval], centre: FloatArray, values: FloatArray, scale: Scale
) -> Interval:
    plain = interval(centre, values)
    if scale is LINEAR:
        return plain
    cut = [np.clip(end, scale.low, scale.high) for end in plain[:2]]
    if scale.forward is LINEAR.forward:
        return Interval(cut[0], cut[1], plain.num)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved, among, on_border = _moved(centre, values, scale)
        inner = interval(moved, among)
        curved = scale.backward(inner.low), scale.backward(inner.high)
    low, high = (np.where(on_border, *ends) for ends in zip(cut, curved, strict=True))
    return Interval(low, high, plain.num)


def _reflected(centre: FloatArray, values: FloatArray, level: float) -> Interval:
    low, high, num = percentile_interval(values, level)
    return Interval(2.0 * centre - high, 2.0 * centre - low, num)


def _centred(centre: FloatArray, values: FloatArray, level: float, df: float | None, spread: float) -> Interval:
    from scipy.special import stdtrit

    _, sd, num = _moments(values)
    freedom = np.where(num >= _MIN_VALUES, num - 1.0, np.nan) if df is None else df
    reach = stdtrit(freedom, (1.0 + level) / 2.0) * spread * sd
    return Interval(np.asarray(centre - reach), np.asarray(centre + reach), num)


def _averaged(
    centre: FloatArray, values: FloatArray, level: float, df: float | None, spread: float, limit: float
) -> Interval:
    """Around the mean and up to the estimate; around the estimate where values that differ shift it too far."""
    mean, sd, _ = _moments(values)
    is_shifted = (np.abs(mean - centre) > limit * sd) & (sd > 0)
    low, high, num = _centred(np.where(is_shifted, centre, mean), values, level, df, spread)
    return Interval(np.minimum(low, centre), np.maximum(high, centre), num)


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Mean and sample standard deviation of the finite values, and their number."""
    finite = np.isfinite(values)
    num = np.asarray(finite.sum(axis=-1, dtype=np.int64))
    mean = np.where(finite, values, 0.0).sum(axis=-1) / np.maximum(num, 1)
    squares = (np.where(finite, values - mean[..., np.newaxis], 0.0) ** 2).sum(axis=-1)
    return mean, np.sqrt(squares / np.where(num >= _MIN_VALUES, num - 1.0, np.nan)), num


def _bias_corrected(centre: FloatArray, values: FloatArray, level: float) -> Interval:
    """Ties with the estimate count half; shares of 0 and 1 are taken half a replica inside, where z0 is finite."""
    from scipy.special import ndtr, ndtri

    finite = np.isfinite(values)
    num = np.asarray(finite.sum(axis=-1, dtype=np.int64))
    ordered = np.sort(np.where(finite, values, np.nan), axis=-1)
    sides = np.sign(np.where(finite, centre[..., np.newaxis] - values, 0.0)).sum(axis=-1)
    known = np.maximum(num, 1)
    missing = np.isnan(centre)
    below = np.where(missing, 0.5, np.clip((sides / known + 1.0) / 2.0, 0.5 / known, 1.0 - 0.5 / known))
    shift, tail = 2.0 * ndtri(below), ndtri((1.0 - level) / 2.0)
    low, high = (_quantile(ordered, num, ndtr(shift + side * tail)) for side in (1, -1))
    return Interval(np.where(missing, np.nan, low), np.where(missing, np.nan, high), num)


def percentile_interval(values: NDArray[np.floating], level: float = 0.95, axis: int = -1) -> Interval:
    """The central interval that holds a share ``level`` of the values.

    Its ends are the (1 - level)/2 and (1 + level)/2 quantiles of the finite values, with linear interpolation between
    order statistics (definition 7 of Hyndman and Fan 1996, the default of ``numpy.quantile``).

    Args:
        values: bootstrap replicas of an estimate along ``axis``, the original corpus not among them; NaN and infinite
            values are left out.
        level: nominal coverage, strictly between 0 and 1.
        axis: the axis that counts replicas; it is reduced.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> percentile_interval(np.array([4.0, 1.0, np.nan, 2.0, 3.0, 5.0]), level=0.5)
    Interval(low=array(2.), high=array(4.), num=array(5))
    """
    check_level(level)
    doubles = np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    finite = np.isfinite(doubles)
    num = np.asarray(finite.sum(axis=-1, dtype=np.int64))
    # Sorting puts NaN last, so the first num values of every row are its finite ones, in order.
    ordered = np.sort(np.where(finite, doubles, np.nan), axis=-1)
    tail = (1.0 - level) / 2.0
    return Interval(_quantile(ordered, num, tail), _quantile(ordered, num, 1.0 - tail), num)


def empirical_interval(values: NDArray[np.floating], level: float = 0.95) -> Interval:
    """The percentile interval of values that may be infinite: its ends are among them.

    They are the quantiles of the empirical distribution function (definition 1 of Hyndman and Fan 1996), as there is
    nothing between a finite value and an infinite one.

    Args:
        values: ``[replicates]``; NaN is left out.
        level: nominal coverage, strictly between 0 and 1.

    Returns:
        Numbers; NaN for both ends where fewer than 2 values are known.

    Raises:
        ValueError: if ``level`` does not lie strictly between 0 and 1.

    >>> empirical_interval(np.array([1.0, np.inf, 3.0, 2.0, np.nan]), level=0.5)
    Interval(low=array(1.), high=array(3.), num=array(4))
    """
    check_level(level)
    known = values[~np.isnan(values)]
    ends = np.full(2, np.nan)
    if known.size >= _MIN_VALUES:
        ends = np.quantile(known, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return Interval(np.asarray(ends[0]), np.asarray(ends[1]), np.asarray(known.size))


def percentile_coverage(level: float, num_values: int) -> float:
    """Chance that one more value falls into the percentile interval of the others, exactly so for uniform values.

    The k-th smallest of R exceeds a new value with chance k / (R + 1), and the ends are k = 1 + (R - 1)(1 +- level)/2.
    Normal values give a little more: simulated, 90 % instead of 89 % with 32 values at a level of 95 %.

    Args:
        level: nominal coverage.
        num_values: R, that the interval rests on.

    >>> round(percentile_coverage(0.95, 32), 4)
    0.8924
    """
    return level * (num_values - 1) / (num_values + 1)


def student_reach(level: float, num_values: int | None = None) -> float:
    """Half the width of the interval around an estimate, in standard deviations of its values.

    Args:
        level: nominal coverage.
        num_values: that the standard deviation rests on; None if it is known.

    >>> round(student_reach(0.95, 8), 3), round(student_reach(0.95), 3)
    (2.365, 1.96)
    """
    from scipy.special import ndtri, stdtrit

    share = (1.0 + level) / 2.0
    return float(ndtri(share) if num_values is None else stdtrit(num_values - 1.0, share))


def spread_error(num_values: int) -> float:
    """Relative standard error of a standard deviation of normal values, 1 / sqrt(2 (R - 1)).

    >>> round(spread_error(32), 3)
    0.127
    """
    return float((2.0 * (num_values - 1)) ** -0.5)


def check_level(level: float) -> None:
    """Refuses a nominal coverage outside the open interval (0, 1).

    Raises:
        ValueError: naming the value and what is allowed.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(
            f"level={level}: must lie strictly between 0 and 1, for example 0.95; set the interval's level"
        )


def _quantile(ordered: FloatArray, num: NDArray[np.int64], share: float | FloatArray) -> FloatArray:
    if ordered.shape[-1] == 0:
        return np.full(num.shape, np.nan)
    position = np.maximum(num - 1, 0) * share
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(num - 1, 0))
    lower, upper = _take(ordered, below), _take(ordered, above)
    return np.where(num >= _MIN_VALUES, lower + (upper - lower) * (position - below), np.nan)


def _take(ordered: FloatArray, index: NDArray[np.int64]) -> FloatArray:
    return np.take_along_axis(ordered, index[..., np.newaxis], axis=-1)[..., 0]
