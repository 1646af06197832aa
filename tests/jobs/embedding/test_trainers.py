"""Trainers through the whole job: the same bits at any layout, after a kill, and from a saved state."""

import copy
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.training import LineTraining, PairTraining
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.store.ledger import Store, Unit

NUM_EPOCHS = 40
TRAINERS = {
    "glove": ["embedding=glove"],
    "word2vec": ["embedding=word2vec"],
    "fasttext": ["embedding=fasttext", "embedding.trainer.num_buckets=500"],
}
TINY = [
    "job=bootstrap",
    "embedding.num_replicas=2",
    "embedding.resampling.unit=line",
    "embedding.min_count=2",
    "embedding.trainer.dimensions=4",
    f"embedding.trainer.epochs={NUM_EPOCHS}",
]
USUAL = ["cluster.num_cpus=2"]
OTHER = ["cluster.num_cpus=1", "reading.shard_megabytes=0.004", "embedding.checkpoint_seconds=0"]


@pytest.fixture(scope="module")
def corpus(made_up, write_lines, one_corpus, tmp_path_factory):
    """A small corpus, with a word that is so rare that a replica lacks it."""
    documents = [*made_up("en"), {"id": "rare", "text": "rarity rarity"}]
    return one_corpus("en", write_lines(tmp_path_factory.mktemp("corpus") / "en.jsonl", documents))


@pytest.fixture(scope="module")
def usual(run_here, corpus, tmp_path_factory):
    """What each trainer gives in the usual layout; trained when first asked for."""
    done = {}

    def run(trainer):
        if trainer not in done:
            store = tmp_path_factory.mktemp(trainer)
            done[trainer] = run_here(*corpus, *TRAINERS[trainer], *TINY, *USUAL, f"store={store}")
        return done[trainer]

    return run


@dataclass(frozen=True)
class MortalWork:
    """Work that kills its worker once, when so many states have been saved.

    Attributes:
        work: what is done.
        saves: a file with a line for each state: its unit and its epochs.
        num_saves: the death comes with that line.
    """

    work: Callable[[Store, Unit], Tables]
    saves: Path
    num_saves: int

    def __call__(self, store: Store, unit: Unit) -> Tables:
        watched = copy.copy(store)
        watched.save_state = partial(self._save, store)
        return self.work(watched, unit)

    def _save(self, store: Store, unit: Unit, state: Mapping[str, np.ndarray]) -> None:
        store.save_state(unit, state)
        with self.saves.open("a") as file:
            print(unit.place, state["losses"].size, file=file)
        if len(self.saves.read_text().splitlines()) == self.num_saves:
            os.kill(os.getpid(), signal.SIGKILL)


def mortal(work, saves, *settings):
    return MortalWork(work(*settings), saves, num_saves=12)


@pytest.mark.parametrize(
    "trainer", ["glove", *(pytest.param(name, marks=pytest.mark.slow) for name in ("word2vec", "fasttext"))]
)
def test_a_kill_in_the_middle_of_training_goes_on_from_the_saved_state(
    usual, run_job, corpus, tmp_path, monkeypatch, trainer
):
    expected, saves = usual(trainer).digests, tmp_path / "saves"
    for work in (PairTraining, LineTraining):
        monkeypatch.setattr(f"tiltmeter.jobs.embedding.training.{work.__name__}", partial(mortal, work, saves))
    run = run_job(*corpus, *TRAINERS[trainer], *TINY, *OTHER, f"store={tmp_path}/store")
    assert run.stage("train")["num_worker_deaths"] == 1
    states = [line.split() for line in saves.read_text().splitlines()]
    epochs = {unit: [int(num_epochs) for place, num_epochs in states if place == unit] for unit, _ in states}
    # Each once: from the beginning again, the first 12 of a replica would come twice.
    assert list(epochs.values()) == [[*range(1, NUM_EPOCHS + 1)]] * 3
    assert run.num_done("tokens") > 1
    assert run.digests == expected
    assert not [path for path in (tmp_path / "store/states").rglob("*") if path.is_file()]


def test_more_replicas_leave_what_is_read_alone(usual, run_here, corpus):
    store = usual("word2vec").path.parents[2]
    settings = [*corpus, *TRAINERS["word2vec"], *TINY, *USUAL, f"store={store}"]
    more = run_here(*settings, "embedding.num_replicas=3")
    assert (more.num_done("train"), more.stage("train")["num_reused"]) == (1, 3)
    assert more.record["units"]["done"] == 1


def on_disk(checkpoint_seconds, _, scratch, num_threads=1):
    return PairTraining(checkpoint_seconds, memory_bytes=0, scratch=scratch, num_threads=num_threads)


@pytest.mark.slow
def test_pairs_beyond_memory_are_kept_on_the_disk_and_give_the_same_bits(
    usual, run_here, corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr("tiltmeter.jobs.embedding.training.PairTraining", on_disk)
    settings = [*corpus, *TINY, *USUAL, f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed, match=r"replica 0: StorageError: .*/nowhere: No such file.*cluster.scratch=<path>"):
        run_here(*settings, f"cluster.scratch={tmp_path}/nowhere")
    (tmp_path / "scratch").mkdir()
    assert run_here(*settings, f"cluster.scratch={tmp_path}/scratch").digests == usual("glove").digests
    assert not list((tmp_path / "scratch").iterdir())


def test_cuda_without_a_gpu_is_refused_with_advice(run_here, corpus, tmp_path):
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        run_here(*corpus, *TINY, "embedding.device=cuda", f"store={tmp_path}")


@pytest.mark.parametrize("trainer", ["word2vec", "fasttext"])
def test_cuda_is_for_glove_only(configured, trainer):
    with pytest.raises(ConfigError, match=rf"embedding.device=cuda: {trainer} trains on CPUs only; set embedding.dev"):
        configured(*TRAINERS[trainer], "job=bootstrap", "embedding.device=cuda")
