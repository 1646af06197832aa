import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import ORIGINAL, line_multiplicities, replica_multiplicities


def reference_multiplicity(seed, document, line, replica):
    """One draw by inversion, on numpy's own generator and Python's big integers."""
    block, lane = divmod(replica - 1, 4)
    counter = document | line << 64 | block << 128
    bits = int(
        np.random.Philox(key=seed | Stream.LINE_MULTIPLICITY << 64, counter=(counter - 1) % 2**256).random_raw(4)[lane]
    )
    count, below = 0, math.exp(-1)
    while bits / 2**64 >= below:
        count += 1
        below += math.exp(-1) / math.factorial(count)
    return count


@given(st.integers(0, 2**63), st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1))
def test_draws_equal_a_scalar_reference(seed, document, line):
    drawn = line_multiplicities(seed, np.array([document], np.uint64), np.array([line], np.int32), 9)
    assert drawn[0].tolist() == [1] + [
        reference_multiplicity(seed, document, line, replica) for replica in range(1, 10)
    ]


def test_a_draw_depends_on_nothing_but_its_own_key():
    documents = np.repeat(np.array([11, 12, 13], np.uint64), 50)
    lines = np.tile(np.arange(50, dtype=np.int32), 3)
    together = line_multiplicities(0, documents, lines, 32)
    order = np.random.default_rng(1).permutation(150)
    assert (line_multiplicities(0, documents[order], lines[order], 32) == together[order]).all()
    assert (line_multiplicities(0, documents, lines, 5) == together[:, :6]).all()
    assert (line_multiplicities(1, documents, lines, 32) != together).any()


def test_counts_follow_poisson_one_and_replicas_are_uncorrelated():
    drawn = line_multiplicities(0, np.zeros(200_000, np.uint64), np.arange(200_000, dtype=np.int32), 8)
    assert (drawn[:, ORIGINAL] == 1).all()
    for count in range(6):
        share = (drawn[:, 1:] == count).mean()
        assert share == pytest.approx(math.exp(-1) / math.factorial(count), abs=0.002)
    correlations = np.corrcoef(drawn[:, 1:].T)
    assert np.abs(correlations - np.eye(8)).max() < 0.015


@given(st.integers(0, 2**63), st.integers(0, 9))
def test_one_replica_alone_is_its_column(seed, replica):
    documents, lines = np.arange(20, dtype=np.uint64), np.arange(20, dtype=np.int32)
    column = line_multiplicities(seed, documents, lines, 9)[:, replica]
    assert replica_multiplicities(seed, documents, lines, replica).tolist() == column.tolist()
