"""All estimates of PSE and JND, with their intervals: by the spread of the flips, and by resamples of them."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.philox import Stream, philox, unit_interval
from tiltmeter.operators.psychophysics.fitting import fitted
from tiltmeter.operators.psychophysics.forced_choice import Width, curve, moments, standard_deviation
from tiltmeter.operators.psychophysics.rows import checked_rows
from tiltmeter.operators.statistics.intervals import (
    DEFAULT_METHOD,
    LOG,
    Method,
    bootstrap_interval,
    check_level,
    percentile_interval,
)


class Psychometrics(NamedTuple):
    """Estimates of PSE and JND with their bootstrap intervals, each ``[rows]``.

    Attributes:
        pse, jnd: by :func:`.forced_choice.moments`.
        pse_curve, jnd_curve: by :func:`.forced_choice.curve`.
        pse_fit, jnd_fit: by :func:`.fitting.fitted`.
        pse_logistic, jnd_logistic: of the logistic curve, by :func:`.fitting.fitted`.
        flip_sd: by :func:`.forced_choice.standard_deviation`.
        pse_low, pse_high, pse_fit_low, pse_fit_high: of a PSE for this corpus drawn again, by the spread of the flips.
        jnd_low, jnd_high, jnd_fit_low, jnd_fit_high: of a JND for other replicas, by resamples of the flips.
        pse_monte_carlo_low, ..., pse_fit_monte_carlo_high: percentiles of the resamples' PSE.
        jnd_percentile_low, ..., jnd_fit_percentile_high: percentiles of the resamples' JND.
        num_replicas: int64, finite flips that the row rests on.
        num_outside: int64, those of them that lie outside of [0, 1].
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
    num_outside: NDArray[np.int64]


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
        width: what :func:`.forced_choice.curve` takes for JND.
        method: of the intervals, as for :func:`.intervals.bootstrap_interval`.

    Returns:
        Estimates as documented at :func:`.forced_choice.moments`, :func:`.forced_choice.curve` and
        :func:`.fitting.fitted`. Intervals are NaN with fewer than 2 finite flips. Resamples that draw equal flips only
        have JND 0 and no fit; the fit's interval leaves them out.

    Raises:
        ValueError: if ``flips`` is not two-dimensional, or another argument is out of range.

    >>> result = psychometrics_of(np.array([[0.4, 0.5, 0.6, 0.7, np.nan]]), seed=0, num_resamples=200)
    >>> result.pse.round(4), result.num_replicas, bool(result.pse_low < result.pse < result.pse_high)
    (array([0.55]), array([4]), True)
    """
    check_level(level)
    rows = checked_rows(flips)
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
        (np.isfinite(rows) & ((rows < 0.0) | (rows > 1.0))).sum(axis=1, dtype=np.int64),
    )


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
