"""An audit of one pair, from counts of all its scores: claimed, exact and audited side by side, and a verdict."""

from collections.abc import Mapping
from functools import partial
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.bounds import (
    Counts,
    Law,
    Loss,
    Verdict,
    audited_loss,
    beats_curve,
    departs,
    share_of_level,
)
from tiltmeter.operators.embedding.private_release.noise import log_density
from tiltmeter.operators.embedding.private_release.profile import true_positive_rate
from tiltmeter.operators.embedding.private_release.scores import NUM_REPEATS, Pair, Score, score_edges

VERSION = "audit_verdicts/2"

_NUM_THRESHOLDS = 20


class Audited(NamedTuple):
    """Of one score.

    Attributes:
        loss: with its bounds, at the claim's slack.
        verdict: the worst that was seen.
    """

    loss: Loss
    verdict: Verdict


class Claim(NamedTuple):
    """What a mechanism says of a pair; see :func:`audit_pair`."""

    pair: Pair
    claimed: float
    delta: float
    step: float


def audit_pair(
    pair: Pair, claimed: float, counts: Mapping[Score, Counts], level: float, delta: float = 0.0, step: float = 0.0
) -> dict[Score, Audited]:
    """Judge all scores of a pair; the level is shared by them and by what each is asked (Bonferroni): a lower and an
    upper bound, the curve, and the law.

    Args:
        pair: with the noise as specified.
        claimed: bound on the loss that is claimed, with the slack ``delta``; infinite where none is.
        counts: by score, on the grids of :func:`.scores.score_edges`.
        level: chance at most that a mechanism as specified is convicted of anything, or that a bound is too high.
        step: of the grid of what is published; 0 without one.
    """
    each = share_of_level(level, 4 * len(counts))
    edges = score_edges(pair)
    return {
        name: _audited(name, Claim(pair, claimed, delta, step), side, edges[name], each)
        for name, side in counts.items()
    }


def _audited(name: Score, claim: Claim, counts: Counts, edges: FloatArray, level: float) -> Audited:
    pair, claimed, delta, step = claim
    loss = audited_loss(counts, level, delta)
    if loss.low > claimed:
        return Audited(loss, "above the claim")
    rho = pair.distance / pair.scale
    curve = partial(_power, pair, rho)
    # Releases of a companion are noisy too: what two rows say together is not bounded by one row's curve.
    if name not in ("difference", "repeated") and beats_curve(counts, curve, level):
        return Audited(loss, "above the exact curve")
    law = _law(name, pair, edges, step)
    sides = [counts.chosen_first + counts.first]
    sides += [counts.chosen_second + counts.second] if name == "repeated" else []
    if law and any(departs(side, law, level / len(sides)) for side in sides):
        return Audited(loss, "not the specified law")
    return Audited(loss, "within")


def _power(pair: Pair, rho: float, false_positive_rate: float) -> float:
    if pair.law == "norm":
        return true_positive_rate(false_positive_rate, rho, len(pair.image))
    return float(stats.norm.cdf(stats.norm.ppf(false_positive_rate) + rho))


def _law(name: Score, pair: Pair, edges: FloatArray, step: float) -> Law | None:
    """How often a score should lie above some thresholds, where a closed form says so.

    Rounding to the grid moves a vector by ``sqrt(m) g / 2`` at most, and its norm by no more.
    """
    inner = np.flatnonzero(np.isfinite(edges))
    if name == "repeated":
        return Law(inner, np.zeros(len(inner)), np.full(len(inner), min(1.0, NUM_REPEATS * _largest_cell(pair, step))))
    if name != "norm":
        return None
    num_dimensions = len(pair.image)
    law = stats.gamma(num_dimensions) if pair.law == "norm" else stats.chi(num_dimensions)
    bins = np.unique(np.searchsorted(edges, law.ppf(np.linspace(0.02, 0.98, _NUM_THRESHOLDS))))
    shift = sqrt(num_dimensions) * step / (2 * pair.scale)
    return Law(bins, law.sf(edges[bins] + shift), law.sf(edges[bins] - shift))


def _largest_cell(pair: Pair, step: float) -> float:
    """Chance at most that two releases fall into the same cell of the grid: that of the densest cell."""
    if not step:
        return 0.0
    peak = float(log_density(pair.law, np.zeros((1, len(pair.image))), pair.scale)[0])
    return exp(min(0.0, peak + len(pair.image) * log(step)))
