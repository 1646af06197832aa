"""The job `error_characterisation` on made-up tweets: what is judged, what ranks errors, and rounds of labelling."""

import json
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from textblob.en import tag

from tests.jobs.classifiers.errors.made_up_tweets import (
    HEADER,
    LABELS,
    SMALL,
    USERS,
    WATCHED,
    WORDS,
    by_row,
    settings,
    tweets,
)
from tests.jobs.classifiers.rows import write_rows
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.errors import ranking, texts
from tiltmeter.jobs.classifiers.errors.config import find_sources
from tiltmeter.operators.classifiers.errors.guarantees import holds_most_errors
from tiltmeter.operators.classifiers.errors.label_errors import suspected
from tiltmeter.operators.classifiers.errors.ranking import auroc, first_weights, risk_coverage, units_of_both
from tiltmeter.operators.classifiers.errors.readable import DENSE
from tiltmeter.operators.classifiers.errors.splits import draws_of_mean, is_tested, mean_of
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import share_of_counts
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError

CHANGES = {
    "of the first alone": (lambda _, *of: (of[0], "") if of[0] > of[1] else ("", of[1]), "top_k=None"),
    "in percent": (lambda _, *of: [100 * one for one in of], "no number from 0 to 1 .*p_negative"),
    "interchanged": (lambda _, *of: of[::-1], ""),
    "interchanged, and ties": (lambda at, *of: [0.5, 0.5] if at < 9 else of[::-1], ""),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_probabilities_that_are_none_are_told_before_any_work(configured, tmp_path, change, message):
    rows = [[*row[:3], *change(at, *row[3:5]), ""] for at, row in enumerate(tweets(40, 0))]
    config = configured(*settings(write_rows(tmp_path / "tweets.csv", [HEADER, *rows])))
    with collected() as bad:
        if message:
            with pytest.raises(InputError, match=message):
                find_sources(config)
        else:
            find_sources(config)
            [row] = bad.rows()
            assert (row["kind"], row["num"], "interchanged" in row["reason"]) == ("kept", 40, True)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["prediction", "label"])
def test_what_needs_two_kinds_is_left_out_and_the_rest_is_done(run_job, tmp_path, column):
    rows = [dict(zip(HEADER, row, strict=True)) for row in tweets(120, 0)]
    rows = [row | ({"prediction": row["label"]} if column == "prediction" else {"label": "negative"}) for row in rows]
    pl.DataFrame(rows).write_csv(tmp_path / "tweets.csv")
    outcome = run_job(*settings(tmp_path / "tweets.csv"), *SMALL, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    predictions = outcome.table("predictions").to_pylist()
    if column == "prediction":
        assert {row["status"] for row in predictions} == {"one_kind"}
        assert predictions[0]["reason"].startswith("0 of 120 predictions are errors, so that nothing tells them")
    else:
        assert {row["in_domain_disagreement"] for row in predictions} == {None}
        assert {"error_models", "slices"} <= outcome.published
        assert "suspects the label" not in (outcome.path / "report.html").read_text()


def test_rows_without_what_is_needed_are_kept_and_say_so_and_an_empty_text_is_counted(characterised, file):
    counted = {"file": str(file), "reason": "no text", "kind": "empty", "num": 1, "first": "line 802, column 'text'"}
    assert characterised.record["left_out"] == [counted]
    rows = characterised.rows("predictions")
    assert len(rows) == 803
    assert [row["status"] for row in rows[-3:]] == ["no_text", "no_label", "no_prediction"]
    assert {row["status"] for row in rows[:800]} == {"ok"}
    no_text, no_label, no_prediction = rows[-3:]
    assert (no_text["rank"], no_prediction["rank"], no_label["is_error"]) == (None, None, None)
    assert 0 <= no_label["error_score"] <= 1
    ranked = sorted((row for row in rows if row["rank"]), key=lambda row: row["rank"])
    assert [row["rank"] for row in ranked] == list(range(1, 802))
    scores = [row["error_score"] for row in ranked]
    assert scores == sorted(scores, reverse=True)
    halves = {row["row"]: row["half"] for row in characterised.rows("texts")}
    assert {row for row in halves if halves[row] is None} == {800, 801, 802}


def test_means_over_splits_leave_the_splits_as_draws(characterised):
    """For a table each: as many numbers with draws as have an interval; of splits alone, what they are keyed by."""
    keys = {"error_models": ["score", "measure"], "precision_at_k": ["score", "k"], "feature_power": []}
    keys["precision_differences"] = []
    draws = characterised.rows("draws")
    for table, key in keys.items():
        these = [draw for draw in draws if draw["table"] == table]
        rows = [row for row in characterised.rows(table) if row.get("split", "all") == "all"]
        ends = [name for row in rows for name in row if name.endswith("low") and row[name] is not None]
        assert len(these) == sum(not name.endswith("band_low") for name in ends)
        for draw in these if key else []:
            about = {name: json.loads(draw["key"])[name] for name in key}
            parts = [characterised.rows(table, split=split, **about)[0][draw["column"]] for split in "01"]
            assert draw["values"] == pytest.approx(draws_of_mean(np.array(parts), 0.3))
    [scheme] = {draw["scheme"] for draw in draws if draw["table"] in keys}
    assert [json.loads(scheme)[name] for name in ("seed", "test", "balance")] == [4, 0.3, False]


@pytest.fixture(scope="module")
def words_of_rows(characterised):
    """Numbers of texts by what they say."""
    return {row["text"]: row["row"] for row in characterised.rows("texts", status="ok")}


def test_models_of_errors_learn_from_the_texts_of_a_split_and_rank_the_others(characterised, words_of_rows):
    """What each split's forests and judge are given, and what ranks its other texts."""
    wrong, labels = (by_row(characterised, *of) for of in (("predictions", "is_error"), ("texts", "label")))
    predicted = by_row(characterised, "predictions", "predicted")
    groups = by_row(characterised, "texts", "group")
    forests, ranked = iter(characterised.calls["train_forest"]), []
    for split in range(2):
        judge, measured = (characterised.calls[name][split] for name in ("train_word_model", "_measures"))
        inside = [words_of_rows[text] for text in judge["texts"]]
        outside = sorted({*words_of_rows.values()} - {*inside})
        assert len(outside) == round(0.3 * 800) == 800 - len(inside)
        ranked.append({*outside})
        assert judge["labels"] == [labels[row] for row in inside]
        assert measured["errors"].tolist() == [wrong[row] for row in outside]
        assert (measured["split"], measured["units"].num) == (split, len(outside))
        scores = measured["scores"]
        kinds = ["published", "readable", "readable_and_class", "readable_class_and_probabilities"]
        for kind in kinds:
            forest = next(forests)
            assert forest["errors"].tolist() == [wrong[row] for row in inside]
            assert forest["groups"] == [groups[row] for row in inside]
            assert (forest["seed"], forest["about"], forest["config"].num_trees) == (4, split, 20)
            assert (len(forest["features"]), len(scores[kind])) == (len(inside), len(outside))
        assert len({forest_scores.tobytes() for forest_scores in (scores[kind] for kind in kinds)}) == 4
        rates = {name: np.mean([wrong[row] for row in inside if predicted[row] == name]) for name in LABELS}
        assert scores["predicted_class"] == pytest.approx([rates[predicted[row]] for row in outside], abs=0.01)
        for name in ("least_confidence", "margin", "entropy"):
            known = by_row(characterised, "predictions", name)
            assert scores[name] == pytest.approx([known[row] for row in outside])
        others = [text for text, row in words_of_rows.items() if row in {*outside}]
        guesses = judge["result"].probabilities(others, LABELS)
        said = [1 - guess[LABELS.index(predicted[row])] for guess, row in zip(guesses, outside, strict=True)]
        assert scores["in_domain_disagreement"] == pytest.approx(said)
    assert len(ranked[0] & ranked[1]) == pytest.approx(0.3 * 0.3 * 800, abs=25), "another split has other texts"
    assert not np.array_equal(*(call["scores"]["random"][:99] for call in characterised.calls["_measures"]))


def test_tables_of_models_are_measured_on_what_each_split_ranks(characterised):
    """AUROC by pairs, P@K and risks by sorting; means over splits are plain ones."""
    rows = {(row["score"], row["measure"], row["split"]): row for row in characterised.rows("error_models")}
    precision = {(row["score"], row["k"], row["split"]): row for row in characterised.rows("precision_at_k")}
    coverage = {(row["score"], round(row["coverage"], 2)): row["risk"] for row in characterised.rows("risk_coverage")}
    calls = characterised.calls["_measures"]
    assert {score for score, _, _ in rows} == calls[0]["scores"].keys()
    for score in calls[0]["scores"]:
        risks = []
        for split, call in enumerate(calls):
            values, errors = call["scores"][score], call["errors"]
            pairs = values[errors][:, None] - values[~errors][None]
            assert rows[score, "auroc", str(split)]["value"] == pytest.approx(np.mean((pairs > 0) + (pairs == 0) / 2))
            assert rows[score, "error_rate", str(split)]["value"] == errors.mean()
            weights = first_weights(values, 20)
            ends = share_of_counts(weights * errors, weights, level=0.9, kind="text")
            said = [precision[score, 20, str(split)][name] for name in ("precision", "low", "high")]
            assert said == pytest.approx([weights @ errors / 20, ends.low, ends.high])
            risks.append(risk_coverage(values, errors))
            assert rows[score, "aurc", str(split)]["value"] == pytest.approx(risks[-1].mean())
        half = math.ceil(0.5 * len(risks[0])) - 1
        assert coverage[score, 0.5] == pytest.approx(np.mean([risk[half] for risk in risks]))
        judged = [("precision", precision[score, 20, "all"], [20, 20], [precision[score, 20, one] for one in "01"])]
        num_wrong = [call["errors"].sum() for call in calls]
        for measure, units in {"auroc": num_wrong, "aurc": [240, 240], "error_rate": [240, 240]}.items():
            judged.append((measure, rows[score, measure, "all"], units, [rows[score, measure, one] for one in "01"]))
        for measure, row, units, splits in judged:
            name, is_share = "precision" if measure == "precision" else "value", measure in ("precision", "error_rate")
            values = np.array([split[name] for split in splits])
            mean = mean_of(values, 0.3, float(np.mean(units)), 0.9, LOGIT, is_share=is_share)
            said = [row[end] for end in (name, "low", "high", f"{name}_band_low", f"{name}_band_high")]
            assert said == pytest.approx([*mean])
    for row in characterised.rows("precision_differences", k=20):
        ones, others = ([precision[row[of], 20, at]["precision"] for at in "01"] for of in ("score", "baseline"))
        mean = mean_of(np.subtract(ones, others), 0.3, 20.0, 0.9, FISHER, is_share=False)
        said = [row[name] for name in ("difference", "difference_low", "difference_high")]
        assert said == pytest.approx([*mean[:3]])
    assert rows["readable", "auroc", "all"]["value"] > 0.6
    # Words do not tell the classes, and the judge has not seen the labels of what it judges.
    assert abs(rows["in_domain_disagreement", "auroc", "all"]["value"] - 0.5) < 0.1
    power = {row["feature"]: row for row in characterised.rows("feature_power")}
    has = characterised.grouped("features", "feature")
    falls = characterised.calls["permutation_importance"]
    for column, name in enumerate(sorted(power)):
        row = power[name]
        assert row["share"] == pytest.approx(sum(of["row"] < 800 and of["value"] != 0 for of in has[name]) / 800)
        areas = [auroc(fall["features"][:, column], call["errors"]) for fall, call in zip(falls, calls, strict=True)]
        lost = [fall["result"][row["part"]].mean() for fall in falls]
        for measure, values, scale in (("auroc", areas, LOGIT), ("importance", lost, FISHER)):
            mean = mean_of(np.array(values), 0.3, float(np.mean(num_wrong)), 0.9, scale, is_share=False)
            assert [row[f"{measure}{end}"] for end in ("", "_low", "_high")] == pytest.approx([*mean[:3]])
        gini = [fall["forest"].model.feature_importances_[column] for fall in falls]
        assert row["gini_importance"] == pytest.approx(np.mean(gini))
    assert power["numbers"]["auroc"] > 0.6
    assert [fall["errors"].tolist() for fall in falls] == [call["errors"].tolist() for call in calls]
    assert [(fall["seed"], fall["about"]) for fall in falls] == [(4, 0), (4, 1)]
    units, errors = units_of(np.arange(9) // 3, "group"), np.arange(9) < 4
    assert [units_of_both(these, units) for these in (errors, ~errors)] == [2, 2]
    assert [units_of_both(these, each(9, "text")) for these in (errors, ~errors)] == [4, 4]


def test_the_first_texts_of_few_groups_say_less_of_their_precision_and_one_text_has_no_interval():
    errors, scores = np.arange(40) < 20, {"score": -np.arange(40.0)}
    texts, groups = each(40, "text"), units_of(np.arange(40) // 5, "group")
    one, _, alone = ranking._precision(scores, errors, texts, (1, 5, 20), split=0, level=0.9).to_pylist()
    *_, grouped = ranking._precision(scores, errors, groups, (1, 5, 20), split=0, level=0.9).to_pylist()
    assert (one["precision"], alone["precision"], grouped["precision"]) == (1.0, 1.0, 1.0)
    assert grouped["low"] == pytest.approx(0.05 ** (1 / 4))
    assert grouped["low"] < alone["low"] == pytest.approx(0.05 ** (1 / 20))
    assert (alone["num_units"], grouped["num_units"]) == (20.0, pytest.approx(4.0))
    assert np.isnan([one["low"], one["high"]]).all()


@pytest.mark.parametrize("num", [3, 100, 241])
def test_the_risk_of_a_coverage_is_that_of_as_many_texts(num):
    """A percentage of 241 texts is rounded up, one of a hundred is none too many."""
    scores, errors = np.arange(num) / num, np.random.default_rng(num).random(num) < np.arange(num) / num
    kept = [next(size for size in range(num + 1) if 100 * size >= percent * num) for percent in range(1, 101)]
    rows = ranking._coverage({"alone": scores}, errors, 1).to_pylist()
    assert [row["coverage"] for row in rows] == pytest.approx([percent / 100 for percent in range(1, 101)])
    assert [row["risk"] for row in rows] == pytest.approx([errors[:size].mean() for size in kept])


def test_texts_are_scored_by_forests_and_judged_by_models_that_have_not_seen_them(characterised):
    predictions = {row["row"]: row for row in characterised.rows("predictions")}
    errors = [predictions[row]["is_error"] for row in range(800)]
    labels = [row["label"] for row in characterised.rows("texts")[:800]]
    assert [predictions[row]["predicted"] != label for row, label in enumerate(labels)] == errors
    calls, seen = characterised.calls["forest_without"], []
    for fold, call in enumerate(calls):
        assert (call["errors"].tolist(), call["seed"], call["fold"]) == (errors, 4, fold)
        rows, forest = call["result"]
        seen += rows.tolist()
        published = [predictions[row]["error_score"] for row in rows]
        assert published == pytest.approx(forest.scores(call["features"][rows]).tolist())
    assert (sorted(seen), len(calls)) == ([*range(800)], 3)
    [judged] = characterised.calls["out_of_fold_probabilities"]
    assert [*judged["labels"]] == labels
    assert (judged["num_folds"], judged["seed"]) == (3, 4)
    for row, guess in enumerate(judged["result"]):
        said = predictions[row]
        assert said["in_domain_disagreement"] == pytest.approx(1 - guess[LABELS.index(said["predicted"])])
        p = np.array(said["probabilities"])
        assert said["least_confidence"] == pytest.approx(1 - p.max())
        assert said["margin"] == pytest.approx(p.min() - p.max())
        assert said["entropy"] == pytest.approx(-(p * np.log(p)).sum())
    doubted = suspected(judged["result"], np.array([LABELS.index(label) for label in labels]))
    assert [predictions[row]["is_label_suspected"] for row in range(800)] == doubted.tolist()


def test_a_network_learns_one_part_of_its_texts_and_stops_by_the_other(users, run_here, place, tmp_path):
    old = [[*row[:2], f"user {at % 40}"] for at, row in enumerate(tweets(200, 8, WORDS))]
    base_file = write_rows(tmp_path / "old.csv", [["text", "label", "user"], *old])
    run = run_here(
        *("job=error_characterisation", f"data.path={place}/fresh.csv", f"base.path={base_file}"),
        *(*USERS, "base.development=0.3", "models.encoder.dimensions=8", "models.encoder.hidden=8"),
        *("models.training.max_epochs=2", f"data.scored_by={place}/run"),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
        watched=[(training, "train"), (texts, "ask")],
    )
    [trained], [told] = run.calls["train"], run.calls["ask"]
    aside = is_tested([" ".join(row[0].lower().split()) for row in old], 0.3, 5, 2)
    assert 40 < aside.sum() < 80
    for part, is_aside in (("training", False), ("development", True)):
        rows = [row for row, out in zip(old, aside, strict=True) if out == is_aside]
        assert [LABELS[number] for number in trained[part].labels["label"]] == [row[1] for row in rows]
        assert [text.words[-1] for text in trained[part].texts] == [row[0].split()[-1] for row in rows]
    assert trained["seed"] == 5
    shares = told["result"].probabilities
    assert told["texts"] == [row["text"] for row in run.rows("texts")]
    for row, share_ in zip(run.rows("predictions"), shares, strict=True):
        assert row["probabilities"] == pytest.approx(share_.tolist())
        assert row["predicted"] == told["classifier"].classes[share_.argmax()]


CHOSEN = [
    *("data.header=false", "data.text=column_1", "data.label=column_2", "data.id=column_3", "data.limit=300"),
    *("data.classes={bad: negative, fine: positive}", "base.model=words", "features.tags=true", "slices.tags=true"),
    *("splits.balance=true", "guarantees.joint=false", "slices.score=sliceline"),
]


@pytest.fixture(scope="module")
def labelled(run_here, tmp_path_factory):
    """A run with a base model on texts without a heading, and the texts that this learns; who says sir is wrong."""
    place, (old, new) = tmp_path_factory.mktemp("labelled"), (tweets(200, seed, WORDS) for seed in (1, 2))
    new += [[f"The flight  was {word} sir x{number}", "negative"] for number in range(40) for word in WORDS["positive"]]
    called = {"negative": "bad", "positive": "fine"}
    files = {"old": [HEADER[:2], *(row[:2] for row in old)]}
    files["new"] = [[row[0], called[row[1]], f"t{number}"] for number, row in enumerate(new)]
    for name, rows in files.items():
        write_rows(place / f"{name}.csv", rows)
    (place / "lexicon.txt").write_text("late\tanger\t1\nlate\tjoy\t0\nkind\tjoy\t1\n")
    parsed = (f"# text_id = t{at}\n1\tlate\tlate\tADJ\tJJ\t_\t0\troot\t_\tNER=B-ORG\n" for at in range(9))
    (place / "parsed.conllu").write_text("\n".join(parsed))
    given = ["job=error_characterisation", f"data.path={place}/new.csv", f"base.path={place}/old.csv"]
    given += [f"features.lexicon={place}/lexicon.txt", f"features.conllu={place}/parsed.conllu"]
    run = run_here(
        *(*given, *SMALL, *CHOSEN, f"store={place}/store", f"run_dir={place}/run"),
        watched=[(texts, "train_word_model"), (ranking, "play"), *WATCHED],
    )
    return run, [row[:2] for row in old], [row[:2] for row in new]


def test_a_base_model_is_trained_and_texts_are_labelled_in_rounds(labelled):
    run, old, new = labelled
    numbers = [row["row"] for row in run.rows("texts")]
    drawn = sorted(range(len(new)), key=lambda at: document_key(f"4\n{new[at][1]}\n{new[at][0]}"))
    assert numbers == sorted(drawn[:300])
    model = run.calls["train_word_model"][0]
    assert [[*row] for row in zip(model["texts"], model["labels"], strict=True)] == old
    plays = run.calls["play"]
    has = run.grouped("features", "feature")
    frequent = [name for name, rows in has.items() if name in DENSE or len(rows) >= 0.01 * 300]
    assert len(frequent) < len(has), "x7 and the like are of one text each"
    strategies = {"errors", "random", "least_confidence", "in_domain_disagreement"}
    expected = [(strategy, seed) for strategy in sorted(strategies) for seed in (4, 5)]
    assert sorted((call["strategy"], call["seed"]) for call in plays) == expected
    for call in plays:
        assert [[*row] for row in zip(call["old"].texts, call["old"].labels, strict=True)] == old
        learnt = [[*row] for row in zip(call["new"].texts, call["new"].labels, strict=True)]
        assert learnt == [new[at] for at in numbers]
        assert call["new"].features.shape == (300, len(frequent))
    num_groups = len({row["group"] for row in run.rows("texts")})
    for row in run.rows("rounds"):
        steps = {(call["strategy"], call["seed"]): call["result"][row["round"]] for call in plays}
        ours, others = ([steps[of, seed] for seed in (4, 5)] for of in (row["strategy"], "random"))
        accuracy, by_chance = (np.array([one.accuracy for one in these]) for these in (ours, others))
        for name, values, scale in (("accuracy", accuracy, LOGIT), ("over_random", accuracy - by_chance, FISHER)):
            mean = mean_of(values, 0.3, 0.3 * num_groups, 0.9, scale, is_share=name == "accuracy")
            assert [row[f"{name}{end}"] for end in ("", "_low", "_high")] == pytest.approx([*mean[:3]], abs=1e-9)
        found = np.nan if row["errors_found"] is None else row["errors_found"]
        assert found == pytest.approx(np.mean([one.errors_found for one in ours]), nan_ok=True)
    rounds = run.rows("rounds", round=1)
    assert {row["strategy"] for row in rounds} == strategies
    assert {(row["num_labels"], row["num_seeds"]) for row in rounds} == {(50, 2)}
    assert len({row["accuracy"] for row in run.rows("rounds", round=0)}) == 1
    assert "versions" not in run.published


def test_features_are_counted_of_words_tags_parses_and_a_lexicon(labelled):
    """Parses name texts by the column of theirs."""
    run, _, new = labelled
    counts = run.grouped("features", "row")
    texts = run.rows("texts")
    assert {row["id"] for row in texts} == {f"t{row['row']}" for row in texts}
    for row in texts:
        assert (row["text"], row["label"]) == (*new[row["row"]],)
        assert row["group"] == " ".join(row["text"].lower().split())
        tags = [name for _, name in tag(row["text"]) if name[:1].isalpha()]
        expected = Counter([*(f"tag:{name}" for name in tags), *(f"tags:{a}-{b}" for a, b in pairwise(tags))])
        words = row["text"].split()
        expected += Counter({"lexicon:anger": "late" in words, "lexicon:joy": "kind" in words})
        if row["row"] < 9:
            expected.update({"dependency:ROOT-JJ-JJ": 1, "entity:ORG": 1})
        assert {of["feature"]: of["count"] for of in counts[row["row"]] if ":" in of["feature"]} == expected


def test_splits_slices_and_promises_are_as_they_are_asked_for(labelled):
    """As many errors as others; SliceLine's equation 1, of tags too; and each promise by itself."""
    run, _, _ = labelled
    wrong = {row["row"]: row["is_error"] for row in run.rows("predictions")}
    num_errors, learnt = sum(wrong.values()), {call["about"]: call["errors"] for call in run.calls["train_forest"]}
    assert 50 < num_errors < 150
    for split, measured in enumerate(run.calls["_measures"]):
        errors = [*learnt[split], *measured["errors"]]
        assert sum(errors) == num_errors == len(errors) / 2
    explored = {row["row"] for row in run.rows("texts", half="exploration")}
    has = {name: {row["row"] for row in rows} for name, rows in run.grouped("features", "feature").items()}
    slices = run.rows("slices")
    for row in slices:
        assert row["score"] == pytest.approx(0.95 * (row["lift"] - 1) - 0.05 * (len(explored) / row["size"] - 1))
    tagged = [row for row in slices if row["num_predicates"] == 1 and row["slice"].startswith("tag")]
    assert tagged
    assert all(row["size"] == len(has[row["slice"]] & explored) for row in tagged)
    [call] = run.calls["promises"]
    for row in run.rows("guarantees", promise="missed"):
        given = (call["scores"], call["errors"], call["units"])
        made = holds_most_errors(*given, alpha=row["level"], delta=0.15, joint=1, seed=4)
        assert (row["num_joint"], row["achieved_delta"]) == (1, pytest.approx(made.achieved_delta))


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_layout_changes_no_table(characterised, run_job, file, tmp_path, num_cpus):
    layout = ["job.unit_texts=150", "job.unit_permutations=70", f"cluster.num_cpus={num_cpus}"]
    run = run_job(*settings(file), "data.previous=before", *SMALL, *layout, f"store={tmp_path}/store")
    assert run.digests == characterised.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(characterised, file, tiltmeter, outcome_of, tmp_path, victim):
    given = [*settings(file), "data.previous=before", *SMALL]
    survive(tiltmeter, outcome_of, tmp_path, given, victim, characterised)
