import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from tiltmeter.operators.statistics.paired_samples import paired_t


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.integers(-50, 50)] * 2), min_size=3, max_size=12))
def test_it_is_scipys_test_of_related_samples(pairs):
    first, second = np.array(pairs, dtype=float).T
    differences = first - second
    if np.ptp(differences) == 0.0:
        return
    result, expected = paired_t(differences), ttest_rel(first, second)
    assert (result.t, result.df) == (pytest.approx(expected.statistic), expected.df)
    assert result.p == pytest.approx(expected.pvalue)


def test_pairs_without_a_side_are_left_out_and_one_pair_tests_nothing():
    assert paired_t(np.array([1.0, np.nan, 3.0])) == paired_t(np.array([1.0, 3.0]))
    assert np.isnan(paired_t(np.array([1.0, np.nan]))).all()


def test_differences_that_do_not_vary():
    assert paired_t(np.zeros(3)) == (0.0, 2.0, 1.0)
    assert paired_t(np.full(3, 0.1)) == (np.inf, 2.0, 0.0)
    assert paired_t(np.full(3, -0.1)) == (-np.inf, 2.0, 0.0)
