"""Intervals of numbers of texts, over resamples of the texts (Efron 1979; Davison and Hinkley 1997, chapter 2).

Replicas of a corpus are trained again, and few; resamples of texts that are scored already are cheap and many, and a
mean over resamples is the mean of the texts again. There is no noise that an average takes away, and so the default is
an interval around the number itself. Its spread s is that of the resamples, which is too small by sqrt((n - 1) / n) for
means of n texts (or pools of texts), and Student's t has n - 1 degrees of freedom.

A mean between two borders, such as a share, has the interval of a score test instead (Wilson 1927): all p with

    (u - p)^2 <= t^2 p (1 - p) / m,   m = u (1 - u) / s^2,

where u is the mean, and s its spread, as parts of the distance of the borders; m is how many independent texts of one
weight would spread as much (Korn and Graubard 1998, *Confidence intervals for proportions with small expected number of
positive counts*). Where all texts agree, nothing spreads, and m is the number of texts: others could lie on a border,
so that the interval of n texts goes t^2 / (n + t^2) of the way to both. What each method covers is in
``docs/how_sure.md``.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import cluster_keys, text_keys
from tiltmeter.operators.statistics.intervals import (
    HOLDS_ITS_ESTIMATE,
    LINEAR,
    LOGIT,
    Interval,
    IntervalSettings,
    Method,
    Scale,
    bootstrap_interval,
    empirical_interval,
)
from tiltmeter.operators.statistics.resampling import Estimate

DEFAULT_METHOD: Method = "centred"

_MIN_TEXTS = 2
_ROUNDING = 1e-9


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ResampleSettings(IntervalSettings):
    """Which intervals are made over resamples of texts, or of pools of them.

    Attributes:
        interval: their method, as :func:`resampled_interval` has them.
        num_resamples: how many.
    """

    interval: Method = DEFAULT_METHOD
    num_resamples: Annotated[int, Field(ge=2)] = 1000

    def over(self, estimate: Estimate, scale: Scale = LINEAR) -> Interval:
        """:func:`resampled_interval` by these settings."""
        return resampled_interval(estimate, self.level, self.interval, scale)


KeyedBy = Literal["place", "text"]
"""What tells a text from others when texts are drawn: where it stands among them, or what it says."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class KeyedResampleSettings(ResampleSettings):
    """Which intervals are made, and what resamples are keyed by.

    Attributes:
        keyed_by: with ``text``, runs on other texts draw those alike that they share, whatever stands between them.
    """

    keyed_by: KeyedBy = "place"

    def keys(self, texts: Sequence[Any]) -> NDArray[np.uint64] | None:
        """:func:`.keys.text_keys`; None where places tell texts apart."""
        return text_keys(texts) if self.keyed_by == "text" else None

    def cluster_keys(self, texts: Sequence[Any], clusters: NDArray[np.integer]) -> NDArray[np.uint64] | None:
        """:func:`.keys.cluster_keys`; None where places tell clusters apart."""
        return cluster_keys(texts, clusters) if self.keyed_by == "text" else None


def cut(low: float, high: float) -> Scale:
    """Of numbers that are no means, and still lie between two borders: the linear interval, cut there."""
    return Scale(LINEAR.forward, LINEAR.backward, low, high)


def between(low: float, high: float) -> Scale:
    """Of means of what lies between two borders: the logit of where on the way."""
    width = high - low
    return Scale(lambda x: LOGIT.forward((x - low) / width), lambda z: low + width * LOGIT.backward(z), low, high)


def below(border: float) -> Scale:
    """Of numbers that are a border less a mean of sizes: the logarithm of that mean, with the other sign."""
    return Scale(lambda x: -np.log(border - x), lambda z: border - np.exp(-z), -np.inf, border)


def resampled_interval(
    estimate: Estimate, level: float = 0.95, method: Method = DEFAULT_METHOD, scale: Scale = LINEAR
) -> Interval:
    """The interval of a number by resamples of the texts that it rests on.

    Args:
        estimate: the number with its resamples, which may be infinite.
        level: nominal coverage, strictly between 0 and 1.
        method: ``centred`` as above, ``averaged`` the same around the mean of the resamples; or as for
            :func:`.intervals.bootstrap_interval`.
        scale: of the number. Between two borders, unless they only :func:`cut`, ``centred`` and ``averaged`` go by the
            score.

    Returns:
        An end is infinite where more resamples are than it leaves out. An infinite number has the percentiles of its
        resamples, extended to it. NaN with fewer than 2 texts or known resamples, and where the number is NaN.

    >>> right = Estimate(0.9, np.array([0.85, 0.9, 0.95]), num_texts=20)
    >>> [float(end.round(3)) for end in resampled_interval(right, scale=LOGIT)[:2]]
    [0.744, 0.965]
    >>> [float(end.round(3)) for end in resampled_interval(Estimate(1.0, np.ones(9), num_texts=20), scale=LOGIT)[:2]]
    [0.82, 1.0]
    """
    value, resamples, texts = estimate
    if np.isinf(resamples).any() or np.isinf(value).any():
        return _extended(estimate, level, method, scale)
    if texts is not None and texts < _MIN_TEXTS:
        return bootstrap_interval(np.nan, np.full_like(resamples, np.nan), level)
    if method not in HOLDS_ITS_ESTIMATE:
        return bootstrap_interval(value, resamples, level, method, scale)
    estimate = estimate._replace(resamples=spread_out(estimate))
    if is_bounded(scale):
        return _score_interval(estimate, level, method, scale)
    df = None if texts is None else texts - 1.0
    low, high, num = bootstrap_interval(value, estimate.resamples, level, method, scale, df)
    return _holding(value, np.maximum(low, scale.low), np.minimum(high, scale.high), num)


def is_bounded(scale: Scale) -> bool:
    """Whether it is of means between two borders, whose intervals go by the score."""
    return bool(np.isfinite([scale.low, scale.high]).all()) and scale.forward is not LINEAR.forward


def spread_out(estimate: Estimate) -> FloatArray:
    """Resamples that spread as numbers of so many texts do; as they are where these are not known, or fewer than 2.

    >>> spread_out(Estimate(2.0, np.array([1.0, 2.0, 3.0]), num_texts=2)).round(2)
    array([0.59, 2.  , 3.41])
    """
    _, resamples, texts = estimate
    if texts is None or texts < _MIN_TEXTS:
        return resamples
    mean = _mean(resamples)[..., np.newaxis]
    return np.asarray(mean + np.sqrt(texts / (texts - 1.0)) * (resamples - mean))


def score_interval(
    value: float, variance: float, num_texts: float, level: float, scale: Scale, df: float | None = None
) -> tuple[float, float]:
    """The interval of the score, as above, of a mean between two borders whose variance is known otherwise.

    Args:
        value: the mean; what lies beyond a border is taken for the border.
        variance: of the mean.
        num_texts: that would agree if nothing spreads.
        level: nominal coverage.
        scale: of the mean, with its borders.
        df: degrees of freedom of Student's t; None: the texts less one.

    >>> [round(end, 3) for end in score_interval(0.9, 0.9 * 0.1 / 20, 20, 0.95, LOGIT)]
    [0.682, 0.974]
    """
    from scipy.special import stdtrit

    width = scale.high - scale.low
    share = np.clip(np.asarray((value - scale.low) / width), 0.0, 1.0)
    quantile = float(stdtrit(max(num_texts - 1.0 if df is None else df, 1.0), (1.0 + level) / 2.0))
    low, high = _score_ends(share, np.asarray(variance / width**2), num_texts, quantile)
    return min(scale.low + width * float(low), value), max(scale.low + width * float(high), value)


def _extended(estimate: Estimate, level: float, method: Method, scale: Scale) -> Interval:
    """Of one number that may be infinite, or some of its resamples."""
    value, resamples, _ = estimate
    low, high, num = empirical_interval(resamples, level)
    if method == "percentile":
        return Interval(low, high, num)
    if np.isinf(value):
        return Interval(np.minimum(low, value), np.maximum(high, value), num)
    finite = estimate._replace(resamples=resamples[np.isfinite(resamples)])
    inner = resampled_interval(finite, level, method, scale)
    return Interval(np.where(np.isinf(low), low, inner.low), np.where(np.isinf(high), high, inner.high), num)


def _mean(resamples: FloatArray) -> FloatArray:
    num = (~np.isnan(resamples)).sum(axis=-1)
    return np.asarray(np.nansum(resamples, axis=-1) / np.where(num > 0, num, np.nan))


def _score_interval(estimate: Estimate, level: float, method: Method, scale: Scale) -> Interval:
    from scipy.special import stdtrit

    width = scale.high - scale.low
    value, resamples = ((np.asarray(number) - scale.low) / width for number in estimate[:2])
    mean, num = _mean(resamples), np.asarray((~np.isnan(resamples)).sum(axis=-1, dtype=np.int64))
    variance = _mean((resamples - mean[..., np.newaxis]) ** 2) * num / np.maximum(num - 1, 1)
    texts = num if estimate.num_texts is None else estimate.num_texts
    quantile = stdtrit(np.maximum(texts - 1.0, 1.0), (1.0 + level) / 2.0)
    low, high = _score_ends(np.clip(value if method == "centred" else mean, 0.0, 1.0), variance, texts, quantile)
    low, high = (np.where(num < _MIN_TEXTS, np.nan, scale.low + width * end) for end in (low, high))
    return _holding(estimate.value, low, high, num)


def _holding(value: FloatArray | float, low: FloatArray, high: FloatArray, num: NDArray[np.int64]) -> Interval:
    """Cut, or there and back, a number may lie outside by rounding."""
    return Interval(np.asarray(np.minimum(low, value)), np.asarray(np.maximum(high, value)), num)


def _score_ends(
    share: FloatArray, variance: FloatArray, num_texts: FloatArray | float, quantile: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """The shares p at which the inequality above is an equality."""
    is_agreed = variance < _ROUNDING**2
    way = quantile**2 / (num_texts + quantile**2)
    agreed = share - way * share, share + way * (1.0 - share)
    product = share * (1.0 - share)
    weight = quantile**2 * variance / np.maximum(product, np.where(is_agreed, 1.0, variance))
    middle, half = share + weight / 2.0, np.sqrt(weight * product + weight**2 / 4.0)
    ends = np.maximum(middle - half, 0.0) / (1.0 + weight), np.minimum((middle + half) / (1.0 + weight), 1.0)
    low, high = (np.where(is_agreed, one, other) for one, other in zip(agreed, ends, strict=True))
    return low, high
