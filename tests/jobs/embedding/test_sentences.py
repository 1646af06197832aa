"""Words in sentences, from templates and from contexts of a corpus, through the whole job, on a small BERT."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from transformers import BertModel

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
def measured(run_here, folder, corpus, word_lists, word_sets, tmp_path_factory):
    lists = word_lists("en", associations={"small": word_sets(**SETS)}, wefats=None)
    templates = f"embedding.templates.en={json.dumps(TEMPLATES)}"
    kinds = {
        "seat": ("embedding=seat", templates, "job.num_draws=500"),
        "ceat": (
            "embedding=ceat",
            "corpus=file",
            f"corpus.path={corpus[0]}",
            "corpus.language=en",
            "job.num_draws=200",
        ),
    }

    @cache
    def measure(kind, *settings):
        place = tmp_path_factory.mktemp("encoded")
        given = ("job=association", *kinds[kind], f"embedding.model={folder}", *lists, *MIN)
        return run_here(*given, "embedding.num_replicas=6", f"store={place}/store", f"run_dir={place}/run", *settings)

    return measure


def test_seat(measured):
    run = measured("seat")
    print(run.rows("associations"), run.rows("sentence_tests"))


def test_ceat(measured):
    run = measured("ceat")
    print(run.rows("associations"), run.rows("sentence_tests"), run.rows("word_contexts"))
