"""What one system's scores say where cells are empty, or where there is nothing to compare."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.rows import rate
from tiltmeter.jobs.sentiment.rating.rules import LeaveOut, RatingConfig
from tiltmeter.storage.errors import InputError

CONFOUNDED = [("male", "happy", score) for score in (1.0, 0.8, 0.6)] + [("male", "sad", -0.2), ("female", "happy", 0.4)]
CONFOUNDED += [("female", "sad", score) for score in (-0.4, -0.6, -0.8)]
BALANCED = [(gender, emotion, 0.1 * at) for at in range(4) for gender in ("male", "female") for emotion in ("a", "b")]


def rated(texts, *, races=None, kind=None, seed=0, columns=None, **config):
    """Texts of (gender, emotion, score), by a kind of system; None: they were brought."""
    empty = dict.fromkeys(tables.SCORES.names)
    rows = [
        empty | {"group": "g", "dataset": "d", "gender": gender, "emotion": emotion, "sentiment": score, "status": "ok"}
        for gender, emotion, score in texts
    ]
    frame = pl.DataFrame(rows, schema=pl.DataFrame(tables.SCORES.empty_table()).schema)
    if races:
        frame = frame.with_columns(race=pl.Series(races))
    if columns:
        frame = frame.with_columns(**{name: pl.Series(values, dtype=pl.String) for name, values in columns.items()})
    settings = RatingConfig(**{"num_resamples": 20} | config)
    return rate(frame, settings, seed, settings.rounding(kind))


def by_measure(found):
    return {row["measure"]: row for row in found.raw_scores}


def test_a_text_without_an_emotion_has_no_part_in_the_deconfounding_alone():
    design = {"design": "confounded"}
    whole, partly = rated(CONFOUNDED, **design), rated([*CONFOUNDED, ("male", None, 0.9)], **design)
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
    found = rated([*CONFOUNDED, (None, "sad", -0.1), (None, "sad", -0.3)], design="confounded")
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
    [row] = rated([(gender, emotion, None) for gender, emotion, _ in BALANCED], design="independent").raw_scores
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
        ({"convention": "published"}, 2.3),
        ({"convention": "published", "kind": "textblob"}, 0.0),
        ({"convention": "published", "kind": "random"}, 0.0),
        ({"convention": "published", "kind": "gru"}, 2.3),
        ({"kind": "textblob"}, 2.4),
        ({"convention": "published", "decimals": 2}, 0.0),
        ({"convention": "published", "decimals": 3}, 2.3),
        ({"convention": "published", "decimals": 3, "weights": (1.0, 0.8, 0.6)}, 2.4),
    ],
)
def test_settings_beside_the_convention_count(config, expected):
    """Means 0.334 and 0.331 of scores that do not vary; in two decimals both are 0.33."""
    assert by_measure(rated(THIRDS, **config))["wrs"]["raw_score"] == pytest.approx(expected)


def test_published_scores_in_thirds_are_not_rounded():
    """t = 1.3409 lies below the limit of 1.3450 at 60 %; of scores in two decimals it would be 1.3486."""
    male, female = [-1, -1, -1, 0, 0, 1, 3], [-3, -3, -3, -3, -2, -1, 1, 1, 3]
    texts = [(gender, None, third / 3) for gender, part in (("male", male), ("female", female)) for third in part]
    brought, rounded = (rated(texts, convention="published", kind=kind) for kind in (None, "textblob"))
    assert [found.tests[0]["t"] for found in (brought, rounded)] == pytest.approx([1.3409, 1.3486], abs=5e-5)
    assert [by_measure(found)["wrs"]["raw_score"] for found in (brought, rounded)] == [0.0, 0.6]


# --- whether the emotion depends on the attribute -------------------------------------------------------------------


def independent(seed, num=60):
    """Texts whose gender and emotion have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    codes, scores = rng.random((num, 2)) < 0.5, rng.uniform(-1, 1, num)
    return [
        ("fm"[gender], "ab"[emotion], score) for (gender, emotion), score in zip(codes.astype(int), scores, strict=True)
    ]


def test_a_set_that_is_not_exactly_balanced_is_not_for_that_confounded():
    """Of 100 sets of independent texts the test calls 5 in a hundred confounded; by the counts alone 90 would be."""
    rows = [by_measure(rated(independent(seed), num_resamples=0))["wrs"] for seed in range(100)]
    assert 1 <= sum(row["is_confounded"] for row in rows) <= 10
    assert {row["design"] for row in rows} == {"tested"}
    assert all(row["is_confounded"] == (row["dependence_p"] <= 0.05) for row in rows)


def test_a_system_that_lacks_a_score_goes_by_the_same_test_as_the_others():
    texts = [(gender, emotion, 0.1) for gender in "fm" for emotion in "ab" for _ in range(10)]
    whole, partly = rated(texts), rated([*texts[1:], ("f", "a", None)])
    assert [row["dependence_p"] for found in (whole, partly) for row in found.raw_scores] == [1.0] * 4
    assert not any(row["is_confounded"] for row in partly.raw_scores)


def test_dependence_is_found():
    rows = rated([("fm"[at % 2], "ab"[at % 2 ^ (at % 10 == 0)], 0.1 * (at % 3)) for at in range(40)]).raw_scores
    assert {(row["is_confounded"], row["dependence_p"]) for row in rows} == {(True, 0.0005)}


def test_dependence_is_corrected_over_data_sets():
    texts = [("fm"[at % 2], "ab"[at % 2 if at < 40 else at // 2 % 2], 0.1 * (at % 3)) for at in range(80)]
    rows = rated(texts, columns={"dataset": ["one" if at < 40 else "other" for at in range(80)]}).raw_scores
    assert {(row["is_confounded"], row["dependence_p"]) for row in rows} == {(True, 0.001)}


def test_turns_of_a_conversation_are_no_texts_for_the_test():
    """In 30 conversations of 10 turns with one emotion each, turns would tell what chance did to the conversations."""
    rng = np.random.default_rng(3)
    talks = [(place, "fm"[rng.integers(2)], "ab"[rng.integers(2)]) for place in range(30) for _ in [0]]
    texts = [(gender, emotion, 0.0) for _, gender, emotion in talks for _ in range(10)]
    names = [str(place) for place, *_ in talks for _ in range(10)]
    whole = by_measure(rated(texts, columns={"conversation": names}))["wrs"]["dependence_p"]
    alone = by_measure(rated(texts))["wrs"]["dependence_p"]
    assert alone < 0.05 < 0.2 < whole


def test_a_set_of_few_texts_is_not_tested_and_says_so():
    row = by_measure(rated(CONFOUNDED))["die"]
    assert (row["is_confounded"], row["dependence_p"] is None or np.isnan(row["dependence_p"])) == (False, True)
    assert "8 of the unit" in row["warning"]
    assert "set rating.design" in row["warning"]


def test_a_design_is_a_setting_of_all_groups_or_of_each():
    for design, expected in (("confounded", True), ({"g": "confounded"}, True), ("independent", False)):
        rows = rated(BALANCED, design=design).raw_scores
        assert {(row["is_confounded"], row.get("dependence_p")) for row in rows} == {(expected, None)}
    with pytest.raises(InputError, match=r"rating\.design: no text is of the group 'h'; there are 'g'"):
        rated(BALANCED, design={"h": "confounded"})


# --- tests by what was drawn ----------------------------------------------------------------------------------------


def p_of(texts, **settings):
    [test] = rated(texts, num_resamples=0, **settings).tests
    return test["p_value"], test["unit"], test["num_units"], test["status"]


def test_without_anything_known_texts_are_units():
    texts = [(gender, None, score) for gender, shift in (("f", 0.5), ("m", 0)) for score in shift + np.arange(4) / 10]
    p, *rest = p_of(texts)
    assert (p, *rest) == (pytest.approx(2 / 70), "text", 8, "ok")


def test_conversations_are_units_where_there_are_any():
    """Four conversations a side, ten turns each; every woman's above every man's: 2 of 70 deals."""
    places = [place for place in range(8) for _ in range(10)]
    texts = [("fm"[place // 4], None, 0.1 * place) for place in places]
    assert p_of(texts, columns={"conversation": list(map(str, places))}) == (
        pytest.approx(2 / 70),
        "conversation",
        8,
        "ok",
    )
    few = {"conversation": [str(place % 2 + place // 4 * 2) for place in places]}
    p, unit, num, status = p_of(texts, columns=few)
    assert np.isnan(p)
    assert (unit, num, status) == ("conversation", 4, "too_few")


def test_conversations_that_have_both_values_are_pairs():
    places = [place for place in range(6) for _ in range(2)]
    texts = [("fm"[at % 2], None, 0.1 + 0.2 * (at % 2)) for at, _ in enumerate(places)]
    assert p_of(texts, columns={"conversation": list(map(str, places))}) == (2**-5, "conversation", 6, "ok")


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
    p, *rest = p_of(texts, columns=columns)
    assert (p, *rest) == (pytest.approx(expected[0]), *expected[1:])


def test_the_published_convention_keeps_its_test_over_texts():
    places = [place for place in range(8) for _ in range(10)]
    texts = [("fm"[place // 4], None, 0.1 * place) for place in places]
    [test] = rated(texts, convention="published", columns={"conversation": list(map(str, places))}).tests
    assert (test["unit"], test["num_units"], test["degrees_of_freedom"]) == ("text", 80, 78.0)
    assert test["p_value"] == pytest.approx(2 * stats.t.sf(abs(test["t"]), 78))
    assert test["p_value"] < 1e-20


def test_the_score_counts_the_papers_tests_and_corrected_counts_go_by_the_unit():
    places = [place for place in range(4) for _ in range(10)]
    texts = [("fm"[place // 2], None, 0.1 * place) for place in places]
    row = by_measure(rated(texts, columns={"conversation": list(map(str, places))}))["wrs"]
    assert (row["raw_score"], row["rejections_95"], row["holm_rejections_95"]) == (2.4, 1, 0)


def test_values_that_are_left_out_are_not_compared():
    texts = [*CONFOUNDED, ("neutral", "happy", 0.9), ("neutral", "sad", 0.9), (None, "sad", 0.1)]
    without = rated(texts, leave_out=LeaveOut(gender=("neutral",)), design="confounded")
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
