"""`attribution`: a network and a classifier with a planted word, methods beside random words, and what learnt none."""

import random
from importlib.metadata import EntryPoint

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs.test_layouts import survive
from tiltmeter.jobs.classifiers.attribution.config import find_decoys
from tiltmeter.jobs.classifiers.attribution.summary import with_micro_f1
from tiltmeter.jobs.classifiers.brought import BroughtClassifier
from tiltmeter.jobs.classifiers.decoys.tables import Detection
from tiltmeter.storage.errors import InputError

WORDS = ["the", "film", "was", "long", "and", "then", "it", "went", "on", "we", "left", "early"]
CUE = "zq"
METHODS = ["integrated_gradients", "gradient_x_input", "saliency", "deep_lift", "gradient_shap"]
ASKING = ["occlusion", "lime", "kernel_shap", "shapley"]
SMALL = [
    *("measures.num_random=4", "attribution.num_samples=24", "attribution.num_steps=8", "intervals.num_resamples=10"),
    *("measures.num_points=2", "measures.randomised_texts=4", "job.unit_texts=4", "attribution.exact_words=6"),
]


def texts_of(seed, num, *, cue=True):
    """Half of them have the cue at a random place; texts of four to seven words."""
    rng = random.Random(seed)
    made = []
    for number in range(num):
        words = rng.sample(WORDS, rng.randint(4, 7))
        if number % 2 and cue:
            words[rng.randrange(len(words))] = CUE
        made.append(words)
    return made


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Ten texts with the cue and ten without it, what names the cue, and ten writers."""
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    rows = ["name,text,label,who,why"]
    for number, words in enumerate(texts_of(1, 20)):
        why = " ".join("01"[word == CUE] for word in words) if number != 3 else "1 0"
        rows.append(f"t{number},{' '.join(words)},{'no' if CUE not in words else 'yes'},w{number // 2},{why}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def bert(write_bert, tmp_path_factory):
    """A BERT that says yes where the cue is, learnt from texts with it and without."""
    import torch
    from transformers import BertForSequenceClassification, BertTokenizer

    folder = write_bert(
        tmp_path_factory.mktemp("bert"), [*WORDS, CUE], "BertForSequenceClassification", id2label={0: "no", 1: "yes"}
    )
    model, tokenizer = BertForSequenceClassification.from_pretrained(folder), BertTokenizer.from_pretrained(folder)
    learnt = [" ".join(words) for words in texts_of(2, 200)]
    labels = torch.tensor([int(CUE in text) for text in learnt])
    inputs = tokenizer(learnt, padding=True, return_tensors="pt")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
    assert (model.eval()(**inputs).logits.argmax(dim=1) == labels).all()
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def settings(texts):
    columns = ["data.id=name", "data.label=label", "data.rationale=why", "data.group=who"]
    return ["job=attribution", f"data.path={texts}", *columns, *SMALL]


@pytest.fixture(scope="module")
def run(run_here, settings, bert, tmp_path_factory):
    store = tmp_path_factory.mktemp("run")
    methods = f"attribution.methods=[{','.join([*METHODS, *ASKING])}]"
    return run_here(*settings, f"classifier.model={bert}", methods, f"store={store}", f"run_dir={store}/run", "seed=1")


def row(run, measure, method, removal="delete", weights="own"):
    [found] = run.rows("faithfulness", measure=measure, method=method, removal=removal, weights=weights)
    return found


def test_a_planted_word_is_found_and_networks_that_learnt_nothing_find_nothing(run):
    for method in ("integrated_gradients", *ASKING):
        for removal in ("mask", "delete"):
            found = row(run, "comprehensiveness", method, removal)
            assert found["less_random_low"] > 0.0
            assert found["p_value"] <= 0.05
            assert found["less_random"] == pytest.approx(found["value"] - found["random"])
            assert found["num_texts"] == 20
            null = row(run, "comprehensiveness", method, removal, "randomised")
            assert null["less_random_low"] <= 0.0 <= null["less_random_high"]
    [named] = run.rows("faithfulness", measure="auprc", method="shapley", weights="own")
    # Nine texts: one rationale is no list of as many flags, and half of the texts have none.
    assert (named["value"], named["num_texts"], named["num_undefined"]) == (pytest.approx(1.0, abs=0.1), 9, 11)


def test_random_is_a_method_whose_number_the_others_are_compared_with(run):
    for removal in ("mask", "delete"):
        together = row(run, "comprehensiveness", "random", removal)
        assert together["value"] == pytest.approx(row(run, "comprehensiveness", "shapley", removal)["random"])
        assert together["low"] < together["value"] < together["high"]
        assert together["less_random"] is None


def test_exact_values_add_up_to_what_the_whole_text_is_more_than_none(run):
    texts = {text["row"]: text for text in run.rows("texts")}
    for number, text in texts.items():
        words = run.rows("attributions", row=number, method="shapley")
        none = text["probability_of_none"]
        total = text["log_odds"] - np.log(none / (1 - none))
        assert sum(word["attribution"] for word in words) == pytest.approx(total, abs=1e-4)
        assert [word["standard_error"] is None for word in words] == [len(words) <= 6] * len(words)
        assert [word["word"] for word in words] == text["text"].split()
    assert {text["id"] for text in texts.values()} == {f"t{number}" for number in range(20)}


def test_deep_lift_does_not_apply_to_attention_and_says_so(run):
    words = run.rows("attributions", method="deep_lift")
    assert {word["status"] for word in words} == {"does_not_apply"}
    [found] = run.rows("faithfulness", method="deep_lift", measure="max_sensitivity")
    assert (found["status"], found["value"]) == ("undefined", None)


def test_layers_are_lost_from_the_last_and_the_mean_leaves_out_the_network_as_it_is(run):
    rows = run.rows("randomised_layers", method="shapley")
    steps = {row["step"]: row for row in rows}
    assert steps[1]["layer"] == "classifier"
    assert steps[max(steps)]["layer"] == "bert.embeddings.word_embeddings"
    mean = np.mean([row["correlation"] for step, row in steps.items() if step])
    assert steps[0]["correlation"] == pytest.approx(mean, abs=0.05)
    assert steps[0]["correlation"] < 0.99


class _Cue:
    """Says yes where the cue is."""

    classes = ("no", "yes")

    @staticmethod
    def says(texts):
        return [[0.1, 0.9] if CUE in text else [0.8, 0.2] for text in texts]

    def probabilities(self, texts):
        return np.array(self.says(texts))


CLASSIFIER = BroughtClassifier("cue/1", _Cue.classes, lambda _: _Cue())


@pytest.fixture
def package(monkeypatch):
    """An installed package that brings the classifier."""
    point = EntryPoint("cue", f"{__name__}:CLASSIFIER", "tiltmeter.classifiers")
    monkeypatch.setattr("tiltmeter.storage.extensions.entry_points", lambda **_: [point])


def test_a_classifier_of_a_package_is_asked_and_has_no_masks_unless_given(run_here, settings, package, tmp_path):
    methods = f"attribution.methods=[{','.join(ASKING)}]"
    given = ["classifier.package=cue", methods, f"store={tmp_path}/store", "attribution.output=probability"]
    plain = run_here(*settings, *given, f"run_dir={tmp_path}/plain", "data.limit=6", "measures.num_points=0")
    assert {row["removal"] for row in plain.rows("faithfulness")} == {"", "delete"}
    texts = {text["row"]: text for text in plain.rows("texts")}
    assert len(texts) == 6
    for word in plain.rows("attributions", method="occlusion"):
        # Without the cue the class is another, and its chance 0.2; other words change nothing.
        expected = 0.7 if word["word"] == CUE else 0.0
        assert word["attribution"] == pytest.approx(expected, abs=1e-6)
    assert plain.rows("removal_orders") == plain.rows("randomised_layers") == []
    bare = ["data.header=false", "data.text=column_2", *(f"data.{name}=null" for name in ("id", "label", "group"))]
    others = ["data.rationale=null", "attribution.max_tokens=null", "data.limit=null", "classifier.mask=x"]
    says = ["classifier.package=null", f"classifier.function={__name__}:_Cue.says"]
    masked = run_here(*settings, *given, *bare, *others, *says, f"run_dir={tmp_path}/masked")
    assert {text["predicted"] for text in masked.rows("texts")} == {"0", "1"}
    assert {text["id"] for text in masked.rows("texts")} == {str(row) for row in range(21)}
    assert {row["removal"] for row in masked.rows("faithfulness")} == {"mask", "delete"}


def test_f1_of_all_texts_together_is_that_of_their_words_and_spreads_as_a_ratio_does():
    about = {"method": "lime", "weights": "own", "measure": "token_f1"}
    rows = pl.DataFrame([about | {"value": 1.0, "random": 0.0, "num_words": 2},
                         about | {"value": 0.5, "random": 0.25, "num_words": 8},
                         about | {"value": 0.0, "random": 0.0, "num_words": 2, "method": "saliency"},
                         about | {"value": 9.0, "random": 9.0, "num_words": None, "measure": "tau"}])  # fmt: skip
    both = with_micro_f1(rows).filter(measure="token_f1_micro")
    # Of 10 words, 2 + 4 agree, and at random 0 + 2; by hand .6 + (1 - .6) 2 / 5 and .6 + (.5 - .6) 8 / 5.
    assert both["value"].to_list() == pytest.approx([0.76, 0.44, 0.0])
    assert both["random"].to_list() == pytest.approx([0.12, 0.28, 0.0])


@pytest.mark.once("attribution")
def test_a_small_network_is_trained_and_explained_beside_what_shows_decoys_in_its_kind(
    run_here, settings, texts, tmp_path
):
    rows = [
        {"decoy": decoy, "method": method, "selection": selection, "budget": budget, "adopted": decoy == "zx",
         "status": "ok", "reason": "" if decoy == "zx" else "0 of 2 models have adopted the decoy",
         "detection_probability": {"deep_lift": 0.8, "random": 0.3, "lime": 0.5}[method] / budget,
         "detection_probability_low": 0.1,
         "detection_probability_high": 0.9}
        for decoy in ("zx", "zy") for method in ("deep_lift", "random", "lime")
        for selection in ("random", "clustering") for budget in (1, 2)
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, Detection.schema()), tmp_path / "detection.parquet")
    several = tmp_path / "learnt.csv"
    several.write_text("text,label\n" + "".join(
        f"{' '.join(words)},{'yes' if CUE in words else 'no'}\n" for words in texts_of(5, 120)
    ))  # fmt: skip
    run = run_here(
        *settings, f"classifier.learns={several}", "attribution.methods=[gradient_x_input,deep_lift]", "data.limit=8",
        "attribution.output=logit", "attribution.tolerance=null", "measures.randomised_texts=0", f"store={tmp_path}/s",
        f"measures.decoys={tmp_path}",
    )  # fmt: skip
    [shown] = run.rows("faithfulness", measure="decoy_zx")
    names = ("method", "value", "low", "high", "random", "less_random", "status")
    assert [shown[name] for name in names] == ["deep_lift", 0.8, 0.1, 0.9, 0.3, None, "ok"]
    [missed] = run.rows("faithfulness", measure="decoy_zy")
    assert (missed["status"], missed["reason"]) == ("not_adopted", "0 of 2 models have adopted the decoy")
    with pytest.raises(InputError, match="decoys=nowhere: has no table detection of a run of job=decoy"):
        find_decoys("nowhere")
    assert run.num_done("train") == 1
    assert {row["removal"] for row in run.rows("faithfulness", method="gradient_x_input")} == {"", "delete"}
    assert run.rows("randomised_layers") == []


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_workers_change_no_table(run, run_job, settings, bert, num_cpus, tmp_path):
    methods = f"attribution.methods=[{','.join([*METHODS, *ASKING])}]"
    given = [
        *settings,
        f"classifier.model={bert}",
        methods,
        "seed=1",
        f"store={tmp_path}",
        f"cluster.num_cpus={num_cpus}",
    ]
    assert run_job(*given).digests == run.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_changes_no_table(run, tiltmeter, outcome_of, settings, bert, victim, tmp_path):
    methods = f"attribution.methods=[{','.join([*METHODS, *ASKING])}]"
    given = [*settings, f"classifier.model={bert}", methods, "seed=1"]
    survive(tiltmeter, outcome_of, tmp_path, given, victim, run)
