from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.bootstrap import line_multiplicities
from operators.cooccurrence import UNITS_PER_PAIR, CooccurrenceConfig, PairCounts, count_pairs, merge_pairs

NUM_REPLICAS = 5
lines_of_tokens = st.lists(st.lists(st.integers(0, 6), max_size=14), min_size=1, max_size=12)


def reference_counts(lines, multiplicities, window):
    """Resample and count every replica by itself: repeat each line as often as it was drawn, then slide a window."""
    counts = []
    for replica in range(multiplicities.shape[1]):
        resampled = [line for line, times in zip(lines, multiplicities[:, replica], strict=True) for _ in range(times)]
        matrix = Counter()
        for line in resampled:
            for position, word in enumerate(line):
                for distance in range(1, min(window, position) + 1):
                    other = line[position - distance]
                    matrix[word, other] += Fraction(1, distance)
                    matrix[other, word] += Fraction(1, distance)
        counts.append(matrix)
    return counts


def counted(lines, multiplicities, window, num_blocks=1):
    tokens = np.array([token for line in lines for token in line], np.int32)
    offsets = np.append(0, np.cumsum([len(line) for line in lines])).astype(np.int64)
    return list(count_pairs(tokens, offsets, multiplicities, CooccurrenceConfig(window, num_blocks)))


def as_matrices(parts):
    matrices = [Counter() for _ in range(len(parts[0].counts))]
    for part in parts:
        for replica, counts in enumerate(part.counts):
            for i, j, count in zip(part.first.tolist(), part.second.tolist(), counts.tolist(), strict=True):
                assert (i, j) not in matrices[replica]
                matrices[replica][i, j] = matrices[replica][j, i] = Fraction(count, UNITS_PER_PAIR)
    return [+matrix for matrix in matrices]


def drawn(num_lines, seed=0):
    return line_multiplicities(
        seed, np.full(num_lines, 7, np.uint64), np.arange(num_lines, dtype=np.int32), NUM_REPLICAS
    )


@settings(max_examples=60, deadline=None)
@given(lines_of_tokens, st.integers(1, 10), st.integers(0, 99), st.sampled_from([1, 2, 4, 127, 128]))
def test_one_pass_equals_resampling_and_counting_each_replica(lines, window, seed, num_blocks):
    multiplicities = drawn(len(lines), seed)
    parts = counted(lines, multiplicities, window, num_blocks)
    assert as_matrices(parts) == reference_counts(lines, multiplicities, window)
    assert all((part.first % num_blocks == block).all() for block, part in enumerate(parts))


@settings(max_examples=40, deadline=None)
@given(lines_of_tokens, st.data())
def test_shards_merge_to_the_whole_in_any_order(lines, data):
    multiplicities = drawn(len(lines))
    [whole] = counted(lines, multiplicities, 10)
    cut = data.draw(st.integers(0, len(lines)))
    shards = [slice(None, cut), slice(cut, None)]
    parts = [part for shard in reversed(shards) for part in counted(lines[shard], multiplicities[shard], 10)]
    merged = merge_pairs(parts)
    assert [merged.first.tolist(), merged.second.tolist()] == [whole.first.tolist(), whole.second.tolist()]
    assert [count.tolist() for count in merged.counts] == [count.tolist() for count in whole.counts]


def test_weights_by_hand():
    # a b a: neighbours (a, b) twice at distance 1; (a, a) at distance 2, in both directions.
    [part] = counted([[0, 1, 0]], np.ones((1, 1), np.uint8), 10)
    assert part.first.tolist() == [0, 0]
    assert part.second.tolist() == [0, 1]
    assert part.counts[0].tolist() == [2 * UNITS_PER_PAIR // 2, 2 * UNITS_PER_PAIR]


def test_many_repetitions_do_not_overflow():
    line = [0, 1] * 20_000
    [part] = counted([line], np.array([[1, 20]], np.uint8), 1)
    assert [count.tolist() for count in part.counts] == [[39_999 * UNITS_PER_PAIR], [39_999 * 20 * UNITS_PER_PAIR]]


def test_a_window_without_whole_units_is_refused():
    with pytest.raises(ValueError, match="less than or equal to 10"):
        CooccurrenceConfig(window=11)


def test_the_last_of_128_blocks_is_not_lost():
    parts = counted([[127, 300], [0, 127]], np.ones((2, 1), np.uint8), 10, num_blocks=128)
    assert [part.first.tolist() for part in (parts[0], parts[127])] == [[0], [127]]


def test_a_vocabulary_beyond_the_packing_is_refused():
    with pytest.raises(ValueError, match=r"word index 268435456.*embedding.min_count"):
        counted([[0, 2**28]], np.ones((1, 1), np.uint8), 10)


def test_merging_nothing_gives_nothing():
    empty = PairCounts(np.empty(0, np.int32), np.empty(0, np.int32), [np.empty(0, np.int64)] * 3)
    merged = merge_pairs([empty, empty])
    assert merged.first.size == 0
    assert [count.size for count in merged.counts] == [0, 0, 0]
