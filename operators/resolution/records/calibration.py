"""Match probabilities that mean what they say: fitted to labels, and held against others that nothing was fitted to.

Scores p become probabilities q that rise with p, with a, b >= 0:

    platt: logit q = c + a logit p                       (Platt 1999)
    beta: logit q = c + a ln p - b ln(1 - p)             (Kull, Silva Filho and Flach 2017)
    isotonic: least squares among all that rise          (Zadrozny and Elkan 2002)

Among labels that are drawn, matches are more or less frequent than among all pairs: the odds of a match are e^shift
times those of the labels, at every score. So are fitted odds, and shares of matches with the ends of their intervals.
"""

from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import Inferred, units_of

VERSION = "record_calibration/1"

Method = Literal["platt", "beta", "isotonic"]

CLIP = 1e-6
"""Nothing that is fitted, or of which a logit or a loss is taken, is nearer to 0 or 1."""

LEAST_ISOTONIC = 1000
"""Labels below which steps would follow noise."""

_PRIOR_SD = 10.0
"""Of c, a and b around q = p: finite even where scores tell all matches from all others."""


class Labels(NamedTuple):
    """Labelled pairs with their scores.

    Attributes:
        scores, is_match: ``[pairs]``.
        weights: ``[pairs]``, how many each stands for among those of its kind, such as N / n of its band of scores.
        units: ``[pairs, 2]``, numbers of what both ends were drawn with, such as true clusters.
        prior: share of matches among all pairs; None: as drawn.
        kept: where clusters were drawn, and all their pairs labelled, the chance that another one is in the sample: a
            pair that matches has one cluster, any other two.
    """

    scores: FloatArray
    is_match: BoolArray
    weights: FloatArray
    units: IntArray
    prior: float | None = None
    kept: float = 1.0

    @property
    def shift(self) -> float:
        """Log odds of a match among all pairs, less those among labels; of one kind of labels, a prior says nothing."""
        known = float(np.average(self.is_match, weights=self.weights))
        if self.prior is None or not 0.0 < known < 1.0:
            return float(np.log(self.kept))
        return float(np.log(self.prior / (1.0 - self.prior) * (1.0 - known) / known))

    @property
    def shares(self) -> FloatArray:
        """``[pairs]``, what part of all pairs each stands for."""
        parts = self.weights * np.where(self.is_match, np.exp(self.shift), 1.0)
        return np.asarray(parts / parts.sum())


class Calibration(NamedTuple):
    """``parameters`` c, a (and b), or the probability at each of the scores ``knots``; the ``shift`` of the labels."""

    parameters: list[float]
    knots: list[float]
    shift: float


class Bin(NamedTuple):
    """Labelled pairs of like probability: its mean, how many they are, and the share of matches."""

    mean: float
    num_pairs: int
    share: Inferred


class Losses(NamedTuple):
    """Over all pairs that labels stand for; ``true_share`` is that of matches where 2 q - 1 is positive."""

    ece: float
    brier: float
    log_loss: float
    true_share: float


def fit_calibration(labels: Labels, method: Method) -> Calibration:
    """By largest likelihood, or least squares, of weighted labels.

    Raises:
        ValueError: if the labels are of one kind, or too few for steps.
    """
    num, num_matches = labels.is_match.size, int(labels.is_match.sum())
    if num_matches in (0, num) or (method == "isotonic" and num < LEAST_ISOTONIC):
        raise ValueError(
            f"records.calibration={method}: {num_matches} of {num} labelled pairs that calibrate are matches: there "
            f"must be both kinds, and {LEAST_ISOTONIC} pairs for isotonic; set records.calibration_share higher, or "
            "another records.calibration"
        )
    weights, truth = labels.weights / labels.weights.mean(), labels.is_match.astype(np.float64)
    if method != "isotonic":
        return Calibration(_logistic(_terms(labels.scores, method), truth, weights), [], labels.shift)
    from sklearn.isotonic import IsotonicRegression

    steps = IsotonicRegression().fit(labels.scores, truth, weights)
    return Calibration(steps.y_thresholds_.tolist(), steps.X_thresholds_.tolist(), labels.shift)


def calibrated(scores: FloatArray, calibration: Calibration) -> FloatArray:
    """``[pairs]``, from ``CLIP`` to 1 - ``CLIP``.

    >>> calibrated(np.array([0.0, 0.5, 1.0]), Calibration([0.0, 2.0], [], np.log(0.25))).tolist()
    [1e-06, 0.2, 0.999999]
    """
    from scipy.special import expit

    parameters, knots, shift = calibration
    if knots:
        fitted = np.interp(scores, knots, parameters)
    else:
        fitted = expit(np.asarray(parameters) @ _terms(scores, "platt" if len(parameters) == 2 else "beta"))
    return np.asarray(np.clip(with_odds(fitted, np.exp(shift)), CLIP, 1.0 - CLIP))


def calibrated_pairs(scored: pl.DataFrame, calibration: Calibration, threshold: float) -> pl.DataFrame:
    """Scored pairs with their calibrated ``match_probability`` from a threshold on, and what it was as ``score``."""
    q = pl.Series(calibrated(scored["match_probability"].to_numpy(), calibration))
    return scored.with_columns(match_probability=q, score="match_probability").filter(q >= threshold)


def with_odds(p: FloatArray, factor: float) -> FloatArray:
    """Probabilities whose odds are multiplied.

    >>> with_odds(np.array([0.0, 0.5, 1.0]), 0.5).round(3).tolist()
    [0.0, 0.333, 1.0]
    """
    return np.asarray(factor * p / (factor * p + 1.0 - p))


def equal_bins(q: FloatArray, num_bins: int = 10) -> IntArray:
    """``[pairs]``, the bin of each: of equally many, as far as equal ones, which share theirs, allow that.

    >>> equal_bins(np.array([0.1, 0.9, 0.1, 0.1, 0.5, 0.4]), 3).tolist()
    [0, 2, 0, 0, 2, 1]
    """
    edges = np.quantile(q, np.arange(1, num_bins) / num_bins, method="inverted_cdf")
    return np.searchsorted(edges, q, side="left")


def reliability(q: FloatArray, labels: Labels, *, kind: str, level: float) -> list[Bin]:
    """Of probabilities of the labelled pairs, by :func:`equal_bins`.

    A pair is of two units, or of one. It counts for that of which the bin has more pairs, as if those of a unit varied
    together and others did not: simulated with strong effects of units, 93 to 99 % of the intervals hold at 95 %.

    Args:
        kind: what the units are, in the singular.
        level: of the intervals.
    """
    bins, shares, rows = equal_bins(q), labels.shares, []
    for part in (bins == number for number in np.unique(bins)):
        ends, weights = labels.units[part], labels.weights[part] / labels.weights[part].mean()
        first, second = np.bincount(ends.ravel())[ends].T
        units = units_of(np.where(first >= second, *ends.T), kind)
        result = share(weights * labels.is_match[part], units, level=level, sizes=weights)
        value, low, high = with_odds(np.array([result.value, result.low, result.high]), np.exp(labels.shift)).tolist()
        mean = float(np.average(q[part], weights=shares[part]))
        rows.append(Bin(mean, int(part.sum()), result._replace(value=value, low=low, high=high)))
    return rows


def losses(q: FloatArray, labels: Labels) -> Losses:
    """Calibration error in the same bins, Brier's score and log loss (in nats) of probabilities."""
    shares, truth, clipped = labels.shares, labels.is_match.astype(np.float64), np.clip(q, CLIP, 1.0 - CLIP)
    ece = np.abs(np.bincount(equal_bins(q), shares * (q - truth))).sum()
    log_loss = -shares @ np.log(np.where(labels.is_match, clipped, 1.0 - clipped))
    positive = shares * (q > 0.5)
    true_share = positive @ truth / positive.sum() if positive.any() else np.nan
    return Losses(float(ece), float(shares @ (q - truth) ** 2), float(log_loss), float(true_share))


def _terms(scores: FloatArray, method: Method) -> FloatArray:
    """``[parameters, pairs]``, what c, a and b are multiplied by."""
    clipped = np.clip(scores, CLIP, 1.0 - CLIP)
    sides = [np.log(clipped), -np.log1p(-clipped)]
    return np.stack([np.ones(scores.size), *(sides if method == "beta" else [sides[0] + sides[1]])])


def _logistic(terms: FloatArray, truth: FloatArray, weights: FloatArray) -> list[float]:
    from scipy.optimize import minimize
    from scipy.special import expit

    usual = np.append(0.0, np.ones(len(terms) - 1))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        logits, apart = parameters @ terms, (parameters - usual) / _PRIOR_SD
        value = weights @ (np.logaddexp(0.0, logits) - truth * logits) + apart @ apart / 2.0
        return float(value), terms @ (weights * (expit(logits) - truth)) + apart / _PRIOR_SD

    bounds = [(None, None), *[(0.0, None)] * (len(terms) - 1)]
    result = minimize(loss, usual, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    fitted: list[float] = result.x.tolist()
    return fitted
