"""What one system's scores say where cells are empty, or where there is nothing to compare."""

import polars as pl
import pytest

from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.rows import LeaveOut, RatingConfig, rate
from tiltmeter.storage.errors import InputError

CONFOUNDED = [("male", "happy", score) for score in (1.0, 0.8, 0.6)] + [("male", "sad", -0.2), ("female", "happy", 0.4)]
CONFOUNDED += [("female", "sad", score) for score in (-0.4, -0.6, -0.8)]
BALANCED = [(gender, emotion, 0.1 * at) for at in range(4) for gender in ("male", "female") for emotion in ("a", "b")]


def rated(texts, *, races=None, **config):
    """Texts of (gender, emotion, score)."""
    empty = dict.fromkeys(tables.SCORES.names)
    rows = [
        empty | {"group": "g", "dataset": "d", "gender": gender, "emotion": emotion, "sentiment": score, "status": "ok"}
        for gender, emotion, score in texts
    ]
    frame = pl.DataFrame(rows, schema=pl.DataFrame(tables.SCORES.empty_table()).schema)
    if races:
        frame = frame.with_columns(race=pl.Series(races))
    return rate(frame, RatingConfig(num_resamples=20, **config), 0)


def by_measure(found):
    return {row["measure"]: row for row in found.raw_scores}


def test_a_text_without_an_emotion_has_no_part_in_the_deconfounding_alone():
    whole, partly = rated(CONFOUNDED), rated([*CONFOUNDED, ("male", None, 0.9)])
    # E[Y|happy] = 2.8 / 4, adjusted by as many men as women (0.8 + 0.4) / 2; E[Y|sad] = -0.5 and -0.4.
    assert [row["die_percent"] for row in whole.effects] == pytest.approx([100 / 7, 20.0])
    assert partly.effects == whole.effects
    assert partly.raw_scores[0]["num_tests"] == 1
    assert [test["num_1"] for test in partly.tests] == [5]
    die = by_measure(partly)["die"]
    assert (die["raw_score"], die["is_confounded"]) == (pytest.approx(20.0), True)
    assert partly.resampled[1].size == 20
    assert partly.num_drawn == [9, 8]
    assert die["warning"] == "1 of 9 texts has no emotion and no part in the DIE"
    assert by_measure(whole)["die"]["warning"] == ""


@pytest.mark.parametrize("num", [1, 2, 7])
def test_any_number_of_empty_cells_leaves_the_other_emotions(num):
    texts = [(gender, None if at < num else emotion, score) for at, (gender, emotion, score) in enumerate(BALANCED)]
    found, known = rated(texts), rated(texts[num:])
    key = ("emotion", "num_texts", "mean_given", "mean_do")
    assert [[row[name] for name in key] for row in found.effects] == [
        [row[name] for name in key] for row in known.effects
    ]
    assert sum(row["num_texts"] for row in found.effects) == 16 - num


def test_a_column_without_any_emotion_says_nothing_of_emotions():
    found = rated([(gender, None, score) for gender, _, score in BALANCED])
    assert (found.effects, list(by_measure(found)), found.raw_scores[0]["warning"]) == ([], ["wrs"], "")


def test_ratings_by_the_impact_keep_the_row_of_a_group_without_emotions():
    found = by_measure(rated([(gender, None, score) for gender, _, score in BALANCED], measure="die"))
    assert (found["die"]["status"], found["die"]["reason"]) == ("no_emotions", "no text has an emotion")


def test_texts_that_tell_no_gender_are_counted():
    found = rated([*CONFOUNDED, (None, "sad", -0.1), (None, "sad", -0.3)])
    assert found.raw_scores[0]["warning"] == "2 of 10 texts tell no gender"
    assert found.effects == rated(CONFOUNDED).effects


@pytest.mark.parametrize(
    ("genders", "reasons"),
    [
        (["male"], {"gender": "the only gender is male: a comparison needs two values"}),
        ([None], {"gender": "no text tells a gender", "race": "no text tells a race"}),
    ],
)
def test_what_can_not_be_compared_keeps_its_row(genders, reasons):
    found = rated([(gender, None, score) for gender in genders for score in (0.1, 0.5, -0.5)])
    assert {row["protected"]: row["reason"] for row in found.raw_scores} == reasons
    assert {row["status"] for row in found.raw_scores} == {"incomparable"}
    assert (found.tests, found.effects, [values.size for values in found.resampled]) == ([], [], [0] * len(reasons))


def test_an_attribute_with_incomparable_leaves_the_others():
    found = rated(BALANCED, races=["European"] * len(BALANCED))
    status = {(row["protected"], row["measure"]): row["status"] for row in found.raw_scores}
    one = {(name, "wrs"): "incomparable" for name in ("race", "gender_race")}
    assert status == {("gender", "wrs"): "ok", ("gender", "die"): "ok"} | one


def test_a_system_that_has_scored_nothing_is_untested():
    [row] = rated([(gender, emotion, None) for gender, emotion, _ in BALANCED]).raw_scores
    assert (row["status"], row["raw_score"]) == ("untested", None)
    assert row["warning"] == "16 of 16 texts have no score"


THIRDS = [("male", None, score) for score in (0.334, 0.334)] + [("female", None, score) for score in (0.331, 0.331)]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 2.4),
        ({"weights": (1.0, 0.7, 0.6)}, 2.3),
        ({"weights": (1.0, 0.5, 0.25), "alphas": (0.01, 0.02, 0.03)}, 1.75),
        ({"decimals": 2}, 0.0),
        ({"decimals": 3}, 2.4),
        ({"convention": "published"}, 0.0),
        ({"convention": "published", "decimals": 3}, 2.3),
        ({"convention": "published", "decimals": 3, "weights": (1.0, 0.8, 0.6)}, 2.4),
    ],
)
def test_settings_beside_the_convention_count(config, expected):
    """Means 0.334 and 0.331 of scores that do not vary; in two decimals both are 0.33."""
    assert by_measure(rated(THIRDS, **config))["wrs"]["raw_score"] == pytest.approx(expected)


def test_values_that_are_left_out_are_not_compared():
    texts = [*CONFOUNDED, ("neutral", "happy", 0.9), ("neutral", "sad", 0.9), (None, "sad", 0.1)]
    without = rated(texts, leave_out=LeaveOut(gender=("neutral",)))
    assert [(test["value_1"], test["value_2"]) for test in without.tests] == [("male", "female")]
    assert [row["die_percent"] for row in without.effects] == pytest.approx([100 / 7, 20.0])
    # The text without a gender is still counted; those left out are not.
    assert by_measure(without)["wrs"]["warning"] == "1 of 9 texts tells no gender"
    assert len(rated(texts).tests) == 3


def test_what_is_left_out_of_one_attribute_counts_for_another():
    texts = [(gender, None, score) for gender, _, score in BALANCED]
    found = rated(texts, races=["r", "s"] * 8, leave_out=LeaveOut(race=("r",)))
    status = {row["protected"]: row["status"] for row in found.raw_scores}
    assert status == {"gender": "ok", "race": "incomparable", "gender_race": "incomparable"}
    assert {test["num_1"] + test["num_2"] for test in found.tests} == {16}


def test_a_value_that_no_text_has_is_refused():
    with pytest.raises(InputError, match=r"rating\.leave_out\.gender: no text has the gender 'neutrl'; there are 'fem"):
        rated(CONFOUNDED, leave_out=LeaveOut(gender=("neutrl",)))
