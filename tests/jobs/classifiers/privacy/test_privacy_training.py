"""What models are trained with, and what they start from."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from tests.fixtures.dialogues import SMALL, TELLS
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.privacy import models as privacy_models
from tiltmeter.jobs.classifiers.privacy.models import SwapSettings, TrainModel, balanced
from tiltmeter.jobs.classifiers.privacy.tables import Texts
from tiltmeter.operators.classifiers.records import Head

ROWS = [
    Texts(sentence=number, text=f"{word} {number}", valence=valence, gender=gender)
    for valence, gender, word, num in (("low", "f", "she", 5), ("low", "m", "he", 3), ("high", "f", "sun", 2))
    for number in range(num)
]


def test_a_balanced_part_has_as_many_texts_of_each_gender_in_each_class():
    found = balanced([*ROWS, Texts(sentence=5, text="one", valence="high", gender="m")], 0)
    counts = {(v, g): sum((row.valence, row.gender) == (v, g) for row in found) for v in ("low", "high") for g in "fm"}
    assert counts == {("low", "f"): 3, ("low", "m"): 3, ("high", "f"): 1, ("high", "m"): 1}
    assert [row.gender for row in found] in (list("fffmmmfm"), list("fmfffmmm")), "in no order of a set"
    assert {row.valence for row in balanced(ROWS[::-1], 0)} == {"low"}
    assert len({tuple(row.text for row in balanced(ROWS, seed)) for seed in range(4)}) > 1


def test_copies_are_of_each_text_or_of_those_that_change():
    each, changed = (
        [vars(copy) for copy in SwapSettings([("he", "she")], copies).swapped_copies(ROWS)]
        for copies in ("each", "changed")
    )
    assert len(each) == len(ROWS)
    assert [copy["text"] for copy in changed] == [*(f"he {n}" for n in range(5)), *(f"she {n}" for n in range(3))]
    assert changed == each[:8]
    assert each[8:] == [vars(row) for row in ROWS[8:]]
    assert changed[0] == vars(ROWS[0]) | {"text": "he 0"}


@pytest.mark.parametrize(("model", "is_adversarial"), [("PrivAdv", True), ("PrivAdvEP", True), ("GenderCtrl", False)])
def test_an_adversary_is_one_and_a_control_is_none(model, is_adversarial):
    rows = [replace(row, part=part) for row in ROWS for part in ("training", "test")]
    rows.append(replace(ROWS[0], gender="x", part="test"))
    work = TrainModel(
        name=model, encoders=None, texts=None, general=None, classes=("low", "high"), seed=0, gender=(0.25, 3)
    )
    heads = work.heads(rows)
    assert heads["valence"] == Head(("low", "high"))
    assert heads["gender"] == Head(("f", "m"), 0.25, adversarial=is_adversarial, hidden=3)
    assert list(replace(work, name="General", gender=None).heads(rows)) == ["valence"]


def test_a_checkpoint_is_fine_tuned_and_read_at_its_first_token(run_here, write_bert, dialogues, tmp_path):
    """For EP, too; what gender is told from is the state of [CLS] alone."""
    words = [
        "sorry",
        "damn",
        "then",
        "it",
        "is",
        "he",
        "she",
        "said",
        *(word for own in TELLS.values() for word in own),
    ]
    folder = write_bert(tmp_path / "bert", words, max_position_embeddings=16)
    models = (f"models.checkpoint={folder}", "models.pooling=first", "models.device=auto", "models.revision=x")
    few = ("models.names=[General, PrivAdvEP]", "models.num_seeds=1", "models.training.max_epochs=2", "data.limit=150")
    run = run_here(
        *(*dialogues, *SMALL, *models, *few, "across.path=null", "explanations.max_sentences=5"),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
        watched=[(training, "train"), (privacy_models, "attack")],
    )
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
