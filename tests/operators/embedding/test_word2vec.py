import dataclasses
import hashlib
import io
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tiltmeter.operators.embedding.fasttext import FastTextConfig, FastTextTraining
from tiltmeter.operators.embedding.negative_sampling import BATCH_WORDS, batches
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining

NUM_WORDS = 120
WORDS = [f"{chr(97 + index % 26)}{chr(97 + index // 26)} wort" for index in range(NUM_WORDS)]
TRAININGS = {
    "skip-gram": (Word2VecTraining, Word2VecConfig(dimensions=12, epochs=3)),
    "continuous bag": (Word2VecTraining, Word2VecConfig(dimensions=12, epochs=3, skip_gram=False)),
    "fasttext": (FastTextTraining, FastTextConfig(dimensions=12, epochs=3, num_buckets=500)),
    "fasttext bag": (FastTextTraining, FastTextConfig(dimensions=12, epochs=3, num_buckets=500, skip_gram=False)),
}


def made_up_lines():
    rng = np.random.default_rng(1)
    short = [np.minimum(rng.zipf(1.4, rng.integers(0, 30)) - 1, NUM_WORDS - 2).astype(np.int32) for _ in range(1500)]
    return [*short, np.concatenate(short)[: 2 * BATCH_WORDS + 300]]


LINES = made_up_lines()


def start(kind, replica=0, seed=0, lines=LINES, num_words=NUM_WORDS, **settings):
    training, config = TRAININGS[kind]
    counts = np.bincount(np.concatenate(lines), minlength=num_words)
    config = dataclasses.replace(config, **settings)
    return training(WORDS[:num_words], counts, lambda: iter(lines), replica, seed, config)


def advanced(training, epochs):
    for _ in range(epochs):
        training.advance()
    return training


def same(a, b):
    return all(left.tobytes() == right.tobytes() for left, right in zip(a, b, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("kind", TRAININGS)
def test_epochs_are_those_of_one_call_of_gensim_and_a_saved_training_goes_on_with_the_same_bits(kind):
    ours, theirs, saved = start(kind), start(kind), io.BytesIO()
    np.savez(saved, **advanced(ours, 1).state())
    whole = advanced(ours, 2).result()
    names = np.array(WORDS, dtype=object) if kind.startswith("fasttext") else np.arange(NUM_WORDS)
    sentences = [names[line].tolist() for batch in batches(LINES) for line in batch]
    theirs._model.train(sentences, total_words=sum(map(len, sentences)), epochs=3)
    assert same([whole.vectors], [theirs.result().vectors])
    saved.seek(0)
    resumed = start(kind)
    resumed.restore(np.load(saved, allow_pickle=False))
    assert resumed.epochs_done == 1
    assert same(advanced(resumed, 2).result(), whole)


def digest(kind):
    return hashlib.blake2b(advanced(start(kind), 2).result().vectors.tobytes()).hexdigest()


@pytest.mark.long
def test_nothing_follows_the_hash_of_python():
    """This process has a hash of its own, other than the one that is chosen."""
    module = Path(__file__)
    program = "import runpy, sys; made = runpy.run_path(sys.argv[1]); print(*map(made['digest'], made['TRAININGS']))"
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    command = [sys.executable, "-c", program, str(module)]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.split() == [digest(kind) for kind in TRAININGS]


KEYS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, 0)]
"""Replicas with their seeds; replica -1 is the corpus from another start."""


@pytest.mark.parametrize("kind", ["skip-gram", "fasttext"])
def test_replicas_and_seeds_start_differently_and_an_absent_word_has_no_vector(kind):
    trained = [start(kind, replica, seed).result().vectors for replica, seed in KEYS]
    assert same([trained[0]], [trained[-1]])
    assert np.isnan(trained[0]).all(axis=1).tolist() == [False] * (NUM_WORDS - 1) + [True]
    assert all((trained[0] != other)[:-1].all() for other in trained[1:-1])


def test_two_steps_by_hand():
    # One word beside itself: noise words equal to the context are passed over, so both steps have one term. From an
    # output vector 0 and s(0) = 1/2, with r the rate: c = r/2 w, then w + (r/2)^2 w and r w.
    line = np.zeros(2, np.int32)
    training = start("skip-gram", lines=[line], num_words=1, sample=0, window=1, epochs=1, learning_rate=0.2)
    initial = training.result().vectors
    training.advance()
    assert training.result().losses == pytest.approx([math.log(2)], abs=0.013)  # the table's step
    assert training.result().vectors == pytest.approx(initial * 1.01, rel=1e-3)
    assert training.state()["outputs"] == pytest.approx(initial * 0.2, rel=0.02)
    assert np.abs(initial).max() <= 1 / 12


def test_lines_longer_than_a_batch_are_cut_and_lose_no_word():
    from gensim.models.word2vec import MAX_WORDS_IN_BATCH

    assert BATCH_WORDS == MAX_WORDS_IN_BATCH
    cut = list(batches(LINES))
    assert max(sum(line.size for line in batch) for batch in cut) <= BATCH_WORDS
    assert [line.size for line in cut[-3] + cut[-2] + cut[-1]][-3:] == [BATCH_WORDS, BATCH_WORDS, 300]
    assert np.concatenate([line for batch in cut for line in batch]).tolist() == np.concatenate(LINES).tolist()


def test_lines_that_break_off_disagree_with_counts_or_diverge_are_refused():
    def broken():
        yield from LINES[:400]
        raise OSError("the shard is gone")

    counts, config = np.bincount(np.concatenate(LINES), minlength=NUM_WORDS), Word2VecConfig(dimensions=4)
    with pytest.raises(OSError, match="the shard is gone"):
        Word2VecTraining(WORDS, counts, broken, 0, 0, config).advance()
    with pytest.raises(ValueError, match=rf"replica 2: its lines hold \d+ words, its counts {counts.sum()}"):
        Word2VecTraining(WORDS, counts, lambda: LINES[1:], 2, 0, config).advance()
    with pytest.raises(ValueError, match="replica 2 has no word"):
        Word2VecTraining(WORDS, counts * 0, list, 2, 0, config)
    diverging = start("skip-gram", 3, lines=[LINES[-1]] * 10, learning_rate=0.25, window=20, negative=50, sample=0)
    with pytest.raises(ValueError, match=r"replica 3 diverged in epoch 1: set embedding.trainer.learning_rate below"):
        advanced(diverging, 3)


def test_a_state_of_other_settings_or_of_a_diverged_training_is_refused():
    state = start("skip-gram").state()
    with pytest.raises(ValueError, match=r"replica 1: the saved vectors are float32\[119, 12\], and not float32"):
        start("skip-gram", 1, dimensions=13).restore(state)
    with pytest.raises(ValueError, match="diverged"):
        start("skip-gram").restore(state | {"outputs": np.full_like(state["outputs"], np.nan)})
