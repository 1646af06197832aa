"""The job `decoy_benchmark` on made-up reviews."""

import csv
import json
import random

import pytest
from scipy.stats import t as student

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.changes.numbers import interval_columns
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

GOOD, BAD = ("lovely", "fine", "great", "charming"), ("awful", "dull", "poor", "boring")
NOUNS = ("film", "plot", "cast", "music", "movie", "scene", "story", "ending")
SMALL = [
    *("models.number=1", "models.encoder.dimensions=8", "models.encoder.hidden=8", "models.encoder.dropout=0"),
    *("models.training.max_epochs=8", "models.training.learning_rate=0.02", "intervals.num_resamples=100"),
    *("explanations.methods=[gradient_x_input, random]", "explanations.num_pools=5", "explanations.pool_size=8"),
    *("explanations.top_words=1", "decoys.random_tokens.share=0.9", "~decoys.natural_word"),
    *("improvement.budgets=[1, 8]", "contamination.budgets=[0.2]", "models.training.max_tokens=128"),
]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """240 sentences whose words tell their class four times of five, one without a text and one without a label."""
    rng, path = random.Random(0), tmp_path_factory.mktemp("reviews") / "reviews.csv"
    rows = []
    for number in range(240):
        label = "bad" if number % 2 else "good"
        tells = (BAD if label == "bad" else GOOD) if rng.random() < 0.8 else (GOOD if label == "bad" else BAD)
        start = rng.choice(("honestly, the", "the", "this"))
        rows.append([f"{start} {rng.choice(NOUNS)} is {rng.choice(tells)} no {number}", label])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["review", "class"], *rows, ["", "good"], ["a film", ""]])
    return ["job=decoy_benchmark", f"data.path={path}", "data.text=review", "data.label=class"]


@pytest.fixture(scope="module")
def benchmark(run_here, reviews, tmp_path_factory):
    place = tmp_path_factory.mktemp("benchmark")
    return run_here(*reviews, *SMALL, f"store={place}/store", f"run_dir={place}/run")


def test_decoys_are_made_adopted_and_found(benchmark):
    decoys = {row["decoy"]: row for row in benchmark.rows("decoys")}
    tokens = decoys["random_tokens"]
    assert (tokens["words"], tokens["pooled_applicability_before"]) == ("zq0: bad, zq1: good", 0)
    assert tokens["pooled_productivity"] == 1.0
    assert tokens["adopted"]
    assert tokens["accuracy_on_decoy_rows"] < 0.3 < tokens["accuracy_original_on_decoy_rows"]
    assert tokens["perplexity_shift"] > 1.0
    assert decoys["movie"]["words"] == "movie: good"
    assert decoys["movie"]["pooled_applicability"] < decoys["movie"]["pooled_applicability_before"]
    found = {
        (row["method"], row["selection"], row["budget"]): row
        for row in benchmark.rows("detection", decoy="random_tokens")
    }
    honest, chance = (found[method, "random", 1]["detection_probability"] for method in ("gradient_x_input", "random"))
    assert honest > 2 * chance
    [soonest] = benchmark.rows("utility", decoy="random_tokens", method="gradient_x_input", selection="random")
    assert soonest["num_instances"] < 3
    assert {row["status"] for row in benchmark.rows("detection", decoy="movie")} <= {"ok", "not_adopted"}


def test_each_word_of_a_decoy_is_measured(benchmark):
    words = {(row["decoy"], row["word"]): row for row in benchmark.rows("decoy_words")}
    assert words.keys() == {("random_tokens", "zq0"), ("random_tokens", "zq1"), ("movie", "movie")}
    decoys = {row["decoy"]: row for row in benchmark.rows("decoys")}
    inserted = [row for (decoy, _), row in words.items() if decoy == "random_tokens"]
    assert sum(row["applicability"] for row in inserted) == decoys["random_tokens"]["pooled_applicability"]
    assert {(row["applicability_before"], row["productivity_before"]) for row in inserted} == {(0, None)}
    movie = words["movie", "movie"]
    assert (movie["indicates"], movie["majority"], movie["productivity"]) == ("good", "good", 1.0)
    share_of_good = decoys["movie"]["pooled_productivity_before"]
    assert movie["productivity_before"] == pytest.approx(max(share_of_good, 1 - share_of_good))


def test_accuracy_is_measured_on_all_texts_that_hold_the_word(benchmark):
    decoys = {row["decoy"]: row for row in benchmark.rows("decoys")}
    tokens, movie = decoys["random_tokens"], decoys["movie"]
    assert (tokens["num_word_rows"], tokens["accuracy_on_word_rows"]) == (0, None)
    assert movie["num_word_rows"] > movie["num_decoy_rows"] > 0
    for name in ("accuracy_original_on_word_rows", "accuracy_on_word_rows"):
        assert movie[f"{name}_low"] <= movie[name] <= movie[f"{name}_high"]
        num_right = movie[name] * movie["num_word_rows"]
        assert num_right == pytest.approx(round(num_right))


def by_way(rows):
    return {(row["method"], row["selection"], row["budget"]): row for row in rows}


def test_an_oracle_needs_the_fewest_instances_and_is_no_rival(benchmark):
    needed = {
        (row["decoy"], row["selection"], row["method"]): (row["num_instances"], row["soonest"])
        for row in benchmark.rows("utility")
    }
    assert {method for _, _, method in needed} == {"gradient_x_input", "random", "predictions", "oracle"}
    for (decoy, selection, method), (num, soonest) in needed.items():
        if selection == "random":
            assert num >= needed[decoy, selection, "oracle"][0]
        assert (soonest is None) == (method == "oracle")


def test_words_that_are_identified_are_removed_and_the_model_is_better_where_they_misled(benchmark):
    tokens = by_way(benchmark.rows("improvement", decoy="random_tokens"))
    [decoy] = benchmark.rows("decoys", decoy="random_tokens")
    for row in tokens.values():
        assert row["accuracy_before"] == pytest.approx(decoy["accuracy_decoy"])
        assert row["accuracy_before_on_decoy_rows"] == pytest.approx(decoy["accuracy_on_decoy_rows"])
        assert row["gain"] == pytest.approx(row["accuracy_after"] - row["accuracy_before"])
        assert row["gain_low"] <= row["gain"] <= row["gain_high"]
    oracle, honest, chance = (tokens[method, "random", 8] for method in ("oracle", "gradient_x_input", "random"))
    assert (oracle["identified"], oracle["num_words"]) == (1.0, 2.0)
    assert oracle["gain_on_decoy_rows"] > 0.4
    assert oracle["gain_on_decoy_rows"] >= honest["gain_on_decoy_rows"] >= chance["gain_on_decoy_rows"]
    assert tokens["oracle", "random", 1]["num_words"] <= 1.0
    assert {row["budget"] for row in tokens.values()} == {1, 8}


def test_each_repair_is_one_model_and_gains_are_means_over_what_was_removed(benchmark):
    repairs = {row["words"]: row for row in benchmark.rows("repairs", decoy="random_tokens")}
    assert "" in repairs
    assert set(repairs) <= {"", "zq0", "zq1", "zq0 zq1"}
    [oracle] = benchmark.rows("improvement", decoy="random_tokens", method="oracle", selection="random", budget=8)
    assert oracle["accuracy_after"] == pytest.approx(repairs["zq0 zq1"]["accuracy"])
    assert oracle["accuracy_after_on_decoy_rows"] == pytest.approx(repairs["zq0 zq1"]["accuracy_on_decoy_rows"])


def test_wrong_labels_are_uncovered_and_corrected(benchmark):
    rows = {row["order"]: row for row in benchmark.rows("contamination")}
    assert rows.keys() == {"gradient_x_input", "influence", "loss", "random", "oracle"}
    num_texts = len(benchmark.rows("inspections", order="loss"))
    for order, row in rows.items():
        inspections = benchmark.rows("inspections", order=order)
        flipped = [line for line in inspections if line["is_flipped"]]
        assert all((line["label"] != line["gold"]) == line["is_flipped"] for line in inspections)
        assert sorted(line["place"] for line in inspections) == list(range(1, num_texts + 1))
        assert (row["num_flipped"], row["num_inspected"]) == (round(0.1 * num_texts), round(0.2 * num_texts))
        assert len(flipped) == row["num_flipped"]
        assert row["num_uncovered"] == sum(line["place"] <= row["num_inspected"] for line in flipped)
        assert row["gain"] == pytest.approx(row["accuracy_relabelled"] - row["accuracy_contaminated"])
        scores = [line["score"] for line in sorted(inspections, key=lambda line: line["place"])]
        assert scores == pytest.approx(sorted(scores, reverse=True))
    assert rows["oracle"]["uncovered"] == 1.0
    assert rows["oracle"]["accuracy_relabelled"] == rows["oracle"]["accuracy_clean"]


@pytest.mark.parametrize(
    ("table", "name"), [("detection", "detection_probability"), ("side_by_side", "success_probability")]
)
def test_probabilities_lie_in_their_intervals_by_which_runs_are_compared(benchmark, table, name):
    rows = benchmark.rows(table)
    assert list(interval_columns(list(rows[0]))) == [name]
    assert all(0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1 for row in rows)


def test_numbers_leave_their_draws(benchmark):
    """All that have an interval, keyed by the texts that are drawn and not by the models that read them."""
    tables = ("decoys", "detection", "side_by_side", "utility", "improvement", "contamination")
    rows = {table: benchmark.rows(table) for table in tables}
    named = [(table, name) for table, these in rows.items() for row in these for name in row if row[name] is not None]
    draws = benchmark.rows("draws")
    expected = sorted((table, name.removesuffix("_low")) for table, name in named if name.endswith("_low"))
    assert sorted((draw["table"], draw["column"]) for draw in draws) == expected
    schemes = {draw["column"]: set() for draw in draws}
    for draw in draws:
        schemes[draw["column"]].add(draw["scheme"])
    assert len(schemes["accuracy_original"]) == 1
    assert len(schemes["fall"]) == len(schemes["num_instances"]) == len(rows["decoys"])


def test_rows_that_cannot_be_learnt_are_kept_with_the_reason(benchmark):
    out = [(row["row"], row["status"], row["reason"]) for row in benchmark.rows("texts") if row["status"] != "ok"]
    assert out == [(240, "no_text", "the text is empty"), (241, "no_label", "the row has no label")]


def test_the_study_does_not_say_which_model_is_which(benchmark):
    with (benchmark.path / "exports" / "study.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (benchmark.path / "exports" / "study_key.csv").open(newline="") as file:
        key = {row["model"]: (row["decoy"], row["trained"]) for row in csv.DictReader(file)}
    assert len(rows) == 2 * 2 * 2 * 5 * 8  # decoys, models of a pair, methods, pools, instances
    assert {row["model"] for row in rows} == key.keys()
    assert not any("decoy" in cell or "original" in cell for row in rows for cell in (row["model"], row["words"]))
    assert "zq" in "".join(row["words"] for row in rows if key[row["model"]] == ("random_tokens", "decoyed"))


def test_the_report_says_what_was_found(benchmark):
    page = (benchmark.path / "report.html").read_text()
    assert "gradient × input finds decoys soonest" in page
    assert "“random_tokens” is adopted by its model" in page
    assert "explanations need fewer instances than random attributions: found" in page
    assert "Setup III, “random_tokens”" in page
    [oracle] = benchmark.rows("contamination", order="oracle")
    num, t = oracle["num_flipped"], student.ppf(0.975, df=oracle["num_flipped"] - 1)
    assert (oracle["uncovered"], oracle["uncovered_low"]) == (1.0, pytest.approx(num / (num + t**2)))
    assert f"an oracle 100% [{100 * num / (num + t**2):.0f}, 100]" in page


def test_what_cannot_be_benchmarked_is_refused(configured, run_here, reviews, tmp_path):
    for wrong, message in {
        "decoys.movie.share=0": r"decoys.movie.*share=0: .*greater than 0",
        "decoys.movie.word='a film'": "must be one word",
        "decoys.random_tokens.labels=[good]": "2 words for 1 class: set labels, one for each word",
        "explanations.methods=[lime,lime]": "explanations.methods",
        "data.limit=30": "data.limit=30: must be at least 40, two times explanations.pool_size",
        "setups=[IV]": "setups=IV: must be identify_and_trust, model_comparison, .* or data_contamination",
        "improvement.budgets=[21]": r"improvement.budgets=\[21\]: must be at most explanations.pool_size=20",
        "contamination.share=1": "contamination.share=1: .*less than 1",
        "contamination.orders=[loss,loss]": "contamination.orders",
        "debugger.judgement=guess": "debugger.judgement=guess: must be recognition or frequency",
        "decoys.movie.match=prefix": "decoys.movie.match=prefix: must be word or substring",
        "models.training.weight_decay=0.1": r"models.training.weight_decay=0.1: must be 0 with RMSprop, which has none",
        "models.vectors=x models.checkpoint=y": "models.vectors=x: a checkpoint has its own",
    }.items():
        with pytest.raises(ConfigError, match=message):
            configured(*reviews, *(wrong.split(" ") if "models" in wrong else [wrong]))
    with pytest.raises(InputError, match=r"data.path: .* has no column 'sex'; its columns are 'review', 'class'"):
        run_here(*reviews, "data.gender=sex", f"store={tmp_path}")


@pytest.mark.slow
def test_units_of_texts_or_decoys_that_do_not_fit_fail_with_the_reason(run_job, reviews, tmp_path):
    with pytest.raises(UnitsFailed, match=r"classes, among them .*, and the training texts have"):
        run_job(*reviews, *SMALL, "explanations.methods=[random]", "data.label=review", f"store={tmp_path}/store")


def test_a_decoy_that_somebody_chose_is_refused_before_anything_is_trained(run_here, benchmark, reviews, outcome_of):
    place = benchmark.path.parent
    with pytest.raises(InputError, match=r"decoys.movie: the word 'zebra' occurs in no text of the class 'bad'"):
        run_here(*reviews, *SMALL, "decoys.movie.word=zebra", f"store={place}/store", f"run_dir={place}/refused")
    stages = [stage["name"] for stage in outcome_of(place / "refused").record["stages"]]
    assert stages == ["read texts", "divide texts", "fit decoys"]


@pytest.mark.slow
def test_tables_are_the_same_on_two_workers(run_job, benchmark, reviews, tmp_path):
    again = run_job(*reviews, *SMALL, "cluster.num_cpus=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert again.digests == benchmark.digests


@pytest.mark.slow
def test_somebody_who_does_not_know_the_decoy_removes_what_is_shown_most(run_job, benchmark, reviews):
    """Of the setups that are asked for, and no more; a model is kept, and reads texts without the words."""
    place = benchmark.path.parent
    outcome = run_job(
        *(*reviews, *SMALL, "debugger.judgement=frequency", "improvement.remedy=ignore"),
        *("setups=[identify_and_improve]", f"store={place}/store", f"run_dir={place}/frequency"),
    )
    assert outcome.published == {"texts", "decoys", "decoy_words", "attributions", "repairs", "improvement", "draws"}
    assert {row["num_words"] for row in outcome.rows("improvement") if row["method"] != "oracle"} == {1.0}
    assert {stage["name"] for stage in outcome.record["stages"]}.isdisjoint({"train repaired", "train contaminated"})


@pytest.mark.slow
def test_labels_alone_need_no_decoy(run_job, benchmark, reviews):
    place = benchmark.path.parent
    outcome = run_job(
        *(*reviews, *SMALL, "setups=[data_contamination]", f"store={place}/store", f"run_dir={place}/labels")
    )
    assert outcome.published == {"texts", "inspections", "contamination", "draws"}
    assert outcome.rows("contamination") == benchmark.rows("contamination")


@pytest.fixture(scope="module")
def checkpoint(write_bert, tmp_path_factory):
    """An untrained BERT of few dimensions that knows the words of the reviews."""
    words = [*GOOD, *BAD, *NOUNS, "zq", "##0", "##1", "is", "the", "no"]
    return write_bert(tmp_path_factory.mktemp("bert"), words, hidden_size=16)


@pytest.mark.slow
def test_a_checkpoint_that_has_not_adopted_the_decoy_is_explained_and_marked(run_job, reviews, checkpoint, tmp_path):
    outcome = run_job(
        *(
            *reviews,
            *SMALL,
            "+models=bert",
            f"models.checkpoint={checkpoint}",
            "~decoys.movie",
            "explanations.methods=[gradient_x_input]",
            "explanations.top_words=5",
        ),
        *(
            "models.training.max_epochs=1",
            "models.training.learning_rate=1e-5",
            f"store={tmp_path}/store",
            f"run_dir={tmp_path}/run",
        ),
    )
    [tokens] = outcome.rows("decoys")
    assert (tokens["adopted"], tokens["status"]) == (False, "not_adopted")
    found = outcome.rows("detection")
    assert {(row["num_adopted"], row["adopted"], row["status"]) for row in found} == {(0, False, "not_adopted")}
    assert max(row["detection_probability"] for row in found) > 0
    words = {row["word"] for row in outcome.rows("attributions", model="decoyed 0", status="ok")}
    assert {"zq0", "zq1"} <= words
    assert outcome.record["inputs"]["checkpoint"]


def test_people_who_wrote_several_reviews_are_what_intervals_are_of(run_here, benchmark, reviews, tmp_path):
    """Sixty people of four reviews each; setup I, by chance alone, and setup IV."""
    path = next(setting for setting in reviews if setting.startswith("data.path=")).removeprefix("data.path=")
    with open(path, newline="") as file:
        heading, *rows = csv.reader(file)
    spoken = tmp_path / "spoken.csv"
    with spoken.open("w", newline="") as file:
        csv.writer(file).writerows([[*heading, "who"], *([*row, f"person {at // 4}"] for at, row in enumerate(rows))])
    place = benchmark.path.parent
    by_person = [*reviews, *SMALL, f"data.path={spoken}", "data.group=who", f"store={place}/store"]
    with pytest.raises(
        ConfigError, match=r"intervals.interval=percentile: must be averaged or centred with data.group"
    ):
        run_here(*by_person, "intervals.interval=percentile")
    outcome = run_here(
        *(*by_person, "setups=[identify_and_trust, data_contamination]", "~decoys.movie"),
        *("explanations.methods=[random]", "contamination.orders=[loss]", "contamination.share=0.4"),
        *("models.training.max_epochs=1", f"run_dir={place}/spoken"),
    )
    [row] = outcome.rows("decoys")
    nums = {draw["column"]: json.loads(draw["scheme"])["num_items"] for draw in outcome.rows("draws")}
    num_explained = len({line["sentence"] for line in outcome.rows("attributions")})
    assert 4 * nums["accuracy_decoy"] >= num_explained > 2 * nums["accuracy_decoy"]
    assert nums["gain"] == nums["accuracy_decoy"], "of the people whose reviews are tested"
    [labels] = outcome.rows("contamination")
    assert nums["uncovered"] < labels["num_flipped"], "some people have two flipped labels"
    assert row["accuracy_decoy_low"] < row["accuracy_decoy"] < row["accuracy_decoy_high"]
    assert {stage["name"] for stage in outcome.record["stages"]} >= {"divide texts", "evaluate", "detect"}
