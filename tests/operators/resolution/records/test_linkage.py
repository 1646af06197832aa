import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.resolution.records.linkage import MISSING, estimate_agreement

labelled = st.lists(st.tuples(st.integers(MISSING, 3), st.booleans()), max_size=30)


def test_shares_by_hand() -> None:
    # Matches: 3 equal, 1 different; others: 1 equal, 1 different, and one that lacks a value.
    degrees = np.array([1, 1, 1, 0, 1, 0, MISSING])
    found = estimate_agreement(degrees, np.array([True] * 4 + [False] * 3), 2)
    assert found.num_matches.tolist() == [1, 3]
    assert found.num_distinct.tolist() == [1, 1]
    assert found.m.tolist() == [1.5 / 5, 3.5 / 5]
    assert found.u.tolist() == [0.5, 0.5]
    assert found.weights == pytest.approx([np.log2(0.6), np.log2(1.4)])


@given(labelled)
def test_shares_sum_to_one_and_none_is_zero(pairs: list[tuple[int, bool]]) -> None:
    degrees, is_match = np.array([pair[0] for pair in pairs], int), np.array([pair[1] for pair in pairs], bool)
    found = estimate_agreement(degrees, is_match, 4)
    assert found.num_matches.sum() + found.num_distinct.sum() == (degrees != MISSING).sum()
    for shares in (found.m, found.u):
        assert shares.min() > 0
        assert shares.sum() == pytest.approx(1.0)
    swapped = estimate_agreement(degrees, ~is_match, 4)
    assert swapped.weights == pytest.approx(-found.weights)


@pytest.mark.parametrize("degree", [-2, 2])
def test_degrees_out_of_range_are_refused(degree: int) -> None:
    with pytest.raises(ValueError, match=r"must lie in -1\.\.1"):
        estimate_agreement(np.array([0, degree]), np.array([True, False]), 2)
