"""GloVe's training, of words by their rank and of words that are known by their spelling."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.processors import printed_on_each
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding import glove
from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR, count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import keyed_words, roomy_tiling
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


def reference(tiling, pairs, counts, replica, config):
    """GloVe as the paper writes it, in float64: each pair that occurs, both ways round, tile after tile. By rows, the
    mean of the squared steps of a row takes the place of each."""
    size = config.dimensions
    published = dataclasses.replace(config, adagrad="element")
    vectors = glove.initial_vectors(tiling.num_words, replica, 0, published, tiling.places).astype(np.float64)
    of_word, of_context = [*range(size), size], [*range(size), size + 1]  # and the bias; 1 is the factor of the other's
    losses, num_tiles = [], pairs.row_blocks.size
    for epoch in range(config.epochs):
        steps = []
        for visit in rounds(pairs, tiling.num_blocks, epoch, 0).visits:
            for pair in range(*pairs.starts[visit % num_tiles : visit % num_tiles + 2]):
                i, j = tiling.places[[pairs.rows[pair], pairs.columns[pair]]]
                if not counts[pair] or (visit >= num_tiles and i == j):
                    continue
                word, context = (j, i) if visit >= num_tiles else (i, j)
                (w, w_squares), (c, c_squares) = vectors[0, word], vectors[1, context]
                x = counts[pair] / UNITS_PER_PAIR
                error, weight = w @ c - np.log(x), min(1.0, (x / config.x_max) ** config.alpha)
                steps.append(0.5 * weight * error**2)
                rate = config.learning_rate * weight * error
                moves = (w, w_squares, rate * c, of_word), (c, c_squares, rate * w, of_context)
                for values, squares, step, lanes in moves:
                    values[lanes] -= step[lanes] / np.sqrt(squares[lanes])
                    squares[lanes] += step[lanes] ** 2 if config.adagrad == "element" else np.mean(step[lanes] ** 2)
        losses.append(np.mean(steps))
    return vectors[:, tiling.places, 0, :size].sum(axis=0), losses


@pytest.mark.long
@pytest.mark.parametrize("tile_words", [3, 5, 2048])
@pytest.mark.parametrize("replica", [0, 1])
@pytest.mark.parametrize(("adagrad", "dimensions"), [("element", 3), ("row", 3), ("row", 13), ("row", 14), ("row", 29)])
def test_vectors_and_losses_are_those_of_the_paper_step_by_step(replica, tile_words, adagrad, dimensions):
    """Of a replica that lacks two of six lines, too; the last of twelve words stands alone, and has no vector."""
    tokens = np.append(np.random.default_rng(2).integers(0, 11, 60), 11).astype(np.int32)
    offsets, times = np.array([0, 10, 20, 30, 40, 50, 60, 61]), np.array([[1, 1, 1, 1, 1, 1, 1], [2, 0, 1, 3, 0, 1, 1]])
    config = GloveConfig(dimensions=dimensions, epochs=3, x_max=2.0, adagrad=adagrad)
    tiling = Tiling(12, tile_words)
    counted = count_pairs(tokens, offsets, times.T.astype(np.uint8), tiling, window=4)
    order = shuffled_in_tiles(counted.names, tiling, 0)
    pairs, counts = tiled_pairs(counted.names[order], tiling), counted.counts[replica][order]
    vectors, losses = reference(tiling, pairs, counts, replica, config)
    found = trained(tiling, pairs, counts, replica, config)
    assert found.losses == pytest.approx(losses, rel=1e-5)
    assert found.vectors[:11] == pytest.approx(vectors[:11], rel=1e-4, abs=1e-6)
    assert np.isnan(found.vectors[11]).all()


@pytest.mark.long
@pytest.mark.parametrize(("tile_words", "adagrad"), [(100, "element"), (700, "row"), (2048, "element")])
def test_bits_are_the_same_by_any_number_of_threads_in_pieces_and_slices_and_from_a_saved_state(
    text, tile_words, adagrad, monkeypatch
):
    config = GloveConfig(dimensions=10, epochs=3, adagrad=adagrad)
    tiling, pairs, counts = counted(text, tile_words)
    whole = trained(tiling, pairs, counts[1], 1, config)
    others = [trained(tiling, pairs, counts[1], 1, config, num_threads=threads) for threads in (2, 3, 7)]
    saved = GloveTraining(pairs, counts[1:], tiling, 1, 0, config)
    saved.advance()
    resumed = GloveTraining(pairs, counts[1:], tiling, 1, 0, config)
    resumed.restore({name: values.copy() for name, values in saved.state().items()})
    assert resumed.epochs_done == 1
    monkeypatch.setattr(glove, "_PAIRS_PER_SLICE", 1000)
    in_pieces = [GloveTraining(pairs, np.array_split(counts[1], num), tiling, 1, 0, config) for num in (2, 7)]
    for training in (resumed, *in_pieces):
        while training.epochs_done < config.epochs:
            training.advance()
        others.append(training.result())
    assert {found.vectors.tobytes() for found in others} == {whole.vectors.tobytes()}
    assert {found.losses.tobytes() for found in others} == {whole.losses.tobytes()}


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


# --- one digest on every processor ------------------------------------------------------------------------------------

DIGEST = """
import hashlib, re, sys
import numpy as np
from tiltmeter.operators.embedding import glove

rng = np.random.default_rng(0)
words = rng.integers(0, 40, (2, 3000)).astype(np.int32)
logs = rng.normal(2.0, 1.0, 3000).astype(np.float32)
steps = glove._Steps(*words, logs, np.minimum(1.0, np.exp(logs) / 10.0).astype(np.float32), np.array([0, 3000]))
config = glove.GloveConfig(dimensions=50, adagrad=sys.argv[1])
vectors = glove.initial_vectors(40, 0, 1, config)
kernel = glove._visits_kernel(config.width, config.row_of)
largest = 0.0
for _ in range(3):
    before = vectors.copy()
    losses = kernel(vectors, steps, np.float32(0.05 if config.row_of else 0.5), np.array([0, 1]))
    largest = max(largest, np.abs(1.0 - vectors[:, :, -1, :50] / before[:, :, -1, :50]).max())
[text] = kernel.inspect_asm().values()
kinds = sorted({*re.findall("ymm|v?rsqrt|v?rcp[ps1]|fmaf", text)})
print(hashlib.md5(vectors.tobytes() + losses.tobytes()).hexdigest(), 0.05 < largest < np.inf, *kinds)
"""


@pytest.mark.long
@pytest.mark.parametrize("adagrad", ["element", "row"])
def test_a_step_has_the_same_bits_whatever_instructions_there_are(tmp_path, adagrad):
    """Also of steps by element so large that their root is taken; no instruction has bits that a maker chooses."""
    found = printed_on_each(DIGEST, tmp_path, adagrad)
    assert len({digest for digest, *_ in found.values()}) == 1
    assert {large for _, large, *_ in found.values()} == {"True"}
    assert [words[2:] for words in found.values()][1:] == [["ymm"], ["fmaf"]]
    assert not any("rsqrt" in word or "rcp" in word for words in found.values() for word in words)


# --- words by their spelling ------------------------------------------------------------------------------------------

WORDS = [f"word{number}" for number in range(300)]


@given(st.integers(1, 300), st.integers(2, 70))
def test_every_word_has_a_slot_and_a_row_of_its_own(num_words, tile_words):
    tiling = roomy_tiling(num_words, tile_words)
    words = keyed_words(WORDS[:num_words], tiling)
    assert tiling.num_blocks & (tiling.num_blocks - 1) == 0
    assert np.unique(words.slots).size == num_words
    assert 0 <= words.slots.min() <= words.slots.max() < tiling.num_words
    rows = words.places(tiling)[words.slots]
    assert sorted(rows.tolist()) == list(range(num_words))
    # They lie block by block.
    assert (np.diff((words.slots % tiling.num_blocks)[np.argsort(rows)]) >= 0).all()
    assert words.slot_keys(tiling)[words.slots].tolist() == [document_key(word) for word in WORDS[:num_words]]


def test_blocks_are_the_leading_bits_of_keys():
    tiling = roomy_tiling(300, 40)
    words = keyed_words(WORDS, tiling)
    assert tiling.num_blocks == 8
    assert (words.slots % 8 == [document_key(word) >> 61 for word in WORDS]).all()
    # Within a block, a word with a smaller key comes first: so pairs are named one way round, whatever else there is.
    for block in range(8):
        inside = words.slots % 8 == block
        assert (np.argsort(words.slots[inside]) == np.argsort(words.keys[inside])).all()


def test_a_full_block_leaves_its_last_words_to_the_next():
    crowded = [word for word in (f"w{number}" for number in range(400)) if document_key(word) >> 63 == 1][:6]
    tiling = roomy_tiling(6, 3)._replace(num_words=8, tile_words=4)
    slots = keyed_words(crowded, tiling).slots
    assert np.bincount(slots % 2).tolist() == [2, 4]
    assert np.unique(slots).size == 6


def trained_by_key(texts, words, tile_words=40, num_threads=1, is_keyed=True, epochs=3):
    """Vectors by word, of lines of words, and the last loss."""
    tiling = roomy_tiling(len(words), tile_words)
    keyed, index = keyed_words(words, tiling), {word: number for number, word in enumerate(words)}
    tokens = keyed.slots[[index[word] for text in texts for word in text]]
    offsets = np.append(0, np.cumsum([len(text) for text in texts]))
    counted = count_pairs(tokens, offsets, np.ones((len(texts), 1), np.uint8), tiling, 5)
    order = shuffled_in_tiles(counted.names, tiling, 7, keyed.slot_keys(tiling) if is_keyed else None)
    pairs, counts = tiled_pairs(counted.names[order], tiling), [counted.counts[0][order]]
    settings = {"num_threads": num_threads, "words": keyed if is_keyed else None}
    training = GloveTraining(pairs, counts, tiling, 0, 7, GloveConfig(dimensions=8, epochs=epochs), **settings)
    for _ in range(epochs):
        training.advance()
    found = training.result()
    return (dict(zip(words, found.vectors, strict=True)) if is_keyed else None), found.losses[-1]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(3)
    return [[WORDS[place] for place in rng.integers(0, 300, 20)] for _ in range(200)]


@pytest.mark.parametrize(("tile_words", "num_threads"), [(20, 1), (40, 2), (300, 3)])
def test_the_rank_of_words_threads_and_words_without_a_pair_change_no_bit(texts, tile_words, num_threads):
    """Such words move the rank of all others; their blocks are as many as before."""
    idle = [f"idle{number}" for number in range(15 if tile_words == 40 else 0)]
    one, _ = trained_by_key(texts, WORDS, tile_words)
    other, _ = trained_by_key(texts, [*idle, *WORDS[::-1]], tile_words, num_threads)
    assert all(one[word].tobytes() == other[word].tobytes() for word in WORDS)
    assert all(np.isnan(other[word]).all() for word in idle)


def test_starts_are_those_of_replicas_seeds_and_the_words():
    of = [(0, 0), (1, 0), (-1, 0), (-2, 0), (0, 1)]
    starts = [glove.initial_vectors(5, replica, seed, GloveConfig(dimensions=10)) for replica, seed in of]
    assert all((a != b).any() for a, b in combinations(starts, 2))
    assert np.abs(starts[0][0, :, 0, :11]).max() <= 0.5 / 11
    keys = np.array([document_key(word) for word in WORDS], np.uint64)
    config = GloveConfig(dimensions=8)
    whole, part = (glove.initial_vectors(chosen.size, 2, 5, config, keys=chosen) for chosen in (keys, keys[10:20]))
    assert whole[:, 10:20].tobytes() == part.tobytes()
    assert (glove.initial_vectors(10, 2, 5, config)[0] != part[0]).any()


def test_vectors_are_as_good_as_by_rank(texts):
    """The same loss, but for the order of the steps."""
    losses = [trained_by_key(texts, WORDS, is_keyed=is_keyed, epochs=15)[1] for is_keyed in (True, False)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
