from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.embedding.bootstrap import line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import (
    UNITS_PER_PAIR,
    Merger,
    bytes_per_pair,
    count_pairs,
    divide_counts,
    line_chunks,
    num_occurrences,
)
from tiltmeter.operators.embedding.tiles import Tiling, tiled_pairs

NUM_REPLICAS = 5
lines_of_tokens = st.lists(st.lists(st.integers(0, 6), max_size=14), min_size=1, max_size=12)


def reference_counts(lines, multiplicities, window):
    """Resample and count every replica by itself: repeat each line as often as it was drawn, then slide a window.

    Counts are in units of 1/2520, of which every distance up to ten gives a whole number.
    """
    counts = []
    for replica in range(multiplicities.shape[1]):
        resampled = [line for line, times in zip(lines, multiplicities[:, replica], strict=True) for _ in range(times)]
        matrix = Counter()
        for line in resampled:
            for position, word in enumerate(line):
                for distance in range(1, min(window, position) + 1):
                    other = line[position - distance]
                    matrix[word, other] += UNITS_PER_PAIR // distance
                    matrix[other, word] += UNITS_PER_PAIR // distance
        counts.append(matrix)
    return counts


TILING = Tiling(num_words=7, tile_words=3)


def counted(lines, multiplicities, window, tiling=TILING):
    tokens = np.array([token for line in lines for token in line], np.int32)
    offsets = np.append(0, np.cumsum([len(line) for line in lines])).astype(np.int64)
    return count_pairs(tokens, offsets, multiplicities, tiling, window)


def as_matrices(part, tiling):
    pairs = tiled_pairs(part.names, tiling)
    matrices = [Counter() for _ in part.counts]
    for matrix, counts in zip(matrices, part.counts, strict=True):
        for i, j, count in zip(pairs.rows.tolist(), pairs.columns.tolist(), counts.tolist(), strict=True):
            assert (i, j) not in matrix
            matrix[i, j] = matrix[j, i] = count
    return [+matrix for matrix in matrices]


def drawn(num_lines, seed=0):
    return line_multiplicities(
        seed, np.full(num_lines, 7, np.uint64), np.arange(num_lines, dtype=np.int32), NUM_REPLICAS
    )


@settings(max_examples=60)
@given(lines_of_tokens, st.integers(1, 10), st.integers(0, 99), st.sampled_from([2, 3, 7, 100]))
def test_one_pass_equals_resampling_and_counting_each_replica(lines, window, seed, tile_words):
    multiplicities, tiling = drawn(len(lines), seed), Tiling(7, tile_words)
    part = counted(lines, multiplicities, window, tiling)
    assert as_matrices(part, tiling) == reference_counts(lines, multiplicities, window)
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


def test_many_repetitions_do_not_overflow():
    line = [0, 1] * 20_000
    part = counted([line], np.array([[1, 20]], np.uint8), 1)
    assert [count.tolist() for count in part.counts] == [[39_999 * UNITS_PER_PAIR], [39_999 * 20 * UNITS_PER_PAIR]]


@given(lines_of_tokens, st.integers(1, 10), st.integers(0, 2000))
def test_chunks_of_lines_cover_all_and_keep_to_the_memory(lines, window, num_bytes):
    offsets = np.append(0, np.cumsum([len(line) for line in lines]))
    numbers = [sum(min(window, position) for position in range(len(line))) for line in lines]
    assert num_occurrences(offsets, window).tolist() == numbers
    chunks = line_chunks(offsets, 2, window, num_bytes)
    assert [line for start, stop in chunks for line in range(start, stop)] == list(range(len(lines)))
    bytes_per_occurrence = 48 + bytes_per_pair(2)
    for start, stop in chunks:
        assert stop - start == 1 or sum(numbers[start:stop]) * bytes_per_occurrence <= num_bytes


def test_a_vocabulary_beyond_the_names_is_refused():
    with pytest.raises(ValueError, match=r"2147483648 words: .*embedding.min_count"):
        counted([[0, 1]], np.ones((1, 1), np.uint8), 10, Tiling(2**31, 2048))


def test_merging_nothing_gives_nothing():
    nothing = [np.empty(0, np.int64)] * 2
    merger = Merger(nothing)
    assert merger.names.size == merger.sum(nothing).size == 0


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=1, max_size=8))
def test_divided_counts_times_their_divisors_are_the_counts_and_nothing_divides_them_further(rows):
    counts = np.array(rows, np.int64).T
    divided = [column.copy() for column in counts]
    divisors = divide_counts(divided)
    assert (np.stack(divided) * divisors == counts).all()
    assert set(np.gcd.reduce(divided, axis=0)) <= {0, 1}
