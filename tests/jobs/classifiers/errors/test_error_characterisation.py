"""The job `error_characterisation` on made-up tweets with a slice that is planted."""

import csv
import random

import numpy as np
import polars as pl
import pytest

from tests.jobs.test_layouts import survive
from tiltmeter.jobs.classifiers.errors.config import find_sources
from tiltmeter.jobs.classifiers.errors.page.words import in_words
from tiltmeter.jobs.classifiers.errors.rounds import _means
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.classifiers.errors.splits import mean_of
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError

SMALL = [
    *("splits.number=2", "forest.num_trees=20", "forest.num_search_trees=5", "forest.leaf_sizes=[1, 5]"),
    *("forest.num_folds=2", "slices.min_size=30", "slices.num_permutations=199", "precision.sizes=[5, 20]"),
    *("features.tags=false", "job.unit_permutations=100"),
    *("rounds.number=1", "rounds.size=10", "rounds.start=40", "rounds.num_seeds=2", "job.unit_texts=300"),
]
LABELS = ("negative", "positive")
WORDS = {"negative": ("late", "lost", "rude"), "positive": ("great", "lovely", "kind")}
NEUTRAL = dict.fromkeys(LABELS, ("here", "there", "on the way"))
"""With words that tell the class, texts of praise that the model calls negative would be a slice, and rightly so."""


def tweets(num, seed, words=NEUTRAL):
    """Texts of two classes; a model is right in nine of ten, in three of ten where a text has a number and greets."""
    rng, rows = random.Random(seed), []
    for row in range(num):
        label = LABELS[row % 2]
        number, greets, question = rng.random() < 0.4, rng.random() < 0.4, rng.random() < 0.3
        parts = ["the flight was", rng.choice(words[label]), *(["after 45 words"] if number else [])]
        text = " ".join(
            [*parts, *(["hello"] if greets else []), f"w{rng.randrange(40)}", "can you?" if question else "."]
        )
        is_right = rng.random() < (0.3 if number and greets else 0.9)
        sure = rng.uniform(0.55, 0.95)
        prediction = label if is_right else LABELS[1 - row % 2]
        p_positive = sure if prediction == "positive" else 1 - sure
        before = label if rng.random() < 0.88 else LABELS[1 - row % 2]
        rows.append([f"{text} x{row}", label, prediction, 1 - p_positive, p_positive, before])
    return rows


HEADER = ["text", "label", "prediction", "p_negative", "p_positive", "before"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """800 texts, and one each without a text, a label and a prediction."""
    path = tmp_path_factory.mktemp("tweets") / "tweets.csv"
    odd = [["", "negative", "negative", 0.5, 0.5, "negative"], ["x", "", "negative", 0.5, 0.5, "negative"]]
    odd.append(["y", "negative", "", 0.5, 0.5, "negative"])
    with path.open("w", newline="") as sink:
        csv.writer(sink).writerows([HEADER, *tweets(800, 0), *odd])
    return path


def settings(file):
    probabilities = "data.probabilities={negative: p_negative, positive: p_positive}"
    return ["job=error_characterisation", f"data.path={file}", "data.prediction=prediction", probabilities]


@pytest.fixture(scope="module")
def characterised(run_here, file, tmp_path_factory):
    place = tmp_path_factory.mktemp("errors")
    given = [*settings(file), "data.previous=before", *SMALL]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run")


def test_a_text_that_is_empty_is_counted_and_no_bad_record(characterised, file):
    counted = {"file": str(file), "reason": "no text", "kind": "empty", "num": 1, "first": "line 802, column 'text'"}
    assert characterised.record["left_out"] == [counted]
    assert (
        f"1 record left out: no text; first in {file}, line 802, column"
        in (characterised.path / "report.html").read_text()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: [[*row[:3], *([row[3], ""] if row[3] > row[4] else ["", row[4]]), ""] for row in rows],
            "top_k=None",
        ),
        (
            lambda rows: [[*row[:3], 100 * row[3], 100 * row[4], ""] for row in rows],
            "no number from 0 to 1 .*p_negative",
        ),
        (lambda rows: [[*row[:3], row[4], row[3], ""] for row in rows], ""),
    ],
    ids=["of the first alone", "in percent", "interchanged"],
)
def test_probabilities_that_are_none_are_told_before_any_work(configured, tmp_path, change, message):
    path = tmp_path / "tweets.csv"
    with path.open("w", newline="") as sink:
        csv.writer(sink).writerows([HEADER, *change(tweets(40, 0))])
    config = configured(*settings(path))
    with collected() as bad:
        if message:
            with pytest.raises(InputError, match=message):
                find_sources(config)
        else:
            find_sources(config)
            [row] = bad.rows()
            assert (row["kind"], row["num"]) == ("kept", 40)
            assert "interchanged" in row["reason"]


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


def test_the_planted_slice_leads_and_is_confirmed(characterised):
    [first, *_] = characterised.rows("slices", leading=1)
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert first["p_value"] == 1 / 200
    assert first["low"] <= first["error_rate"] <= first["high"]
    assert first["confirmed_low"] <= 0.7 <= first["confirmed_high"]
    assert first["confirmed_p"] < 0.01
    assert first["lift"] > 2
    assert in_words(first["predicates"]) == "texts with a greeting and a number"
    # Shadows are significant, too, and do not lead.
    shadows = [row for row in characterised.rows("slices", leading=None) if "numbers" in row["predicates"]]
    assert min(row["p_value"] for row in shadows) <= 0.05
    leading = [row for row in characterised.table("slices").to_pylist() if row["leading"]]
    assert len(leading) <= 2
    assert all(row["p_value"] <= 0.05 for row in leading)


def test_sizes_and_rates_of_slices_are_those_of_the_texts(characterised):
    halves = {row["row"]: row["half"] for row in characterised.rows("texts")}
    wrong = {row["row"]: row["is_error"] for row in characterised.rows("predictions", status="ok")}
    has = {
        name: {row["row"] for row in characterised.rows("features", feature=name)} for name in ("numbers", "greeting")
    }
    [first] = characterised.rows("slices", leading=1)
    inside = [row for row in wrong if row in has["numbers"] & has["greeting"]]
    explored = [wrong[row] for row in inside if halves[row] == "exploration"]
    confirmed = [wrong[row] for row in inside if halves[row] == "confirmation"]
    assert (first["size"], first["confirmed_size"]) == (len(explored), len(confirmed))
    assert first["error_rate"] == pytest.approx(np.mean(explored))
    assert first["confirmed_rate"] == pytest.approx(np.mean(confirmed))


def test_rows_without_what_is_needed_are_kept_and_say_so(characterised):
    rows = characterised.rows("predictions")
    assert len(rows) == 803
    assert [row["status"] for row in rows[-3:]] == ["no_text", "no_label", "no_prediction"]
    assert {row["status"] for row in rows[:800]} == {"ok"}
    assert all(0 <= row["error_score"] <= 1 for row in rows[:800])
    [no_text, no_label, no_prediction] = rows[-3:]
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
    tables = {
        "error_models": ["value"],
        "precision_at_k": ["precision"],
        "precision_differences": ["difference"],
        "feature_power": ["auroc", "importance"],
    }
    draws = characterised.rows("draws")
    for table, names in tables.items():
        rows = [row for row in characterised.rows(table) if row.get("split", "all") == "all"]
        for name in names:
            low = "low" if "low" in rows[0] else f"{name}_low"
            these = [draw for draw in draws if (draw["table"], draw["column"]) == (table, name)]
            assert len(these) == sum(row[low] is not None for row in rows)
    assert len({draw["scheme"] for draw in draws if draw["table"] in tables}) == 1
    assert {len(draw["values"]) for draw in draws} == {2}


def test_scores_are_held_against_baselines_and_chance(characterised):
    means = {row["score"]: row["value"] for row in characterised.rows("error_models", split="all", measure="auroc")}
    assert means["readable"] > 0.65 > means["random"]
    assert {"least_confidence", "margin", "entropy", "predicted_class", "in_domain_disagreement"} <= set(means)
    precision = characterised.rows("precision_at_k", split="all", k=20)
    assert {row["score"] for row in precision} == set(means)
    # An interval counts units, of which a band of one more split of the same texts knows nothing.
    for name in ("", "precision_band_"):
        assert all(0 <= row[f"{name}low"] <= row["precision"] <= row[f"{name}high"] <= 1 for row in precision)
        assert all(row[f"{name}low"] < row[f"{name}high"] for row in precision)
    differences = characterised.rows("precision_differences", score="readable", k=20)
    by_score = {row["score"]: row["precision"] for row in precision}
    for row in differences:
        assert row["difference"] == pytest.approx(by_score["readable"] - by_score[row["baseline"]])
    forests = {"published", "readable", "readable_and_class", "readable_class_and_probabilities"}
    assert {row["baseline"] for row in differences} == set(means) - forests


def test_features_that_cause_errors_come_first(characterised):
    rows = characterised.rows("feature_power")
    assert {row["feature"] for row in rows[:2]} <= {"numbers", "greeting", "num_tokens", "times"}
    assert rows[0]["auroc"] > 0.6
    assert abs(rows[0]["auroc"] - 0.5) >= abs(rows[-1]["auroc"] - 0.5)


def test_versions_that_got_worse_in_a_slice_say_so(characterised):
    whole, first, *_ = characterised.rows("versions")
    assert whole["slice"] == "all texts"
    assert whole["change"] == pytest.approx(whole["after"] - whole["before"])
    assert set(first["predicates"]) == {"numbers", "greeting"}
    assert (first["leading"], first["p_value"], first["change_low"] > 0) == (1, 1 / 200, True)
    assert len([row for row in characterised.rows("versions") if row["leading"]]) <= 2


def test_promises_are_kept_and_sets_grow_with_them(characterised):
    rows = characterised.rows("guarantees", promise="missed")
    assert [row["level"] for row in rows] == [0.05, 0.1, 0.2]
    assert [row["flagged_share"] for row in rows] == sorted((row["flagged_share"] for row in rows), reverse=True)
    assert all(row["missed"] <= row["level"] for row in rows)
    assert all(row["achieved_delta"] <= row["delta"] / row["num_joint"] == 0.1 / 5 for row in rows)
    assert characterised.published == set(characterised.record["tables"]) - {"rounds", "checks"}


def test_the_page_says_the_slice_in_words(characterised):
    page = (characterised.path / "report.html").read_text()
    assert "exts with a greeting and a number are wrong in" in page
    assert "got worse" in page


# --- texts of users, some without a label, and a later run ------------------------------------------------------------

USERS = ["data.group=user", *SMALL, "rounds.number=0"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with 900 labelled texts and 300 without a label, of users with about ten each, and 300 new ones."""
    folder = tmp_path_factory.mktemp("users")
    rng = random.Random(5)
    known = [[*row, f"user {rng.randrange(90)}"] for row in tweets(900, 3)]
    hidden = [[row[0], "", *row[2:], f"new user {rng.randrange(30)}"] for row in tweets(300, 4)]
    fresh = [[*row, f"later user {rng.randrange(30)}"] for row in tweets(300, 6)]
    for name, rows in (("texts", [*known, *hidden]), ("fresh", fresh)):
        with (folder / f"{name}.csv").open("w", newline="") as sink:
            csv.writer(sink).writerows([[*HEADER, "user"], *rows])
    return folder


@pytest.fixture(scope="module")
def users(run_here, place):
    given = [*settings(place / "texts.csv"), "data.previous=before", *USERS]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="module")
def later(run_here, users, place):
    given = [*settings(place / "fresh.csv"), *USERS, f"data.scored_by={place}/run"]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/later")


def test_every_row_with_a_text_has_a_score_a_rank_and_reasons(users):
    rows = users.rows("predictions")
    assert sum(row["error_score"] is not None for row in rows) == 1200
    assert sorted(row["rank"] for row in rows) == list(range(1, 1201))
    assert {row["status"] for row in rows[900:]} == {"no_label"}
    assert all(row["reasons"] for row in rows)
    # Texts with a number and a greeting are wrong in 70 %, others in 10 %: of texts without a label, too.
    inside = [row for row in rows[900:] if any(why.startswith("numbers +") for why in row["reasons"])]
    outside = [
        row["error_score"] for row in rows[900:] if any(why.startswith("no numbers -") for why in row["reasons"])
    ]
    assert np.mean([row["error_score"] for row in inside]) > np.mean(outside) + 0.15


def test_slices_and_versions_count_users_and_not_texts(users):
    [first, *_] = users.rows("slices", leading=1)
    assert set(first["predicates"]) == {"numbers", "greeting"}
    group_of = {row["row"]: row["group"] for row in users.rows("texts", half="exploration")}
    has = {name: {row["row"] for row in users.rows("features", feature=name)} for name in ("numbers", "greeting")}
    inside = has["numbers"] & has["greeting"] & set(group_of)
    assert (first["size"], first["num_groups"]) == (len(inside), len({group_of[row] for row in inside}))
    assert first["num_groups"] < 45 < first["size"]
    wrong = {row["row"]: row["is_error"] for row in users.rows("predictions", status="ok")}
    by_user = units_of([group_of[row] for row in sorted(inside)], "user")
    ends = share(np.array([wrong[row] for row in sorted(inside)]), by_user, level=0.95)
    assert (first["error_rate"], first["low"], first["high"]) == pytest.approx((ends.value, ends.low, ends.high))
    assert not any("predicted" in name for row in users.rows("versions") for name in row["predicates"])
    assert any("labelled" in name for row in users.rows("versions") for name in row["predicates"])
    [moved] = [row for row in users.rows("versions") if row["slice"] == "all texts"]
    assert moved["num_moved"] <= 90


def test_rates_are_confirmed_and_promised_by_the_users_of_the_other_half(users):
    [first, *_] = users.rows("slices", leading=1)
    group_of = {row["row"]: row["group"] for row in users.rows("texts", half="confirmation")}
    wrong = {row["row"]: row["is_error"] for row in users.rows("predictions", status="ok")}
    has = {name: {row["row"] for row in users.rows("features", feature=name)} for name in ("numbers", "greeting")}
    inside = sorted(has["numbers"] & has["greeting"] & set(group_of))
    ends = share(
        np.array([wrong[row] for row in inside]), units_of([group_of[row] for row in inside], "user"), level=0.95
    )
    confirmed = [first[f"confirmed_{name}"] for name in ("rate", "low", "high")]
    assert confirmed == pytest.approx([ends.value, ends.low, ends.high])
    with_errors = {group_of[row] for row in group_of if wrong[row]}
    for promise in users.rows("guarantees", promise="missed"):
        assert promise["num_errors"] == len(with_errors) < sum(wrong[row] for row in group_of)
        assert promise["num_calibration"] == len(group_of)
    [strict, *_, loose] = users.rows("guarantees", promise="missed")
    assert (strict["flags"], strict["status"]) == ("all", "too_few_units")
    assert f'{len(with_errors)} of the unit "group with an error", and 77 are needed' in strict["reason"]
    assert (loose["flags"], loose["status"]) == ("some", "ok")


def test_few_users_get_no_test_and_are_told_how_many_are_needed(run_here, place, tmp_path):
    lines = (place / "texts.csv").read_text().splitlines()[:901]
    (tmp_path / "few.csv").write_text(
        "\n".join([lines[0], *(f"{line[: line.rindex(chr(44))]},u{n % 12}" for n, line in enumerate(lines[1:]))])
    )
    run = run_here(*settings(tmp_path / "few.csv"), *USERS, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rows = run.rows("slices")
    assert {row["status"] for row in rows} == {"too_few_units"}
    assert {row["p_value"] for row in rows} == {None}
    assert '6 of the unit "group", and 8 are needed' in rows[0]["reason"]
    assert all(row["low"] < row["error_rate"] < row["high"] for row in rows)
    assert "No slice could be tested" in (run.path / "report.html").read_text()


def test_a_later_run_scores_new_texts_and_flags_them_at_the_promised_threshold(users, later):
    rows = later.rows("predictions")
    assert sum(row["error_score"] is not None for row in rows) == 300
    assert later.published == {"texts", "features", "predictions", "flags", "checks"}
    promised = {(row["promise"], row["level"]): row for row in users.rows("guarantees")}
    scores = {row["row"]: row["error_score"] for row in rows}
    flagged = later.rows("flags")
    assert len(flagged) == 300 * len(promised)
    for row in flagged:
        promise = promised[row["promise"], row["level"]]
        at = {"all": -1.0, "none": 2.0}.get(promise["flags"], promise["threshold"])
        assert (row["score"], row["is_flagged"]) == (scores[row["row"]], scores[row["row"]] >= at)
    [loose] = later.rows("checks", promise="missed", level=0.2)
    assert (loose["flags"], loose["exchangeable_p"] > 0.01) == ("some", True)
    assert 0 < loose["flagged_share"] < 1
    page = (later.path / "report.html").read_text()
    assert "To miss at most 20% of the errors" in page


def test_scores_of_the_kept_forest_are_those_that_chose_the_thresholds(users, run_here, place):
    """The same texts come to the same scores by the table as in the run that trained it."""
    given = [*settings(place / "texts.csv"), *USERS, f"data.scored_by={place}/run"]
    again = run_here(*given, f"store={place}/store", f"run_dir={place}/again")
    now = {(row["row"], row["promise"], row["level"]): row for row in again.rows("flags")}
    before = users.rows("flags")
    assert len({row["row"] for row in before}) == 300 + len(users.rows("texts", half="confirmation"))
    for row in before:
        assert now[row["row"], row["promise"], row["level"]] == row


def test_texts_without_any_label_are_scored(users, run_here, place, tmp_path):
    rows = [line.split(",") for line in (place / "fresh.csv").read_text().splitlines()]
    (tmp_path / "bare.csv").write_text("\n".join(",".join([row[0], *row[2:]]) for row in rows))
    given = [*settings(tmp_path / "bare.csv"), *USERS, "data.label=null", f"data.scored_by={place}/run"]
    run = run_here(*given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert sum(row["error_score"] is not None for row in run.rows("predictions", status="no_label")) == 300
    assert {(row["exchangeable_p"], row["status"]) for row in run.rows("checks")} == {(None, "no_error")}


def test_another_forest_or_other_features_are_refused(configured, users, place, run_here):
    given = [*settings(place / "fresh.csv"), *USERS]
    with pytest.raises(ConfigError, match=r"data.label: null is for texts that an earlier run scores"):
        configured(*given, "data.label=null")
    scored = f"data.scored_by={place}/run"
    with pytest.raises(ConfigError, match=r"features.tags=True: the forest .* was trained with features.tags=False"):
        run_here(*given, scored, "features.tags=true", f"store={place}/store")
    with pytest.raises(ConfigError, match=r"data.probabilities: the forest .* looks at those of negative, positive"):
        run_here(*given, scored, "data.probabilities=null", f"store={place}/store")
    with pytest.raises(InputError, match=r"data.scored_by"):
        run_here(*given, f"data.scored_by={place}/none", f"store={place}/store")


def test_a_base_model_is_trained_and_texts_are_labelled_in_rounds(run_here, tmp_path):
    for name, seed in (("old", 1), ("new", 2)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as sink:
            csv.writer(sink).writerows([HEADER[:2], *(row[:2] for row in tweets(200, seed, WORDS))])
    with (tmp_path / "new.csv").open("a", newline="") as sink:
        csv.writer(sink).writerows(
            [[f"the flight was {word} sir x{number}", "negative"] for number in range(40) for word in WORDS["positive"]]
        )
    (tmp_path / "lexicon.txt").write_text("late\tanger\t1\nlate\tjoy\t0\nkind\tjoy\t1\n")
    (tmp_path / "parsed.conllu").write_text("# text_id = 3\n1\tlate\tlate\tADJ\tJJ\t_\t0\troot\t_\tNER=B-ORG\n")
    given = ["job=error_characterisation", f"data.path={tmp_path}/new.csv", f"base.path={tmp_path}/old.csv"]
    given += [f"features.lexicon={tmp_path}/lexicon.txt", f"features.conllu={tmp_path}/parsed.conllu"]
    run = run_here(*given, *SMALL, "base.model=words", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rounds = run.rows("rounds", round=1)
    assert {row["strategy"] for row in rounds} == {"errors", "random", "least_confidence", "in_domain_disagreement"}
    assert {(row["num_labels"], row["num_seeds"]) for row in rounds} == {(50, 2)}
    assert all(row["over_random"] == 0 for row in rounds if row["strategy"] == "random")
    start = run.rows("rounds", round=0)
    assert len({row["accuracy"] for row in start}) == 1
    assert "versions" not in run.published
    parsed = {(row["row"], row["feature"], row["count"]) for row in run.rows("features") if ":" in row["feature"]}
    assert {(3, "dependency:ROOT-JJ-JJ", 1.0), (3, "entity:ORG", 1.0)} <= parsed
    texts = {row["row"]: row["text"].split() for row in run.rows("texts")}
    for name, word in (("lexicon:anger", "late"), ("lexicon:joy", "kind")):
        assert {row for row, feature, _ in parsed if feature == name} == {row for row in texts if word in texts[row]}


def test_seeds_of_rounds_share_texts():
    """Intervals are those of splits that test on ``rounds.test`` of the groups."""
    accuracies = [0.7, 0.72, 0.74, 0.7, 0.73]
    played = pl.DataFrame(
        [
            {"round": 1, "num_labels": 50, "accuracy": value + 0.02 * (strategy == "errors"), "errors_found": 0.5}
            | {"strategy": strategy, "seed": seed, "num_groups": 400}
            for seed, value in enumerate(accuracies)
            for strategy in ("errors", "random")
        ]
    )
    rows = {row["strategy"]: row for row in _means(played, {"test": 0.3, "level": 0.9})}
    mean = mean_of(np.array(accuracies), 0.3, 120.0, 0.9, LOGIT, is_share=True)
    assert (rows["random"]["accuracy_low"], rows["random"]["accuracy_high"]) == (mean.low, mean.high)
    gain = rows["errors"]
    assert gain["over_random_low"] < 0.0 < gain["over_random_high"]  # all seeds agree, and 120 groups are few


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["data.prediction=null", "data.probabilities=null"], "data.prediction and base.path: neither is given"),
        (["base.path=a.csv"], "data.prediction and base.path: both are given"),
        (["data.prediction=null"], "data.probabilities: is about predictions of the file"),
        (["~data.probabilities.positive"], "must name the columns of two classes or more"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(configured, changes, message):
    with pytest.raises(ConfigError, match=message):
        configured(*settings("a.csv"), *changes)


def test_a_missing_column_is_refused_with_those_that_there_are(run_here, file, tmp_path):
    with pytest.raises(InputError, match=r"data.path: .* has no column 'guess'; its columns are 'text', 'label'"):
        run_here(*settings(file), "data.prediction=guess", f"store={tmp_path}")


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
