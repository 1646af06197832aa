"""What one system's scores say where cells are empty or nothing can be compared, and several beside each other."""

import numpy as np
import polars as pl
import pytest

from tests.fixtures.tables.rating import settings
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.sentiment.rating.ratings import OrderSystems
from tiltmeter.jobs.sentiment.rating.raw_scores import rate
from tiltmeter.jobs.sentiment.rating.tables import TABLES, Comparisons, RawScores, Resamples
from tiltmeter.storage.errors import InputError

CONFOUNDED = [("male", "happy", score) for score in (1.0, 0.8, 0.6)] + [("male", "sad", -0.2), ("female", "happy", 0.4)]
CONFOUNDED += [("female", "sad", score) for score in (-0.4, -0.6, -0.8)]
BALANCED = [(gender, emotion, 0.1 * at) for at in range(4) for gender in ("male", "female") for emotion in ("a", "b")]


def rated(texts, *, kind=None, seed=0, columns=None, **config):
    """Texts of (gender, emotion, score), by a kind of system; None: they were brought."""
    of = dict.fromkeys(TABLES["scores"].names) | {"group": "g", "dataset": "d", "status": "ok"}
    rows = [of | dict(zip(("gender", "emotion", "sentiment"), text, strict=True)) for text in texts]
    frame = pl.DataFrame(rows, schema=pl.DataFrame(TABLES["scores"].empty_table()).schema)
    frame = frame.with_columns(pl.Series(name, values, pl.String) for name, values in (columns or {}).items())
    rating = settings(**{"num_resamples": 20} | config)
    return rate(frame, rating, seed, rating.rounding(kind))


def by_measure(found):
    return {row.measure: row for row in found.raw_scores}


def test_texts_that_lack_something_are_counted_and_have_no_part_in_what_needs_it():
    design = {"design": "confounded"}
    whole = rated(CONFOUNDED, **design)
    # E[Y|happy] = 2.8 / 4, adjusted by as many men as women (0.8 + 0.4) / 2; E[Y|sad] = -0.5 and -0.4.
    assert [row.die_percent for row in whole.effects] == pytest.approx([100 / 7, 20.0])
    assert by_measure(whole)["die"].warning == ""
    without = [("neutral", "sad", 0.9), (None, "sad", -0.1), (None, "sad", -0.3), ("male", "sad", None)]
    leave_out = {"gender": ["neutral"], "race": []}
    partly = rated([*CONFOUNDED, ("male", None, 0.9), *without], leave_out=leave_out, **design)
    assert [vars(row) for row in partly.effects] == [vars(row) for row in whole.effects]
    assert partly.raw_scores[0].num_tests == 1
    assert [test.num_1 for test in partly.tests] == [5]
    die = by_measure(partly)["die"]
    assert (die.raw_score.value, die.is_confounded) == (pytest.approx(20.0), True)
    assert partly.resampled[1].size == 20
    assert partly.num_drawn == [9, 8]
    counted = ("2 of 12 texts tell no gender", "1 of 10 texts has no score")
    assert die.warning.split("; ") == [*counted, "1 of 9 texts has no emotion and no part in the DIE"]


@pytest.mark.parametrize(("measure", "status"), [("auto", []), ("die", ["no_emotions"])])
def test_a_column_without_any_emotion_says_nothing_of_emotions(measure, status):
    found = rated([(gender, None, score) for gender, _, score in BALANCED], measure=measure)
    assert found.effects == []
    assert [row.status for row in found.raw_scores if row.measure == "die"] == status
    assert by_measure(found)["wrs"].warning == ""


ONLY_MALE = {"gender": "the only gender is male: a comparison needs two values"}
NOBODY = {name: f"no text tells a {name}" for name in ("gender", "race")}


@pytest.mark.parametrize(("gender", "reasons"), [("male", ONLY_MALE), (None, NOBODY)])
def test_what_can_not_be_compared_keeps_its_row(gender, reasons):
    found = rated([(gender, None, score) for score in (0.1, 0.5, -0.5)])
    assert {row.protected: row.reason for row in found.raw_scores} == reasons
    assert {row.status for row in found.raw_scores} == {"incomparable"}
    assert (found.tests, found.effects, [values.size for values in found.resampled]) == ([], [], [0] * len(reasons))


@pytest.mark.parametrize(
    ("races", "others"), [(["r"] * 16, {}), (["r", "s"] * 8, {"leave_out": {"gender": [], "race": ["r"]}})]
)
def test_what_can_not_be_compared_or_is_left_out_of_one_attribute_counts_for_another(races, others):
    texts = [(gender, None, score) for gender, _, score in BALANCED]
    found = rated(texts, columns={"race": races}, **others)
    status = {row.protected: row.status for row in found.raw_scores}
    assert status == {"gender": "ok", "race": "incomparable", "gender_race": "incomparable"}
    assert {test.num_1 + test.num_2 for test in found.tests} == {16}


def test_a_system_that_has_scored_nothing_is_untested():
    [row] = rated([(gender, emotion, None) for gender, emotion, _ in BALANCED], design="independent").raw_scores
    assert (row.status, row.raw_score) == ("untested", None)
    assert row.warning == "16 of 16 texts have no score"


THIRDS = [("male", None, score) for score in (0.334, 0.334)] + [("female", None, score) for score in (0.331, 0.331)]


PUBLISHED = {"convention": "published"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 2.4),
        ({"weights": (1.0, 0.7, 0.6)}, 2.3),
        ({"weights": (1.0, 0.5, 0.25), "alphas": (0.01, 0.02, 0.03)}, 1.75),
        ({"decimals": 2}, 0.0),
        *((PUBLISHED | {"kind": kind}, 2.3) for kind in (None, "gru")),
        *((PUBLISHED | {"kind": kind}, 0.0) for kind in ("textblob", "random")),
        ({"kind": "textblob"}, 2.4),
        (PUBLISHED | {"kind": "textblob", "decimals": 3}, 2.3),
        (PUBLISHED | {"decimals": 3, "weights": (1.0, 0.8, 0.6)}, 2.4),
    ],
)
def test_settings_beside_the_convention_count(config, expected):
    """Means 0.334 and 0.331 of scores that do not vary; in two decimals both are 0.33."""
    assert by_measure(rated(THIRDS, **config))["wrs"].raw_score.value == pytest.approx(expected)


# --- whether the emotion depends on the attribute -------------------------------------------------------------------


def test_a_system_that_lacks_a_score_goes_by_the_same_test_as_the_others():
    texts = [(gender, emotion, 0.1) for gender in "fm" for emotion in "ab" for _ in range(10)]
    whole, partly = rated(texts), rated([*texts[1:], ("f", "a", None)])
    assert [row.dependence_p for found in (whole, partly) for row in found.raw_scores] == [1.0] * 4
    assert not any(row.is_confounded for row in partly.raw_scores)


@pytest.mark.parametrize("num_sets", [1, 2])
def test_dependence_is_found_and_corrected_over_data_sets(num_sets):
    texts = [("fm"[at % 2], "ab"[at % 2 if at < 40 else at // 2 % 2], 0.1 * (at % 3)) for at in range(40 * num_sets)]
    rows = rated(texts, columns={"dataset": [str(at // 40) for at in range(len(texts))]}).raw_scores
    assert {(row.is_confounded, row.dependence_p) for row in rows} == {(True, 0.0005 * num_sets)}


def test_a_set_is_taken_for_confounded_at_one_in_twenty():
    """Two sets of unlike counts, by a p-value on either side of it."""
    for num_alike, is_confounded in ((27, False), (31, True)):
        texts = [("fm"[at % 2], "ab"[at % 2 ^ (at >= num_alike)], 0.1) for at in range(44)]
        [row, _] = rated(texts, num_resamples=0).raw_scores
        assert (row.dependence_p <= 0.05) == row.is_confounded == is_confounded
        assert 0.01 < row.dependence_p < 0.3


def test_a_set_of_few_texts_is_not_tested_and_says_so():
    row = by_measure(rated(CONFOUNDED))["die"]
    assert (row.is_confounded, row.dependence_p is None or np.isnan(row.dependence_p)) == (False, True)
    assert "8 of the unit" in row.warning
    assert "set rating.design" in row.warning


def test_a_design_is_a_setting_of_all_groups_or_of_each():
    for design, expected in (("confounded", True), ({"g": "confounded"}, True), ("independent", False)):
        rows = rated(BALANCED, design=design).raw_scores
        assert {(row.is_confounded, row.dependence_p) for row in rows} == {(expected, None)}
    with pytest.raises(InputError, match=r"rating\.design: no text is of the group 'h'; there are 'g'"):
        rated(BALANCED, design={"h": "confounded"})


@pytest.mark.parametrize(("num_names", "expected"), [(4, (2 / 70, "name", 8, "ok")), (2, (2**-5, "frame", 6, "ok"))])
def test_sentences_from_templates_go_by_names_or_else_by_frames(num_names, expected):
    """Six frames of a template and a word; all names of one gender score higher in each of them."""
    rows = [(side, name, frame) for frame in range(6) for side in "fm" for name in range(num_names)]
    texts = [(side, None, 0.02 * name + 0.01 * frame + 0.3 * (side == "m")) for side, name, frame in rows]
    columns = {
        "person": [f"{side}{name}" for side, name, _ in rows],
        "template": [f"t{frame // 2}" for *_, frame in rows],
        "emotion_word": [f"w{frame % 2}" for *_, frame in rows],
    }
    [test] = rated(texts, num_resamples=0, columns=columns).tests
    found = (test.p_value, test.unit, test.num_units, test.status)
    assert found == (pytest.approx(expected[0]), *expected[1:])


def test_a_value_that_no_text_has_is_refused():
    for of, message in (
        ({"gender": ["neutrl"], "race": []}, r"gender: no text has the gender 'neutrl'; there are 'fem"),
        ({"gender": [], "race": ["green"]}, r"race: no text has the race 'green'; there are none"),
    ):
        with pytest.raises(InputError, match=rf"rating\.leave_out\.{message}"):
            rated(CONFOUNDED, leave_out=of)


# --- intervals where scores or resamples are infinite or none, and ratings beside -----------------------------------

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
