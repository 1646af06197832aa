"""What flagged texts promise, and texts that a later run scores."""

import json

import numpy as np
import pytest

from tests.jobs.classifiers.errors.made_up_tweets import LABELS, USERS, by_row, numbers, settings
from tests.jobs.classifiers.rows import read_rows, write_rows
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.classifiers.errors.guarantees import MISSED, holds_most_errors
from tiltmeter.operators.classifiers.errors.slices.confirmation import retested
from tiltmeter.operators.classifiers.errors.word_model import train_word_model
from tiltmeter.operators.statistics.designs.thresholds import Promise, exchangeable_p, one_per_unit
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.errors import InputError


@pytest.fixture(scope="module")
def later(run_here, users, place):
    given = [*settings(place / "fresh.csv"), *USERS, f"data.scored_by={place}/run"]
    given.append(f"data.slices={place}/run/exports/slices.json")
    return run_here(*given, f"store={place}/store", f"run_dir={place}/later")


def test_promises_are_made_by_texts_that_the_forest_has_not_seen(characterised):
    """Two thirds of the half that confirms choose for an error rate, and one third bounds it."""
    halves, wrong = by_row(characterised, "texts", "half"), by_row(characterised, "predictions", "is_error")
    groups = by_row(characterised, "texts", "group")
    parts = {name: [row for row in range(800) if halves[row] == name] for name in ("exploration", "confirmation")}
    forest = characterised.calls["train_forest"][-1]
    assert forest["groups"] == [groups[row] for row in parts["exploration"]]
    assert forest["errors"].tolist() == [wrong[row] for row in parts["exploration"]]
    [call] = characterised.calls["promises"]
    assert call["errors"].tolist() == [wrong[row] for row in parts["confirmation"]]
    scored = by_row(characterised, "flags", "score")
    assert call["scores"].tolist() == [scored[row] for row in parts["confirmation"]]
    rows = characterised.rows("guarantees")
    made = {"missed": (0.05, 0.1, 0.2), "unflagged": (0.1, 0.2)}
    assert [(row["promise"], row["level"]) for row in rows] == [(name, level) for name in made for level in made[name]]
    assert {(row["delta"], row["num_joint"]) for row in rows} == {(0.15, 5)}
    chosen, bounded = (characterised.calls[name] for name in ("leaves_few_errors", "most_unflagged"))
    for row in rows:
        some, these = call["scores"], call["errors"]
        if row["promise"] == "missed":
            made = holds_most_errors(some, these, call["units"], alpha=row["level"], delta=0.15, joint=5, seed=4)
            threshold, num = made.threshold, (made.num, made.achieved_delta)
            assert (row["num_errors"], row["achieved_delta"]) == num == (these.sum(), pytest.approx(num[1]))
            assert row["allowed"] == max(made.allowed, 0)
            assert row["missed"] <= row["level"]
        else:
            place = (0.1, 0.2).index(row["level"])
            choice, bound = chosen[place], bounded[place]
            assert [choice[name] for name in ("rate", "delta", "joint", "seed")] == [row["level"], 0.15, 5, 4]
            assert (bound["level"], bound["seed"]) == (1 - 0.15 / 5, 4)
            assert len(bound["scores"]) == round(len(some) / 3) == len(some) - len(choice["scores"])
            assert {*bound["scores"]} | {*choice["scores"]} == {*some}
            assert row["unflagged_most"] == (None if np.isnan(bound["result"]) else pytest.approx(bound["result"]))
            threshold, some, these, num = bound["threshold"], choice["scores"], choice["errors"], None
            assert threshold == choice["result"]
        inside = some >= threshold
        assert row["flags"] == ("some" if np.isfinite(threshold) else "all" if threshold < 0 else "none")
        assert row["threshold"] == (threshold if row["flags"] == "some" else None)
        assert row["status"] == ("ok" if row["flags"] != "all" else "too_few_units" if num else "nothing_shown")
        assert row["flagged_share"] == pytest.approx(inside.mean())
        assert row["missed"] == pytest.approx((~inside & these).sum() / these.sum())
        assert row["unflagged_rate"] == (None if inside.all() else pytest.approx(these[~inside].mean()))
        if row["status"] == "nothing_shown":
            assert row["reason"].startswith(f"all are flagged: below no threshold do {len(some)} texts show so few")
        assert row["num_calibration"] == len(some)
    assert characterised.published == set(characterised.record["tables"]) - {"rounds", "checks", "columns", "retests"}


def test_promises_are_made_by_the_users_of_the_other_half(users):
    group_of, wrong = by_row(users, "texts", "group", half="confirmation"), by_row(users, "predictions", "is_error")
    with_errors = {group_of[row] for row in group_of if wrong[row]}
    assert len(with_errors) < sum(wrong[row] for row in group_of)
    [strict, *_, loose] = promises = users.rows("guarantees", promise="missed")
    assert {(row["num_errors"], row["num_calibration"]) for row in promises} == {(len(with_errors), len(group_of))}
    assert (strict["flags"], strict["status"]) == ("all", "too_few_units")
    assert f'{len(with_errors)} of the unit "group with an error", and 69 are needed' in strict["reason"]
    assert (loose["flags"], loose["status"]) == ("some", "ok")


def test_every_row_with_a_text_has_a_score_a_rank_and_reasons(users):
    rows = users.rows("predictions")
    assert sorted(row["rank"] for row in rows) == list(range(1, 1201))
    assert {row["status"] for row in rows[900:]} == {"no_label"}
    assert all(row["reasons"] for row in rows)
    texts = users.rows("texts")
    judge = train_word_model(*([row[name] for row in texts[:900]] for name in ("text", "label")))
    guesses = judge.probabilities([row["text"] for row in texts[900:]], LABELS)
    for row, guess in zip(rows[900:], guesses, strict=True):
        assert row["in_domain_disagreement"] == pytest.approx(1 - guess[LABELS.index(row["predicted"])])
    # Texts with a number and a greeting are wrong in 70 %, others in 10 %: of texts without a label, too.
    inside, outside = (
        [row["error_score"] for row in rows[900:] if any(why.startswith(start) for why in row["reasons"])]
        for start in ("numbers +", "no numbers -")
    )
    assert np.mean(inside) > np.mean(outside) + 0.15


def test_a_later_run_scores_new_texts_and_flags_them_at_the_promised_threshold(users, later):
    rows = later.rows("predictions")
    assert sum(row["error_score"] is not None for row in rows) == 300
    assert later.published == {"texts", "features", "predictions", "flags", "checks", "retests"}
    promised = {(row["promise"], row["level"]): row for row in users.rows("guarantees")}
    scores = {row["row"]: row["error_score"] for row in rows}
    flags = later.rows("flags")
    assert len(flags) == 300 * len(promised)
    for row in flags:
        promise = promised[row["promise"], row["level"]]
        at = {"all": -1.0, "none": 2.0}.get(promise["flags"], promise["threshold"])
        assert (row["score"], row["is_flagged"]) == (scores[row["row"]], scores[row["row"]] >= at)
    wrong, groups = by_row(later, "predictions", "is_error"), by_row(later, "texts", "group")
    known = np.array([wrong[row] is not None for row in range(300)])
    values, errors = np.array([scores[row] for row in range(300)]), np.array([bool(wrong[row]) for row in range(300)])
    assert known.sum() == 240
    rows = np.flatnonzero(errors)
    drawn = values[rows[one_per_unit(units_of([groups[row] for row in rows], "user"), seed=5, about=MISSED)]]
    for check in later.rows("checks"):
        promise = promised[check["promise"], check["level"]]
        at = {"all": -np.inf, "none": np.inf}.get(promise["flags"], promise["threshold"])
        assert check["flagged_share"] == pytest.approx((values >= at).mean())
        below = errors[known & (values < at)]
        assert check["unflagged_rate"] == (pytest.approx(below.mean()) if below.size else None)
        assert (check["threshold"], check["flags"]) == (promise["threshold"], promise["flags"])
        assert (check["num_errors"], check["missed"]) == (drawn.size, pytest.approx((drawn < at).mean()))
        p = None
        if (promise["promise"], promise["flags"]) == ("missed", "some"):
            counts = (promise[name] for name in ("allowed", "num_errors", "achieved_delta"))
            p = pytest.approx(exchangeable_p(Promise(at, *counts), drawn))
        assert check["exchangeable_p"] == p
    assert drawn.size == len({groups[row] for row in rows}) < rows.size
    [loose] = later.rows("checks", promise="missed", level=0.2)
    assert (loose["flags"], loose["exchangeable_p"] > 0.01) == ("some", True)
    assert 0 < loose["flagged_share"] < 1


def test_slices_of_errors_are_tested_on_new_texts_among_those_of_the_same_prediction(users, later, place):
    """The planted slice is a hypothesis of one there, on 240 texts with a label, by their users."""
    [known] = json.loads((users.path / "exports" / "slices.json").read_text())["slices"]
    assert sorted((part["of"], part["name"], part["operator"], part["value"]) for part in known["conditions"]) == [
        ("feature", "greeting", ">", 0.0),
        ("feature", "numbers", ">", 0.0),
    ]
    [row] = later.rows("retests")
    assert (row["slice"], row["words"]) == (known["slice"], "texts with a greeting and a number")
    assert row["difference_before"] == known["difference"] > 0.4
    cells = [cell for cell in read_rows(place / "fresh.csv")[1:] if cell[1]]
    wrong, strata = (
        np.array([cell[1] != cell[2] for cell in cells]),
        np.array([cell[2] == "positive" for cell in cells]),
    )
    inside = np.array(["after 45 words" in cell[0] and "hello" in cell[0] for cell in cells])
    assert (row["size"], row["num_groups"]) == (
        inside.sum(),
        len({cell[6] for cell, one in zip(cells, inside, strict=True) if one}),
    )
    design = np.column_stack([inside, strata, ~strata]).astype(float)
    assert row["difference"] == pytest.approx(np.linalg.lstsq(design, wrong.astype(float), rcond=None)[0][0])
    assert row["error_rate"] == pytest.approx(wrong[inside].mean())
    made = retested(inside, wrong, strata.astype(int), units_of([cell[6] for cell in cells], "group"), 0.9)
    assert numbers(row, "difference_low", "difference_high") == pytest.approx([made.low, made.high])
    assert row["p_value"] == row["holm_p"] == pytest.approx(made.p)
    assert row["p_value"] < 0.001
    assert (
        "Texts with a greeting and a number, tested again: shown to be worse"
        in (later.path / "report.html").read_text()
    )


def test_scores_of_the_kept_forest_are_those_that_chose_the_thresholds(users, run_here, place):
    """The same texts come to the same scores by the table as in the run that trained it."""
    given = [*settings(place / "texts.csv"), *USERS, f"data.scored_by={place}/run"]
    again = run_here(*given, f"store={place}/store", f"run_dir={place}/again")
    now = {(row["row"], row["promise"], row["level"]): row for row in again.rows("flags")}
    before = users.rows("flags")
    texts = users.rows("texts")
    seen = {row["group"] for row in texts if row["half"] == "exploration"}
    others = {row["row"] for row in texts[900:] if row["group"] not in seen}
    assert {row["row"] for row in before} == others | {row["row"] for row in users.rows("texts", half="confirmation")}
    assert 240 < len(others) < 300
    for row in before:
        assert now[row["row"], row["promise"], row["level"]] == row


def test_texts_without_any_label_are_scored(users, run_here, place, tmp_path):
    write_rows(tmp_path / "bare.csv", [[row[0], *row[2:]] for row in read_rows(place / "fresh.csv")])
    given = [*settings(tmp_path / "bare.csv"), *USERS, "data.label=null", f"data.scored_by={place}/run"]
    run = run_here(*given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert sum(row["error_score"] is not None for row in run.rows("predictions", status="no_label")) == 300
    assert {(row["exchangeable_p"], row["status"]) for row in run.rows("checks")} == {(None, "no_error")}


def test_another_forest_or_other_features_are_refused(users, place, run_here):
    scored = f"data.scored_by={place}/run"
    tags = "features.tags=True: data.scored_by=.* has features.tags=False; set it so"
    probabilities = "data.probabilities: the forest .* looks at those of negative, positive"
    column = "data.path: .* has no column 'guess'; its columns are 'text', 'label'"
    known = f"data.slices={place}/run/exports/slices.json"
    words = "readable_words: are not those of data.slices=.*; choose the same with readable_words=..."
    labels = "data.slices: needs errors or losses; set data.label to the column of labels"
    for changed, error, message in (
        ([scored, "features.tags=true"], ConfigError, tags),
        ([known, "features.tags=true"], ConfigError, tags.replace("scored_by", "slices")),
        ([known, "readable_words.thanks=[ta]"], ConfigError, words),
        ([known, scored, "data.label=null"], ConfigError, labels),
        ([scored, "data.probabilities=null"], ConfigError, probabilities),
        (["data.prediction=guess"], InputError, column),
        ([f"data.scored_by={place}/none"], InputError, "data.scored_by"),
    ):
        with pytest.raises(error, match=message):
            run_here(*settings(place / "fresh.csv"), *USERS, *changed, f"store={place}/store")
