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

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import unit_vectors
from tiltmeter.operators.psychophysics.rows import checked_rows, mean_and_sd

VERSION = "psychophysics/4"

JND_PER_SD = 1.3489795003921634  # 2 ndtri(0.75), the distance of the quartiles
"""From the 25 % to the 75 % point of a cumulative normal, in standard deviations: 1.349."""

Width = Literal["window", "quartiles"]
"""Of a step curve: around its middle, or between its quarters."""

_ROUNDING = float(np.finfo(np.float64).eps)


class Estimate(NamedTuple):
    """PSE and JND, each ``[rows]`` float64."""

    pse: FloatArray
    jnd: FloatArray


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
    mean, sd = mean_and_sd(checked_rows(flips))
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
    return mean_and_sd(checked_rows(flips))[1]


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
    rows = checked_rows(flips)
    finite = np.isfinite(rows)
    num = finite.sum(axis=1)
    ordered = np.sort(np.where(finite, rows, np.nan), axis=1)
    middle = _first_reaching(ordered, num, 0.5)
    if width == "window":
        jnd = 2.0 * _first_reaching(np.sort(np.abs(ordered - middle[:, np.newaxis]), axis=1), num, 0.5)
    else:
        jnd = _first_reaching(ordered, num, 0.75) - _first_reaching(ordered, num, 0.25)
    return Estimate(middle, np.where(num >= 2, jnd, np.nan))


def _first_reaching(ordered: FloatArray, num: NDArray[np.int64], level: float) -> FloatArray:
    """Smallest finite value that a share ``level`` of a row's finite values does not exceed; NaN sorts last."""
    if ordered.shape[1] == 0:
        return np.full(len(ordered), np.nan)
    rank = np.ceil(level * np.maximum(num, 1)).astype(np.int64)
    return np.take_along_axis(ordered, rank[:, np.newaxis] - 1, axis=1)[:, 0]
