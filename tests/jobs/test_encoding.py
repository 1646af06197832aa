"""Encoders as embeddings: a small model that is saved, found by its folder, and measured through the whole job."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from cluster.stages import UnitsFailed
from storage.checkpoints import CheckpointError

TARGETS = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]}
ATTRIBUTES = {"attribute_a": ["love", "peace"], "attribute_b": ["war", "pain"]}
SETS = TARGETS | ATTRIBUTES
WORDS = [word for words in SETS.values() for word in words]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 16}
    return BertModel(BertConfig(vocab_size=5 + len(WORDS), max_position_embeddings=8, **sizes)).eval()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders") / "tiny-bert"
    model.save_pretrained(folder)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def measured(run_job, folder, tmp_path_factory):
    """The only association that a run on the small model measures."""
    place = tmp_path_factory.mktemp("encoded")
    sides = ", ".join(f"{side}: {{name: {side}, words: [{', '.join(words)}]}}" for side, words in SETS.items())
    lists = f"+wordset.en.associations={{small: {{source: made up, {sides}}}}}"

    def measure(number, *settings):
        outcome = run_job(
            *("job=association", "embedding=encoder", f"embedding.model={folder}", "~wordset.en.associations", lists),
            *("job.similarities=[cosine]", "job.statistics=[mean]", "tests=[small]", *settings),
            *(f"store={place}/store", f"run_dir={place}/run{number}"),
        )
        [row] = outcome.table("associations").to_pylist()
        return row

    return measure


def _by_hand(model, layers, positions):
    """WEAT score of the mean cosine, from a forward pass of each word."""

    def vector(word):
        ids = torch.tensor([[2, 5 + WORDS.index(word), 3]])
        with torch.no_grad():
            states = model(ids, output_hidden_states=True).hidden_states
        found = sum(states[layer][0] for layer in layers)[positions].mean(axis=0).numpy().astype(np.float64)
        return found / np.linalg.norm(found)

    x, y, a, b = (np.stack([vector(word) for word in words]) for words in SETS.values())
    scores = [(side @ a.T).mean(axis=1) - (side @ b.T).mean(axis=1) for side in (x, y)]
    return scores[0].sum() - scores[1].sum()


@pytest.mark.parametrize(
    ("number", "settings", "layers", "positions"),
    [
        (0, [], [-1], [1]),
        (1, ["embedding.encoder.layers=[-2,-1]"], [-2, -1], [1]),
        (2, ["embedding.encoder.pooling=first", "embedding.encoder.pool_special=true"], [-1], [0]),
        (3, ["embedding.encoder.pooling=mean", "embedding.encoder.pool_special=true"], [-1], [0, 1, 2]),
    ],
)
def test_layers_and_pooling_are_settings(measured, model, number, settings, layers, positions):
    row = measured(number, *settings)
    assert row["score"] == pytest.approx(_by_hand(model, layers, positions), abs=1e-5)
    assert (row["model"], row["status"], row["num_replicas"]) == ("tiny-bert", "ok", 0)


def test_a_layer_that_the_model_does_not_have_fails_with_its_number(measured):
    with pytest.raises(UnitsFailed, match=r"layers.*9"):
        measured(9, "embedding.encoder.layers=[9]")


def test_a_folder_without_a_model_is_refused(run_job, tmp_path):
    with pytest.raises(CheckpointError, match=r"embedding.model"):
        run_job("job=association", "embedding=encoder", f"embedding.model={tmp_path}", f"store={tmp_path}/store")
