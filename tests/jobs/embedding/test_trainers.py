"""Trainers through the whole job: the same bits at any layout, after a kill, and from a saved state."""

import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from tiltmeter.cluster.connection import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.training import PairTraining
from tiltmeter.jobs.runtime.config import ConfigError

NUM_EPOCHS = 40
TRAINERS = {
    "glove": ["embedding=glove"],
    "word2vec": ["embedding=word2vec"],
    "fasttext": ["embedding=fasttext", "embedding.trainer.num_buckets=500"],
}
TINY = [
    "job=bootstrap",
    "embedding.num_replicas=2",
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
def usual(run_job, corpus, tmp_path_factory):
    """What each trainer gives in the usual layout; trained when first asked for."""
    done = {}

    def run(trainer):
        if trainer not in done:
            store = tmp_path_factory.mktemp(trainer)
            done[trainer] = run_job(*corpus, *TRAINERS[trainer], *TINY, *USUAL, f"store={store}")
        return done[trainer]

    return run


def saved_epochs(state: Path) -> int:
    with np.load(state) as arrays:
        return arrays["losses"].size


def is_at_a_batch(worker) -> bool:
    try:
        return "ray::_Worker" in (name := " ".join(worker.cmdline())) and ".run" in name
    except psutil.NoSuchProcess:
        return False


class Killer(threading.Thread):
    """Kills the worker at work once its training has saved so many epochs, and watches the state from then on.

    Attributes:
        at_kill: epochs of the state that the dead worker left.
        later: epochs of the states that were seen after it.
    """

    def __init__(self, worker_processes, store: Path, num_epochs: int) -> None:
        super().__init__()
        self._worker_processes = worker_processes
        self.at_kill, self.later = 0, [0]
        self._states, self._num_epochs, self.ended = store / "states", num_epochs, threading.Event()

    def run(self) -> None:
        state = self._state_so_far()
        if state is None:
            return
        [worker] = [process for process in self._worker_processes() if is_at_a_batch(process)]
        worker.kill()
        worker.wait(10)
        self.at_kill = saved_epochs(state)
        self.later.clear()
        while state.exists() and not self.ended.is_set():
            self._watch(state)

    def _state_so_far(self) -> Path | None:
        while not self.ended.is_set():
            for state in self._states.rglob("*.npz"):
                if self._epochs(state) >= self._num_epochs:
                    return state
            time.sleep(0.001)
        return None

    def _watch(self, state: Path) -> None:
        if epochs := self._epochs(state):
            self.later.append(epochs)

    def _epochs(self, state: Path) -> int:
        try:
            return saved_epochs(state)
        except FileNotFoundError:
            return 0


@contextmanager
def killed_in_training(worker_processes, store: Path, num_epochs: int):
    killer = Killer(worker_processes, store, num_epochs)
    killer.start()
    try:
        yield killer
    finally:
        killer.ended.set()
        killer.join()


@pytest.mark.parametrize(
    "trainer", ["glove", *(pytest.param(name, marks=pytest.mark.slow) for name in ("word2vec", "fasttext"))]
)
def test_a_kill_in_the_middle_of_training_goes_on_from_the_saved_state(
    usual, run_job, worker_processes, corpus, tmp_path, trainer
):
    with killed_in_training(worker_processes, tmp_path, num_epochs=12) as killer:
        run = run_job(*corpus, *TRAINERS[trainer], *TINY, *OTHER, f"store={tmp_path}")
    assert run.stage("train")["num_worker_deaths"] == 1
    assert 12 <= killer.at_kill < NUM_EPOCHS
    # From the beginning again, the first saves would have had 1, 2, 3, ... epochs.
    assert killer.later[0] >= killer.at_kill
    assert killer.later == sorted(killer.later)
    assert run.num_done("tokens") > 1
    assert run.digests == usual(trainer).digests
    assert not [path for path in (tmp_path / "states").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "trainer", ["glove", *(pytest.param(name, marks=pytest.mark.slow) for name in ("word2vec", "fasttext"))]
)
def test_replica_0_is_the_original_corpus_and_losses_are_where_the_trainer_has_them(usual, trainer):
    run = usual(trainer)
    losses = run.table("training")
    assert losses.num_rows == 3 * NUM_EPOCHS
    assert losses["epoch"].to_pylist() == [*range(1, NUM_EPOCHS + 1)] * 3
    assert losses["loss"].null_count == (losses.num_rows if trainer == "fasttext" else 0)
    words = run.table("vocabulary").filter(run.table("vocabulary")["status"].to_numpy(zero_copy_only=False) == "ok")
    parts = run.parts("en")
    for replica, part in enumerate(parts.values()):
        assert part["word"].to_pylist() == words["word"].to_pylist()
        assert set(part["replica"].to_pylist()) == {replica}
    first, *others = parts.values()
    assert first["vector"].null_count == 0
    assert any(part["vector"].null_count == 1 for part in others), "no replica lacks the word of one line"


def test_more_replicas_and_other_settings_leave_what_is_read_alone(usual, run_job, corpus, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(usual("word2vec").path.parents[2], store)
    settings = [*corpus, *TRAINERS["word2vec"], *TINY, *USUAL, f"store={store}"]
    more = run_job(*settings, "embedding.num_replicas=3")
    assert (more.num_done("train"), more.stage("train")["num_reused"]) == (1, 3)
    assert more.record["units"]["done"] == 1


def on_disk(checkpoint_seconds, _, scratch):
    return PairTraining(checkpoint_seconds, memory_bytes=0, scratch=scratch)


@pytest.mark.slow
def test_pairs_beyond_memory_are_kept_on_the_disk_and_give_the_same_bits(usual, run_job, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("tiltmeter.jobs.embedding.training.PairTraining", on_disk)
    settings = [*corpus, *TINY, *USUAL, f"store={tmp_path}/store"]
    with pytest.raises(UnitsFailed, match=r"replica 0: StorageError: .*/nowhere: No such file.*cluster.scratch=<path>"):
        run_job(*settings, f"cluster.scratch={tmp_path}/nowhere")
    (tmp_path / "scratch").mkdir()
    assert run_job(*settings, f"cluster.scratch={tmp_path}/scratch").digests == usual("glove").digests
    assert not list((tmp_path / "scratch").iterdir())


def test_cuda_without_a_gpu_is_refused_with_advice(run_job, corpus, tmp_path):
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        run_job(*corpus, *TINY, "embedding.device=cuda", f"store={tmp_path}")


@pytest.mark.parametrize("trainer", ["word2vec", "fasttext"])
def test_cuda_is_for_glove_only(configured, trainer):
    with pytest.raises(ConfigError, match=rf"embedding.device=cuda: {trainer} trains on CPUs only; set embedding.dev"):
        configured(*TRAINERS[trainer], "job=bootstrap", "embedding.device=cuda")
