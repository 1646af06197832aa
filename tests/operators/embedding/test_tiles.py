from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.embedding.tiles import Tiling, joined_pairs, name_pair, rounds, shuffled_in_tiles, tiled_pairs


def named(a, b, tiling):
    blocks, places = np.array([a, b]) % tiling.num_blocks, np.array([a, b]) // tiling.num_blocks
    return int(name_pair(blocks[0], places[0], blocks[1], places[1], tiling.num_blocks, tiling.tile_words))


def all_pairs(tiling):
    return np.sort([named(a, b, tiling) for a in range(tiling.num_words) for b in range(a + 1)])


tilings = st.builds(Tiling, num_words=st.integers(1, 25), tile_words=st.integers(2, 9))


@given(tilings)
def test_every_pair_has_one_name_that_gives_it_back(tiling):
    names = all_pairs(tiling)
    assert np.unique(names).size == names.size == tiling.num_words * (tiling.num_words + 1) // 2
    pairs = tiled_pairs(names, tiling)
    assert {frozenset(pair) for pair in zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True)} == {
        frozenset((a, b)) for a in range(tiling.num_words) for b in range(a + 1)
    }
    sizes = np.diff(pairs.starts)  # a tile joins its two blocks
    assert (pairs.row_blocks <= pairs.column_blocks).all()
    assert (pairs.rows % tiling.num_blocks == np.repeat(pairs.row_blocks, sizes)).all()
    assert (pairs.columns % tiling.num_blocks == np.repeat(pairs.column_blocks, sizes)).all()
    assert sizes.max() <= tiling.tile_words**2
    for a, b in zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True):
        assert named(a, b, tiling) == named(b, a, tiling)


@given(tilings)
def test_words_of_a_block_lie_together(tiling):
    words = np.argsort(tiling.places)
    assert sorted(words.tolist()) == list(range(tiling.num_words))
    assert (np.diff(words % tiling.num_blocks) >= 0).all()
    assert all((np.diff(words[words % tiling.num_blocks == block]) > 0).all() for block in range(tiling.num_blocks))


@given(tilings, st.integers(1, 5))
def test_pieces_of_whole_tiles_join_into_the_same_pairs(tiling, num_tiles):
    names = all_pairs(tiling)
    whole = tiled_pairs(names, tiling)
    joined = joined_pairs(np.split(names, whole.starts[1:-1:num_tiles]), names.size, tiling)
    assert all(np.array_equal(*fields) for fields in zip(joined, whole, strict=True))


def test_the_largest_vocabulary_has_names_of_63_bits():
    tiling = Tiling(2**31 - 1, 2048)
    name = named(tiling.num_words - 1, tiling.num_words - 2, tiling)
    assert 0 < name < 2**63
    [row], [column], *_ = tiled_pairs(np.array([name]), tiling)
    assert {row, column} == {tiling.num_words - 1, tiling.num_words - 2}


@given(tilings, st.integers(0, 5), st.integers(0, 9))
def test_rounds_visit_all_twice_and_share_no_vector(tiling, epoch, seed):
    pairs = tiled_pairs(all_pairs(tiling), tiling)
    num_tiles = pairs.row_blocks.size
    visits, starts = rounds(pairs, tiling.num_blocks, epoch, seed)
    assert sorted(visits.tolist()) == list(range(2 * num_tiles))
    for start, stop in pairwise(starts):
        swapped = visits[start:stop] >= num_tiles
        tiles = visits[start:stop] % num_tiles
        assert (np.diff(tiles) != 1).sum() <= 1, "tiles of one round lie in two runs"
        words = np.where(swapped, pairs.column_blocks[tiles], pairs.row_blocks[tiles])
        contexts = np.where(swapped, pairs.row_blocks[tiles], pairs.column_blocks[tiles])
        assert np.unique(words).size == np.unique(contexts).size == stop - start > 0


def test_epochs_and_seeds_have_orders_of_their_own():
    tiling = Tiling(40, 5)
    pairs = tiled_pairs(all_pairs(tiling), tiling)
    orders = [tuple(rounds(pairs, 8, epoch, seed).visits.tolist()) for epoch, seed in [(0, 0), (1, 0), (0, 1)]]
    assert len(set(orders)) == 3


@pytest.mark.parametrize("seed", [0, 7])
def test_shuffling_keeps_tiles_and_depends_on_the_pair_alone(seed):
    tiling = Tiling(40, 10)
    names = all_pairs(tiling)
    order = shuffled_in_tiles(names, tiling, seed)
    assert sorted(order.tolist()) == list(range(names.size))
    assert (names[order] // tiling.num_names == names // tiling.num_names).all()
    fewer = names[::3]
    expected = [name for name in names[order].tolist() if name in set(fewer.tolist())]
    assert fewer[shuffled_in_tiles(fewer, tiling, seed)].tolist() == expected
    assert (order != shuffled_in_tiles(names, tiling, seed + 1)).any()


def test_nothing_stays_nothing():
    tiling, none = Tiling(40, 10), np.empty(0, np.int64)
    assert shuffled_in_tiles(none, tiling, 0).size == 0
    pairs = tiled_pairs(none, tiling)
    assert pairs.starts.tolist() == [0]
    assert rounds(pairs, tiling.num_blocks, 0, 0).visits.size == 0
