"""`python -m benchmarks.coverage` on a small corpus: it is read and trained once, and every table comes of it."""

import json

import numpy as np
import pytest

from benchmarks.coverage.__main__ import tables
from benchmarks.coverage.quantities import measure
from benchmarks.coverage.study import KINDS, Recipe, Study
from benchmarks.coverage.training import CORPORA, STARTS, Corpus, total_cost, variants

pytestmark = pytest.mark.slow

_TEXT = "she he woman man girl boy queen king mother father nurse teacher writer engineer cook lawyer the of and"
_SETTINGS = {"embedding.trainer.dimensions": 4, "embedding.trainer.epochs": 2, "cluster.num_cpus": 1}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    pages = [
        {
            "id": str(page),
            "title": f"t{page}",
            "text": "\n".join(" ".join(rng.choice(_TEXT.split(), 12)) for _ in range(9)),
        }
        for page in range(90)
    ]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    monkeypatch.setattr("benchmarks.coverage.training.DATA", tmp_path)
    monkeypatch.setitem(CORPORA, "simple", Corpus("en", "pages.jsonl", 3))
    return "simple"


def test_a_small_corpus_is_trained_once_and_measured(corpus, tmp_path):
    chosen = {corpus: variants(corpus, num_replicas=2)}
    study = Study(measure(tmp_path, chosen, _SETTINGS))
    # Exponential weights: two replicas, and the sample from four starts; Poisson counts: two, and the sample from one.
    # Where documents are drawn the samples are the same, and two replicas are new. With one size none are larger.
    assert total_cost(tmp_path).num_models == 3 * (6 + 3 + 2 + 2) + 3
    assert study.values(corpus, "exponential", "pse").starts.shape[:2] == (STARTS, 3)
    own = study.coverage([corpus], list(KINDS), Recipe("exponential", "centred", 2), "its own estimate")
    assert own == (1.0, 0.0)
    texts = tables(study)
    assert all("| simple | PSE of an occupation | " in texts[name] for name in ("coverage_spread", "coverage_noise"))
    cost = total_cost(tmp_path)
    again = measure(tmp_path, chosen, _SETTINGS)
    assert total_cost(tmp_path) == cost
    assert again.equals(study.rows)
