"""Encoders as embeddings: a small model that is saved, found by its folder, and measured through the whole job."""

from functools import cache

import numpy as np
import pytest
import torch
from sklearn.covariance import oas
from transformers import BertModel

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed

TARGETS = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]}
ATTRIBUTES = {"attribute_a": ["love", "peace"], "attribute_b": ["war", "pain"]}
SETS = TARGETS | ATTRIBUTES
WORDS = [word for words in SETS.values() for word in words]


@pytest.fixture(scope="module")
def folder(write_bert, tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders") / "tiny-bert"
    return write_bert(place, WORDS, num_hidden_layers=3, max_position_embeddings=8)


@pytest.fixture(scope="module")
def model(folder):
    return BertModel.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def measured(run_here, folder, word_lists, word_sets, tmp_path_factory):
    """The rows of a run on the small model, by test and measure; each run once, as it takes seconds."""
    tests = {"small": word_sets(**SETS), "one word": word_sets(**SETS | {"attribute_b": ["war", "absent"]})}
    lists = word_lists("en", associations=tests, wefats=None)

    @cache
    def measure(*settings):
        place = tmp_path_factory.mktemp("encoded")
        outcome = run_here(
            *("job=association", "embedding=encoder", f"embedding.model={folder}", *lists, "job.min_words=1"),
            *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "job.num_neighbours=5", *settings),
            *(f"store={place}/store", f"run_dir={place}/run"),
        )
        return {(row["test"], row["similarity"]): row for row in outcome.rows("associations")}

    return measure


def _vector(model, word, layers, positions):
    """From a forward pass of the word alone."""
    ids = torch.tensor([[2, 5 + WORDS.index(word), 3]])
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
    return sum(states[layer][0] for layer in layers)[positions].mean(axis=0).numpy().astype(np.float64)


def _by_hand(model, layers, positions):
    """WEAT score of the mean cosine."""

    def unit_vector(word):
        found = _vector(model, word, layers, positions)
        return found / np.linalg.norm(found)

    x, y, a, b = (np.stack([unit_vector(word) for word in words]) for words in SETS.values())
    scores = [(side @ a.T).mean(axis=1) - (side @ b.T).mean(axis=1) for side in (x, y)]
    return scores[0].sum() - scores[1].sum()


FIRST = ["embedding.encoder.pooling=first", "embedding.encoder.pool_special=true"]


@pytest.mark.parametrize(
    ("settings", "layers", "positions"),
    [
        ([], [-1], [1]),
        pytest.param(["embedding.encoder.layers=[-2,-1]", *FIRST], [-2, -1], [0], marks=pytest.mark.slow),
    ],
)
def test_layers_and_pooling_are_settings(measured, model, settings, layers, positions):
    row = measured(*settings)["small", "cosine"]
    assert row["score"] == pytest.approx(_by_hand(model, layers, positions), abs=1e-5)
    assert (row["model"], row["status"], row["num_replicas"]) == ("tiny-bert", "ok", 0)


@pytest.mark.slow
def test_a_layer_that_the_model_does_not_have_fails_with_its_number(measured):
    with pytest.raises(UnitsFailed, match=r"layers.*9"):
        measured("embedding.encoder.layers=[9]")


def test_a_covariance_rests_on_the_attribute_set_alone(measured, model):
    row = measured()["small", "mahalanobis"]
    x, y, a, b = (np.stack([_vector(model, word, [-1], [1]) for word in words]) for words in SETS.values())

    def distances(words, side):
        precision = np.linalg.inv(oas(side)[0])
        apart = words[:, np.newaxis] - side
        return np.sqrt(np.einsum("wad,de,wae->wa", apart, precision, apart)).mean(axis=1)

    scores = [distances(words, b) - distances(words, a) for words in (x, y)]
    assert row["score"] == pytest.approx(scores[0].sum() - scores[1].sum(), abs=1e-4)
    assert (row["status"], row["covariance"]) == ("ok", "shrinkage")


def test_a_covariance_rests_on_synonyms_too_if_these_are_asked_for(measured, model, word_lists):
    [_, synonyms] = word_lists("en", synonyms={"source": "made up", "words": {"love": ["rose"], "war": ["ant"]}})
    row = measured(synonyms, "job.enlargement=synonyms")["small", "mahalanobis"]
    x, y, a, b = (np.stack([_vector(model, word, [-1], [1]) for word in words]) for words in SETS.values())

    def distances(words, side, synonym):
        precision = np.linalg.inv(oas(np.concatenate([side, [_vector(model, synonym, [-1], [1])]]))[0])
        apart = words[:, np.newaxis] - side
        return np.sqrt(np.einsum("wad,de,wae->wa", apart, precision, apart)).mean(axis=1)

    scores = [distances(words, b, "ant") - distances(words, a, "rose") for words in (x, y)]
    assert row["score"] == pytest.approx(scores[0].sum() - scores[1].sum(), abs=1e-4)


def test_a_set_of_one_word_has_no_covariance(measured):
    row = measured()["one word", "mahalanobis"]
    assert (row["status"], row["score"], row["missing_words"]) == ("no_covariance", None, ["absent"])
    assert "shrinkage takes [n, dims] with n of 2 or more" in row["reason"]
    assert measured()["one word", "cosine"]["status"] == "ok"


def test_a_gpu_that_is_asked_for_must_be_there(measured):
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        measured("embedding.device=cuda")


@pytest.mark.slow
def test_a_folder_without_a_model_ends_the_command_with_status_2(tiltmeter, tmp_path):
    (tmp_path / "empty").mkdir()
    process = tiltmeter("job=association", "embedding=encoder", "embedding.model=empty", "run_dir=run")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert f"tiltmeter: embedding.model={tmp_path}/empty: the folder {tmp_path}/empty holds no config.json" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "run").exists()
