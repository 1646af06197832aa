"""Intervals of raw scores and of their changes where scores or resamples are infinite or none, and ratings beside."""

import numpy as np
import pytest

from tests.fixtures.tables.rating import settings
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.sentiment.rating.ratings import OrderSystems
from tiltmeter.jobs.sentiment.rating.tables import Comparisons, RawScores, Resamples

INF = np.inf
COMMON = {"group": "g", "protected": "gender", "num_tests": 3, "is_confounded": False, "design": "independent"}


def ordered(scores, measure="wrs", interval="centred"):
    """Raw scores and their changes of (variant, system): a score and its resamples."""
    scored = [
        (
            RawScores(**COMMON, variant=variant, system=system, measure=measure, raw_score=Estimate(score)),
            Resamples(values=resamples, items="texts", num_items=400),
        )
        for (variant, system), (score, resamples) in scores.items()
    ]
    how = {"measure": measure, "num_levels": 2, "cut": "distinct", "level": 0.9, "interval": interval}
    work = OrderSystems(raw_scores=[], resampled=[], weights=(1.0, 0.8, 0.6), seed=0, **how)
    rows = list(work.order(scored))
    changes = [row for row in rows if isinstance(row, Comparisons)]
    return {row.variant: row for row in rows if isinstance(row, RawScores)}, changes


def ends(estimate):
    return estimate.low, estimate.high


def test_a_system_that_changes_places_has_its_rating_of_before_beside_that_of_after():
    scores = {("original", "s"): 3.0, ("original", "t"): 4.0, ("es", "s"): 5.0, ("es", "t"): 2.0}
    _, changes = ordered({key: (score, [2.0, 4.0]) for key, score in scores.items()})
    assert [(row.system, row.original_rating, row.rating) for row in changes] == [("s", 1, 2), ("t", 2, 1)]


@pytest.mark.parametrize("interval", ["centred", "percentile", "averaged"])
def test_infinite_impacts_have_infinite_ends(interval):
    scores = {("original", "s"): (20.0, [10.0, 20.0, 30.0, INF, INF]), ("es", "s"): (INF, [INF] * 5)}
    raw_scores, [change] = ordered(scores, "die", interval)
    assert ends(raw_scores["es"].raw_score) == (INF, INF)
    low, high = ends(raw_scores["original"].raw_score)
    assert 0.0 <= low <= 20.0 < high == INF
    assert (change.status, change.change) == ("undefined", None)


def test_an_infinite_score_of_mostly_finite_resamples_reaches_to_it():
    raw_scores, _ = ordered({("original", "s"): (INF, [10.0, 20.0, 30.0, 40.0, INF])}, "die")
    assert ends(raw_scores["original"].raw_score) == (10.0, INF)


def test_without_resamples_there_is_no_interval():
    raw_scores, [change] = ordered({("original", "s"): (3.0, []), ("es", "s"): (5.0, [])})
    assert np.isnan([*ends(raw_scores["es"].raw_score), *ends(change.change)]).all()
    assert change.change.value == 2.0


def test_another_interval_needs_no_other_resamples():
    """The unit that resamples knows nothing of what the reduction makes of them."""
    for config in (settings(level=0.5), settings(interval="percentile"), settings(cut="repeated")):
        assert config.of_raw_scores == settings().of_raw_scores
    assert settings(num_resamples=7).of_raw_scores != settings().of_raw_scores
