"""Words that are known by their spelling: what stays where it is when a vocabulary changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding import glove
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import keyed_words, roomy_tiling
from tiltmeter.operators.embedding.tiles import shuffled_in_tiles, tiled_pairs

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


def trained(texts, words, tile_words=40, num_threads=1, is_keyed=True, epochs=3):
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
def test_the_rank_of_words_and_threads_change_no_bit(texts, tile_words, num_threads):
    one, _ = trained(texts, WORDS, tile_words=tile_words)
    other, _ = trained(texts, WORDS[::-1], tile_words=tile_words, num_threads=num_threads)
    assert all(one[word].tobytes() == other[word].tobytes() for word in WORDS)


def test_words_that_come_among_others_leave_what_they_do_not_touch_as_it_was(texts):
    """With words that have no pair, and move the rank of all others; their blocks are as many as before."""
    idle = [f"idle{number}" for number in range(15)]
    one, other = trained(texts, WORDS)[0], trained(texts, [*idle, *WORDS])[0]
    assert all(one[word].tobytes() == other[word].tobytes() for word in WORDS)
    assert all(np.isnan(other[word]).all() for word in idle)


def test_starts_are_those_of_the_words():
    keys = np.array([document_key(word) for word in WORDS], np.uint64)
    whole, part = (glove.initial_vectors(chosen.size, 2, 5, 8, keys=chosen) for chosen in (keys, keys[10:20]))
    assert whole[:, 10:20].tobytes() == part.tobytes()
    assert (glove.initial_vectors(10, 2, 5, 8)[0] != part[0]).any()


def test_vectors_are_as_good_as_by_rank(texts):
    """The same loss, but for the order of the steps."""
    losses = [trained(texts, WORDS, is_keyed=is_keyed, epochs=15)[1] for is_keyed in (True, False)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
