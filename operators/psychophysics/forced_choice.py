"""The two-alternative forced choice task of Liang and Acuna 2020, with bootstrap replicas as the observers.

*Artificial mental phenomena: psychophysics as a framework to detect perception biases in AI models*, equations 3, 5, 6
and 8. A replica is asked which of two cues, c1 (female) and c2 (male), fits an occupation w better while a mixture
alpha leads it from c1 to c2:

    score(c1) = (1 - alpha) + alpha sim(c2, c1) + sim(w, c1)
    score(c2) = (1 - alpha) sim(c1, c2) + alpha + sim(w, c2)

with sim the cosine. It answers c1 when score(c1) > score(c2) and c2 otherwise (equation 3), so it flips once, at a
mixture alpha* of its own. The flips of all replicas make the psychometric curve. Its middle is the point of subjective
equality (PSE): above 1/2, more of c2 is needed for balance, so w leans to c1. Its width is the just noticeable
difference (JND): small where the replicas agree. Both are mixtures, without a unit.
"""

from typing import Literal, NamedTuple, get_args

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval
from tiltmeter.operators.embedding.similarity import unit_vectors
from tiltmeter.operators.statistics.intervals import (
    DEFAULT_METHOD,
    LOG,
    Method,
    bootstrap_interval,
    check_level,
    percentile_interval,
)
from tiltmeter.operators.statistics.sigmoid import Sigmoid, sigmoid_regression

VERSION = "psychophysics/3"

JND_PER_SD = 1.3489795003921634  # 2 ndtri(0.75), the distance of the quartiles
"""From the 25 % to the 75 % point of a cumulative normal, in standard deviations: 1.349."""

_JND_PER_SCALE = {"normal": JND_PER_SD, "logistic": 2.1972245773362196}  # 2 log(3), for the same shares

Width = Literal["window", "quartiles"]
"""Of a step curve: around its middle, or between its quarters."""

GRID: FloatArray = np.linspace(-1.4625, 1.4625, 40)
"""Where :func:`fitted` reads the curve, in sample standard deviations from the mean; see there."""

_ROWS_AT_ONCE = 1024
_ROUNDING = float(np.finfo(np.float64).eps)


class Estimate(NamedTuple):
    """PSE and JND, each ``[rows]`` float64."""

    pse: FloatArray
    jnd: FloatArray


class Psychometrics(NamedTuple):
    """Estimates of PSE and JND with their bootstrap intervals, each ``[rows]``.

    Attributes:
        pse, jnd: by :func:`moments`.
        pse_curve, jnd_curve: by :func:`curve`.
        pse_fit, jnd_fit: by :func:`fitted`.
        pse_logistic, jnd_logistic: of the logistic curve, by :func:`fitted`.
        flip_sd: by :func:`standard_deviation`.
        pse_low, pse_high, pse_fit_low, pse_fit_high: of a PSE for this corpus drawn again, by the spread of the flips.
        jnd_low, jnd_high, jnd_fit_low, jnd_fit_high: of a JND for other replicas, by resamples of the flips.
        pse_monte_carlo_low, ..., pse_fit_monte_carlo_high: percentiles of the resamples' PSE.
        jnd_percentile_low, ..., jnd_fit_percentile_high: percentiles of the resamples' JND.
        num_replicas: int64, finite flips that the row rests on.
    """

    pse: FloatArray
    pse_low: FloatArray
    pse_high: FloatArray
    jnd: FloatArray
    jnd_low: FloatArray
    jnd_high: FloatArray
    pse_curve: FloatArray
    jnd_curve: FloatArray
    pse_fit: FloatArray
    pse_fit_low: FloatArray
    pse_fit_high: FloatArray
    jnd_fit: FloatArray
    jnd_fit_low: FloatArray
    jnd_fit_high: FloatArray
    pse_monte_carlo_low: FloatArray
    pse_monte_carlo_high: FloatArray
    jnd_percentile_low: FloatArray
    jnd_percentile_high: FloatArray
    pse_fit_monte_carlo_low: FloatArray
    pse_fit_monte_carlo_high: FloatArray
    jnd_fit_percentile_low: FloatArray
    jnd_fit_percentile_high: FloatArray
    pse_logistic: FloatArray
    jnd_logistic: FloatArray
    flip_sd: FloatArray
    num_replicas: NDArray[np.int64]


def flip_points(word: NDArray[np.floating], cue_1: NDArray[np.floating], cue_2: NDArray[np.floating]) -> FloatArray:
    """The mixture at which the answer changes from c1 to c2: score(c1) = score(c2), solved for alpha.

    alpha* = 1/2 + (sim(w, c1) - sim(w, c2)) / (2 (1 - sim(c1, c2))).

    Args:
        word, cue_1, cue_2: ``[..., dims]``, broadcast against each other over the leading axes.

    Returns:
        ``[...]`` float64; may lie outside [0, 1], where no mixture of the two cues outweighs the word. NaN where a
        vector is missing (NaN) or has length 0, or where sim(c1, c2) = 1 and alpha moves nothing.

    >>> female, male = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> flip_points(np.array([[1.0, 1.0], [4.0, 3.0], [1.0, 0.0]]), female, male).round(4)
    array([0.5, 0.6, 1. ])
    """
    contrast = unit_vectors(cue_1) - unit_vectors(cue_2)
    # 1 - cos of unit vectors is half their squared distance, which is exactly 0 for equal cues.
    opposition = np.einsum("...d,...d->...", contrast, contrast) / 2.0
    preference = np.einsum("...d,...d->...", unit_vectors(word), contrast)
    return np.asarray(0.5 + preference / np.where(opposition > _ROUNDING, 2.0 * opposition, np.nan))


def response_curve(flips: NDArray[np.floating], alphas: NDArray[np.floating]) -> FloatArray:
    """The psychometric curve: the share of replicas that answer c2 at each mixture, those with alpha* <= alpha.

    Args:
        flips: ``[..., replicas]`` from :func:`flip_points`; replicas without a finite flip are left out.
        alphas: ``[alphas]``.

    Returns:
        ``[..., alphas]`` float64 in [0, 1]; NaN where no flip is finite.

    >>> response_curve(np.array([0.2, 0.4, np.nan, 0.6, 0.6]), np.array([0.0, 0.3, 0.4, 1.0]))
    array([0.  , 0.25, 0.5 , 1.  ])
    """
    finite = np.isfinite(flips)
    # inf is above every alpha, so it stands for the replicas left out.
    answers = np.where(finite, flips, np.inf)[..., np.newaxis] <= alphas
    num = finite.sum(axis=-1, keepdims=True)
    return np.asarray(answers.sum(axis=-2) / np.where(num > 0, num, np.nan))


def moments(flips: NDArray[np.floating]) -> Estimate:
    """PSE as the mean of the flips, JND as 1.349 sample standard deviations, its value for a normal distribution.

    The caption of figure 2 takes the standard deviation itself for the JND (:func:`standard_deviation`), equation 6
    the window around the PSE that holds half of the replicas (:func:`curve`), 1.349 times as wide for a normal
    distribution.

    Args:
        flips: ``[rows, replicas]``; non-finite flips are left out.

    Returns:
        PSE NaN without a finite flip, JND NaN with fewer than 2; JND 0 where all flips are equal.

    Raises:
        ValueError: if ``flips`` is not two-dimensional.

    >>> estimate = moments(np.array([[0.4, 0.5, 0.6, np.nan]]))
    >>> estimate.pse.round(4), estimate.jnd.round(4)
    (array([0.5]), array([0.1349]))
    """
    mean, sd = _mean_and_sd(_as_rows(flips))
    return Estimate(mean, JND_PER_SD * sd)


def standard_deviation(flips: NDArray[np.floating]) -> FloatArray:
    """The sample standard deviation of the flips ``[rows]``, which the caption of figure 2 takes for the JND.

    Args:
        flips: ``[rows, replicas]``; non-finite flips are left out.

    Returns:
        NaN with fewer than 2 finite flips.

    Raises:
        ValueError: if ``flips`` is not two-dimensional.

    >>> standard_deviation(np.array([[0.4, 0.5, 0.6, np.nan]])).round(4)
    array([0.1])
    """
    return _mean_and_sd(_as_rows(flips))[1]


def curve(flips: NDArray[np.floating], width: Width = "window") -> Estimate:
    """PSE and JND read off the step curve itself, without a shape for it.

    PSE is where the share of c2 answers first reaches 50 % (equation 5). JND is the width of the ``window`` around it
    in which half of the replicas flip, Psi(PSE + JND/2) - Psi(PSE - JND/2) = 1/2 (equation 6): twice the median of
    \\|alpha* - PSE\\|. ``quartiles`` is the distance between where the share first reaches 25 % and 75 % instead, the
    same for a curve that is symmetric. With n flips, a level p is reached at the ceil(p n)-th smallest one, and so is
    the median of the distances.

    Args:
        flips: ``[rows, replicas]``; non-finite flips are left out.
        width: what JND is.

    Returns:
        PSE NaN without a finite flip, JND NaN with fewer than 2; JND 0 where all flips are equal.

    Raises:
        ValueError: if ``flips`` is not two-dimensional, or ``width`` is unknown.

    The distances from 0.4 are 0.2, 0.4, 0 and 0.5:

    >>> flips = np.array([[0.2, 0.8, 0.4, 0.9]])
    >>> curve(flips), curve(flips, "quartiles").jnd.round(4)
    (Estimate(pse=array([0.4]), jnd=array([0.4])), array([0.6]))
    """
    if width not in get_args(Width):
        raise ValueError(f"width={width!r}: must be one of {', '.join(get_args(Width))}")
    rows = _as_rows(flips)
    finite = np.isfinite(rows)
    num = finite.sum(axis=1)
    ordered = np.sort(np.where(finite, rows, np.nan), axis=1)
    middle = _first_reaching(ordered, num, 0.5)
    if width == "window":
        jnd = 2.0 * _first_reaching(np.sort(np.abs(ordered - middle[:, np.newaxis]), axis=1), num, 0.5)
    else:
        jnd = _first_reaching(ordered, num, 0.75) - _first_reaching(ordered, num, 0.25)
    return Estimate(middle, np.where(num >= 2, jnd, np.nan))


def fitted(flips: NDArray[np.floating], sigmoid: Sigmoid = "normal") -> Estimate:
    """PSE and JND of the sigmoid that fits the response shares best (maximum likelihood).

    Maximises sum_k [p_k log F_k + (1 - p_k) log(1 - F_k)], F_k = F((alpha_k - PSE) / scale), with p_k the response
    share at alpha_k, and F the cumulative normal, for which JND = 1.349 scale, or the ``logistic`` curve
    1 / (1 + exp(-x)), for which JND = 2.197 scale: the distance of the quartiles, which is the window of equation 6.
    Newton's method in float64, each row until its step falls below 1e-8.

    Each row has its own 40 alphas, at mean +- 0.0375, 0.1125, ..., 1.4625 sample standard deviations of its flips, so
    the fit is determined wherever the flips lie and however narrow they are: about the 7 % to 93 % levels, where
    psychophysics places its stimuli. The width settles the bias of the fit. For n >= 8 normal flips the expected JND is
    (1 - 0.25/n) of the true one, the same as for :func:`moments` (0.8 % low at n = 32, 6 % of its standard error); out
    to +- 4 standard deviations it would be (1 - 0.93/n), 2.9 % low. PSE is unbiased by symmetry.

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
    rows = _as_rows(flips)
    starts = range(0, max(len(rows), 1), _ROWS_AT_ONCE)
    parts = [_fit(rows[start : start + _ROWS_AT_ONCE], sigmoid) for start in starts]
    return Estimate(np.concatenate([part.pse for part in parts]), np.concatenate([part.jnd for part in parts]))


def resample_indices(seed: int, num_resamples: int, size: int) -> NDArray[np.int64]:
    """Which of ``size`` replicas each bootstrap resample draws, with replacement.

    Draw i of resample b is keyed by (seed, b, i) and by nothing else.

    Args:
        seed: the run's seed, 0 <= seed < 2^64.
        num_resamples: number of resamples, at least 1.
        size: number of replicas to draw from and to draw.

    Returns:
        ``[num_resamples, size]`` in 0..size-1.

    Raises:
        ValueError: if ``seed`` or ``num_resamples`` is out of range.

    >>> resample_indices(0, 2, 5)
    array([[4, 2, 3, 4, 0],
           [2, 2, 1, 0, 2]])
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed}: must lie in 0..2^64 - 1; set the run's seed")
    if num_resamples < 1:
        raise ValueError(f"num_resamples={num_resamples}: must be 1 or more, for example 1000; set num_resamples")
    indices = np.empty((num_resamples, size), dtype=np.int64)
    _fill_indices(indices, np.uint64(seed))
    return indices


def psychometrics_of(
    flips: NDArray[np.floating],
    seed: int,
    num_resamples: int = 1000,
    level: float = 0.95,
    width: Width = "window",
    method: Method = DEFAULT_METHOD,
) -> Psychometrics:
    """All estimates for every row, with bootstrap intervals for the moments and the fit.

    The flips are the answers of corpora drawn again, so the interval of a PSE for such a corpus is that of the flips,
    around the PSE. How well R replicas determine their mean is another matter: that Monte Carlo interval shrinks with
    R. The JND is itself how far corpora drawn again spread. Its interval, on the logarithmic scale with R - 1 degrees
    of freedom, says how far other R replicas would move it, and nothing of how it differs between corpora.

    A row's finite flips are resampled with the same indices as in every other row with as many of them, so its
    intervals depend on its flips, in the order of the replicas, and on nothing else.

    Args:
        flips: ``[rows, replicas]``, one row for each occupation and cue pair; the bootstrap replicas 1..R, as in the
            paper, not the original corpus.
        seed: the run's seed, 0 <= seed < 2^64.
        num_resamples: number of bootstrap resamples.
        level: nominal coverage of the intervals, strictly between 0 and 1.
        width: what :func:`curve` takes for JND.
        method: of the intervals, as for :func:`.intervals.bootstrap_interval`.

    Returns:
        Estimates as documented at :func:`moments`, :func:`curve` and :func:`fitted`. Intervals are NaN with fewer than
        2 finite flips. Resamples that draw equal flips only have JND 0 and no fit; the fit's interval leaves them out.

    Raises:
        ValueError: if ``flips`` is not two-dimensional, or another argument is out of range.

    >>> result = psychometrics_of(np.array([[0.4, 0.5, 0.6, 0.7, np.nan]]), seed=0, num_resamples=200)
    >>> result.pse.round(4), result.num_replicas, bool(result.pse_low < result.pse < result.pse_high)
    (array([0.55]), array([4]), True)
    """
    check_level(level)
    rows = _as_rows(flips)
    num = np.isfinite(rows).sum(axis=1, dtype=np.int64)
    by_moments, by_fit = moments(rows), fitted(rows)
    estimates = np.stack([*by_moments, *by_fit])
    draws = {int(size): resample_indices(seed, num_resamples, int(size)) for size in np.unique(num)}
    ends = [
        _resampled_ends(row[np.isfinite(row)], draws[int(size)], jnds, level, method)
        for row, size, jnds in zip(rows, num, estimates[[1, 3]].T, strict=True)
    ]
    # [low and high of: pse, jnd, pse of the fit, jnd of the fit; and of both jnd by the method], [rows]
    by_row = np.array(ends, np.float64).reshape(len(rows), 6, 2)
    pse, jnd, pse_fit, jnd_fit, around, around_fit = by_row.transpose(1, 2, 0)
    spread, spread_fit = (
        bootstrap_interval(estimate, rows, level, method) for estimate in (by_moments.pse, by_fit.pse)
    )
    return Psychometrics(
        *(by_moments.pse, spread.low, spread.high, by_moments.jnd, around[0], around[1]),
        *curve(rows, width),
        *(by_fit.pse, spread_fit.low, spread_fit.high, by_fit.jnd, around_fit[0], around_fit[1]),
        *(pse[0], pse[1], jnd[0], jnd[1], pse_fit[0], pse_fit[1], jnd_fit[0], jnd_fit[1]),
        *fitted(rows, "logistic"),
        standard_deviation(rows),
        num,
    )


def _as_rows(flips: NDArray[np.floating]) -> FloatArray:
    rows = np.asarray(flips, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"flips has shape {rows.shape}: must be [rows, replicas]")
    return rows


def _mean_and_sd(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sample standard deviation ``[rows]`` of the finite values; the latter exactly 0 where all are equal."""
    finite = np.isfinite(rows)
    num = finite.sum(axis=1)
    mean = np.where(finite, rows, 0.0).sum(axis=1) / np.where(num > 0, num, np.nan)
    deviations = np.where(finite, rows - mean[:, np.newaxis], 0.0)
    sd = np.sqrt((deviations**2).sum(axis=1) / np.where(num > 1, num - 1, np.nan))
    smallest, largest = _range(rows)
    return mean, np.where((num > 1) & (smallest == largest), 0.0, sd)


def _range(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest finite value ``[rows]``; inf and -inf where there is none."""
    finite = np.isfinite(rows)
    smallest = np.where(finite, rows, np.inf).min(axis=1, initial=np.inf)
    return smallest, np.where(finite, rows, -np.inf).max(axis=1, initial=-np.inf)


def _first_reaching(ordered: FloatArray, num: NDArray[np.int64], level: float) -> FloatArray:
    """Smallest finite value that a share ``level`` of a row's finite values does not exceed; NaN sorts last."""
    if ordered.shape[1] == 0:
        return np.full(len(ordered), np.nan)
    rank = np.ceil(level * np.maximum(num, 1)).astype(np.int64)
    return np.take_along_axis(ordered, rank[:, np.newaxis] - 1, axis=1)[:, 0]


def _fit(rows: FloatArray, sigmoid: Sigmoid) -> Estimate:
    # Differences of near numbers are exact, so measured from its smallest flip a row may be as narrow as it likes.
    origin, _ = _range(rows)
    offsets = rows - np.where(np.isfinite(origin), origin, 0.0)[:, np.newaxis]
    mean, sd = _mean_and_sd(offsets)
    pse, jnd = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    defined = np.flatnonzero(sd > 0)
    mean, sd = mean[defined], sd[defined]
    standardised = (offsets[defined] - mean[:, np.newaxis]) / sd[:, np.newaxis]
    # A flip at least lies within 1 of the mean and one at least 0.7 off: the shares rise, as the fit needs.
    intercept, slope = sigmoid_regression(response_curve(standardised, GRID), GRID, sigmoid).T
    pse[defined] = origin[defined] + (mean - sd * intercept / slope)
    jnd[defined] = _JND_PER_SCALE[sigmoid] * sd / slope
    return Estimate(pse, jnd)


@numba.njit(cache=True)
def _fill_indices(indices: NDArray[np.int64], seed: np.uint64) -> None:
    num_resamples, size = indices.shape
    stream, zero = np.uint64(Stream.RESAMPLING.value), np.uint64(0)
    for resample in range(num_resamples):
        for start in range(0, size, 4):
            words = philox(seed, stream, np.uint64(resample), np.uint64(start // 4), zero, zero)
            for lane in range(min(4, size - start)):
                indices[resample, start + lane] = int(unit_interval(words[lane]) * size)


def _resampled_ends(
    flips: FloatArray, indices: NDArray[np.int64], jnds: FloatArray, level: float, method: Method
) -> FloatArray:
    """``[6, 2]`` ends for one row: percentiles of PSE and JND by moments and by the fit, and both JND by the method."""
    if flips.size < 2:
        return np.full((6, 2), np.nan)
    resamples = flips[indices]
    values = np.stack([*moments(resamples), *fitted(resamples)])
    low, high, _ = percentile_interval(values, level)
    # Resamples of replicas agree more than the replicas do, so that their mean is no place for the JND's interval.
    of_widths: Method = "centred" if method == "averaged" else method
    around = bootstrap_interval(jnds, values[[1, 3]], level, of_widths, LOG, df=flips.size - 1.0)
    return np.stack([np.concatenate([low, around.low]), np.concatenate([high, around.high])], axis=1)
