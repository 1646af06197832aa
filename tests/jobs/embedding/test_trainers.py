"""Trainers through the whole job: the same bits after a kill, from a saved state; and a GPU that is not there."""

import copy
import os
import signal
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.jobs.embedding.tiny import BOOTSTRAP
from tiltmeter.cluster.config import ClusterError
from tiltmeter.jobs.embedding.replicas import TrainFastText, TrainOnPairs, TrainWord2Vec
from tiltmeter.jobs.runtime.work import aside
from tiltmeter.storage.store.ledger import Store, Unit

NUM_EPOCHS = 40
TRAINERS = {
    "glove": ["embedding=glove"],
    "word2vec": ["embedding=word2vec"],
    "fasttext": ["embedding=fasttext", "embedding.trainer.num_buckets=500"],
}
TINY = [*BOOTSTRAP, "embedding.resampling.unit=line", f"embedding.trainer.epochs={NUM_EPOCHS}"]
OTHER = ["reading.shard_megabytes=0.004", "embedding.checkpoint_seconds=0"]


@pytest.fixture(scope="module")
def corpus(made_up, write_lines, one_corpus, tmp_path_factory):
    """A small corpus, with a word that is so rare that a replica lacks it."""
    documents = [*made_up("en"), {"id": "rare", "text": "rarity rarity"}]
    return one_corpus("en", write_lines(tmp_path_factory.mktemp("corpus") / "en.jsonl", documents))


class Mortal:
    """Work that kills its worker once, with the twelfth state that has been saved.

    Attributes:
        saves: a file with a line for each state: its unit and its epochs.
    """

    @classmethod
    def batch(cls, store, works, num_threads):
        for work in works:
            watched = copy.copy(store)
            watched.save_state = partial(work.save, store)
            yield from super().batch(watched, [work], num_threads)

    def save(self, store: Store, unit: Unit, state: Mapping[str, np.ndarray]) -> None:
        store.save_state(unit, state)
        with self.saves.open("a") as file:
            print(unit.place, state["losses"].size, file=file)
        if len(self.saves.read_text().splitlines()) == 12:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalPairs(Mortal, TrainOnPairs, unit=TrainOnPairs.operator_name):
    saves: Any = aside(default=None)


class MortalWord2Vec(Mortal, TrainWord2Vec, unit=TrainWord2Vec.operator_name):
    saves: Any = aside(default=None)


class MortalFastText(Mortal, TrainFastText, unit=TrainFastText.operator_name):
    saves: Any = aside(default=None)


MORTAL = {"TrainOnPairs": MortalPairs, "TrainWord2Vec": MortalWord2Vec, "TrainFastText": MortalFastText}


@pytest.mark.parametrize(
    "trainer", ["glove", *(pytest.param(name, marks=pytest.mark.slow) for name in ("word2vec", "fasttext"))]
)
def test_a_kill_in_the_middle_of_training_goes_on_from_the_saved_state(
    run_here, run_job, corpus, tmp_path, monkeypatch, trainer
):
    settings, saves = [*corpus, *TRAINERS[trainer], *TINY], tmp_path / "saves"
    expected = run_here(*settings, f"store={tmp_path}/usual").digests
    for name, mortal in MORTAL.items():
        monkeypatch.setattr(f"tiltmeter.jobs.embedding.replicas.{name}", partial(mortal, saves=saves))
    run = run_job(*settings, *OTHER, f"store={tmp_path}/store")
    assert run.stage("train")["num_worker_deaths"] == 1
    states = [line.split() for line in saves.read_text().splitlines()]
    epochs = {unit: [int(num_epochs) for place, num_epochs in states if place == unit] for unit, _ in states}
    # Each once: from the beginning again, the first 12 of a replica would come twice.
    assert list(epochs.values()) == [[*range(1, NUM_EPOCHS + 1)]] * 3
    assert run.num_done("tokens") > 1
    assert run.digests == expected
    assert not [path for path in (tmp_path / "store/states").rglob("*") if path.is_file()]


def test_cuda_without_a_gpu_is_refused_with_advice(run_here, corpus, tmp_path):
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        run_here(*corpus, *TINY, "embedding.device=cuda", f"store={tmp_path}")
