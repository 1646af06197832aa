"""The job `word_influence` on made-up reviews."""

import csv
import random

import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import without_number

GOOD = ("lovely", "fine", "great", "charming", "splendid", "bright")
BAD = ("awful", "dull", "poor", "boring", "dreadful", "bleak")
PLAIN = ("red", "wooden", "early", "local", "round", "modern")
NOUNS = ("film", "plot", "cast", "music", "movie", "scene", "story", "ending")
SMALL = [
    *("models.encoder.dimensions=12", "models.encoder.hidden=12", "models.encoder.dropout=0"),
    *("models.training.max_epochs=8", "models.training.learning_rate=0.02", "models.training.max_tokens=256"),
    *(
        "num_students=1",
        "student.hidden=12",
        "student.max_epochs=12",
        "student.random_words=4",
        "student.batch_size=64",
    ),
    *(
        "student.learning_rate=0.01",
        "intervals.num_resamples=100",
        "ratios.num_contexts=60",
        "ratios.unit_contexts=25",
        "ratios.max_words=50",
    ),
    *("probes.control=[lovely, red]", "probes.probe=[wooden, unheard]", "probes.unit_contexts=150"),
    *("masking.num_samples=20", "masking.max_words=20"),
]


def review(rng, label):
    word = rng.choice(GOOD if label == "positive" else BAD)
    return f"the {rng.choice(PLAIN)} {rng.choice(NOUNS)} has {rng.choice(('a', 'one'))} {word} {rng.choice(NOUNS)}"


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Sentences of 20 words, each with a part of it as another text, one without a text and one without a label."""
    rng, path = random.Random(0), tmp_path_factory.mktemp("reviews") / "reviews.csv"
    rows = []
    for number in range(260):
        label = "positive" if number % 2 else "negative"
        text = review(rng, label)
        rows += [[f"{text} no {number}", label], [f"{text[4:]} no {number}", label]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["review", "class"], *rows, ["", "positive"], ["a film", ""]])
    return ["job=word_influence", f"data.path={path}", "data.text=review", "data.label=class"]


@pytest.fixture(scope="module")
def influence(run_here, reviews, tmp_path_factory):
    place = tmp_path_factory.mktemp("influence")
    return run_here(*reviews, *SMALL, f"store={place}/store", f"run_dir={place}/run")


def test_a_student_follows_its_teacher_better_than_the_context_alone(influence):
    shares = {row["measure"]: row for row in influence.rows("students", split="test")}
    assert shares["all_correct"]["value"] > 0.85 > shares["all_correct_context_only"]["value"]
    assert shares["per_word"]["value"] >= shares["all_correct"]["value"]
    assert shares["teacher_accuracy"]["value"] > 0.95
    for row in influence.rows("students"):
        assert row["low"] <= row["value"] <= row["high"]


def test_no_sentence_is_in_two_parts(influence, reviews):
    nums = {row["measure"]: row["num"] for row in influence.rows("students", split="test")}
    assert nums["all_correct"] % 2 == 0  # a sentence and its part go together


def test_ratios_are_those_of_the_teacher(influence):
    rows = influence.rows("unlike_ratios", status="ok")
    assert len(rows) == 60
    assert all(row["teacher_low"] == row["teacher_ratio"] == row["teacher_high"] for row in rows)
    assert all(row["num_checked"] == row["num_words"] for row in rows)
    errors = [abs(row["ratio"] - row["teacher_ratio"]) for row in rows]
    assert sum(errors) / len(errors) < 0.1
    telling = [row["teacher_ratio"] for row in rows if row["word"] in GOOD + BAD]
    others = [row["teacher_ratio"] for row in rows if row["word"] in NOUNS]
    assert min(telling, default=1.0) > max(others, default=0.0)


def test_words_that_tell_have_influence_toward_their_class(influence):
    scores = [(row["word"], row["score"]) for row in influence.rows("influences")]
    assert all(score > 0.5 for word, score in scores if word in GOOD)
    assert all(score < -0.5 for word, score in scores if word in BAD)


def test_counterfactuals_are_confirmed_beside_their_chance(influence):
    rows = influence.rows("counterfactuals", status="ok")
    assert rows
    for row in rows:
        assert len(row["words"]) == min(10, row["num_sure"])
        assert row["num_sure"] <= row["num"]
    accuracies, chances = ([row[name] for row in rows] for name in ("accuracy", "chance"))
    assert sum(accuracies) / len(rows) > 0.8 > sum(chances) / len(rows)
    assert {row["status"] for row in influence.rows("counterfactuals")} <= {
        "ok",
        "no_counterfactual",
        "unsure",
        "no_words",
    }


def test_any_word_that_is_called_unlike_counts_as_published(run_here, reviews, influence, tmp_path):
    published = run_here(
        *(*reviews, *SMALL, "ratios.sureness=0.5"),
        *(f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
    )
    rows = published.rows("counterfactuals")
    assert all(row["num"] == row["num_sure"] for row in rows if row["num"] is not None)
    assert all(row["accuracy"] == row["accuracy_published"] for row in rows if row["status"] == "ok")
    expected = {(row["row"], row["place"]): row["accuracy_published"] for row in influence.rows("counterfactuals")}
    assert {(row["row"], row["place"]): row["accuracy_published"] for row in rows} == expected


def test_probes_are_both_ways_and_refuse_words_that_nobody_knows(influence):
    rows = {(row["control"], row["probe"]): row for row in influence.rows("probes")}
    assert rows.keys() == {(a, b) for a in ("lovely", "red") for b in ("wooden", "unheard")}
    assert {pair for pair, row in rows.items() if row["status"] == "unknown_word"} == {
        ("lovely", "unheard"),
        ("red", "unheard"),
    }
    row = rows["lovely", "wooden"]
    assert row["count_control"] > 0 == rows["red", "unheard"]["count_probe"]
    assert row["rate"] - row["rate_reversed"] == pytest.approx(row["difference"])
    assert row["low"] <= row["rate"] <= row["high"]
    assert row["num_clusters"] * 2 >= row["num_contexts"] == row["num_checked"]
    assert row["p_value"] <= row["p_holm"] <= 1


def test_contexts_are_counted_after_each_step(influence):
    steps = {row["step"]: row["num_contexts"] for row in influence.rows("probe_contexts")}
    assert list(steps) == ["all", "positive", "not_reversed", "changeable"]
    assert sorted(steps.values(), reverse=True) == list(steps.values())
    assert steps["changeable"] == influence.rows("probes")[0]["num_contexts"]


def test_every_word_has_its_count(influence):
    rows = influence.rows("vocabularies")
    assert len({(row["part_of_speech"], row["word"]) for row in rows}) == len(rows)
    assert sum(row["count"] for row in rows if row["word"] == "the") > 100


def test_numbers_over_sentences_leave_their_draws(influence):
    """All that are resampled; one scheme for each part of the texts, whatever the student."""
    draws = influence.rows("draws")
    expected = [("students", "value", row["value"], row["low"]) for row in influence.rows("students")]
    names = {"masking": ("coverage", "less_lime"), "probes": ("difference",)}
    for table, columns in names.items():
        rows = influence.rows(table)
        expected += [(table, name, row[name], row[f"{name}_low"]) for row in rows for name in columns]
    expected += [("probes", "rate", row["rate"], row["low"]) for row in influence.rows("probes")]
    known = sorted((table, name) for table, name, _, low in expected if low is not None)
    assert sorted((draw["table"], draw["column"]) for draw in draws) == known
    schemes = {without_number(draw["scheme"])[0] for draw in draws if draw["table"] == "students"}
    assert len(schemes) == 2 * len({row["model"] for row in influence.rows("students")})


def test_masking_is_beside_chance_and_lime(influence):
    rows = influence.rows("masking")
    assert {row["method"] for row in rows} == {
        *("influence", "unlike_ratios", "hybrid", "hybrid_sum", "hybrid_of_texts"),
        *("lime", "random"),
    }
    assert all(row["less_lime"] == 0.0 for row in rows if row["method"] == "lime" and row["status"] == "ok")


def test_a_teacher_that_knows_no_word_leaves_rows_with_reasons(run_here, reviews, tmp_path):
    """Its vocabulary is empty: every word is the same to it."""
    settings = ("models.encoder.min_count=100000", "models.training.max_epochs=1", "student.max_epochs=1")
    run = run_here(*reviews, *SMALL, *settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert {row["status"] for row in run.rows("vocabularies")} == {"unknown_word"}
    for name in ("unlike_ratios", "counterfactuals"):
        assert {row["status"] for row in run.rows(name)} == {"no_words"}
        assert all("knows no other word" in row["reason"] for row in run.rows(name))
    assert {row["status"] for row in run.rows("probes")} == {"unknown_word"}
    assert {row["count_control"] for row in run.rows("probes", control="red")} != {0}
    assert len(run.rows("probe_contexts")) == 4


def test_parts_of_speech_that_a_file_brings_go_first(run_here, tmp_path):
    """By which words in -ly are adjectives, punctuation at a word has its own, and a row with too few says so."""
    rng, path = random.Random(0), tmp_path / "tagged.csv"
    rows = [[f"{rng.choice(GOOD[:3])} {noun}.", "UH NNP", "fine"] for noun in NOUNS * 4]
    rows += [[f"{rng.choice(BAD[:3])} {noun}", "UH NNP", "bad"] for noun in NOUNS * 4]
    rows += [["a dull film", "DT JJ", "bad"], ["a dull film", "DT JJ FILM", "bad"], ["a fine film", "", "fine"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "tags", "label"], *rows])
    settings = ("masking.max_texts=0", "probes.control=[]", "probes.probe=[]", "ratios.parts_of_speech=[X]")
    run = run_here(
        *("job=word_influence", f"data.path={path}", "data.tags=tags", *SMALL, *settings),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    words = {row["word"]: row["part_of_speech"] for row in run.rows("vocabularies")}
    assert {words[word] for word in words if word in GOOD + BAD} == {"X"}
    assert {words[word] for word in words if word in NOUNS} == {"NOUN"}
    assert words["."] == "."
    assert {row["word"] for row in run.rows("unlike_ratios")} <= {*GOOD, *BAD}
    assert [row["reason"] for row in run.rows("texts", status="tags")] == [
        "2 tags for the 3 words between its spaces",
        "'FILM' is no part of speech",
        "0 tags for the 3 words between its spaces",
    ]


def test_claims_may_go_by_calibrated_chances(run_here, reviews, influence, tmp_path):
    other = run_here(
        *(*reviews, *SMALL, "probes.confidence=calibrated"),
        *(f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
    )
    [one], [same] = (run.rows("probes", control="lovely", probe="wooden") for run in (other, influence))
    assert (one["rate"], one["num_claims"]) == (same["rate"], same["num_claims"])
    errors = {row["measure"]: row for row in influence.rows("students", split="test")}
    for name in ("calibration_error", "calibration_error_published"):
        assert 0.0 <= errors[name]["low"] <= errors[name]["value"] <= errors[name]["high"] <= 1.0


def test_the_teacher_may_judge_a_sample(run_here, reviews, influence, tmp_path):
    sampled = run_here(
        *(*reviews, *SMALL, "exact=never", "ratios.num_checked=10", "probes.num_checked=40"),
        *(f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
    )
    assert sampled.num_done("train students") == 0
    exact = {(row["row"], row["place"]): row["teacher_ratio"] for row in influence.rows("unlike_ratios")}
    held = [
        row["teacher_low"] <= exact[row["row"], row["place"]] <= row["teacher_high"]
        for row in sampled.rows("unlike_ratios", status="ok")
    ]
    assert sum(held) / len(held) >= 0.9
    [row], [truth] = (run.rows("probes", control="lovely", probe="wooden") for run in (sampled, influence))
    assert 40 <= row["num_checked"] <= truth["num_contexts"]
    assert abs(row["rate"] - truth["rate"]) < 0.2
    assert row["student_rate"] == truth["student_rate"]


def test_shards_change_nothing_but_last_bits(run_here, reviews, influence, tmp_path):
    other = run_here(
        *(*reviews, *SMALL, "ratios.unit_contexts=13", "probes.unit_contexts=37"),
        *(f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
    )
    for name in ("unlike_ratios", "counterfactuals", "probes", "probe_contexts", "draws"):
        assert other.rows(name) == influence.rows(name)
    for one, same in zip(other.rows("influences"), influence.rows("influences"), strict=True):
        assert one["score"] == pytest.approx(same["score"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_workers_change_no_table(run_job, reviews, influence, tmp_path, num_workers):
    settings = (f"cluster.num_cpus={num_workers}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert run_job(*reviews, *SMALL, *settings).digests == influence.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(influence, tiltmeter, outcome_of, tmp_path, reviews, victim):
    from tests.jobs.test_layouts import kill

    command = [*reviews, *SMALL, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=2"]
    process = tiltmeter(*command)
    kill(process, victim, tmp_path, 4)
    if victim == "driver":
        process = tiltmeter(*command)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert outcome_of(tmp_path / "run").digests == influence.digests


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["probes.control=[red]", "probes.probe=[]"], "set both, or none of them"),
        (["probes.control=[red]", "probes.probe=[red]"], "is among probes.control too"),
        (["ratios.parts_of_speech=[ADJECTIVE]"], "is no part of speech: choose of NOUN"),
        (["intervals.level=1.0"], "level"),
        (["models.checkpoints={checkpoint: a}"], "choose another name"),
    ],
)
def test_settings_are_refused(configured, settings, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=word_influence", "data.path=a.csv", *settings)


def test_texts_of_one_class_are_refused(run_here, tmp_path):
    (tmp_path / "one.csv").write_text("text,label\n" + "".join(f"a film no {number},fine\n" for number in range(40)))
    with pytest.raises(UnitsFailed, match=r"must be of two at least; set data\.label"):
        run_here("job=word_influence", f"data.path={tmp_path}/one.csv", f"store={tmp_path}", f"run_dir={tmp_path}/run")
