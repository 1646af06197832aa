"""What a masked language model has in the place of words: by its package, where it matters, and where it doesn't."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.jobs.test_layouts import survive
from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.models.checkpoints import CheckpointError

from .by_hand import ByHand
from .conftest import FEMALE, MALE, NOUNS, OTHERS


@pytest.mark.once("gender_adversary")
def test_candidates_are_the_most_probable_words_in_each_place(filled, masked, configured, labelled):
    hand = ByHand(configured(*masked), labelled)
    expected = [row for text in hand.attacked for row in hand.proposed(text["row"])]
    rows = filled.rows("masked_candidates")
    numbers = ("log_probability", "log_ratio")
    assert [{name: value for name, value in row.items() if name not in numbers} for row in rows] == [
        {name: value for name, value in row.items() if name not in numbers} for row in expected
    ]
    for row, one in zip(rows, expected, strict=True):
        assert [row[name] for name in numbers] == pytest.approx([one[name] for name in numbers], abs=2e-4)
    assert {row["removed_by"] for row in rows} >= {"", "part_of_speech"}
    assert None in {row["log_ratio"] for row in rows}, "a word that the model reads in pieces"
    longest = max(len(text["text"].split()) for text in hand.attacked)
    assert longest > 16, "so that only the words around a place are read"


def test_words_that_fit_have_their_own_sentences_and_a_version_in_the_record(filled, masked, configured):
    html = (filled.path / "report.html").read_text()
    assert "The excess over random words as frequent is" in html
    assert "Words are also replaced by what a masked language model has in their place" in html
    assert "An orange dot is of words that a masked language model has" in html
    sources = find_sources(configured(*masked))
    assert filled.record["inputs"]["masked_model"] == {"version": sources.masked.version}
    assert {row["words"] for row in filled.rows("controls")} == {""}
    text = (filled.path / "methods.md").read_text()
    assert "one of the 3 words that a masked language model" in text
    assert "@garg2020bae" in text
    schemes = [json.loads(row["scheme"]) for row in filled.rows("draws") if '"masked"' in row["key"]]
    assert schemes
    assert not any("replicas" in scheme for scheme in schemes), "it is no matter of the embedding"


def telling(folder, words):
    """A masked language model that has these words in every place: what its head adds to them is large."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    numbers = [5 + place for place, word in enumerate(ALL) if word in words]
    weights["cls.predictions.bias"] = torch.zeros_like(weights["cls.predictions.bias"])
    weights["cls.predictions.bias"][numbers] = 20.0
    save_file(weights, path, {"format": "pt"})
    return folder


ALL = [*MALE, *FEMALE, *NOUNS, *OTHERS]


def test_words_that_decide_a_verdict_are_told_from_random_ones_and_of_a_victim_that_ignores_them_nothing_is(
    run_here, masked, write_bert, tmp_path
):
    """On the same texts, one victim has learnt gendered words, and the other neither learns nor reads any."""
    model = telling(write_bert(tmp_path / "told", ALL, "BertForMaskedLM"), (*MALE, *FEMALE))
    settings = ["victim=[linear,linear_masked]", "victim.linear.linear.min_count=2", "controls.number=39"]
    settings += ["victim.linear_masked.linear.min_count=2", f"masked_model.model={model}", "masked_model.top=4"]
    settings += ["direction.kinds=[masked]", "language_model.ratio=null", "candidates.min_count=1"]
    settings += ["masked_model.device=auto", "masked_model.revision=main"]
    run = run_here(*masked, *settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rows = {row["victim"]: row for row in run.rows("summary", stratum="all", search="ladder")}
    assert {row["candidate"] for row in run.rows("masked_candidates")} <= {*MALE, *FEMALE}
    assert rows["linear"]["fall_p_value"] == pytest.approx(1 / 40)
    assert rows["linear"]["excess_low"] > 0.0
    assert rows["linear"]["definitional_share"] > 0.5
    assert rows["linear"]["associated_share"] == 0.0, "nothing tells how far these lean"
    assert rows["linear_masked"]["excess"] <= 0.0
    assert min(rows["linear_masked"][name] for name in ("p_value", "fall_p_value")) > 0.3
    assert [rows[name]["p_adjusted"] for name in rows] == pytest.approx(
        holm(np.array([row["p_value"] for row in rows.values()])).tolist()
    )
    for row in rows.values():
        assert row["mean_control_candidates"] >= 0.95 * row["mean_candidates"], "as many words beside them"


def test_another_kind_of_model_is_refused_before_any_work(configured, masked, write_bert, tmp_path):
    folder = write_bert(tmp_path / "bert", ["film"], "BertForSequenceClassification")
    with pytest.raises(CheckpointError) as refused:
        find_sources(configured(*masked, f"masked_model.model={folder}"))
    assert str(refused.value) == (
        f"masked_model.model={folder}: is a BertForSequenceClassification, which has no head that fills masks; set "
        "masked_model.model to a model for masked language modelling"
    )


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_workers_and_odd_units_change_no_table(filled, run_job, masked, num_cpus, tmp_path):
    run = run_job(*masked, f"cluster.num_cpus={num_cpus}", "unit_texts=5", f"store={tmp_path}")
    assert run.stage("find replacements")["num_done"] == 4
    assert run.digests == filled.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_changes_no_table(filled, tiltmeter, outcome_of, masked, victim, tmp_path):
    survive(tiltmeter, outcome_of, tmp_path, masked, victim, filled)
