import dataclasses

import numba
import numpy as np
import pytest

from operators import glove
from operators.cooccurrence import UNITS_PER_PAIR, CooccurrenceConfig, count_pairs
from operators.glove import GloveConfig, tile_pairs, train_replica

NUM_WORDS = 1500


@pytest.fixture(scope="module")
def pairs():
    """Counts of a made-up text: words of 30 topics, with Zipf's frequencies inside a topic."""
    rng = np.random.default_rng(5)
    topics = rng.integers(0, 30, 4000)
    ranks = np.minimum(np.exp(rng.uniform(0, np.log(120), (4000, 30))).astype(np.int64) - 1, 119)
    common = rng.random((4000, 30)) < 0.4
    tokens = np.where(common, ranks % 60, 60 + topics[:, None] * 48 + ranks % 48).astype(np.int32).ravel()
    multiplicities = np.stack([np.ones(4000), rng.poisson(1, 4000)], axis=1).astype(np.uint8)
    offsets = np.arange(4001, dtype=np.int64) * 30
    [counted] = count_pairs(tokens, offsets, multiplicities, CooccurrenceConfig(num_blocks=1))
    return counted


@numba.njit
def plain_adagrad(w, c, bw, bc, rows, columns, counts, orders, rate, x_max, alpha):
    """GloVe as the paper writes it: one list of ordered pairs, whole-list shuffles, separate biases, float64."""
    gw, gc, gbw, gbc = np.ones_like(w), np.ones_like(c), np.ones_like(bw), np.ones_like(bc)
    losses = np.zeros(len(orders))
    for epoch in range(len(orders)):
        for p in orders[epoch]:
            i, j = rows[p], columns[p]
            error = w[i] @ c[j] + bw[i] + bc[j] - np.log(counts[p])
            weight = min(1.0, (counts[p] / x_max) ** alpha)
            losses[epoch] += 0.5 * weight * error**2 / rows.size
            step = rate * weight * error
            w_step, c_step = step * c[j], step * w[i]
            w[i] -= w_step / np.sqrt(gw[i])
            c[j] -= c_step / np.sqrt(gc[j])
            bw[i] -= step / np.sqrt(gbw[i])
            bc[j] -= step / np.sqrt(gbc[j])
            gw[i] += w_step**2
            gc[j] += c_step**2
            gbw[i] += step**2
            gbc[j] += step**2
    return losses


def plain_reference(pairs, replica, config, seed=3):
    present = pairs.counts[replica] > 0
    i, j = pairs.first[present], pairs.second[present]
    x = pairs.counts[replica][present] / UNITS_PER_PAIR
    mirrored = i != j
    rows, columns = np.append(i, j[mirrored]), np.append(j, i[mirrored])
    counts = np.append(x, x[mirrored])
    rng = np.random.default_rng(seed)
    w, c = (rng.uniform(-0.5, 0.5, (NUM_WORDS, config.dimensions)) / config.dimensions for _ in range(2))
    bw, bc = (rng.uniform(-0.5, 0.5, NUM_WORDS) / config.dimensions for _ in range(2))
    orders = np.stack([rng.permutation(rows.size) for _ in range(config.epochs)])
    return plain_adagrad(w, c, bw, bc, rows, columns, counts, orders, config.learning_rate, config.x_max, config.alpha)


@pytest.mark.parametrize("tile_words", [100, 1024])
@pytest.mark.parametrize("replica", [0, 1])
def test_loss_after_15_epochs_is_that_of_a_plain_untiled_reference(pairs, replica, tile_words):
    config = GloveConfig(tile_words=tile_words)
    tiled = tile_pairs(pairs.first, pairs.second, NUM_WORDS, 0, config)
    trained = train_replica(tiled, pairs.counts[replica], NUM_WORDS, replica, 0, config)
    assert trained.losses[-1] == pytest.approx(plain_reference(pairs, replica, config)[-1], rel=0.02)


def test_one_pair_by_hand():
    # Two words, one pair with X = 4: every number of the two steps of an epoch follows from the initial values.
    config = GloveConfig(dimensions=2, epochs=1, x_max=16.0)
    tiled = tile_pairs(np.array([0], np.int32), np.array([1], np.int32), 2, 0, config)
    words, contexts = glove._initial_vectors(2, 0, 0, 2).astype(np.float64)
    loss = 0.0
    swapped = [visit == 1 for visit in glove._tile_visits(1, 0, 0)]
    for i, j in [(1, 0) if swap else (0, 1) for swap in swapped]:
        (w, w_squares), (c, c_squares) = words[i], contexts[j]
        error = w[:2] @ c[:2] + w[2] + c[3] - np.log(4)
        loss += 0.5 * (4 / 16) ** 0.75 * error**2 / 2
        step = 0.05 * (4 / 16) ** 0.75 * error
        w_step, c_step = step * c, step * w
        w[:3] -= (w_step / np.sqrt(w_squares))[:3]
        c[[0, 1, 3]] -= (c_step / np.sqrt(c_squares))[[0, 1, 3]]
        w_squares[:3] += w_step[:3] ** 2
    trained = train_replica(tiled, np.array([4 * UNITS_PER_PAIR]), 2, 0, 0, config)
    assert trained.losses == pytest.approx([loss], rel=1e-6)
    assert trained.vectors == pytest.approx((words[:, 0] + contexts[:, 0])[:, :2], rel=1e-5)


def test_the_order_of_the_input_and_of_replicas_changes_no_bit(pairs):
    config = GloveConfig(dimensions=10, epochs=2, tile_words=256)
    whole = tile_pairs(pairs.first, pairs.second, NUM_WORDS, 0, config)
    order = np.random.default_rng(2).permutation(pairs.first.size)
    shuffled = tile_pairs(pairs.first[order], pairs.second[order], NUM_WORDS, 0, config)
    a = train_replica(whole, pairs.counts[1], NUM_WORDS, 1, 0, config)
    b = train_replica(shuffled, pairs.counts[1][order], NUM_WORDS, 1, 0, config)
    assert a.vectors.tobytes() == b.vectors.tobytes()
    assert a.losses.tolist() == b.losses.tolist()


def test_replicas_and_seeds_start_differently(pairs):
    config = GloveConfig(dimensions=10, epochs=1)
    starts = [glove._initial_vectors(5, replica, seed, 10) for replica, seed in [(0, 0), (1, 0), (0, 1)]]
    assert all((a != b).any() for a, b in [(starts[0], starts[1]), (starts[0], starts[2])])
    assert np.abs(starts[0][0, :, 0, :11]).max() <= 0.5 / 11
    orders = [tile_pairs(pairs.first, pairs.second, NUM_WORDS, seed, config).order.tolist() for seed in (0, 1)]
    assert orders[0] != orders[1]


def test_a_word_without_pairs_has_no_vector():
    config = GloveConfig(dimensions=3, epochs=1)
    tiled = tile_pairs(np.array([0, 2], np.int32), np.array([1, 2], np.int32), 4, 0, config)
    trained = train_replica(tiled, np.array([0, UNITS_PER_PAIR]), 4, 1, 0, config)
    assert np.isnan(trained.vectors).all(axis=1).tolist() == [True, True, False, True]


@pytest.mark.parametrize("epochs", [1, 3])
def test_divergence_is_refused(pairs, epochs):
    config = GloveConfig(dimensions=10, epochs=epochs, learning_rate=1e6)
    tiled = tile_pairs(pairs.first, pairs.second, NUM_WORDS, 0, config)
    with pytest.raises(ValueError, match=r"embedding\.glove\.learning_rate below 1000000"):
        train_replica(tiled, pairs.counts[0], NUM_WORDS, 0, 0, config)


@pytest.mark.parametrize("field", ["dimensions", "epochs", "learning_rate", "x_max", "alpha", "tile_words"])
def test_settings_must_be_positive(field):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(GloveConfig(), **{field: 0})
