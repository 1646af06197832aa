"""Scores that a user brings are rated as by the definition, or as the published tables were."""

import polars as pl
import pytest

from tiltmeter.storage.errors import InputError

GENDERS = {"male": [0.2, 0.4, 0.6, 0.8], "female": [-0.6, -0.2, 0.2, 0.6], "neutral": [0.3, 0.5, 0.5, 0.7]}
"""Means 0.5, 0 and 0.5; squared standard errors 0.2 / 12, 0.8 / 12 and 0.08 / 12."""


def scores(system="lexicon", variant="original", shift=0.0, emotion=""):
    of = {"variant": variant, "group": "g", "dataset": "d", "system": system, "race": ""}
    return [
        of | {"gender": gender, "emotion": emotion, "sentiment": value + shift * (gender == "female")}
        for gender, values in GENDERS.items()
        for value in values
    ]


@pytest.fixture(scope="module")
def rate(run_here, tmp_path_factory):
    def run(rows, *settings, name="scores.csv"):
        place = tmp_path_factory.mktemp("scores")
        frame = pl.DataFrame(rows)
        frame.write_parquet(place / name) if name.endswith("parquet") else frame.write_csv(place / name)
        common = ("job=sentiment_rating", f"scores={place / name}", "rating.num_resamples=20")
        return run_here(*common, f"store={place}/store", f"run_dir={place}/run", *settings)

    return run


def test_scores_may_be_cut_as_often_as_systems_have_them(rate):
    systems = [*scores(), *scores("fair", shift=0.5), *scores("fairer", shift=0.5), *scores("worse", shift=-1.0)]
    ratings = rate(systems, "rating.num_levels=2", "rating.cut=repeated").rows("ratings")
    assert [(row["system"], row["rating"]) for row in ratings] == [
        ("fair", 1),
        ("fairer", 1),
        ("lexicon", 2),
        ("worse", 2),
    ]


def test_a_group_is_rated_by_the_impact_where_it_is_confounded_for_all_systems(rate):
    """One system has scores of other texts, whose emotions do not depend on the gender."""
    of = {"variant": "original", "group": "g", "dataset": "d", "race": None}
    rows = [
        of | {"system": name, "gender": "mf"[at % 2], "emotion": "ab"[at // size % 2], "sentiment": 0.1 * (at % 5)}
        for name, size in (("one", 1), ("other", 2))
        for at in range(40)
    ]
    outcome = rate(rows)
    assert {row["system"]: row["is_confounded"] for row in outcome.rows("raw_scores")} == {"one": True, "other": False}
    assert {row["measure"] for row in outcome.rows("ratings", decides=True)} == {"wrs"}


def test_published_settings_reject_less_and_weigh_otherwise(rate):
    outcome = rate(scores(shift=-0.1), "rating.convention=published", name="scores.parquet")
    first, _, last = outcome.rows("tests")
    # (0.5 + 0.1) / (sqrt(0.0666667 / 4 + 0.2666667 / 4) + 0.0001), with 4 + 4 - 2 degrees of freedom
    assert (first["t"], first["degrees_of_freedom"]) == (pytest.approx(2.07774, abs=1e-4), 6.0)
    assert (first["rejected_95"], first["rejected_70"], first["rejected_60"]) == (False, True, True)
    [raw] = outcome.rows("raw_scores")
    assert last["rejected_70"]
    assert raw["raw_score"] == pytest.approx(2 * 0.7 + 2 * 0.6)


def test_where_nobody_says_how_a_set_was_made_a_test_decides_and_both_ratings_are_given(rate):
    of = {"variant": "original", "group": "g", "dataset": "d", "race": None}
    rows = [
        of | {"system": system, "gender": "mf"[at % 2], "emotion": "ab"[at // 2 % 2], "sentiment": size * (at % 5 - 2)}
        for system, size in (("one", 0.1), ("other", 0.2))
        for at in range(40)
    ]
    outcome = rate(rows)
    found = [(row["measure"], row["decides"], row["system"], row["rating"]) for row in outcome.rows("ratings")]
    assert sorted(found) == [
        *(("die", False, "one", 1), ("die", False, "other", 1)),
        *(("wrs", True, "one", 1), ("wrs", True, "other", 1)),
    ]
    assert {(row["design"], row["dependence_p"]) for row in outcome.rows("raw_scores")} == {("tested", 1.0)}


def test_an_emotion_without_a_gender_is_named_or_leaves_the_score_undefined(rate):
    of = {"variant": "original", "group": "g", "dataset": "d", "system": "s", "race": None}
    cells = [("male", "happy", 0.5), ("male", "sad", -0.5), ("female", "sad", -0.7), ("female", "sad", -0.1)]
    rows = [of | {"gender": g, "emotion": e, "sentiment": value} for g, e, value in cells]
    [happy] = [row for row in rate(rows).rows("effects") if row["emotion"] == "happy"]
    assert (happy["unseen"], happy["unseen_policy"], happy["die_percent"]) == (["female"], "renormalise", 0.0)
    outcome = rate(rows, "rating.empty_cells=undefined", "rating.design=confounded")
    [effect] = outcome.rows("effects", emotion="happy")
    assert (effect["unseen_policy"], effect["die_percent"], effect["status"]) == ("undefined", None, "unseen")
    [raw] = outcome.rows("raw_scores", measure="die")
    assert (raw["status"], raw["raw_score"]) == ("undefined", None)
    [rating] = outcome.rows("ratings")
    assert (rating["rank"], rating["rating"], rating["status"]) == (None, None, "undefined")


def test_a_file_without_the_columns_is_refused_before_the_run(rate):
    rows = [{key: value for key, value in row.items() if key != "emotion"} for row in scores()]
    with pytest.raises(InputError, match=r"scores: .*has no column 'emotion'; its columns are 'variant', 'group'"):
        rate(rows)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sentiment": "good"}, "no number .*'sentiment': 'good'"),
        ({"system": ""}, "nothing where .*'system'"),
    ],
)
def test_a_bad_row_is_refused_with_its_value(rate, change, reason):
    with pytest.raises(InputError, match=reason):
        rate([{key: str(value) for key, value in (row | change).items()} for row in scores()])
