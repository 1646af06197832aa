import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import (
    Resampling,
    ResamplingSettings,
    line_multiplicities,
    replica_multiplicities,
    replica_numbers,
)

EXPONENTIAL = Resampling("line", "exponential")
WEIGHTS = st.sampled_from(["poisson", "exponential"])


def reference_multiplicities(seed, document, line, weights):
    """Of nine replicas by inversion, each by itself, on numpy's own generator and Python's big integers."""
    yield EXPONENTIAL.units_per_line if weights == "exponential" else 1
    for replica in range(9):
        counter = document | line << 64 | replica // 4 << 128
        generator = np.random.Philox(key=seed | Stream.LINE_MULTIPLICITY << 64, counter=(counter - 1) % 2**256)
        bits = int(generator.random_raw(4)[replica % 4])
        if weights == "exponential":
            yield round(-256 * math.log1p(-(bits >> 11) * 2.0**-53))
            continue
        count, below = 0, math.exp(-1)
        while bits / 2**64 >= below:
            count += 1
            below += math.exp(-1) / math.factorial(count)
        yield count


@given(st.integers(0, 2**63), st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1), WEIGHTS)
def test_draws_equal_a_scalar_reference(seed, document, line, weights):
    documents, lines = np.array([7, document], np.uint64), np.array([3, line], np.int32)
    drawn = line_multiplicities(seed, documents, lines, 9, Resampling("line", weights))
    assert drawn[1].tolist() == list(reference_multiplicities(seed, document, line, weights))


@given(st.integers(0, 2**63), st.integers(0, 9))
def test_one_replica_alone_is_its_column(seed, replica):
    documents, lines = np.arange(20, dtype=np.uint64), np.arange(20, dtype=np.int32)
    column = line_multiplicities(seed, documents, lines, 9)[:, replica]
    assert replica_multiplicities(seed, documents, lines, replica).tolist() == column.tolist()


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
