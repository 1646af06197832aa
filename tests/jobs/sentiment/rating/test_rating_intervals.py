"""Intervals of raw scores and of their changes, from resamples that are put into the store by hand."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import t as student

from tiltmeter.jobs.sentiment.rating import rating, tables
from tiltmeter.jobs.sentiment.rating.rules import RatingConfig, RawScoreConfig
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.storage.store.ledger import Store, Unit

INF = np.inf
LEVEL = 0.9
SCORES = {"original": 3.0, "es": 5.0}
RESAMPLES = {"original": [0.0, 1.0, 2.0, 5.0, 7.0], "es": [2.0, 4.0, 5.0, 6.0, 8.0]}


@pytest.fixture
def ordered(tmp_path):
    """The tables of the stage that orders systems, from one raw score of two variants."""
    store = Store(str(tmp_path / "store"))

    def order(scores, resamples, measure="wrs", num_tests=3, **config):
        settings = RatingConfig(level=LEVEL, **config)
        units = []
        for variant, score in scores.items():
            key = {"variant": variant, "group": "g", "protected": "gender", "system": "s", "measure": measure}
            row = key | {"raw_score": score, "num_tests": num_tests, "is_confounded": measure == "die", "status": "ok"}
            raw = pa.Table.from_pylist([row], tables.RAW_SCORES)
            values = pa.array([resamples[variant]], pa.list_(pa.float64()))
            drawn = pa.table({"values": values, "items": ["texts"], "num_items": [400]})
            units.append(store.commit(Unit("made/1", variant, variant), [("raw_scores", raw), ("resampled", drawn)]))
        found = dict(rating._order(store, rating._order_unit([unit.tables for unit in units], settings, 0)))
        known = [resamples[variant] for variant in scores if np.isfinite(resamples[variant]).any()]
        assert (found["draws"]["values"].to_pylist() if "draws" in found else []) == known
        raw_scores = {row["variant"]: row for row in found["raw_scores"].to_pylist()}
        return raw_scores, next(iter(found["comparisons"].to_pylist()), None)

    return order


def ends(row, name):
    return row[f"{name}_low"], row[f"{name}_high"]


def test_a_raw_score_has_the_spread_of_its_resamples_around_it_cut_at_no_bias(ordered):
    raw_scores, change = ordered(SCORES, RESAMPLES)
    t = student.ppf(0.95, df=4)
    # Standard deviations of 2.915 and 2.236; a WRS of three tests is 7.2 at most.
    assert ends(raw_scores["original"], "raw_score") == (0.0, 7.2)
    assert ends(raw_scores["es"], "raw_score") == (pytest.approx(5.0 - t * 5**0.5), 7.2)
    # The resamples of both are the same texts: 2, 3, 3, 1 and 1 more, around a change of 2.
    assert change["change"] == 2.0
    assert ends(change, "change") == pytest.approx((2.0 - t, 2.0 + t))


def test_a_system_that_changes_places_has_its_rating_of_before_beside_that_of_after():
    scores = {("original", "s"): 3.0, ("original", "t"): 4.0, ("es", "s"): 5.0, ("es", "t"): 2.0}
    rows = pl.DataFrame(
        [
            {"variant": variant, "group": "g", "protected": "gender", "system": system, "measure": "wrs"}
            | {"raw_score": score, "resampled": RESAMPLES[variant], "is_confounded": False, "design": "known"}
            for (variant, system), score in scores.items()
        ]
    )
    ratings = rating._ratings(rows, "wrs", 2, "distinct")
    found = rating._comparisons(rows, ratings, {"level": LEVEL, "interval": "centred"})
    assert [(row["system"], row["original_rating"], row["rating"]) for row in found] == [("s", 1, 2), ("t", 2, 1)]


def test_percentiles_are_a_choice_and_need_not_hold_their_score(ordered):
    raw_scores, change = ordered(SCORES | {"es": 9.0}, RESAMPLES, interval="percentile")
    assert ends(raw_scores["es"], "raw_score") == pytest.approx(tuple(np.quantile(RESAMPLES["es"], [0.05, 0.95])))
    assert raw_scores["es"]["raw_score_high"] < 9.0
    assert ends(change, "change") == pytest.approx((1.0, 3.0))


@pytest.mark.parametrize("interval", sorted(HOLDS_ITS_ESTIMATE))
@pytest.mark.parametrize("score", [0.0, 3.0, 7.2])
def test_a_score_is_in_its_interval(ordered, interval, score):
    raw_scores, _ = ordered({"original": score}, RESAMPLES, interval=interval)
    low, high = ends(raw_scores["original"], "raw_score")
    assert 0.0 <= low <= score <= high <= 7.2


@pytest.mark.parametrize("interval", ["centred", "percentile", "averaged"])
def test_infinite_impacts_have_infinite_ends(ordered, interval):
    resamples = {"original": [10.0, 20.0, 30.0, INF, INF], "es": [INF] * 5}
    raw_scores, change = ordered({"original": 20.0, "es": INF}, resamples, "die", interval=interval)
    assert ends(raw_scores["es"], "raw_score") == (INF, INF)
    low, high = ends(raw_scores["original"], "raw_score")
    assert 0.0 <= low <= 20.0 < high == INF
    assert (change["status"], change["change_low"]) == ("undefined", None)


def test_an_infinite_score_of_mostly_finite_resamples_reaches_to_it(ordered):
    raw_scores, _ = ordered({"original": INF}, {"original": [10.0, 20.0, 30.0, 40.0, INF]}, "die")
    assert ends(raw_scores["original"], "raw_score") == (10.0, INF)


def test_without_resamples_there_is_no_interval(ordered):
    raw_scores, change = ordered(SCORES, {"original": [], "es": []})
    assert ends(raw_scores["es"], "raw_score") == ends(change, "change") == (None, None)
    assert change["change"] == 2.0


def test_resamples_that_all_agree_leave_the_score(ordered):
    raw_scores, _ = ordered({"original": 2.4}, {"original": [2.4] * 5})
    assert ends(raw_scores["original"], "raw_score") == (2.4, 2.4)


def test_another_interval_needs_no_other_resamples():
    """The unit that resamples knows nothing of what the reduction makes of them."""
    for config in (RatingConfig(level=0.5), RatingConfig(interval="percentile"), RatingConfig(cut="repeated")):
        assert config.of_raw_scores == RawScoreConfig()
    assert RatingConfig(num_resamples=7).of_raw_scores != RawScoreConfig()


def test_an_unknown_interval_is_refused():
    with pytest.raises(ValueError, match="interval"):
        RatingConfig(interval="student")
