"""Scores that a user brings are rated as by the definition, or as the published tables were."""

import polars as pl
import pytest

from tiltmeter.storage.errors import InputError

GENDERS = {"male": [0.2, 0.4, 0.6, 0.8], "female": [-0.6, -0.2, 0.2, 0.6], "neutral": [0.3, 0.5, 0.5, 0.7]}
"""Means 0.5, 0 and 0.5; squared standard errors 0.2 / 12, 0.8 / 12 and 0.08 / 12."""


def scores(system="lexicon", shift=0.0):
    of = {"variant": "original", "group": "g", "dataset": "d", "system": system, "race": ""}
    return [
        of | {"gender": gender, "emotion": "", "sentiment": value + shift * (gender == "female")}
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


def test_published_settings_reject_less_weigh_otherwise_and_cut_as_often_as_systems_have_a_score(rate):
    systems = [*scores(shift=-0.1), *scores("fair", 0.5), *scores("fairer", 0.5), *scores("worse", -1.0)]
    settings = ("rating.convention=published", "rating.num_levels=2", "rating.cut=repeated")
    outcome = rate(systems, *settings, name="scores.parquet")
    first, _, last = outcome.rows("tests", system="lexicon")
    # (0.5 + 0.1) / (sqrt(0.0666667 / 4 + 0.2666667 / 4) + 0.0001), with 4 + 4 - 2 degrees of freedom
    assert (first["t"], first["degrees_of_freedom"]) == (pytest.approx(2.07774, abs=1e-4), 6.0)
    assert (first["rejected_95"], first["rejected_70"], first["rejected_60"]) == (False, True, True)
    [raw] = outcome.rows("raw_scores", system="lexicon")
    assert last["rejected_70"]
    assert raw["raw_score"] == pytest.approx(2 * 0.7 + 2 * 0.6)
    ratings = {row["system"]: row["rating"] for row in outcome.rows("ratings")}
    assert ratings == {"fair": 1, "fairer": 1, "lexicon": 2, "worse": 2}


def test_a_group_is_rated_by_the_impact_where_it_is_confounded_for_all_systems_and_by_both_where_a_test_decides(rate):
    """A system has scores of other texts, whose emotions do not depend on the gender; so have all of another group."""
    of = {"variant": "original", "dataset": "d", "race": None}
    rows = [
        of
        | {"group": group, "system": system, "gender": "mf"[at % 2]}
        | {"emotion": "ab"[at // size % 2], "sentiment": value}
        for at in range(40)
        for group, system, size, value in (
            *(("g", "one", 1, 0.1 * (at % 5)), ("g", "other", 2, 0.1 * (at % 5))),
            *(("h", "one", 2, 0.1 * (at % 5 - 2)), ("h", "other", 2, 0.2 * (at % 5 - 2))),
        )
    ]
    outcome = rate(rows)
    raw_scores = outcome.rows("raw_scores")
    confounded = {(row["group"], row["system"]) for row in raw_scores if row["is_confounded"]}
    assert confounded == {("g", "one")}
    assert {row["measure"] for row in outcome.rows("ratings", decides=True)} == {"wrs"}
    found = [
        (row["measure"], row["decides"], row["system"], row["rating"]) for row in outcome.rows("ratings", group="h")
    ]
    assert sorted(found) == [
        *(("die", False, "one", 1), ("die", False, "other", 1)),
        *(("wrs", True, "one", 1), ("wrs", True, "other", 1)),
    ]
    assert {(row["design"], row["dependence_p"]) for row in raw_scores if row["group"] == "h"} == {("tested", 1.0)}


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


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"emotion": None}, r"scores: .*has no column 'emotion'; its columns are 'variant', 'group'"),
        ({"sentiment": "good"}, "no number .*'sentiment': 'good'"),
        ({"system": ""}, "nothing where .*'system'"),
    ],
)
def test_a_missing_column_or_a_bad_row_is_refused_with_its_value(rate, change, reason):
    rows = [row | change for row in scores()]
    with pytest.raises(InputError, match=reason):
        rate([{key: str(value) for key, value in row.items() if value is not None} for row in rows])
