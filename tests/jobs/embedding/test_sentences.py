"""Words in sentences, from templates and from contexts of a corpus, through the whole job, on a small BERT."""

import json
import shutil
from functools import cache

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save_file
from transformers import BertModel

from tests.jobs.test_layouts import survive
from tiltmeter.storage.models.checkpoints import CheckpointError

SETS = {
    "target_x": ["rose", "tulip", "lily"],
    "target_y": ["ant", "wasp", "moth"],
    "attribute_a": ["love", "peace"],
    "attribute_b": ["war", "ugly"],
}
LISTED = [word for words in SETS.values() for word in words]
OTHERS = ["the", "a", "is", "saw", "here", "this", "word", "of", "we", "read", ".", "say", "near"]
WORDS = [*LISTED, *OTHERS]
TEMPLATES = ["this is _.", "we read the word _.", "here is _.", "we say _ here.", "the _ is near.", "we saw a _."]
MIN = ["job.min_words=1", "job.similarities=[cosine]", "job.statistics=[mean]"]


@pytest.fixture(scope="module")
def folder(write_bert, tmp_path_factory):
    place = tmp_path_factory.mktemp("encoders") / "tiny-bert"
    return write_bert(place, WORDS, num_hidden_layers=3, max_position_embeddings=24, initializer_range=0.2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents of which each has some of the words: those of A near X, and rarer words in few."""
    rng, path = np.random.default_rng(1), tmp_path_factory.mktemp("corpus") / "small.jsonl"
    drawn = [word for word in LISTED if word not in ("moth", "lily")]
    texts = [[" ".join(rng.choice([*drawn, *OTHERS[:10]], 9)) for _ in range(3)] for _ in range(30)]
    texts[4][1] = "the moth saw the Moth near a rose"
    lines = [json.dumps({"id": str(number), "text": "\n".join(text)}) for number, text in enumerate(texts)]
    path.write_text("\n".join(lines))
    return path, texts


@pytest.fixture(scope="module")
def kinds(corpus):
    """Words alone, in templates and in contexts, as the words of a command."""
    templates = f"embedding.templates.en={json.dumps(TEMPLATES)}"
    return {
        "alone": ("embedding=encoder",),
        "seat": ("embedding=seat", templates, "job.num_draws=500"),
        "ceat": (
            "embedding=ceat",
            "corpus=file",
            f"corpus.path={corpus[0]}",
            "corpus.language=en",
            "job.num_draws=200",
        ),
    }


@pytest.fixture(scope="module")
def measured(run_here, folder, kinds, word_lists, word_sets, tmp_path_factory):
    lists = word_lists("en", associations={"small": word_sets(**SETS)}, wefats=None)

    @cache
    def measure(kind, *settings):
        place = tmp_path_factory.mktemp("encoded")
        given = ("job=association", *kinds[kind], f"embedding.model={folder}", *lists, *MIN)
        few = [] if kind == "alone" else ["embedding.num_replicas=6"]
        return run_here(*given, *few, f"store={place}/store", f"run_dir={place}/run", *settings)

    return measure


@cache
def model_of(folder):
    return BertModel.from_pretrained(folder).eval()


def states(folder, ids):
    """By a forward pass of one text alone."""
    with torch.no_grad():
        return model_of(folder)(torch.tensor([ids])).last_hidden_state[0].numpy()


def ids_of(text):
    return [2, *(5 + WORDS.index(word) for word in text.replace(".", " .").split()), 3]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def d_of(means):
    """The effect size of unit vectors of words."""
    x, y, a, b = (unit(np.stack([means[word] for word in words if word in means])) for words in SETS.values())
    scores = [side @ a.T.mean(axis=1) - side @ b.T.mean(axis=1) for side in (x, y)]
    return (scores[0].mean() - scores[1].mean()) / np.concatenate(scores).std(ddof=1)


def test_words_in_templates_are_means_over_all_tokens_of_their_sentences(measured, folder):
    run = measured("seat")
    vectors = {
        word: [states(folder, ids_of(text.replace("_", word)))[1:-1].mean(axis=0) for text in TEMPLATES]
        for word in LISTED
    }
    means = {word: unit(np.stack(part)).mean(axis=0) for word, part in vectors.items()}
    [row], tests = run.rows("associations"), {row["method"]: row for row in run.rows("sentence_tests")}
    assert row["effect_size"] == pytest.approx(d_of(means), abs=1e-4)
    assert (row["num_replicas"], row["p_method"], row["missing_words"]) == (6, "exact", [])
    assert tests["words"]["effect_size"] == pytest.approx(d_of(means), abs=1e-4)
    without = [
        d_of({word: np.delete(unit(np.stack(part)), gone, axis=0).mean(axis=0) for word, part in vectors.items()})
        for gone in range(len(TEMPLATES))
    ]
    found = tests["words"]["least_without"], tests["words"]["most_without"]
    assert found == pytest.approx((min(without), max(without)), abs=1e-4)
    seat = tests["seat"]
    flat = {side: unit(np.concatenate([vectors[word] for word in words])) for side, words in SETS.items()}
    apart = flat["attribute_a"].mean(axis=0) - flat["attribute_b"].mean(axis=0)
    scores = [flat[side] @ apart for side in ("target_x", "target_y")]
    d = (scores[0].mean() - scores[1].mean()) / np.concatenate(scores).std(ddof=1)
    assert (seat["effect_size"], seat["num_sentences"], seat["num_draws"]) == (pytest.approx(d, abs=1e-4), 60, 500)


def test_settings_of_templates_are_used(measured, folder):
    """May et al.'s program gives no [CLS], and takes the first piece; less the mean; without what was published."""
    run = measured(
        "seat",
        "embedding.special=false",
        "embedding.encoder.pooling=first",
        "embedding.published=false",
        "embedding.centred=true",
    )
    assert "sentence_tests" not in run.published
    [row] = run.rows("associations")
    plain = measured("seat", "embedding.special=false", "embedding.encoder.pooling=first")
    means = {
        word: unit(np.stack([states(folder, ids_of(text.replace("_", word))[1:-1])[0] for text in TEMPLATES])).mean(
            axis=0
        )
        for word in LISTED
    }
    assert plain.rows("associations")[0]["effect_size"] == pytest.approx(d_of(means), abs=1e-3)
    assert row["effect_size"] != pytest.approx(d_of(means), abs=1e-3)


def test_words_in_contexts_are_means_over_their_own_tokens(measured, folder, corpus):
    run = measured("ceat", "embedding.num_contexts=60")
    found = {}
    for text in (line for texts in corpus[1] for line in texts):
        words = text.split()
        for place, word in enumerate(words):
            if word in LISTED:
                window = words[max(place - 4, 0) : place + 5]
                hidden = states(folder, ids_of(" ".join(window).lower()))
                found.setdefault(word, []).append(hidden[1 + min(place, 4)])
    means = {word: unit(np.stack(part)).mean(axis=0) for word, part in found.items()}
    [row] = run.rows("associations")
    assert row["effect_size"] == pytest.approx(d_of(means), abs=1e-4)
    assert (row["missing_words"], row["num_replicas"], row["num_targets"]) == (["lily"], 6, 5)
    counts = {row["word"]: row for row in run.rows("word_contexts") if row["word"] in LISTED}
    assert {word: row["num_contexts"] for word, row in counts.items()} == {
        word: len(found.get(word, [])) for word in LISTED
    }
    assert counts["lily"]["status"] == "no_context"
    assert counts["moth"]["num_documents"] == counts["moth"]["num_drawn"] == 1
    rows = {row["method"]: row for row in run.rows("sentence_tests")}
    assert rows["words"]["effect_size"] == pytest.approx(d_of(means), abs=1e-4)
    assert rows["ceat"]["num_draws"] == 200
    assert rows["ceat"]["variance"] > 0


def test_fewer_contexts_are_among_more_of_them_and_another_word_moves_none(measured, word_lists, word_sets):
    more = word_lists(
        "en", associations={"small": word_sets(**SETS | {"target_x": [*SETS["target_x"], "near"]})}, wefats=None
    )
    drawn = {5: contexts_of(measured("ceat", "embedding.num_contexts=5"))}
    drawn[8] = contexts_of(measured("ceat", "embedding.num_contexts=8", "embedding.fold_case=true"))
    other = contexts_of(measured("ceat", "embedding.num_contexts=5", *more[-1:]))
    for word in ("rose", "war"):
        assert drawn[5][word] < drawn[8][word]
        assert drawn[5][word] == other[word]
    assert [len(drawn[num]["moth"]) for num in (5, 8)] == [1, 2], "in lower case there is another moth"
    assert "near" in other
    assert "near" not in drawn[5]


def contexts_of(run):
    """Places of the contexts that were drawn, by word."""
    [path] = (run.path.parent / "store").rglob("drawn_contexts/1/*/contexts*.parquet")
    places = {}
    for row in pq.read_table(path).to_pylist():
        places.setdefault(row["word"], set()).add((row["cluster"], row["line"], row["draw"]))
    return places


def test_a_folder_is_pooled_as_its_own_files_state(measured, folder, tmp_path):
    """A prompt in front, in lower case, by [CLS] and brought to length 1; alone and in templates."""
    place = tmp_path / "stated"
    shutil.copytree(folder, place)
    (place / "1_Pooling").mkdir()
    types = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in types.items()]
    (place / "modules.json").write_text(json.dumps(modules))
    (place / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    prompts = {"default_prompt_name": "ask", "prompts": {"ask": "say "}}
    (place / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    settings = (f"embedding.model={place}", "embedding.encoder.pooling=stated")
    row = measured("seat", *settings).rows("associations")[0]
    vectors = {
        word: unit(np.stack([states(folder, ids_of("say " + text.replace("_", word)))[0] for text in TEMPLATES])).mean(
            axis=0
        )
        for word in LISTED
    }
    assert (row["model"], row["effect_size"]) == ("stated", pytest.approx(d_of(vectors), abs=1e-3))
    alone = {word: states(folder, ids_of(f"say {word}"))[0] for word in LISTED}
    assert measured("alone", *settings).rows("associations")[0]["effect_size"] == pytest.approx(d_of(alone), abs=1e-3)


def test_a_table_of_model2vec_has_no_layers(measured, folder, tmp_path):
    place = tmp_path / "static"
    place.mkdir()
    table = np.random.default_rng(0).standard_normal((5 + len(WORDS), 4)).astype(np.float32)
    save_file({"embeddings": table}, place / "model.safetensors")
    (place / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (place / "config.json").write_text('{"model_type": "model2vec", "normalize": true}')
    with pytest.raises(
        CheckpointError, match=r"is a table of vectors, which has no layers: set embedding\.encoder\.pooling=stated"
    ):
        measured("alone", f"embedding.model={place}")
    row = measured("alone", f"embedding.model={place}", "embedding.encoder.pooling=stated").rows("associations")[0]
    assert row["effect_size"] == pytest.approx(d_of({word: table[5 + WORDS.index(word)] for word in LISTED}), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["seat", "ceat"])
def test_workers_and_a_kill_change_no_table(
    kind, kinds, folder, run_job, tiltmeter, outcome_of, word_sets, word_lists, tmp_path
):
    lists = word_lists("en", associations={"small": word_sets(**SETS)}, wefats=None)
    given = ["job=association", *kinds[kind], f"embedding.model={folder}", *lists, *MIN, "embedding.num_replicas=6"]
    runs = [
        run_job(*given, f"store={tmp_path}/{num}", f"run_dir={tmp_path}/run{num}", f"cluster.num_cpus={num}")
        for num in (1, 2, 4)
    ]
    assert runs[0].digests == runs[1].digests == runs[2].digests
    for victim in ("driver", "worker"):
        (tmp_path / victim).mkdir()
        survive(tiltmeter, outcome_of, tmp_path / victim, given, victim, runs[1])
