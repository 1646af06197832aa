"""Runs of `privacy_metrics` under settings that are no defaults: what each of them decides, counted again."""

import functools
import random

import numpy as np
import pytest
import torch
import transformers

from tests.fixtures.dialogues import SMALL, TELLS
from tests.jobs.classifiers.privacy.by_hand import CLASSES, check_samples
from tests.jobs.classifiers.rows import read_rows, write_rows
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.privacy import models as privacy_models
from tiltmeter.jobs.classifiers.privacy.config import ExplanationWords, ValenceLexicon
from tiltmeter.jobs.classifiers.privacy.tables import RESEEDED
from tiltmeter.operators.classifiers.attribution.attribute import attribute, predict
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.networks import network_inputs, small_network
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.storage.errors import InputError

# --- explanations and metrics ----------------------------------------------------------------------------------------

RENAMED = {"negative": "mid", "neutral": "low", "positive": "high"}
STUDY = [
    *("across.path=null", "data.valence={negative: mid, neutral: low, positive: high}", "data.limit=300", "seed=2"),
    *("models.names=[General]", "models.encoder.width=1", "models.encoder.max_vocabulary=6"),
    *("models.training.max_epochs=5", "explanations.max_sentences=40", "explanations.num_random_lists=3"),
]
EXPLAINED = {
    "integrated_gradients": ({"tolerance": None, "max_tokens": None, "num_steps": 22}, {}, {}),
    "gradient_x_input": ({"output": "logit"}, {"scale": "count", "sign": "any", "top_k": 2}, {"explained": "gold"}),
    "occlusion": ({"output": "probability"}, {"scale": "maximum"}, {}),
    "lime": ({"num_samples": 20}, {"scale": "share", "denominator": "all", "threshold": 0.2}, {}),
    "kernel_shap": ({"num_samples": 20}, {"opposite_of_middle": "others", "top_k": 3}, {"listed": ("referential",)}),
    "random": ({}, {}, {}),
}
"""By the method of attribution: its settings, those of the metrics, and of explanations; the last has no lexicon."""


def overrides(prefix, settings):
    shown = {None: "null", ("referential",): "[referential]"}
    return [f"{prefix}.{name}={shown.get(value, value)}" for name, value in settings.items()]


@pytest.fixture(scope="module")
def study(run_here, dialogues, tmp_path_factory):
    """The run of a method; all are in one store."""
    place = tmp_path_factory.mktemp("studies")

    @functools.cache
    def run(method):
        attribution, metrics, others = EXPLAINED[method]
        given = [*overrides("explanations.attribution", {"method": method, "num_steps": 8} | attribution)]
        given += overrides("explanations.metrics", metrics) + overrides("explanations", others)
        given += ["lexicon.path=null"] if method == "random" else []
        return run_here(*dialogues, *SMALL, *STUDY, *given, f"store={place}/store", f"run_dir={place}/{method}")

    return run


@pytest.fixture(scope="module")
def models(study):
    run = study("integrated_gradients")
    units = run.units("privacy_model")
    made = {unit.name: TextModel(TrainedSource(), on_gpu=False, made=done.tables["model"]) for unit, done in units}
    return {name: model.load(run.pool.store).network for name, model in made.items()}


@pytest.mark.parametrize("method", EXPLAINED)
def test_explanations_and_metrics_are_those_that_are_asked_for(study, models, method):
    run, (attribution, metrics, others) = study(method), EXPLAINED[method]
    texts = {row["sentence"]: row for row in run.rows("texts")}
    config = AttributionConfig(**({"method": method, "num_steps": 8} | attribution))
    for name, model in models.items():
        lines = run.grouped("attributions", "sentence", model=name)
        assert len(lines) == 40
        is_gold = others.get("explained") == "gold"
        targets = [model.classes.index(texts[number]["valence"]) if is_gold else None for number in lines]
        made = attribute(model, [texts[number]["text"] for number in lines], config, targets=targets, seed=2)
        assert not is_gold or any(rows[0]["predicted"] != rows[0]["gold"] for rows in lines.values())
        for rows, one in zip(lines.values(), made, strict=True):
            values = [row["attribution"] for row in rows]
            assert values[: len(one.words)] == pytest.approx(list(one.values), abs=1e-5)
    listed = {"he", "it", *(() if "listed" in others else ("sorry", "damn"))}
    lexicon = {word: (number, number - 1.0) for number, words in enumerate(TELLS.values()) for word in words}
    wanted = {"model": RESEEDED, "seed": 0}  # which shows what the second one explains
    about = (*models, listed, None if method == "random" else lexicon, MetricConfig(**metrics))
    eps = {sample["ep"] for sample in check_samples(run, wanted, *about, others.get("explained", "predicted"))}
    assert any(eps) == (method != "random")  # which draws the same for all models


def test_valence_is_what_labels_are_said_to_be_and_width_one_knows_no_order(study, models, dialogues):
    texts, path = study("integrated_gradients").rows("texts"), dialogues[1].removeprefix("data.path=")
    labels = [label for _, label, _ in read_rows(path)[1:]]
    assert len(texts) == 300
    assert [row["valence"] for row in texts] == [RENAMED[labels[row["row"]]] for row in texts]
    for model in models.values():
        one, other = predict(model, ["damn it is sad", "sad is it damn"])
        assert one == pytest.approx(other, abs=1e-6)


# --- corpora, models and their training ------------------------------------------------------------------------------

SAYS = {"low": ("sad", "dull"), "mid": ("plain", "usual", "glad"), "high": ("lovely",)}
VALENCES = {"sad": 1, "dull": 2.5, "plain": 3, "usual": 3.2, "glad": 4.8, "lovely": 4.9}
SCALES = {"data": (1.5, 3, 4.5), "across": ("bad", "so-so", "fine"), "unbiased": (10, 50, 90)}
CODES = {"data": ("F", "M"), "across": ("w", "m"), "unbiased": ("F", "M")}


def corpus(name, num, seed):
    """Rows of a text, a label, the code of a gender and a speaker; two of three texts are low."""
    rng = random.Random(seed)
    for number in range(num):
        speaker = rng.randrange(24)
        valence = rng.choice(("low", "low", "low", "low", "mid", "high"))
        subject = rng.choice(("his sister", "her day", "a day", "it"))
        text = f"{subject} is {rng.choice(SAYS[valence])} no {number}"
        yield [text, SCALES[name][CLASSES.index(valence)], CODES[name][speaker % 2], f"s{speaker}"]


@pytest.fixture(scope="module")
def spoken(run_here, write_vectors, tmp_path_factory):
    """Three corpora whose columns, labels and genders have other names each, the first and the last without names."""
    place = tmp_path_factory.mktemp("spoken")
    unsaid = [row if at % 3 else [*row[:2], "", row[3]] for at, row in enumerate(corpus("across", 90, 2))]
    files = {"data": [*corpus("data", 260, 1)], "across": [["said", "feeling", "sex", "who"], *unsaid]}
    unbiased = [row if at % 7 else [*row[:2], "", row[3]] for at, row in enumerate(corpus("unbiased", 250, 3))]
    files |= {"unbiased": unbiased, "lexicon": VALENCES.items()}
    for name, rows in files.items():
        write_rows(place / f"{name}.csv", rows)
    vectors = write_vectors(place / "vectors.bin", ["sad", "lovely", "day"], np.eye(3, 6) * [[1], [2], [4]])
    genders = ", ".join(f"s{number}: {'male' if number % 2 else 'female'}" for number in range(24))
    data = {"path": place / "data.csv", "header": "false", "text": "column_1", "label": "column_2"}
    data |= {"gender": "column_3", "group": "column_4", "gender_codes": "{F: female, M: male}", "limit": 240}
    data["bins"] = "{low: [1, 2], mid: [2, 4], high: [4, 5]}"
    across = {"path": place / "across.csv", "header": "true", "text": "said", "label": "feeling", "gender": "sex"}
    across |= {"group": "who", "gender_codes": "{w: female, m: male}", "genders": f"{{{genders}}}", "limit": 80}
    across |= {"valence": "{bad: low, so-so: mid, fine: high}", "shares_groups": "false"}
    unbiased = {"path": place / "unbiased.csv", "header": "false"}
    unbiased["bins"] = "{low: [0, 20], mid: [20, 80], high: [80, 100]}"
    lexicon = {"path": place / "lexicon.csv", "header": "false", "word": "column_1", "valence": "column_2"}
    lexicon |= {"low": 1, "high": 5, "bins": "[2.5, 4.8]", "least": 0.92}
    models = {"names": "[General, GenderCtrl, PrivAdv, PrivAug, PrivBias, PrivEP]", "num_seeds": 1}
    models |= {"vectors": vectors, "gender_weight": 0.7, "gender_hidden": 3, "encoder.width": 5, "encoder.dropout": 0}
    models |= {"augmentation.copies": "changed", "augmentation.swaps": "null", "augmentation.in_context": "false"}
    models |= {"encoder.hidden": 8, "encoder.min_count": 1, "training.max_epochs": 3, "training.learning_rate": 0.05}
    models |= {"training.batch_size": 2000, "training.optimizer": "adamw", "training.weight_decay": 0.2}
    models |= {"training.schedule": "linear", "training.max_gradient_norm": 3e-7, "training.class_weights": "equal"}
    settings = {"data": data, "across": across, "unbiased": unbiased, "lexicon": lexicon, "models": models}
    given = [f"{group}.{name}={value}" for group, of in settings.items() for name, value in of.items()]
    given += ["explanations.max_sentences=12", "explanations.attribution.num_steps=8", "intervals.num_resamples=50"]
    given += ["explanations.metrics.sign=any", "explanations.metrics.threshold=0.5"]
    run = run_here(
        *("job=privacy_metrics", "seed=4", *given, f"store={place}/store", f"run_dir={place}/run"),
        watched=[(training, "train"), (privacy_models, "_penalty")],
    )
    return run, {name: [*rows] for name, rows in files.items()}


def test_each_corpus_is_read_by_its_own_columns_scale_and_genders(spoken):
    (run, files), own = spoken, ("training", "development", "test")
    for name, (num, start) in {"data": (240, 0), "across": (80, 1), "unbiased": (250, 0)}.items():
        parts = own if name == "data" else (name,)
        rows = [row for row in run.rows("texts") if row["part"] in parts]
        assert len(rows) == num
        places = [row["row"] for row in rows]
        assert places == sorted(places)
        assert (places == [*range(num)]) == (name == "unbiased"), "of the others some are drawn"
        for row in rows:
            text, label, code, speaker = files[name][row["row"] + start]
            assert (row["text"], row["group"]) == (text, speaker)
            assert row["valence"] == CLASSES[SCALES[name].index(label)]
            known = code or name == "across"
            assert row["gender"] == (("male" if int(speaker[1:]) % 2 else "female") if known else None)
    used = {row["group"]: row["part"] for row in run.rows("texts") if row["part"] in own}
    assert {row["status"] for row in run.rows("texts", part="across")} == {"ok"}, "who is called alike is another one"
    for row in run.rows("texts", part="unbiased"):
        assert row["status"] == ("known_group" if used.get(row["group"]) in ("development", "test") else "ok")


def test_words_are_in_the_bins_of_the_lexicon(spoken):
    run, _ = spoken
    bins = {"sad": 0, "dull": 0, "plain": 1, "usual": 1, "glad": 1, "lovely": 2}
    lexicon = {word: (number, (VALENCES[word] - 3) / 2) for word, number in bins.items()}
    [read] = run.made("valence_lexicon", "lexicon")
    assert {row["word"]: row["bin"] for row in read} == bins
    assert {row["word"]: row["valence"] for row in read} == pytest.approx({word: of[1] for word, of in lexicon.items()})
    for model in ("GenderCtrl", "PrivEP"):
        about = ("General, seed 0", f"{model}, seed 0", {"his", "her", "it", "sister"}, lexicon)
        check_samples(run, {"model": model}, *about, MetricConfig("any", 0.5), least=0.92)


def test_models_learn_of_gender_what_they_are_named_for(spoken):
    run, _ = spoken
    names = [unit.name.partition(",")[0] for unit, _ in run.units("privacy_model")]
    names.insert(names.index("PrivBias"), "first PrivBias")
    calls = dict(zip(names, run.calls["train"], strict=True))
    training, unbiased = (
        [row["text"] for row in run.rows("texts", part=part, status="ok")] for part in ("training", "unbiased")
    )
    learnt = {name: [" ".join(text.words) for text in call["training"].texts] for name, call in calls.items()}
    assert learnt.pop("first PrivBias") == unbiased
    swaps = {"his": "hers", "her": "him", "sister": "brother"}
    copies = [" ".join(swaps.get(word, word) for word in text.split()) for text in training]
    changed = [copy for copy, text in zip(copies, training, strict=True) if copy != text]
    assert learnt.pop("PrivAug") == [*training, *changed]
    assert [*learnt.values()] == [training] * 5
    heads = {name: call["heads"].get("gender") for name, call in calls.items()}
    assert {name: head.adversarial for name, head in heads.items() if head} == {"GenderCtrl": False, "PrivAdv": True}
    assert {(head.weight, head.hidden) for head in heads.values() if head} == {(0.7, 3)}
    assert [name for name, call in calls.items() if call["penalty"]] == ["PrivEP"]
    assert len(run.calls["_penalty"]) == 1


def test_training_takes_the_steps_of_its_settings_from_the_given_vectors(spoken):
    """By a loop: AdamW on all texts at once, of which each weighs the same, with short gradients and a falling rate."""
    run, _ = spoken
    call = run.calls["train"][0]
    texts = [row["text"] for row in run.rows("texts", part="training", status="ok")]
    given = dict(zip(("sad", "lovely", "day"), np.eye(3, 6) * [[1], [2], [4]], strict=True))
    encoder = SmallEncoderConfig(hidden=8, width=5, dropout=0.0, min_count=1)
    vocabulary = Vocabulary.of(texts, encoder, given)
    network = small_network(vocabulary, encoder, call["heads"], 4, given)
    inputs = network_inputs(network, vocabulary.tokenise(texts))
    labels = torch.tensor(call["training"].labels["valence"])
    matrices, others = ([one for one in network.parameters() if (one.ndim > 1) is kind] for kind in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.2}, {"params": others, "weight_decay": 0.0}]
    optimizer, losses = torch.optim.AdamW(groups), []
    for step in range(3):
        losses.append(torch.nn.functional.cross_entropy(network(**inputs), labels))
        optimizer.zero_grad()
        losses[-1].backward()
        norm = sum((one.grad**2).sum() for one in network.parameters()) ** 0.5
        for one in network.parameters():
            one.grad *= 3e-7 / norm
        for group in optimizer.param_groups:
            group["lr"] = 0.05 * (3 - step) / 3
        optimizer.step()
    assert [epoch.loss for epoch in call["result"]] == pytest.approx([loss.item() for loss in losses], rel=1e-4)
    assert "vectors.bin" in str(run.record["inputs"]["vectors"])
    assert losses[2] < losses[1] - 0.01 < losses[0] - 0.02


# --- checkpoints and settings ----------------------------------------------------------------------------------------


def test_a_checkpoint_is_read_at_its_first_token_and_where_nothing_says_who_speaks_each_text_is_a_unit(
    run_here, write_bert, tmp_path
):
    """Fine-tuned, for EP, too; what gender is told from is the state of [CLS] alone."""
    words = ["his", "her", "sister", "day", "a", "it", "is", "no", *VALENCES]
    folder = write_bert(tmp_path / "bert", words, max_position_embeddings=16)
    path = write_rows(tmp_path / "said.csv", [["text", "label", "sex", "who"], *corpus("data", 150, 5)])
    data = {"path": path, "gender": "sex", "gender_codes": "{F: female, M: male}"}
    data["bins"] = "{low: [1, 2], mid: [2, 4], high: [4, 5]}"
    models = {"names": "[General, PrivAdvEP]", "num_seeds": 1, "training.max_epochs": 2, "ep_weight": 5}
    models |= {"checkpoint": folder, "pooling": "first", "device": "auto", "revision": "x"}
    given = [
        f"{group}.{name}={value}"
        for group, of in {"data": data, "models": models}.items()
        for name, value in of.items()
    ]
    given += ["intervals.num_resamples=50", "explanations.max_sentences=7", "explanations.attribution.num_steps=8"]
    watched = [(training, "train"), (privacy_models, "attack")]
    settings = ("job=privacy_metrics", "seed=6", *given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    run = run_here(*settings, watched=watched)
    assert {row["group"] for row in run.rows("texts")} == {None}
    assert {(row["num_units"], row["num_explained"]) for row in run.rows("models")} == {(7, 7)}
    assert [row["model"] for row in run.rows("models", seed=None)] == ["General", "PrivAdvEP"]
    assert [call["penalty"] is not None for call in run.calls["train"]] == [False, True]
    texts = [row["text"] for row in run.rows("texts", status="ok") if row["part"] != "development"]
    inputs = transformers.AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    for trained, attacked in zip(run.calls["train"], run.calls["attack"], strict=True):
        with torch.inference_mode():
            states = trained["network"].encoder.model(**inputs).last_hidden_state[:, 0]
            learnt = trained["network"].representation(**inputs)
        for representation in (learnt, attacked["test"]):
            np.testing.assert_allclose(representation, states, atol=1e-5)


def test_corpora_of_the_paper_come_with_their_columns_scales_and_genders(configured):
    words = ["+spoken@data=iemocap", "+spoken@across=muse", "+spoken@unbiased=msp_improv"]
    paths = [f"{name}.path={name}.csv" for name in ("data", "across", "unbiased")]
    corpora = configured("job=privacy_metrics", *words, *paths, "across.label=muse_valence").corpora
    five, nine = ({"low": (1, a), "mid": (a, b), "high": (b, c)} for a, b, c in ((2.75, 3.25, 5), (3.75, 4.25, 9)))
    assert [corpora[name].bins for name in ("data", "across", "unbiased")] == [five, nine, five]
    assert [data.path for data in corpora.values()] == [f"{name}.csv" for name in corpora]
    assert (corpora["data"].label, corpora["across"].label) == ("valence", "muse_valence")
    for data in corpora.values():
        assert (data.gender, data.gender_codes) == ("gender", {"F": "female", "M": "male"})


def test_bins_of_a_lexicon_are_equal_parts_unless_they_are_given():
    about = {"path": None, "header": True, "word": "Word", "valence": "Valence", "least": 0.25}
    assert ValenceLexicon(low=0.0, high=1.0, bins=None, **about).upper_ends(3) == pytest.approx((1 / 3, 2 / 3))
    assert ValenceLexicon(low=1.0, high=5.0, bins=(2.75, 3.25), **about).upper_ends(3) == (2.75, 3.25)


def test_pairs_without_a_name_and_lexicons_of_other_columns_or_scales_are_refused(run_here, dialogues, tmp_path):
    with pytest.raises(ValueError, match=r"lists with a name: set it as in 'explanation_words.swaps={mine"):
        ExplanationWords(lists={"politeness": ("please",)}, swaps=[["he", "she"]])
    with pytest.raises(InputError, match=r"lexicon.path: .* has no column 'valence'; its columns are 'Word', 'Val"):
        run_here(*dialogues, "lexicon.valence=valence", f"store={tmp_path}")
    words = write_rows(tmp_path / "words.csv", [["Word", "Valence"], *([f"w{at}", at / 20] for at in range(21))])
    with pytest.raises(InputError, match=r"11 of 21 records are bad .* no valence from 0 to 0.45, as lexicon.low and"):
        run_here(*dialogues, f"lexicon.path={words}", "lexicon.high=0.45", f"store={tmp_path}")
