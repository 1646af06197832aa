"""The job `sentiment_posterior` on made-up reviews, whose words speak for a label by design."""

import csv
import json

import numpy as np
import pytest

from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.sentiment.posterior import chains, sources
from tiltmeter.jobs.sentiment.posterior.tables import LEXICON
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.tables import key_columns

SMALL = [
    "job=sentiment_posterior",
    *("vectors.trainer.epochs=3", "vectors.trainer.dimensions=8", "vectors.min_count=2", "classifier.hidden=[6]"),
    *("classifier.seeds=2", "classifier.folds=2", "classifier.max_epochs=15", "classifier.learning_rate=0.01"),
    *("priors=[standard, texts, empirical]", "samplers=[exact, elliptical]", "exact.draws=1500"),
    *("elliptical.chains=2", "elliptical.warmup=50", "elliptical.draws=1500", "gibbs.sweeps=20", "gibbs.warmup=5"),
    *("words.min_count=1000000", "nearest.draws=2", "cues.texts=50"),
    "cues.pairs=[[woman, man], [she, he], [terrible, fantastic], [annoying, admirable]]",
]
NUTS = ["samplers=[exact, nuts]", "nuts.chains=2", "nuts.warmup=200", "nuts.draws=700", "priors=[texts]"]
COLUMNS = {
    "lexicon": "prior measure pearson spearman auc num_words num_units low high",
    "evidence": "prior label probability standard_error method",
    "words": "prior word distance_positive distance_negative contrast contrast_se log_odds status reason",
    "diagnostics": "prior label sampler quantity rhat ess_bulk ess_tail z_exact",
}


def write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Reviews, one each without a text and a label; a lexicon with a word on both sides and one that is not in them."""
    folder = tmp_path_factory.mktemp("posterior")
    write(folder / "texts.csv", ["text", "label"], [*reviews(300, 25, seed=0), ["", "positive"], ["a film", ""]])
    entries = [(word, "positive") for word in POSITIVE] + [(word, "negative") for word in NEGATIVE]
    entries += [("war", "positive"), ("war", "negative"), ("enviousness", "negative")]
    write(folder / "lexicon.csv", ["word", "polarity"], entries)
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    """Settings of a run that trains its vectors."""
    return [*SMALL, f"data.path={folder}/texts.csv", f"lexicon.path={folder}/lexicon.csv"]


@pytest.fixture(scope="module")
def small(trained, folder, write_vectors):
    """Settings of a run whose vectors have a direction of sentiment, and else nothing in them."""
    words = sorted({word for review in reviews(300, 25, seed=0) for word in review.text.split()})
    sentiment = [0.8 * (word in POSITIVE) - 0.8 * (word in NEGATIVE) for word in words]
    vectors = np.random.default_rng(0).normal(size=(len(words), 8)) * ([0.0] + [1.0] * 7)
    vectors[:, 0] = sentiment
    return [*trained, f"vectors.path={write_vectors(folder / 'vectors.bin', words, vectors)}"]


@pytest.fixture(scope="module")
def study(run_job, small, folder):
    return run_job(*small, f"store={folder}/store", f"run_dir={folder}/run")


def test_tables_have_what_was_asked_for(study):
    assert study.published == {
        *(
            "classifier",
            "evidence",
            "chains",
            "diagnostics",
            "words",
            "lexicon",
            "groups",
            "projection",
            "texts",
            "cues",
            "draws",
        )
    }
    for name, columns in COLUMNS.items():
        assert set(columns.split()) <= set(study.table(name).column_names)


def test_what_was_planted_is_found(study):
    """Under every prior by the contrast, without draws too; the distance to one posterior alone under the sphere."""
    for prior in ("standard", "texts", "empirical"):
        rows = {row["measure"]: row for row in study.rows("lexicon", prior=prior, sampler="exact", seed=-1)}
        assert rows["contrast"]["low"] > 0.3
        assert rows["log_odds"]["low"] > 0.3
    [sphere] = study.rows("lexicon", prior="standard", sampler="exact", seed=-1, measure="distance_positive")
    assert sphere["high"] < -0.3
    assert sphere["auc"] < 0.35


def test_every_fold_is_judged_on_texts_that_it_has_not_seen(study):
    rows = study.rows("classifier")
    assert {row["fold"] for row in rows} == {-1, 0, 1}
    for seed in range(2):
        folds = [row for row in rows if row["seed"] == seed]
        assert sum(row["num_texts"] for row in folds if row["fold"] >= 0) == 300
        assert all(row["auc"] > 0.75 for row in folds)
        [whole] = [row for row in folds if row["fold"] == -1]
        assert whole["temperature"] != 1.0


def test_evidence_of_both_labels_adds_up(study):
    for seed in range(2):
        for prior in ("standard", "texts", "empirical", "unigram"):
            rows = study.rows("evidence", seed=seed, prior=prior)
            error = np.hypot(*(row["standard_error"] for row in rows))
            assert sum(row["probability"] for row in rows) == pytest.approx(1, abs=4 * error + 1e-12)


def test_the_law_of_total_expectation_holds(study):
    values = [row["identity_z"] for row in study.rows("words", sampler="exact", status="ok")]
    assert len(values) > 200
    assert max(values) < 4.5


def test_distances_to_both_posteriors_mirror_each_other_under_the_sphere(study):
    words = study.rows("words", prior="standard", sampler="exact", status="ok")
    positive, negative = (np.array([row[f"distance_{label}"] for row in words]) for label in ("positive", "negative"))
    slope, offset = np.polyfit(positive, negative, 1)
    shares = {
        label: np.mean([row["probability"] for row in study.rows("evidence", prior="standard", label=label)])
        for label in ("positive", "negative")
    }
    assert slope == pytest.approx(-shares["positive"] / shares["negative"], rel=0.1)
    assert offset / (1 - slope) == pytest.approx(0.5, abs=0.003)


def test_words_without_a_result_keep_their_row(study):
    statuses = {
        row["word"]: (row["status"], row["polarity"], row["contrast"])
        for row in study.rows("words", prior="texts", sampler="exact")
    }
    assert statuses["war"] == ("both_sides", None, None)
    assert statuses["enviousness"] == ("no_vector", "negative", None)
    assert statuses["wonderful"][0] == "ok"
    [counted] = study.rows("lexicon", prior="texts", sampler="exact", seed=-1, measure="contrast")
    assert counted["num_words"] == sum(
        word in statuses and statuses[word][0] == "ok" for word in (*POSITIVE, *NEGATIVE)
    )


def test_chains_are_held_against_exact_draws(study):
    rows = study.rows("diagnostics", sampler="elliptical")
    assert {row["prior"] for row in rows} == {"standard", "texts"}
    assert {row["quantity"] for row in rows} >= {"dimension 0", "dimension 7", "score", "norm", "projection 2"}
    assert max(abs(row["z_exact"]) for row in rows) < 4.5
    assert all(row["z_exact"] is None and row["status"] == "ok" for row in study.rows("diagnostics", sampler="exact"))


def test_draws_of_the_sphere_are_off_the_support_of_texts(study):
    assert min(row["off_support"] for row in study.rows("chains", prior="standard")) > 0.99
    assert max(row["off_support"] for row in study.rows("chains", prior="empirical")) < 0.05


def test_bags_are_words_of_the_texts(study):
    bags = study.rows("texts", kind="bag")
    assert len(bags) == 20
    words = {word for review in reviews(300, 25, seed=0) for word in review.text.split()}
    assert all(set(row["text"].split()) <= words and len(row["text"].split()) == 20 for row in bags)
    means = {
        label: np.mean([row["score"] for row in bags if row["label"] == label]) for label in ("positive", "negative")
    }
    assert means["positive"] > 0 > means["negative"]


def test_nearest_texts_of_the_empirical_prior_are_the_draws(study):
    rows = study.rows("texts", kind="nearest", prior="empirical", rank=0)
    assert max(row["distance"] for row in rows) < 1e-3


def test_groups_have_words_as_units(study):
    rows = study.rows("groups", comparison="names", prior="texts", sampler="exact")
    assert {row["measure"] for row in rows} >= {"contrast", "contrast, by frequency"}
    for row in rows:
        assert (row["num_first"], row["num_second"]) == (13, 13)
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert 0 < row["p"] <= row["p_holm"] <= 1


def test_groups_are_corrected_over_all_comparisons_and_priors(study):
    for sampler, priors in (("exact", 3), ("elliptical", 2)):
        for measure in ("contrast", "log_odds, by frequency"):
            rows = study.rows("groups", sampler=sampler, measure=measure)
            assert {row["num_tests"] for row in rows} == {3 * priors} == {len(rows)}
            expected = holm(np.array([row["p"] for row in rows]))
            assert [row["p_holm"] for row in rows] == pytest.approx(expected.tolist())


def test_few_words_of_a_group_have_no_p_value(run_job, small, study, folder):
    few = ["groups.names.female=[amy, joan, lisa]", "lemmas={nurse: teacher}", "priors=[texts]", "samplers=[exact]"]
    run = run_job(*small, *few, f"store={folder}/store", f"run_dir={folder}/few")
    [row] = run.rows("groups", comparison="names", measure="contrast")
    assert (row["p"], row["p_holm"], row["difference_low"], row["status"]) == (None, None, None, "too_few_words")
    assert row["reason"].endswith("and 4 are needed")
    assert row["difference"] is not None
    [jobs] = run.rows("groups", comparison="occupations", measure="contrast")
    [before] = study.rows("groups", comparison="occupations", measure="contrast", prior="texts", sampler="exact")
    assert (jobs["num_first"], before["num_first"]) == (6, 7)
    assert jobs["num_tests"] == 2


def test_cues_without_a_vector_say_so(study):
    rows = {(row["first"], row["second"]): row for row in study.rows("cues")}
    assert rows["she", "he"]["status"] == "no_vector"


def test_cues_have_a_middle_within_the_mixtures_or_none(study):
    rows = {(row["first"], row["second"]): row for row in study.rows("cues")}
    apart, within = rows["woman", "man"], rows["terrible", "fantastic"]
    assert (within["status"], within["share_towards_first"], within["num_flips"]) == ("ok", [0.0, 0.0], 100)
    assert 0 < within["pse_low"] <= within["pse"] <= within["pse_high"] < 1
    assert within["effect"] == pytest.approx(within["positive_first"] - within["positive_second"])
    assert within["effect_low"] <= within["effect"] < within["effect_high"] < 0
    assert 0 < within["p"] < 1e-4
    assert (apart["status"], apart["pse"], apart["pse_low"], apart["jnd"]) == ("outside", None, None, None)
    assert apart["pse_extrapolated"] > 1
    assert apart["num_outside"] > 50
    differing = rows["annoying", "admirable"]
    assert (differing["status"], differing["pse"], differing["pse_extrapolated"]) == ("directions_differ", None, None)
    assert min(differing["share_towards_first"]) < 0.9 < max(differing["share_towards_first"])
    assert "of the texts, by classifier, move towards annoying" in differing["reason"]
    assert differing["effect_low"] < 0 < differing["effect_high"]  # classifiers differ by as much


# --- draws of words and texts ---------------------------------------------------------------------------------------


def draws_of(study, table):
    """Rows with their draws, which have to be as many."""
    keys = key_columns(study.table(table).schema)
    rows = {json.dumps({key: row[key] for key in keys}): row for row in study.rows(table)}
    return [(rows[draw["key"]], np.array(draw["values"])) for draw in study.rows("draws", table=table)]


def test_numbers_with_an_interval_leave_draws_and_no_others_do(study):
    named = {"lexicon": ("pearson", "low"), "groups": ("difference", "difference_low"), "cues": ("pse", "pse_low")}
    assert {(row["table"], row["column"]) for row in study.rows("draws")} == {
        (table, column) for table, (column, _) in named.items()
    }
    for table, (_, low) in named.items():
        kept = [row for row in study.rows(table) if row[low] is not None]
        assert table != "groups" or {row["comparison"] for row in kept} > {"names"}
        pairs = draws_of(study, table)
        assert [row for row, _ in pairs] == kept
        assert {len(values) for _, values in pairs} == {MOST_DRAWS}


def test_draws_spread_as_the_intervals_that_are_published(study):
    # The interval of a PSE has what two classifiers differ in, too, which no resample of texts knows.
    [(row, values)] = draws_of(study, "cues")
    assert 0.2 < np.diff(np.quantile(values, [0.025, 0.975])) / (row["pse_high"] - row["pse_low"]) < 1.25
    for row, values in draws_of(study, "groups"):
        reach = (row["difference_high"] - row["difference_low"]) / 2
        in_deviations = reach / values.std(ddof=1)
        assert 1.96 * 0.87 < in_deviations < 2.2 * 1.13
    ratios = [
        2 * 1.96 * np.arctanh(values).std() / np.diff(np.arctanh([row["low"], row["high"]]))
        for row, values in draws_of(study, "lexicon")
        if abs(row["pearson"]) < 0.9
    ]
    assert 0.85 < np.median(ratios) < 1.1


def test_a_night_with_a_word_less_in_its_lexicon_is_paired_with_the_one_before(run_job, study, small, folder):
    """And what differs is far surer than two lexicons of their own would have it."""
    entries = [(word, "positive") for word in POSITIVE[1:]] + [(word, "negative") for word in NEGATIVE]
    path = write(folder / "fewer.csv", ["word", "polarity"], entries)
    night = run_job(*small, f"lexicon.path={path}", f"store={folder}/store", f"run_dir={folder}/fewer")
    rows = Comparison(past_run(study.path), past_run(night.path)).differences().to_pylist()
    widths = {json.dumps(key_of(row)): row["high"] - row["low"] for row in study.rows("lexicon")}
    judged = {row["key"]: row for row in rows if row["table"] == "lexicon"}
    assert judged.keys() == widths.keys()
    assert {row["paired_by"] for row in judged.values()} == {"items"}
    assert np.median([(row["high"] - row["low"]) / widths[key] for key, row in judged.items()]) < 0.5


def key_of(row):
    return {key: row[key] for key in key_columns(LEXICON)}


def test_nights_on_the_same_words_and_texts_are_paired(run_job, study, small, folder):
    more = ["job.level=0.9", "cues.texts=40"]
    again = run_job(*small, *more, f"store={folder}/store", f"run_dir={folder}/narrower")
    rows = Comparison(past_run(study.path), past_run(again.path)).differences().to_pylist()
    by_words = [row for row in rows if row["table"] in ("lexicon", "groups") and row["num_draws"]]
    assert len(by_words) == sum(row["table"] != "cues" for row in study.rows("draws"))
    assert {(row["paired_by"], row["difference"], row["p"]) for row in by_words} == {("items", 0.0, 1.0)}
    [cue] = [row for row in rows if row["table"] == "cues" and row["column"] == "pse" and row["num_draws"]]
    assert (cue["paired_by"], cue["num_draws"]) == ("unpaired", MOST_DRAWS)


# --- samplers -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sampled(run_job, trained, folder):
    return run_job(*trained, *NUTS, f"store={folder}/store", f"run_dir={folder}/nuts")


def test_each_fold_trains_vectors_without_its_texts(sampled):
    assert sampled.num_done("train vectors") == 3
    assert all(row["auc"] > 0.55 for row in sampled.rows("classifier"))


def test_nuts_agrees_with_exact_draws(sampled):
    assert sampled.num_done("draw nuts") == 4
    rows = sampled.rows("diagnostics", sampler="nuts")
    assert max(abs(row["z_exact"]) for row in rows) < 4.5
    assert {row["num_diverged"] for row in sampled.rows("chains", sampler="nuts")} == {0}
    assert {row["status"] for row in sampled.rows("chains")} == {"ok"}


def test_without_its_packages_nuts_says_what_to_install_and_exact_draws_run(run_job, small, study, folder, monkeypatch):
    monkeypatch.setattr(sources.nuts, "PACKAGES", ("jax", "no_such_package"))
    assert chains.missing_packages() == ["no_such_package"]
    run = run_job(*small, *NUTS, f"store={folder}/store", f"run_dir={folder}/without")
    rows = run.rows("chains", sampler="nuts")
    assert {row["status"] for row in rows} == {"not_installed"}
    assert all("no_such_package: pip install 'tiltmeter[posterior]'" in row["reason"] for row in rows)
    assert {row["sampler"] for row in run.rows("words")} == {"exact"}
    assert run.stage("draw exact")["num_reused"] == 4
    assert "pip install" in (run.path / "report.html").read_text()


def test_chains_that_have_not_converged_mark_whatever_is_made_of_them(run_job, small, study, folder):
    settings = ["elliptical.draws=8", "elliptical.warmup=1", "priors=[texts]"]
    run = run_job(*small, *settings, f"store={folder}/store", f"run_dir={folder}/short")
    for table in ("lexicon", "groups"):
        for row in run.rows(table):
            is_short = row["sampler"] == "elliptical" and row["measure"].startswith(("distance", "contrast"))
            assert (row["status"] == "not_converged") == is_short
            assert ("effective draws are fewer than 400" in row["reason"]) == is_short
    statuses = {row["status"] for row in run.rows("words", sampler="elliptical")}
    assert statuses == {"not_converged", "both_sides", "no_vector"}


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("data.path=a.csv", "lexicon.path: texts of your own need a lexicon"),
        ("samplers=[nuts]", "add exact"),
        ("samplers=[gibbs]", "samplers"),
        ("priors=[normal]", "priors"),
        ("power=0.5", "greater than or equal to 1"),
        ("classifier.folds=1", "greater than or equal to 2"),
        ("groups.names.male=[amy]", "'amy' is in female and in male"),
        ("+groups.names.other=[x]", "at most 2"),
        ("nuts.max_depth=99", "nuts.max_depth"),
    ],
)
def test_settings_that_make_no_sense_are_refused(configured, more, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=sentiment_posterior", more)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("positive", "positive"), r"have 1 labels \('positive'\), and must have two"),
        (("a", "b", "c"), "have 3 labels"),
        (("a", "b"), "data.positive: neither of the labels 'a' and 'b' says"),
    ],
)
def test_labels_that_are_not_two_sides_are_refused(run_job, folder, small, tmp_path, labels, message):
    rows = [(f"film {number}", label) for number, label in enumerate(labels)]
    path = write(tmp_path / "texts.csv", ["text", "label"], rows)
    with pytest.raises(InputError, match=message):
        run_job(*small, f"data.path={path}", f"store={tmp_path}/store")


def test_a_positive_label_that_there_is_not_is_refused(run_job, small, study, folder):
    with pytest.raises(InputError, match=r"data\.positive=good: is not"):
        run_job(*small, "data.positive=good", f"store={folder}/store")


def test_a_lexicon_without_a_word_of_the_texts_is_refused_before_vectors_are_trained(
    run_job, trained, folder, tmp_path
):
    path = write(tmp_path / "lexicon.csv", ["word", "polarity"], [("klasse", "positive"), ("bad", "negative")])
    with pytest.raises(InputError, match=r"none of the 1 positive words \(klasse\)"):
        run_job(*trained, f"lexicon.path={path}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    stages = json.loads((tmp_path / "run/run.json").read_text())["stages"]
    assert [stage["name"] for stage in stages] == ["read texts", "cut texts"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("good 1 2\nbad 2 3\nfilm 1\n", "line 3: has 1 numbers after its word, not 2"),
        ("hund 1 2\nkatze 2 1\n", "none of the words of the texts"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(run_job, small, study, folder, tmp_path, content, message):
    (tmp_path / "vectors.txt").write_text(content)
    with pytest.raises(UnitsFailed, match=message):
        run_job(*small, f"vectors.path={tmp_path}/vectors.txt", f"store={folder}/store")


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_layout_changes_no_table(sampled, trained, run_job, tmp_path, num_cpus):
    run = run_job(*trained, *NUTS, f"cluster.num_cpus={num_cpus}", f"store={tmp_path}")
    assert run.stage("draw nuts")["num_done"] == 4
    assert run.digests == sampled.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(study, small, tiltmeter, outcome_of, tmp_path, victim):
    survive(tiltmeter, outcome_of, tmp_path, small, victim, study)
