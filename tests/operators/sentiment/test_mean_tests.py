"""How many deals a test of means takes, by its number of units."""

import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.sentiment.mean_tests import Origins, mean_tests


def _tested(num):
    scores, cells = np.random.default_rng(7).normal(size=num), (np.arange(num) % 3 == 0).astype(np.int64)
    [test] = mean_tests(scores, cells, 2, Origins(), seed=1, about=2)
    assert (test.kind, test.num_units, test.too_few) == ("text", num, None)
    return test.p, scores[cells == 1], scores[cells == 0]


@pytest.mark.parametrize(("num", "are_few"), [(60, True), (500, True), (501, False), (2_000, False)])
def test_of_more_units_fewer_deals_are_drawn(num, are_few):
    p, _, _ = _tested(num)
    rank = p * (10_000 if are_few else 2_000)
    assert rank == pytest.approx(round(rank))
    assert (round(10_000 * p) % 5 == 0) is not are_few, "2,000 ranks are a fifth of 10,000"


def test_beyond_two_thousand_units_the_test_is_welchs_of_their_means():
    p, one, other = _tested(2_001)
    assert p == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue)
