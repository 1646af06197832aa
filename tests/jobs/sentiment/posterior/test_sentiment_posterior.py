"""The job `sentiment_posterior` on made-up reviews, whose words speak for a label by design."""

import json

import numpy as np
import pytest

from tests.jobs.sentiment.posterior.conftest import SHARP, vectors, write
from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS
from tiltmeter.jobs.sentiment.posterior import draws
from tiltmeter.jobs.sentiment.posterior.tables import Lexicon
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.tables import key_columns


def test_what_was_planted_is_found(study):
    """Under every prior by the contrast, without draws too; the distance to one posterior alone under the sphere."""
    for prior in ("standard", "texts", "empirical"):
        rows = {row["measure"]: row for row in study.rows("lexicon", prior=prior, sampler="exact", seed=-1)}
        assert rows["contrast"]["low"] > 0.3
        assert rows["log_odds"]["low"] > 0.3
    [sphere] = study.rows("lexicon", prior="standard", sampler="exact", seed=-1, measure="distance_positive")
    assert sphere["high"] < -0.3
    assert sphere["auc"] < 0.35


def test_words_without_a_result_keep_their_row(study):
    statuses = {
        row["word"]: (row["status"], row["polarity"], row["contrast"])
        for row in study.rows("words", prior="texts", sampler="exact")
    }
    assert statuses["war"] == ("both_sides", None, None)
    assert statuses["enviousness"] == ("no_vector", "negative", None)
    assert statuses["wonderful"][0] == "ok"
    [counted] = study.rows("lexicon", prior="texts", sampler="exact", seed=-1, measure="contrast")
    known = [word for word in (*POSITIVE, *NEGATIVE) if statuses.get(word, ("",))[0] == "ok"]
    assert counted["num_words"] == len(known)


def test_groups_are_corrected_over_all_comparisons_and_priors_of_a_sampler(study, sharp):
    for run, sampler, priors in ((study, "exact", 3), (sharp, "exact", 1), (sharp, "nuts", 1)):
        for measure in ("contrast", "log_odds, by frequency"):
            rows = run.rows("groups", sampler=sampler, measure=measure)
            assert {row["num_tests"] for row in rows} == {3 * priors} == {len(rows)}
            expected = holm(np.array([row["p"] for row in rows]))
            assert [row["p_holm"] for row in rows] == pytest.approx(expected.tolist())


def test_few_words_of_a_group_have_no_p_value(run_here, small, study, folder):
    few = ["groups.names.female=[amy, joan, lisa]", "+lemmas.nurse=teacher", "priors=[texts]"]
    run = run_here(*small, *few, *vectors(folder, "glove"), f"store={folder}/store", f"run_dir={folder}/few")
    [row] = run.rows("groups", comparison="names", measure="contrast")
    assert (row["p"], row["p_holm"], row["difference_low"], row["status"]) == (None, None, None, "too_few_words")
    assert row["reason"].endswith("and 4 are needed")
    assert row["difference"] is not None
    [jobs] = run.rows("groups", comparison="occupations", measure="contrast")
    [before] = study.rows("groups", comparison="occupations", measure="contrast", prior="texts", sampler="exact")
    assert (jobs["num_first"], before["num_first"]) == (4, 5)
    assert jobs["num_tests"] == 2


def test_cues_without_a_vector_or_a_common_direction_say_so(study):
    rows = {row["first"]: row for row in study.rows("cues")}
    statuses = {"she": "no_vector", "terrible": "ok", "woman": "ok", "annoying": "ok", "journey": "directions_differ"}
    assert {first: row["status"] for first, row in rows.items()} == statuses
    assert rows["terrible"]["effect"] < 0 < rows["woman"]["effect"]
    apart = rows["journey"]
    assert (apart["pse"], apart["pse_extrapolated"]) == (None, None)
    one, other = apart["share_towards_first"]  # of 50 texts each
    assert 0.05 < other < one
    assert apart["reason"].startswith(f"{one:.0%} and {other:.0%} of the texts, by classifier, move towards journey")


# --- draws of words and texts ---------------------------------------------------------------------------------------


def test_numbers_with_an_interval_leave_draws_and_no_others_do(study):
    named = {("lexicon", "pearson"): "low", ("groups", "difference"): "difference_low", ("cues", "pse"): "pse_low"}
    assert {(row["table"], row["column"]) for row in study.rows("draws")} == named.keys()
    for (table, _), low in named.items():
        drawn = study.rows("draws", table=table)
        keys = key_columns(study.table(table).schema)
        kept = [{key: row[key] for key in keys} for row in study.rows(table) if row[low] is not None]
        assert [json.loads(row["key"]) for row in drawn] == kept
        assert {len(row["values"]) for row in drawn} == {MOST_DRAWS}


def test_a_night_with_a_word_less_in_its_lexicon_is_paired_with_the_one_before(run_here, study, small, folder):
    """And what differs is far surer than two lexicons of their own would have it; of cues there are other texts."""
    entries = [(word, "positive") for word in POSITIVE[1:]] + [(word, "negative") for word in NEGATIVE]
    path = write(folder / "fewer.csv", ["word", "polarity"], *entries)
    more = [f"lexicon.path={path}", "job.level=0.8", "cues.texts=40", *vectors(folder, "keyedvectors")]
    night = run_here(*small, *more, f"store={folder}/store", f"run_dir={folder}/fewer")
    rows = Comparison(past_run(study.path), past_run(night.path)).differences().to_pylist()
    widths = {json.dumps(key_of(row)): row["high"] - row["low"] for row in study.rows("lexicon")}
    judged = {row["key"]: row for row in rows if row["table"] == "lexicon"}
    assert judged.keys() == widths.keys()
    assert {row["paired_by"] for row in judged.values()} == {"items"}
    ratios = [(row["high"] - row["low"]) / widths[key] for key, row in judged.items() if widths[key] > 0.05]
    assert np.median(ratios) < 0.6, "of 95 by 90 %, where a correlation is not nearly 1 but for a word"
    groups = [row for row in rows if row["table"] == "groups" and row["num_draws"]]
    assert len(groups) == len(study.rows("draws", table="groups"))
    groups = [row for row in groups if "by frequency" not in row["key"]]  # which goes by all words that are asked about
    assert {(row["paired_by"], row["difference"], row["p"]) for row in groups} == {("items", 0.0, 1.0)}
    cues = [row for row in rows if row["table"] == "cues" and row["column"] == "pse" and row["num_draws"]]
    assert {(cue["paired_by"], cue["num_draws"]) for cue in cues} == {("unpaired", MOST_DRAWS)}


def key_of(row):
    return {key: row[key] for key in key_columns(Lexicon.schema())}


# --- samplers -------------------------------------------------------------------------------------------------------


def test_nuts_agrees_with_exact_draws(sharp):
    assert (sharp.num_done("train vectors"), sharp.num_done("draw nuts")) == (3, 8)
    rows = sharp.rows("diagnostics", sampler="nuts")
    assert max(abs(row["z_exact"]) for row in rows) < 4.5
    assert {row["num_diverged"] for row in sharp.rows("chains", sampler="nuts")} == {0}
    assert {row["status"] for row in sharp.rows("chains")} == {"ok"}


def test_without_its_packages_nuts_says_what_to_install_and_exact_draws_run(
    run_here, small, study, folder, monkeypatch
):
    monkeypatch.setattr(draws.nuts, "PACKAGES", ("jax", "no_such_package"))
    assert "no_such_package" not in draws.package_versions()
    settings = ["samplers=[exact, nuts]", "priors=[texts, empirical]", *vectors(folder, "word2vec_text")]
    run = run_here(*small, *settings, f"store={folder}/store", f"run_dir={folder}/without")
    rows = run.rows("chains", sampler="nuts")
    assert {(row["prior"], row["seed"], row["status"]) for row in rows} == {("texts", 0, "not_installed")}
    assert all("no_such_package: pip install 'tiltmeter[posterior]'" in row["reason"] for row in rows)
    assert {row["sampler"] for row in run.rows("words")} == {"exact"}
    assert run.stage("draw exact")["num_reused"] == 8
    assert "pip install" in (run.path / "report.html").read_text()


def test_chains_that_have_not_converged_mark_whatever_is_made_of_them(run_here, small, study, folder):
    settings = ["samplers=[exact, nuts]", "nuts.chains=2", "nuts.draws=8", "nuts.warmup=20", "priors=[texts]"]
    settings += ["data.limit=150", "exact.draws=200", *vectors(folder, "parquet")]
    run = run_here(*small, *settings, f"store={folder}/store", f"run_dir={folder}/short")
    assert run.part("cut texts", "rows").height == 149, "one of them has no text"
    for table in ("lexicon", "groups"):
        for row in run.rows(table):
            is_short = row["sampler"] == "nuts" and row["measure"].startswith(("distance", "contrast"))
            assert (row["status"] == "not_converged") == is_short
            assert ("effective draws are fewer than 400" in row["reason"]) == is_short
    rows = run.rows("words", sampler="nuts")
    assert {row["status"] for row in rows} == {"not_converged", "both_sides", "no_vector"}
    assert {row["contrast_sd"] for row in rows} == {None}, "chains are of one classifier, which has no spread"


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_lexicon_without_a_word_of_the_texts_is_refused_before_vectors_are_trained(run_here, trained, tmp_path):
    both = [("war", "positive"), ("war", "negative")]
    path = write(tmp_path / "lexicon.csv", ["word", "polarity"], ("klasse", "positive"), ("bad", "negative"), *both)
    with pytest.raises(InputError, match=r"none of the 1 positive words \(klasse\)"):
        run_here(*trained, f"lexicon.path={path}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    stages = json.loads((tmp_path / "run/run.json").read_text())["stages"]
    assert [stage["name"] for stage in stages] == ["read texts", "cut texts"]


@pytest.mark.parametrize(
    ("form", "message"), [("auto", "none of the words of the texts"), ("parquet", "vectors.txt: .*[Pp]arquet")]
)
def test_vectors_of_another_language_or_format_are_refused(run_here, small, tmp_path, form, message):
    (tmp_path / "vectors.txt").write_text("hund 1 2\nkatze 2 1\n")
    more = [f"vectors.path={tmp_path}/vectors.txt", f"vectors.format={form}"]
    with pytest.raises(UnitsFailed, match=message):
        run_here(*small, *more, f"store={tmp_path}/store")


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_layout_changes_no_table(trained, run_job, tmp_path):
    runs = [run_job(*trained, *SHARP, f"cluster.num_cpus={num}", f"store={tmp_path}/{num}") for num in (1, 2, 4)]
    assert {run.num_done("draw nuts") for run in runs} == {8}
    assert runs[0].digests == runs[1].digests == runs[2].digests


@pytest.mark.slow
def test_a_kill_at_a_random_moment_changes_no_table(run_job, small, tiltmeter, outcome_of, tmp_path):
    undisturbed = run_job(*small, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    for victim in ("driver", "worker"):
        (tmp_path / victim).mkdir()
        survive(tiltmeter, outcome_of, tmp_path / victim, small, victim, undisturbed)
