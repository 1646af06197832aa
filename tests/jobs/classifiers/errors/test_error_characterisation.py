"""The job `error_characterisation` on made-up tweets with a slice that is planted."""

import json
import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from textblob.en import tag

from tests.fixtures.tables.made_up import frames
from tests.jobs.classifiers.rows import read_rows, write_rows
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.errors import flagged, forests, page, ranking, slices, texts
from tiltmeter.jobs.classifiers.errors.config import find_sources
from tiltmeter.jobs.classifiers.errors.tables import in_words
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.classifiers.errors import rankers
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.guarantees import MISSED, holds_most_errors
from tiltmeter.operators.classifiers.errors.label_errors import suspected
from tiltmeter.operators.classifiers.errors.ranking import auroc, first_weights, risk_coverage, units_of_both
from tiltmeter.operators.classifiers.errors.readable import DENSE
from tiltmeter.operators.classifiers.errors.slices.predicates import holds_of_text, predicates_of_texts
from tiltmeter.operators.classifiers.errors.slices.search import plain
from tiltmeter.operators.classifiers.errors.splits import draws_of_mean, is_tested, mean_of
from tiltmeter.operators.classifiers.errors.word_model import train_word_model
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.designs.thresholds import Promise, exchangeable_p, one_per_unit
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean, paired, share, share_of_counts
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError

SMALL = [
    *("seed=4", "job.level=0.9", "guarantees.delta=0.15", "splits.number=2", "splits.test=0.3"),
    *("forest.num_trees=20", "forest.num_search_trees=5", "forest.leaf_sizes=[1, 5]", "forest.num_folds=3"),
    *("slices.min_size=30", "slices.num_permutations=199", "precision.sizes=[5, 20]"),
    *("features.tags=false", "job.unit_permutations=100"),
    *("rounds.number=1", "rounds.size=10", "rounds.start=40", "rounds.num_seeds=2", "job.unit_texts=300"),
]
LABELS = ("negative", "positive")
WORDS = {"negative": ("late", "lost", "rude"), "positive": ("great", "lovely", "kind")}
NEUTRAL = dict.fromkeys(LABELS, ("here", "there", "on the way"))
"""With words that tell the class, texts of praise that the model calls negative would be a slice, and rightly so."""


def tweets(num, seed, words=NEUTRAL):
    """Texts, two of three negative; a model is right in nine of ten, in three where one has a number and greets."""
    rng, rows = random.Random(seed), []
    for row in range(num):
        label = LABELS[row % 3 == 0]
        number, greets, question = rng.random() < 0.4, rng.random() < 0.4, rng.random() < 0.3
        parts = ["the flight was", rng.choice(words[label]), *(["after 45 words"] if number else [])]
        parts += [*(["hello"] if greets else []), f"w{rng.randrange(40)}", "can you?" if question else "."]
        text = " ".join(parts)
        is_right = rng.random() < (0.3 if number and greets else 0.9)
        sure = rng.uniform(0.55, 0.95)
        prediction = label if is_right else LABELS[row % 3 != 0]
        p_positive = sure if prediction == "positive" else 1 - sure
        before = label if rng.random() < 0.88 else LABELS[row % 3 != 0]
        rows.append([f"{text} x{row}", label, prediction, 1 - p_positive, p_positive, before])
    return rows


HEADER = ["text", "label", "prediction", "p_negative", "p_positive", "before"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """800 texts, and one each without a text, a label and a prediction."""
    path = tmp_path_factory.mktemp("tweets") / "tweets.csv"
    odd = [["", "negative", "negative", 0.5, 0.5, "negative"], ["x", "", "negative", 0.5, 0.5, "negative"]]
    odd.append(["y", "negative", "", 0.5, 0.5, "negative"])
    return write_rows(path, [HEADER, *tweets(800, 0), *odd])


def settings(file):
    probabilities = "data.probabilities={negative: p_negative, positive: p_positive}"
    return ["job=error_characterisation", f"data.path={file}", "data.prediction=prediction", probabilities]


WATCHED = [
    *((rankers, name) for name in ("train_forest", "train_word_model")),
    *((ranking, name) for name in ("permutation_importance", "_measures")),
    *((forests, name) for name in ("forest_without", "out_of_fold_probabilities")),
    *((forests, name) for name in ("train_forest", "promises", "leaves_few_errors", "most_unflagged")),
    *((slices, name) for name in ("candidates_of", "adjusted", "confirmed_p", "worse_p")),
]


@pytest.fixture(scope="module")
def characterised(run_here, file, tmp_path_factory):
    place = tmp_path_factory.mktemp("errors")
    given = [*settings(file), "data.previous=before", *SMALL]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run", watched=WATCHED)


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


def test_the_planted_slice_leads_and_is_confirmed(characterised):
    [first, *_] = characterised.rows("slices", leading=1)
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert in_words(first["predicates"]) == "texts with a greeting and a number"
    assert (first["p_value"], first["confirmed_p"] < 0.01) == (1 / 200, True)
    # Shadows are significant, too, and do not lead.
    shadows = [row for row in characterised.rows("slices", leading=None) if "numbers" in row["predicates"]]
    assert min(row["p_value"] for row in shadows) <= 0.05
    assert all(row["p_value"] <= 0.05 for row in characterised.rows("slices") if row["leading"])


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


def by_row(run, table, name, **wanted):
    return {row["row"]: row[name] for row in run.rows(table, **wanted)}


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


def texts_with(run, rows, predicates):
    """Those of some rows of texts that have all of some predicates that are easily told; None of any others."""
    members = {row["row"] for row in rows}
    for name in predicates:
        kind, _, of = name.partition(" ")
        if kind in ("predicted", "labelled"):
            members &= {row["row"] for row in rows if row[kind] == of}
        elif name in ("numbers", "greeting", "question"):
            members &= {row["row"] for row in run.rows("features", feature=name) if row["count"]}
        else:
            return None
    return members


@pytest.fixture(scope="module", params=["characterised", "users"])
def told(request):
    """A run on texts of nobody and one on those of users, with what is known of each text that has been judged."""
    run = request.getfixturevalue(request.param)
    texts = {row["row"]: {"labelled": row["label"]} | row for row in run.rows("texts", status="ok")}
    return run, [texts[row["row"]] | row for row in run.rows("predictions", status="ok")]


def numbers(row, *names):
    return [np.nan if row[name] is None else row[name] for name in names]


def by_group(rows):
    return units_of([row["group"] for row in rows], "group")


def test_rates_of_slices_are_those_of_the_texts_of_each_half(told):
    """Of every slice that features alone make up: both rates, what the predicted classes let expect, and doubts."""
    run, judged = told
    halves = {name: [row for row in judged if row["half"] == name] for name in ("exploration", "confirmation")}
    assert by_group(halves["exploration"]).num == by_group(halves["confirmation"]).num == by_group(judged).num / 2
    overall = np.mean([row["is_error"] for row in halves["exploration"]])
    expected = {
        (half, name): np.mean([row["is_error"] for row in rows if row["predicted"] == name])
        for half, rows in halves.items()
        for name in LABELS
    }
    checked = 0
    for row in run.rows("slices"):
        assert (row["slice"], row["num_predicates"]) == (" and ".join(row["predicates"]), len(row["predicates"]))
        members = texts_with(run, judged, row["predicates"])
        if members is None:
            continue
        checked += 1
        for prefix, half in {"": "exploration", "confirmed_": "confirmation"}.items():
            inside = [of for of in halves[half] if of["row"] in members]
            assert row[f"{prefix}size"] == len(inside)
            ends = share(np.array([of["is_error"] for of in inside]), by_group(inside), level=0.9)
            given = numbers(row, *(f"{prefix}{name}" for name in ("rate" if prefix else "error_rate", "low", "high")))
            assert given == pytest.approx([ends.value, ends.low, ends.high], nan_ok=True)
            average = np.mean([expected[half, of["predicted"]] for of in inside])
            assert row[f"{prefix}difference"] == pytest.approx(given[0] - average, abs=1e-9)
            if not prefix:
                assert row["num_groups"] == by_group(inside).num
        assert row["lift"] == pytest.approx(row["error_rate"] / overall)
        doubted = [of["is_label_suspected"] for of in judged if of["is_error"] and of["row"] in members]
        assert row["suspected_share"] == pytest.approx(np.mean(doubted))
    assert checked > 5


def test_slices_are_tested_by_all_draws_and_confirmed_by_the_other_half(told):
    run, judged = told
    candidates, adjusting, confirming = (run.calls[name][-1] for name in ("candidates_of", "adjusted", "confirmed_p"))
    for call, half in ((candidates, "exploration"), (confirming, "confirmation")):
        inside = [row for row in judged if row["half"] == half]
        assert call["errors"].tolist() == [row["is_error"] for row in inside]
        assert call["strata"].tolist() == [LABELS.index(row["predicted"]) for row in inside]
        assert call["units"].num == by_group(inside).num
    drawn = [[row["hits"] for row in hits] for hits in run.made("slice_draws", "hits")]
    assert np.abs(np.subtract(*drawn)).max() > 1, "another unit draws others"
    assert (adjusting["hits"].tolist(), adjusting["num_draws"]) == (np.sum(drawn, axis=0).tolist(), 199)
    found, predicates = candidates["result"], [one.name for one in candidates["predicates"]]
    names, values = ([*map(plain, found.conjunctions)], found.statistics.value)
    known = {
        " and ".join(predicates[number] for number in name): of
        for name, *of in zip(names, values, values, adjusting["result"], found.num_folded, strict=True)
    }
    rows = run.rows("slices")
    assert {row["slice"] for row in rows} == known.keys()
    for row in rows:
        assert numbers(row, "t", "score", "p_value", "num_folded") == pytest.approx(known[row["slice"]], nan_ok=True)
    first = [" and ".join(predicates[number] for number in name) for name in confirming["conjunctions"]]
    leading = {row["slice"]: (row["leading"], row["confirmed_p"]) for row in rows if row["leading"]}
    assert leading == dict(zip(first, enumerate(confirming["result"], start=1), strict=True))
    assert {row["confirmed_p"] for row in rows if not row["leading"]} == {None}


def test_versions_are_compared_on_all_texts_that_both_have_judged(told):
    run, judged = told
    flags = {name: np.array([row[name] != row["labelled"] for row in judged]) for name in ("previous", "predicted")}
    [testing] = run.calls["worse_p"]
    assert [testing[name].tolist() for name in ("before", "after")] == [flags[name].tolist() for name in flags]
    slices, p_values = testing["result"]
    names = [" and ".join(testing["predicates"][number].name for number in slice_) for slice_ in slices]
    known = dict(zip(names, p_values, strict=True)) | {"all texts": np.nan}
    assert testing["seed"] == run.record["seed"]
    whole, first, *_ = rows = run.rows("versions")
    assert (whole["slice"], known.keys()) == ("all texts", {row["slice"] for row in rows})
    checked = 0
    for row in rows:
        assert numbers(row, "p_value") == pytest.approx([known[row["slice"]]], nan_ok=True)
        if (members := texts_with(run, judged, row["predicates"])) is None:
            continue
        checked += 1
        some = [of["row"] in members for of in judged]
        inside = by_group([of for of in judged if of["row"] in members])
        before, after = (flags[of][some] for of in flags)
        moved = inside.part(before != after).num
        assert (row["size"], row["num_moved"]) == (sum(some), moved)
        assert row["status"] == ("too_few_units" if moved < 5 else "ok")
        assert (row["before"], row["after"]) == pytest.approx((before.mean(), after.mean()))
        change = paired(after, before, inside, level=0.9, scale=FISHER)
        said = numbers(row, "change", "change_low", "change_high")
        assert said == pytest.approx([change.value, change.low, change.high], nan_ok=True)
    assert checked > 5
    alone = {row["slice"] for row in rows if [name.split()[0] for name in row["predicates"]] == ["labelled"]}
    assert alone == {"labelled negative", "labelled positive"}
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert (first["leading"], first["p_value"], first["change_low"] > 0) == (1, 1 / 200, True)


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
    assert characterised.published == set(characterised.record["tables"]) - {"rounds", "checks", "columns"}


# --- texts of users, some without a label, and a later run ------------------------------------------------------------

USERS = ["data.group=user", *SMALL, "rounds.number=0", "seed=5"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """900 labelled texts and 300 without a label, 60 of these of the same users; 300 new ones, 60 of them without."""
    folder = tmp_path_factory.mktemp("users")
    rng = random.Random(5)
    known = [[*row, f"user {rng.randrange(90)}"] for row in tweets(900, 3)]
    hidden = [[row[0], "", *row[2:], f"new user {rng.randrange(30)}"] for row in tweets(240, 4)]
    hidden += [[row[0], "", *row[2:], f"user {rng.randrange(90)}"] for row in tweets(60, 7)]
    fresh = [[*row, f"later user {rng.randrange(30)}"] for row in tweets(300, 6)]
    fresh = [[row[0], "", *row[2:]] if at % 5 == 0 else row for at, row in enumerate(fresh)]
    for name, rows in (("texts", [*known, *hidden]), ("fresh", fresh)):
        write_rows(folder / f"{name}.csv", [[*HEADER, "user"], *rows])
    return folder


@pytest.fixture(scope="module")
def users(run_here, place):
    given = [*settings(place / "texts.csv"), "data.previous=before", *USERS]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run", watched=WATCHED)


@pytest.fixture(scope="module")
def later(run_here, users, place):
    given = [*settings(place / "fresh.csv"), *USERS, f"data.scored_by={place}/run"]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/later")


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


def test_all_rows_are_listed_with_the_confirmed_slices_that_they_are_in(characterised, users):
    for run, num in ((characterised, 803), (users, 1200)):
        rows, texts = run.rows("flagged"), {row["row"]: row for row in run.rows("texts")}
        assert len(rows) == num
        predicted = {row["row"]: row for row in run.rows("predictions")}
        led = [row for row in run.rows("slices") if (row["confirmed_p"] or 0.05) < 0.05]
        assert [{*row["predicates"]} for row in led] == [{"numbers", "greeting"}]
        for row in rows:
            text, known = texts[row["row"]], predicted[row["row"]]
            is_inside = "after 45 words" in text["text"] and "hello" in text["text"]
            given = [row[name] for name in ("id", "label", "status", "predicted", "score")]
            assert given == [text["id"], text["label"], text["status"], known["predicted"], known["error_score"]]
            is_read = known["predicted"] is not None
            assert row["reasons"] == (["texts with a greeting and a number"] * is_inside if is_read else None)
            assert row["num_slices"] == (is_inside if is_read else None)
        places = [(-2 if row["num_slices"] is None else -1) + bool(row["num_slices"]) for row in rows]
        scores = [(place, row["score"] or 0) for place, row in zip(places, rows, strict=True)]
        assert scores == sorted(scores, reverse=True)
        written = pl.read_csv(run.path / "exports" / "flagged.csv", infer_schema=False)
        assert written["row"].to_list() == [str(row["row"]) for row in rows]
        assert written["reasons"].to_list() == [
            None if row["reasons"] is None else "; ".join(row["reasons"]) for row in rows
        ]
    assert sum(row["label"] is None and bool(row["reasons"]) for row in rows) > 30


def test_slices_of_flagged_rows_lead_and_are_confirmed():
    cells = [("a", 3, 0.049), ("b", 1, 0.05), ("c", 2, 0.001), ("d", None, 0.001), ("e", 4, None), ("f", 5, 0.0)]
    rows = [{"predicates": [name], "leading": place, "confirmed_p": p} for name, place, p in cells]
    assert list(flagged.confirmed(rows)) == [["c"], ["a"], ["f"]]


def test_predicates_hold_of_other_texts_by_the_quantiles_of_the_known_ones():
    rng = np.random.default_rng(2)
    counts = np.column_stack([rng.integers(0, 3, 60), rng.integers(3, 9, 60)]).astype(np.float64)
    sure = rng.uniform(0.5, 1.0, 60).round(2)
    table = pl.DataFrame({"predicted": list("ab" * 30), "probabilities": [[one, 1 - one] for one in sure]})
    known = Examples(table, ("numbers", "num_tokens"), counts, counts, ("a", "b"))
    made = predicates_of_texts(known, np.ones(60, dtype=bool), 2, tags=False)
    assert {one.kind for one in made.predicates} == {"predicted", "present", "absent", "quarter"}
    for predicate, members in zip(made.predicates, made.members, strict=True):
        assert holds_of_text(predicate, known, known).tolist() == members.tolist()
    new = Examples(pl.DataFrame({"predicted": ["a", "b"]}), ("num_tokens",), *2 * [np.array([[0.0], [99.0]])], ())
    quarters = [one for one in made.predicates if one.feature == "num_tokens"]
    assert [holds_of_text(one, known, new).tolist() for one in (quarters[0], quarters[-1])] == [
        [True, False],
        [False, True],
    ]
    [absent] = [one for one in made.predicates if one.kind == "absent"]
    assert holds_of_text(absent, known, new).tolist() == [True, True]


def test_promises_are_made_by_the_users_of_the_other_half(users):
    group_of, wrong = by_row(users, "texts", "group", half="confirmation"), by_row(users, "predictions", "is_error")
    with_errors = {group_of[row] for row in group_of if wrong[row]}
    assert len(with_errors) < sum(wrong[row] for row in group_of)
    [strict, *_, loose] = promises = users.rows("guarantees", promise="missed")
    assert {(row["num_errors"], row["num_calibration"]) for row in promises} == {(len(with_errors), len(group_of))}
    assert (strict["flags"], strict["status"]) == ("all", "too_few_units")
    assert f'{len(with_errors)} of the unit "group with an error", and 69 are needed' in strict["reason"]
    assert (loose["flags"], loose["status"]) == ("some", "ok")


def test_few_users_get_no_test_and_are_told_how_many_are_needed(run_here, place, tmp_path):
    heading, *rows = read_rows(place / "texts.csv")
    write_rows(tmp_path / "few.csv", [heading, *([*row[:-1], f"u{at % 12}"] for at, row in enumerate(rows[:900]))])
    run = run_here(*settings(tmp_path / "few.csv"), *USERS, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rows = run.rows("slices")
    assert {row["status"] for row in rows} == {"too_few_units"}
    assert {row["p_value"] for row in rows} == {None}
    assert '6 of the unit "group", and 8 are needed' in rows[0]["reason"]
    assert all(row["low"] <= row["error_rate"] <= row["high"] for row in rows)


def test_a_later_run_scores_new_texts_and_flags_them_at_the_promised_threshold(users, later):
    rows = later.rows("predictions")
    assert sum(row["error_score"] is not None for row in rows) == 300
    assert later.published == {"texts", "features", "predictions", "flags", "checks"}
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


def test_another_forest_or_other_features_are_refused(users, place, run_here):
    scored = f"data.scored_by={place}/run"
    tags = "features.tags=True: the forest .* was trained with features.tags=False"
    probabilities = "data.probabilities: the forest .* looks at those of negative, positive"
    column = "data.path: .* has no column 'guess'; its columns are 'text', 'label'"
    for changed, error, message in (
        ([scored, "features.tags=true"], ConfigError, tags),
        ([scored, "data.probabilities=null"], ConfigError, probabilities),
        (["data.prediction=guess"], InputError, column),
        ([f"data.scored_by={place}/none"], InputError, "data.scored_by"),
    ):
        with pytest.raises(error, match=message):
            run_here(*settings(place / "fresh.csv"), *USERS, *changed, f"store={place}/store")


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


# --- columns and losses of the user's own -----------------------------------------------------------------------------

OWN = ["data.columns=[age, country, premium, day, same]", "data.edges={age: [30, 50]}"]


@pytest.fixture(scope="module")
def rows_of_losses(tmp_path_factory):
    """1,600 rows of 200 users; losses are large of one country and plan from 50 on, and then grew; one has none."""
    place, rng, rows = tmp_path_factory.mktemp("losses"), random.Random(3), []
    for row in range(1600):
        age, country, premium = rng.randrange(18, 80), rng.choice(["DE", "FR"]), rng.random() < 0.5
        is_worse = age >= 50 and country == "DE" and premium
        loss, before = (2 * is_worse * late + rng.gauss(0, 1) ** 2 for late in (1, 0))
        cells = [f"r{row}", age, country, str(premium), f"202{row % 3}-03-{1 + row % 28:02}", loss]
        rows.append([*cells, -loss if row != 5 else "", -before, f"user {row // 8}"])
    header = ["id", "age", "country", "premium", "day", "same", "score", "score_before", "user"]
    return write_rows(place / "rows.csv", [header, *rows])


def losses_of(file):
    given = [
        f"data.path={file}",
        "data.text=null",
        "data.label=null",
        "data.id=id",
        "data.group=user",
        "data.loss=score",
    ]
    given += [*OWN, "data.previous_loss=score_before", "data.high_is_good=true", *SMALL, "features.tags=false"]
    return ["job=error_characterisation", *given]


def test_slices_of_losses_by_columns_alone(run_here, rows_of_losses, tmp_path):
    run = run_here(*losses_of(rows_of_losses), f"store={tmp_path}/store", f"run_dir={tmp_path}/run", watched=WATCHED)
    assert run.published == {"texts", "features", "slices", "flagged", "versions", "columns"}
    [first, *_] = run.rows("slices", leading=1)
    assert first["predicates"][0].startswith("same >= ")  # the loss itself
    others = [row for row in run.rows("slices") if not any("same" in name for name in row["predicates"])]
    planted = max((row for row in others if row["p_value"] <= 0.05), key=lambda row: row["confirmed_difference"])
    assert {*planted["predicates"]} == {"age >= 50", "country = DE", "premium = true"}
    assert planted["p_value"] <= 0.05
    cells = [row[1:] for row in read_rows(rows_of_losses)[1:]]
    halves = by_row(run, "texts", "half")
    assert [row for row in halves if halves[row] is None] == [5]
    [unjudged] = run.rows("texts", row=5)
    assert (unjudged["status"], unjudged["reason"]) == ("no_loss", "the row has no loss")
    facts = {"country = DE": lambda cell: cell[1] == "DE", "premium = true": lambda cell: cell[2] == "True"}
    facts |= {"age >= 50": lambda cell: int(cell[0]) >= 50, "age in [30, 50)": lambda cell: 30 <= int(cell[0]) < 50}
    facts |= {"day.year = 2021": lambda cell: cell[3].startswith("2021")}
    units, checked = units_of([cell[7] for cell in cells], "group"), 0
    for row in (row for row in run.rows("slices") if {*row["predicates"]} <= facts.keys()):
        checked += 1
        for prefix, half in (("", "exploration"), ("confirmed_", "confirmation")):
            inside = np.array(
                [
                    halves[at] == half and all(facts[name](cell) for name in row["predicates"])
                    for at, cell in enumerate(cells)
                ]
            )
            values = np.array([-float(cells[at][5]) for at in np.flatnonzero(inside)])
            ends = mean(values, units.part(inside), level=0.9)
            given = numbers(row, *(f"{prefix}{name}" for name in ("rate" if prefix else "error_rate", "low", "high")))
            assert given == pytest.approx([ends.value, ends.low, ends.high])
            everyone = np.mean([-float(cell[5]) for at, cell in enumerate(cells) if halves[at] == half])
            assert row[f"{prefix}difference"] == pytest.approx(ends.value - everyone)
    assert checked > 8
    worse = max(
        (row for row in run.rows("versions") if not any("same" in name for name in row["predicates"])),
        key=lambda row: row["change"],
    )
    assert {*worse["predicates"]} < {"age >= 50", "country = DE", "premium = true"}  # of two at most
    assert worse["p_value"] <= 0.05
    everything = run.rows("versions", slice="all texts")[0]
    both = [(-float(cell[5]), -float(cell[6])) for at, cell in enumerate(cells) if at != 5]
    assert (everything["after"], everything["before"]) == pytest.approx(tuple(np.mean(both, axis=0)))
    listed = run.rows("flagged")
    assert all(row["predicted"] is row["score"] is row["label"] is None for row in listed)
    assert [row["id"] for row in sorted(listed, key=lambda row: row["row"])] == [f"r{row}" for row in range(1600)]
    assert {row["row"]: row["loss"] for row in listed} == {
        at: pytest.approx(-float(cell[5])) if cell[5] else None for at, cell in enumerate(cells)
    }
    assert next(row for row in listed if row["row"] == 5)["status"] == "no_loss"
    facts |= {"same >=": lambda cell: float(cell[4]) >= float(first["predicates"][0].removeprefix("same >= "))}
    confirmed = [row["predicates"] for row in run.rows("slices") if (row["confirmed_p"] or 0.05) < 0.05]
    assert confirmed == [first["predicates"]]
    assert {row["row"]: row["reasons"] for row in listed} == {
        at: [in_words(first["predicates"])] * facts["same >="](cell) for at, cell in enumerate(cells)
    }
    leak, *others = columns = run.rows("columns")
    assert (leak["column"], leak["is_leak"], leak["auroc"]) == ("same", True, 1.0)
    assert [row["is_leak"] for row in others] == [False] * 4
    assert {row["column"]: row["type"] for row in columns} == {
        "age": "number",
        "country": "category",
        "premium": "boolean",
        "day": "date",
        "same": "number",
    }
    assert run.rows("columns", column="age")[0]["edges"] == [30.0, 50.0]
    page_text = (run.path / "report.html").read_text()
    assert "Same tells alone which losses are large" in page_text


def test_columns_are_predicates_beside_those_of_texts(run_here, file, tmp_path):
    heading, *rows = read_rows(file)
    own = write_rows(tmp_path / "own.csv", [[*heading, "plan"], *([*row, f"p{at % 4}"] for at, row in enumerate(rows))])
    given = [*settings(own), *SMALL, "data.columns=[plan]", "rounds.number=0", "data.limit=700"]
    run = run_here(*given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    [first, *_] = run.rows("slices", leading=1)
    assert {*first["predicates"]} == {"numbers", "greeting"}
    sizes = {row["slice"]: row["size"] for row in run.rows("slices", num_predicates=1)}
    explored = [row["row"] for row in run.rows("texts", half="exploration")]
    for plan in range(4):
        assert sizes[f"plan = p{plan}"] == sum(row % 4 == plan for row in explored)


def test_infinite_losses_are_refused_with_their_rows_and_signs_that_a_score_has_not(configured, tmp_path):
    file = write_rows(tmp_path / "bad.csv", [["a", "loss"], ["x", "1.5"], ["y", "inf"], ["z", "-0.5"], ["z", "-inf"]])
    given = ["job=error_characterisation", f"data.path={file}", "data.text=null", "data.label=null", "data.columns=[a]"]
    message = r"data.loss: column 'loss' of .* is infinite in 2 of 4 rows \(counted from 0: 1, 3\); bound it"
    with pytest.raises(InputError, match=message):
        find_sources(configured(*given, "data.loss=loss"))
    write_rows(file, [["a", "loss"], ["x", "1.5"], ["z", "-0.5"]])
    with pytest.raises(InputError, match=r"slices.score=sliceline: is for losses of 0 and more; data.loss has others"):
        find_sources(configured(*given, "data.loss=loss", "slices.score=sliceline"))
    with pytest.raises(InputError, match=r"data.path: .* has no column 'b'; its columns are 'a', 'loss'"):
        find_sources(configured(*given, "data.loss=loss", "data.columns=[b]"))


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


@pytest.mark.parametrize(("num", "rest"), [(8, []), (9, ["1 more slice is in the table."])])
def test_slices_beyond_the_first_eight_are_counted(configured, num, rest):
    tables = frames("error_characterisation", "characterised")
    one = page.leading(tables["slices"]).head(1)
    slices = pl.concat([one.with_columns(leading=pl.lit(place, one["leading"].dtype)) for place in range(1, num + 1)])
    config = configured("job=error_characterisation", "data.path=a.csv", "base.path=b.csv")
    [said] = page.lead(tables | {"slices": slices}, config).findings
    assert [item for item in said.items if "more slice" in item] == rest
