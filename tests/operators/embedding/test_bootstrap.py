import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import (
    ORIGINAL,
    Resampling,
    ResamplingSettings,
    line_multiplicities,
    replica_multiplicities,
    replica_numbers,
)


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


EXPONENTIAL = Resampling("line", "exponential")


def test_exponential_weights_have_mean_and_variance_one_and_lose_hardly_a_line():
    drawn = line_multiplicities(0, np.zeros(200_000, np.uint64), np.arange(200_000, dtype=np.int32), 4, EXPONENTIAL)
    assert (drawn[:, ORIGINAL] == EXPONENTIAL.units_per_line).all()
    weights = drawn[:, 1:] / EXPONENTIAL.units_per_line
    assert weights.mean() == pytest.approx(1, abs=0.005)
    assert weights.var() == pytest.approx(1, abs=0.01)
    assert (weights == 0).mean() == pytest.approx(-math.expm1(-1 / 512), rel=0.1)
    assert (weights > 2).mean() == pytest.approx(math.exp(-2), rel=0.02)


@given(st.integers(0, 2**63), st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1))
def test_exponential_weights_equal_a_scalar_reference(seed, document, line):
    counter = document | line << 64
    bits = np.random.Philox(key=seed | Stream.LINE_MULTIPLICITY << 64, counter=(counter - 1) % 2**256).random_raw(4)
    expected = [round(-256 * math.log1p(-(int(word) >> 11) * 2.0**-53)) for word in bits]
    drawn = line_multiplicities(seed, np.array([document], np.uint64), np.array([line], np.int32), 4, EXPONENTIAL)
    assert drawn[0].tolist() == [256, *expected]


@pytest.mark.parametrize("weights", ["poisson", "exponential"])
def test_lines_of_a_document_are_drawn_as_one(weights):
    resampling = Resampling("document", weights)
    documents, lines = np.repeat(np.arange(5000, dtype=np.uint64), 3), np.tile(np.arange(3, dtype=np.int32), 5000)
    drawn = line_multiplicities(7, documents, lines, 6, resampling)
    assert (drawn.reshape(5000, 3, 7) == drawn[::3, np.newaxis]).all()
    assert drawn[::3, 1:].var() / resampling.units_per_line**2 == pytest.approx(1, abs=0.05)
    assert (drawn != line_multiplicities(7, documents, lines, 6, Resampling("line", weights))).any()
    for replica in range(7):
        assert (replica_multiplicities(7, documents, lines, replica, resampling) == drawn[:, replica]).all()


@pytest.mark.parametrize(
    ("num_documents", "num_lines", "drawn", "is_too_few"),
    [(6, 10, "document", False), (6, 9, "line", False), (5, 8, "line", True), (5, 7, "line", False)],
)
def test_six_documents_of_several_lines_are_drawn_and_five_say_nothing(num_documents, num_lines, drawn, is_too_few):
    for weights in ("poisson", "exponential"):
        settings = ResamplingSettings("auto", weights)
        assert settings.of(num_documents, num_lines) == Resampling(drawn, weights)
        assert settings.is_too_few(num_documents, num_lines) == is_too_few
        by_line, by_document = (ResamplingSettings(unit, weights) for unit in ("line", "document"))
        assert by_document.of(num_documents, num_lines) == Resampling("document", weights)
        assert by_line.of(num_documents, num_lines) == Resampling("line", weights)
        assert by_document.is_too_few(num_documents, num_lines) == (num_documents < 6)
        assert not by_line.is_too_few(num_documents, num_lines)


@pytest.mark.parametrize("resampling", [Resampling(), EXPONENTIAL])
def test_further_starts_have_the_lines_of_the_corpus_itself(resampling):
    documents, lines = np.arange(20, dtype=np.uint64), np.arange(20, dtype=np.int32)
    assert replica_numbers(2, 3) == [0, 1, 2, -1, -2]
    for replica in (-1, -255):
        drawn = replica_multiplicities(7, documents, lines, replica, resampling)
        assert (drawn == resampling.units_per_line).all()
