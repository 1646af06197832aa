import numpy as np
import pytest
from scipy.stats import ttest_ind

from tiltmeter.operators.gender.sets import compare_sets, dealt

pytestmark = pytest.mark.filterwarnings("error")


def test_two_and_three_professions_by_hand() -> None:
    # Means 0.4 and 0.8; variances 0.04 and 0.08 over 3 and 2 professions, v = 0.04 / 3 and 0.08 / 2.
    comparison = compare_sets(np.array([[0.2, 0.4, 0.6]]), np.array([[0.6, 1.0]]))
    first, second = 0.04 / 3, 0.08 / 2
    assert (comparison.original_mean[0], comparison.modified_mean[0]) == pytest.approx((0.4, 0.8))
    assert comparison.test.t[0] == pytest.approx(-0.4 / np.sqrt(first + second))
    assert comparison.test.df[0] == pytest.approx((first + second) ** 2 / (first**2 / 2 + second**2 / 1))


def test_every_replica_is_tested_over_the_professions_that_it_has() -> None:
    rng = np.random.default_rng(0)
    original, modified = rng.uniform(-1, 1, (4, 30)), rng.uniform(-0.5, 1, (4, 9))
    original[1, :5], modified[2, 3] = np.nan, np.nan
    comparison = compare_sets(original, modified)
    for replica in range(4):
        sets = (values[replica][np.isfinite(values[replica])] for values in (original, modified))
        expected = ttest_ind(*sets, equal_var=False)
        assert comparison.test.t[replica] == pytest.approx(expected.statistic)
        assert comparison.test.df[replica] == pytest.approx(expected.df)
        assert comparison.test.p[replica] == pytest.approx(expected.pvalue)


def test_a_set_of_one_profession_is_not_tested_and_the_same_set_differs_by_nothing() -> None:
    same = compare_sets(np.array([[0.2, -0.4, 0.6]]), np.array([[0.2, -0.4, 0.6]])).test
    assert (same.t[0], same.p[0]) == (0, 1)
    comparison = compare_sets(np.array([[0.2, np.nan]]), np.array([[0.6, 1.0]]))
    assert np.isnan(comparison.test.t[0])
    assert comparison.original_mean[0] == pytest.approx(0.2)
    assert np.isnan(compare_sets(np.full((1, 2), np.nan), np.array([[0.6, 1.0]])).original_mean[0])


def test_too_few_words_of_a_list_are_not_tested() -> None:
    few = dealt(np.array([0.1, 0.2, 0.4, np.nan]), np.arange(9.0) / 9, level=0.95, seed=0)
    assert (few.status, few.value) == ("too_few_units", pytest.approx(0.7 / 3 - 4 / 9))
    assert np.isnan(few.p)
    assert "3 of the unit" in few.reason
