import functools
from itertools import combinations

import numba
import numpy as np
import pytest

from tiltmeter.operators.embedding import glove
from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR, count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.tiles import Tiling, rounds, shuffled_in_tiles, tiled_pairs

NUM_WORDS = 1500


@pytest.fixture(scope="module")
def text():
    """Counts of a made-up text: words of 30 topics, with Zipf's frequencies inside a topic."""
    rng = np.random.default_rng(5)
    topics = rng.integers(0, 30, 2000)
    ranks = np.minimum(np.exp(rng.uniform(0, np.log(120), (2000, 30))).astype(np.int64) - 1, 119)
    common = rng.random((2000, 30)) < 0.4
    tokens = np.where(common, ranks % 60, 60 + topics[:, None] * 48 + ranks % 48).astype(np.int32).ravel()
    multiplicities = np.stack([np.ones(2000), rng.poisson(1, 2000)], axis=1).astype(np.uint8)
    offsets = np.arange(2001, dtype=np.int64) * 30
    return tokens, offsets, multiplicities


def counted(text, tile_words):
    """Pairs and counts in the order of training."""
    tiling = Tiling(NUM_WORDS, tile_words)
    counts = count_pairs(*text, tiling, window=10)
    order = shuffled_in_tiles(counts.names, tiling, 0)
    return tiling, tiled_pairs(counts.names[order], tiling), [column[order] for column in counts.counts]


def trained(tiling, pairs, counts, replica, config, seed=0, **layout):
    training = GloveTraining(pairs, [counts], tiling, replica, seed, config, **layout)
    for _ in range(config.epochs):
        training.advance()
    return training.result()


@numba.njit(cache=True)
def plain_adagrad(w, c, bw, bc, rows, columns, counts, orders, rate, x_max, alpha):
    """GloVe as the paper writes it: one list of ordered pairs, whole-list shuffles, separate biases, float64.

    Dimension by dimension, which compiles in a tenth of the time of array expressions.
    """
    gw, gc, gbw, gbc = np.ones_like(w), np.ones_like(c), np.ones_like(bw), np.ones_like(bc)
    losses = np.zeros(len(orders))
    for epoch in range(len(orders)):
        for p in orders[epoch]:
            i, j = rows[p], columns[p]
            error = bw[i] + bc[j] - np.log(counts[p])
            for d in range(w.shape[1]):
                error += w[i, d] * c[j, d]
            weight = min(1.0, (counts[p] / x_max) ** alpha)
            losses[epoch] += 0.5 * weight * error**2 / rows.size
            step = rate * weight * error
            for d in range(w.shape[1]):
                w_step, c_step = step * c[j, d], step * w[i, d]
                w[i, d] -= w_step / np.sqrt(gw[i, d])
                c[j, d] -= c_step / np.sqrt(gc[j, d])
                gw[i, d] += w_step**2
                gc[j, d] += c_step**2
            bw[i] -= step / np.sqrt(gbw[i])
            bc[j] -= step / np.sqrt(gbc[j])
            gbw[i] += step**2
            gbc[j] += step**2
    return losses


def plain_reference(pairs, counts, config, seed=3):
    present = counts > 0
    i, j = pairs.rows[present], pairs.columns[present]
    x = counts[present] / UNITS_PER_PAIR
    mirrored = i != j
    rows, columns = np.append(i, j[mirrored]), np.append(j, i[mirrored])
    x = np.append(x, x[mirrored])
    rng = np.random.default_rng(seed)
    w, c = (rng.uniform(-0.5, 0.5, (NUM_WORDS, config.dimensions)) / config.dimensions for _ in range(2))
    bw, bc = (rng.uniform(-0.5, 0.5, NUM_WORDS) / config.dimensions for _ in range(2))
    orders = np.stack([rng.permutation(rows.size) for _ in range(config.epochs)])
    return plain_adagrad(w, c, bw, bc, rows, columns, x, orders, config.learning_rate, config.x_max, config.alpha)


@pytest.fixture(scope="module")
def reference_loss(text):
    """What the reference arrives at in 15 epochs, of a replica; tiles are nothing to it."""
    _, pairs, counts = counted(text, 2048)
    return functools.cache(lambda replica: plain_reference(pairs, counts[replica], GloveConfig())[-1])


@pytest.mark.parametrize("tile_words", [100, 2048])
@pytest.mark.parametrize("replica", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_loss_after_15_epochs_is_that_of_a_plain_untiled_reference(text, reference_loss, replica, tile_words):
    tiling, pairs, counts = counted(text, tile_words)
    found = trained(tiling, pairs, counts[replica], replica, GloveConfig())
    assert found.losses[-1] == pytest.approx(reference_loss(replica), rel=0.02)


def one_pair(first=0, second=1):
    tiling = Tiling(4, 4)
    return tiling, tiled_pairs(np.array([first * 4 + second]), tiling)


def test_one_pair_by_hand():
    # Two words, one pair with X = 4: every number of the two steps of an epoch follows from the initial values.
    config = GloveConfig(dimensions=2, epochs=1, x_max=16.0)
    tiling, pairs = one_pair()
    words, contexts = glove.initial_vectors(4, 0, 0, 2).astype(np.float64)
    loss = 0.0
    for visit in rounds(pairs, 1, epoch=0, seed=0).visits:
        i, j = (0, 1) if visit == 0 else (1, 0)
        (w, w_squares), (c, c_squares) = words[i], contexts[j]
        error = w[:2] @ c[:2] + w[2] + c[3] - np.log(4)
        loss += 0.5 * (4 / 16) ** 0.75 * error**2 / 2
        step = 0.05 * (4 / 16) ** 0.75 * error
        w_step, c_step = step * c, step * w
        w[:3] -= (w_step / np.sqrt(w_squares))[:3]
        c[[0, 1, 3]] -= (c_step / np.sqrt(c_squares))[[0, 1, 3]]
        w_squares[:3] += w_step[:3] ** 2
    found = trained(tiling, pairs, np.array([4 * UNITS_PER_PAIR]), 0, config)
    assert found.losses == pytest.approx([loss], rel=1e-6)
    assert found.vectors[:2] == pytest.approx((words[:, 0] + contexts[:, 0])[:2, :2], rel=1e-5)
    assert np.isnan(found.vectors[2:]).all()


def test_a_saved_state_goes_on_with_the_same_bits(text):
    config = GloveConfig(dimensions=10, epochs=4)
    tiling, pairs, counts = counted(text, 256)
    first = GloveTraining(pairs, counts[1:], tiling, 1, 0, config)
    first.advance()
    first.advance()
    saved = {name: values.copy() for name, values in first.state().items()}
    second = GloveTraining(pairs, counts[1:], tiling, 1, 0, config)
    second.restore(saved)
    assert second.epochs_done == 2
    second.advance()
    second.advance()
    whole, resumed = trained(tiling, pairs, counts[1], 1, config), second.result()
    assert resumed.vectors.tobytes() == whole.vectors.tobytes()
    assert resumed.losses.tolist() == whole.losses.tolist()


@pytest.mark.parametrize("num_pieces", [2, 7])
def test_counts_in_pieces_and_slices_give_the_same_bits(text, num_pieces, monkeypatch):
    config = GloveConfig(dimensions=10, epochs=2)
    tiling, pairs, counts = counted(text, 256)
    whole = trained(tiling, pairs, counts[1], 1, config)
    monkeypatch.setattr(glove, "_PAIRS_PER_SLICE", 1000)
    training = GloveTraining(pairs, np.array_split(counts[1], num_pieces), tiling, 1, 0, config)
    training.advance()
    training.advance()
    assert training.result().vectors.tobytes() == whole.vectors.tobytes()
    assert training.result().losses.tolist() == whole.losses.tolist()


@pytest.mark.parametrize("tile_words", [100, 700, 2048])
def test_any_number_of_threads_gives_the_same_bits(text, tile_words):
    config = GloveConfig(dimensions=10, epochs=3)
    tiling, pairs, counts = counted(text, tile_words)
    alone, *shared = (trained(tiling, pairs, counts[1], 1, config, num_threads=threads) for threads in (1, 2, 3, 7))
    assert {found.vectors.tobytes() for found in shared} == {alone.vectors.tobytes()}
    assert {found.losses.tobytes() for found in shared} == {alone.losses.tobytes()}


def test_replicas_and_starts_and_seeds_start_differently():
    keys = [(0, 0), (1, 0), (-1, 0), (-2, 0), (0, 1)]
    starts = [glove.initial_vectors(5, replica, seed, 10) for replica, seed in keys]
    assert all((a != b).any() for a, b in combinations(starts, 2))
    assert np.abs(starts[0][0, :, 0, :11]).max() <= 0.5 / 11


def test_a_word_without_pairs_has_no_vector():
    tiling = Tiling(4, 4)
    pairs = tiled_pairs(np.array([0 * 4 + 1, 2 * 4 + 2]), tiling)
    found = trained(tiling, pairs, np.array([0, UNITS_PER_PAIR]), 1, GloveConfig(dimensions=3, epochs=1))
    assert np.isnan(found.vectors).all(axis=1).tolist() == [True, True, False, True]


@pytest.mark.parametrize("epochs", [1, 3])
def test_divergence_is_refused(text, epochs):
    config = GloveConfig(dimensions=10, epochs=epochs, learning_rate=1e6)
    tiling, pairs, counts = counted(text, 256)
    with pytest.raises(ValueError, match=r"embedding\.trainer\.learning_rate below 1000000"):
        trained(tiling, pairs, counts[0], 0, config)
