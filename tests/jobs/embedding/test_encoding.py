"""Encoders as embeddings: a small model that is saved, found by its folder, and measured through the whole job."""

from functools import cache

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from sklearn.covariance import oas
from transformers import BertModel

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.storage.models.checkpoints import CheckpointError

TARGETS = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]}
ATTRIBUTES = {"attribute_a": ["love", "peace"], "attribute_b": ["war", "pain"]}
SETS = TARGETS | ATTRIBUTES
WORDS = [word for words in SETS.values() for word in words]
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(scope="module")
def folder(write_bert, tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders") / "tiny-bert"
    return write_bert(place, WORDS, num_hidden_layers=3, max_position_embeddings=8)


@pytest.fixture(scope="module")
def cached(write_bert, tmp_path_factory):
    """A cache of the hub that holds one commit of another model, which a tag names."""
    place = tmp_path_factory.mktemp("cache") / "models--we--other"
    write_bert(place / "snapshots" / COMMIT, WORDS, num_hidden_layers=2, max_position_embeddings=8)
    (place / "refs").mkdir()
    (place / "refs/v2").write_text(COMMIT)
    return place.parent


@pytest.fixture(scope="module")
def models(folder, cached):
    places = {"tiny-bert": folder, "we/other": cached / "models--we--other/snapshots" / COMMIT}
    return {name: BertModel.from_pretrained(place).eval() for name, place in places.items()}


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
            *("job.similarities=[cosine,mahalanobis]", "job.statistics=[mean]", "job.num_neighbours=5"),
            *(f"store={place}/store", f"run_dir={place}/run", *settings),
        )
        rows = outcome.rows("associations")
        return {(row["model"], row["test"], row["similarity"]): row for row in rows}

    return measure


def _vector(model, word, layers=(-1,), position=1):
    """From a forward pass of the word alone."""
    ids = torch.tensor([[2, 5 + WORDS.index(word), 3]])
    with torch.no_grad():
        states = model(ids, output_hidden_states=True).hidden_states
    return sum(states[layer][0] for layer in layers)[position].numpy().astype(np.float64)


def _by_hand(model, *which):
    """WEAT score of the mean cosine."""
    unit = {word: vector / np.linalg.norm(vector) for word in WORDS for vector in [_vector(model, word, *which)]}
    x, y, a, b = (np.stack([unit[word] for word in words]) for words in SETS.values())
    scores = [(side @ a.T).mean(axis=1) - (side @ b.T).mean(axis=1) for side in (x, y)]
    return scores[0].sum() - scores[1].sum()


def test_layers_and_pooling_are_settings_and_so_is_the_commit_of_a_model(measured, models, folder, cached):
    row = measured()["tiny-bert", "small", "cosine"]
    assert row["score"] == pytest.approx(_by_hand(models["tiny-bert"]), abs=1e-5)
    assert (row["status"], row["num_replicas"]) == ("ok", 0)
    first = ["embedding.encoder.pooling=first", "embedding.encoder.pool_special=true"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cached))
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        both = f"embedding.model=[{folder},we/other]"
        rows = measured(
            both, "embedding.revision=v2", "embedding.encoder.layers=[-2,-1]", "embedding.device=cpu", *first
        )
    for name, model in models.items():
        row = rows[name, "small", "cosine"]
        assert row["score"] == pytest.approx(_by_hand(model, [-2, -1], 0), abs=1e-5)


def test_private_vectors_are_studied_on_the_first_words_that_an_encoder_is_given(run_here, models, folder, tmp_path):
    """At the last token, of a file in which a word comes twice and a line is blank."""
    (tmp_path / "words.txt").write_text("\n".join([*WORDS[:2], WORDS[0], "", *WORDS[2:]]))
    last = ["embedding.encoder.pooling=last", "embedding.encoder.pool_special=true"]
    nothing_else = ["audit.pairs=0", "deniability.words=0", "distances.epsilons=[]", "mechanisms=[M1]"]
    run = run_here(
        *("job=private_vectors", "embedding=encoder", f"embedding.model={folder}", *last, *nothing_else),
        *(f"vocabulary.word_file={tmp_path}/words.txt", "vocabulary.words=5", "epsilons=[2.0]", "exact_epsilons=[]"),
        *("audit.epsilon=2.0", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    vectors = np.stack([_vector(models["tiny-bert"], word, [-1], 2) for word in WORDS[:5]])
    apart = np.linalg.norm(vectors[:, np.newaxis] - vectors, axis=2)[np.triu_indices(5, 1)]
    [row] = run.rows("mechanisms")
    distances = row["epsilon_x_median"], row["epsilon_x_diameter"]
    assert distances == pytest.approx((2 * np.median(apart), 2 * apart.max()), rel=1e-4)


@pytest.mark.slow
def test_a_layer_that_the_model_does_not_have_fails_with_its_number(measured):
    with pytest.raises(UnitsFailed, match=r"layers.*9"):
        measured("embedding.encoder.layers=[9]")


SYNONYMS = {"love": ["rose"], "war": ["ant"]}


@pytest.mark.parametrize("enlargement", ["neighbours", "synonyms"])
def test_a_covariance_rests_on_the_attribute_set_and_on_synonyms_if_these_are_asked_for(
    measured, models, word_lists, enlargement
):
    [_, listed] = word_lists("en", synonyms={"source": "made up", "words": SYNONYMS})
    asked = [listed, "job.enlargement=synonyms"] if enlargement == "synonyms" else []
    row = measured(*asked)["tiny-bert", "small", "mahalanobis"]
    vector = {word: _vector(models["tiny-bert"], word) for word in WORDS}

    def distances(words, side):
        more = [word for other in side for word in SYNONYMS.get(other, []) if asked]
        precision = np.linalg.inv(oas(np.stack([vector[word] for word in (*side, *more)]))[0])
        apart = np.array([[vector[word] - vector[other] for other in side] for word in words])
        return np.sqrt(np.einsum("wad,de,wae->wa", apart, precision, apart)).mean(axis=1)

    x, y, a, b = SETS.values()
    scores = [distances(words, b) - distances(words, a) for words in (x, y)]
    assert row["score"] == pytest.approx(scores[0].sum() - scores[1].sum(), abs=1e-4)
    assert (row["status"], row["covariance"]) == ("ok", "shrinkage")


def test_a_set_of_one_word_has_no_covariance(measured):
    row = measured()["tiny-bert", "one word", "mahalanobis"]
    assert (row["status"], row["score"], row["missing_words"]) == ("no_covariance", None, ["absent"])
    assert "shrinkage takes [n, dims] with n of 2 or more" in row["reason"]
    assert measured()["tiny-bert", "one word", "cosine"]["status"] == "ok"


def test_a_gpu_that_is_asked_for_must_be_there(measured):
    if torch.cuda.is_available():
        pytest.skip("needs a machine without a GPU")
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        measured("embedding.device=cuda")


def test_a_folder_without_a_model_is_refused_before_any_work(run_here, tmp_path):
    (tmp_path / "empty").mkdir()
    asked = ["job=association", "embedding=encoder", f"embedding.model={tmp_path}/empty", f"store={tmp_path}/store"]
    with pytest.raises(
        CheckpointError, match=rf"^embedding.model=\S+: the folder {tmp_path}/empty holds no config.json"
    ):
        run_here(*asked, f"run_dir={tmp_path}/run")
    assert not (tmp_path / "run").exists()
