"""How often each replica counts a line, and the pairs of words that it counts then, tile by tile."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import (
    Resampling,
    ResamplingSettings,
    line_multiplicities,
    replica_multiplicities,
    replica_numbers,
)
from tiltmeter.operators.embedding.cooccurrence import (
    UNITS_PER_PAIR,
    Merger,
    bytes_per_pair,
    count_pairs,
    divide_counts,
    line_chunks,
    num_occurrences,
)
from tiltmeter.operators.embedding.tiles import Tiling, joined_pairs, name_pair, rounds, shuffled_in_tiles, tiled_pairs

RESAMPLINGS = st.builds(Resampling, st.sampled_from(["line", "document"]), st.sampled_from(["poisson", "exponential"]))


def reference_multiplicities(seed, document, line, resampling):
    """Of nine replicas by inversion, each by itself, on numpy's own generator and Python's big integers."""
    is_document = resampling.unit == "document"
    stream = Stream.DOCUMENT_MULTIPLICITY if is_document else Stream.LINE_MULTIPLICITY
    yield 256 if resampling.weights == "exponential" else 1
    for replica in range(9):
        counter = document | (0 if is_document else line) << 64 | replica // 4 << 128
        generator = np.random.Philox(key=seed | stream << 64, counter=(counter - 1) % 2**256)
        bits = int(generator.random_raw(4)[replica % 4])
        if resampling.weights == "exponential":
            yield round(-256 * math.log1p(-(bits >> 11) * 2.0**-53))
            continue
        count, below = 0, math.exp(-1)
        while bits / 2**64 >= below:
            count += 1
            below += math.exp(-1) / math.factorial(count)
        yield count


@pytest.mark.long
@given(st.integers(0, 2**63), st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1), RESAMPLINGS)
def test_draws_equal_a_scalar_reference_and_one_replica_alone_is_its_column(seed, document, line, resampling):
    places = np.array([7, document], np.uint64), np.array([3, line], np.int32)
    drawn = line_multiplicities(seed, *places, 9, resampling)
    assert drawn[1].tolist() == list(reference_multiplicities(seed, document, line, resampling))
    for replica in range(10):
        assert replica_multiplicities(seed, *places, replica, resampling).tolist() == drawn[:, replica].tolist()
    for start in (-1, -255):  # has the lines of the corpus itself
        assert replica_multiplicities(seed, *places, start, resampling).tolist() == [resampling.units_per_line] * 2
    assert replica_numbers(2, 3) == [0, 1, 2, -1, -2]


@pytest.mark.parametrize(
    ("num_documents", "num_lines", "drawn", "is_too_few"),
    [(6, 10, "document", False), (6, 9, "line", False), (5, 8, "line", True), (5, 7, "line", False)],
)
def test_six_documents_of_several_lines_are_drawn_and_five_say_nothing(num_documents, num_lines, drawn, is_too_few):
    for weights in ("poisson", "exponential"):
        asked = {unit: ResamplingSettings(unit, weights) for unit in ("auto", "line", "document")}
        found = {unit: chosen.of(num_documents, num_lines) for unit, chosen in asked.items()}
        expected = {"auto": drawn, "line": "line", "document": "document"}
        assert found == {unit: Resampling(of, weights) for unit, of in expected.items()}
        few = {unit: chosen.is_too_few(num_documents, num_lines) for unit, chosen in asked.items()}
        assert few == {"auto": is_too_few, "line": False, "document": num_documents < 6}


# --- pairs ------------------------------------------------------------------------------------------------------------

NUM_REPLICAS = 5
TILING = Tiling(num_words=7, tile_words=3)
lines_of_tokens = st.lists(st.lists(st.integers(0, 6), max_size=14), min_size=1, max_size=12)


def reference_counts(lines, multiplicities, window):
    """Resample and count every replica by itself: repeat each line as often as it was drawn, then slide a window.

    Counts are in units of 1/2520, of which every distance up to ten gives a whole number.
    """
    for replica in range(multiplicities.shape[1]):
        matrix = Counter()
        for line, times in zip(lines, multiplicities[:, replica].tolist(), strict=True):
            for position, word in enumerate(line):
                for distance in range(1, min(window, position) + 1):
                    other = line[position - distance]
                    matrix[word, other] += times * UNITS_PER_PAIR // distance
                    matrix[other, word] += times * UNITS_PER_PAIR // distance
        yield +matrix


def counted(lines, multiplicities, window, tiling=TILING):
    tokens = np.array([token for line in lines for token in line], np.int32)
    offsets = np.append(0, np.cumsum([len(line) for line in lines])).astype(np.int64)
    return count_pairs(tokens, offsets, multiplicities, tiling, window)


def as_matrices(part, tiling):
    pairs = tiled_pairs(part.names, tiling)
    for counts in part.counts:
        matrix = Counter()
        for i, j, count in zip(pairs.rows.tolist(), pairs.columns.tolist(), counts.tolist(), strict=True):
            assert (i, j) not in matrix
            matrix[i, j] = matrix[j, i] = count
        yield +matrix


def drawn(num_lines, seed=0):
    documents = np.full(num_lines, 7, np.uint64)
    return line_multiplicities(seed, documents, np.arange(num_lines, dtype=np.int32), NUM_REPLICAS)


@settings(max_examples=60)
@given(lines_of_tokens, st.integers(1, 10), st.integers(0, 99), st.sampled_from([2, 3, 7, 100]))
def test_one_pass_equals_resampling_and_counting_each_replica(lines, window, seed, tile_words):
    multiplicities, tiling = drawn(len(lines), seed), Tiling(7, tile_words)
    part = counted(lines, multiplicities, window, tiling)
    assert [*as_matrices(part, tiling)] == [*reference_counts(lines, multiplicities, window)]
    assert (np.diff(part.names) > 0).all()


@settings(max_examples=40)
@given(lines_of_tokens, st.data())
def test_shards_merge_to_the_whole_in_any_order(lines, data):
    multiplicities = drawn(len(lines))
    whole = counted(lines, multiplicities, 10)
    cut = data.draw(st.integers(0, len(lines)))
    parts = [counted(lines[shard], multiplicities[shard], 10) for shard in (slice(cut, None), slice(cut))]
    merger = Merger([part.names for part in parts])
    assert merger.names.tolist() == whole.names.tolist()
    for replica, counts in enumerate(whole.counts):
        assert merger.sum([part.counts[replica] for part in parts]).tolist() == counts.tolist()


def test_many_repetitions_do_not_overflow_and_a_vocabulary_beyond_the_names_is_refused():
    part = counted([[0, 1] * 20_000], np.array([[1, 20]], np.uint8), 1)
    assert [count.tolist() for count in part.counts] == [[39_999 * UNITS_PER_PAIR], [39_999 * 20 * UNITS_PER_PAIR]]
    with pytest.raises(ValueError, match=r"2147483648 words: .*embedding.min_count"):
        counted([[0, 1]], np.ones((1, 1), np.uint8), 10, Tiling(2**31, 2048))


@given(lines_of_tokens, st.integers(1, 10), st.integers(0, 2000))
def test_chunks_of_lines_cover_all_and_keep_to_the_memory(lines, window, num_bytes):
    offsets = np.append(0, np.cumsum([len(line) for line in lines]))
    numbers = [sum(min(window, position) for position in range(len(line))) for line in lines]
    assert num_occurrences(offsets, window).tolist() == numbers
    chunks = line_chunks(offsets, 2, window, num_bytes)
    assert [line for start, stop in chunks for line in range(start, stop)] == list(range(len(lines)))
    for start, stop in chunks:
        assert stop - start == 1 or sum(numbers[start:stop]) * (48 + bytes_per_pair(2)) <= num_bytes


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=1, max_size=8))
def test_divided_counts_times_their_divisors_are_the_counts_and_nothing_divides_them_further(rows):
    counts = np.array(rows, np.int64).T
    divided = [column.copy() for column in counts]
    divisors = divide_counts(divided)
    assert (np.stack(divided) * divisors == counts).all()
    assert set(np.gcd.reduce(divided, axis=0)) <= {0, 1}


# --- tiles ------------------------------------------------------------------------------------------------------------

tilings = st.builds(Tiling, num_words=st.integers(1, 25), tile_words=st.integers(2, 9))


def named(a, b, tiling):
    blocks, places = np.array([a, b]) % tiling.num_blocks, np.array([a, b]) // tiling.num_blocks
    return int(name_pair(blocks[0], places[0], blocks[1], places[1], tiling.num_blocks, tiling.tile_words))


def all_pairs(tiling):
    return np.sort([named(a, b, tiling) for a in range(tiling.num_words) for b in range(a + 1)])


@given(tilings, st.integers(1, 5))
def test_every_pair_has_one_name_that_gives_it_back_and_pieces_of_whole_tiles_join(tiling, num_tiles):
    names = all_pairs(tiling)
    assert np.unique(names).size == names.size == tiling.num_words * (tiling.num_words + 1) // 2
    pairs = tiled_pairs(names, tiling)
    known = [*zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True)]
    assert {frozenset(pair) for pair in known} == {
        frozenset((a, b)) for a in range(tiling.num_words) for b in range(a + 1)
    }
    assert [named(a, b, tiling) for a, b in known] == [named(b, a, tiling) for a, b in known]
    sizes = np.diff(pairs.starts)  # a tile joins its two blocks
    assert (pairs.row_blocks <= pairs.column_blocks).all()
    assert (pairs.rows % tiling.num_blocks == np.repeat(pairs.row_blocks, sizes)).all()
    assert (pairs.columns % tiling.num_blocks == np.repeat(pairs.column_blocks, sizes)).all()
    assert sizes.max() <= tiling.tile_words**2
    joined = joined_pairs(np.split(names, pairs.starts[1:-1:num_tiles]), names.size, tiling)
    assert all(np.array_equal(*fields) for fields in zip(joined, pairs, strict=True))


@given(tilings)
def test_words_of_a_block_lie_together(tiling):
    words = np.argsort(tiling.places)
    assert sorted(words.tolist()) == list(range(tiling.num_words))
    assert (np.diff(words % tiling.num_blocks) >= 0).all()
    assert all((np.diff(words[words % tiling.num_blocks == block]) > 0).all() for block in range(tiling.num_blocks))


def test_the_largest_vocabulary_has_names_of_63_bits_and_nothing_stays_nothing():
    tiling = Tiling(2**31 - 1, 2048)
    name = named(tiling.num_words - 1, tiling.num_words - 2, tiling)
    assert 0 < name < 2**63
    [row], [column], *_ = tiled_pairs(np.array([name]), tiling)
    assert {row, column} == {tiling.num_words - 1, tiling.num_words - 2}
    none = np.empty(0, np.int64)
    merger = Merger([none, none])
    assert merger.names.size == merger.sum([none, none]).size == shuffled_in_tiles(none, TILING, 0).size == 0
    pairs = tiled_pairs(none, TILING)
    assert (pairs.starts.tolist(), rounds(pairs, TILING.num_blocks, 0, 0).visits.size) == ([0], 0)


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


@pytest.mark.parametrize("seed", [0, 7])
def test_orders_are_of_epochs_and_seeds_and_shuffling_keeps_tiles_and_depends_on_the_pair_alone(seed):
    tiling = Tiling(40, 10)
    names = all_pairs(tiling)
    keys = [(0, seed), (1, seed), (0, seed + 1)]
    orders = {tuple(rounds(tiled_pairs(names, tiling), 4, epoch, of).visits.tolist()) for epoch, of in keys}
    assert len(orders) == 3
    order = shuffled_in_tiles(names, tiling, seed)
    assert sorted(order.tolist()) == list(range(names.size))
    assert (names[order] // tiling.num_names == names // tiling.num_names).all()
    fewer = names[::3]
    expected = [name for name in names[order].tolist() if name in set(fewer.tolist())]
    assert fewer[shuffled_in_tiles(fewer, tiling, seed)].tolist() == expected
    assert (order != shuffled_in_tiles(names, tiling, seed + 1)).any()
