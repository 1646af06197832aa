"""Biases of professions by their forms, and two sets of professions against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from tiltmeter.operators.gender.professions import (
    count_weights,
    direct_bias_of,
    form_weights,
    gender_weights,
    mean_bias,
    profession_bias,
)
from tiltmeter.operators.gender.sets import compare_sets, dealt

pytestmark = pytest.mark.filterwarnings("error")


def _biases(seed, *shape, missing=0.3):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < missing, np.nan, rng.uniform(-1, 1, shape))


def test_direct_bias_by_hand():
    assert np.isnan(direct_bias_of(np.empty((3, 0)))).tolist() == [True, True, True]
    biases = np.array([[0.6, -0.8, 0.0], [np.nan, -0.5, np.nan], [np.nan, np.nan, np.nan]])
    np.testing.assert_allclose(direct_bias_of(biases), [1.4 / 3, 0.5, np.nan])
    np.testing.assert_allclose(mean_bias(biases), [-0.2 / 3, -0.5, np.nan])
    np.testing.assert_allclose(direct_bias_of(biases, exponent=2), [1.0 / 3, 0.25, np.nan])
    np.testing.assert_allclose(direct_bias_of(biases, exponent=0), [2 / 3, 1, np.nan])


def test_the_published_scientist():
    """Section 4.2 of the paper: Wissenschaftler -0.06, 32,467 times, and Wissenschaftlerin 0.32, 1,354 times."""
    bias = profession_bias(np.array([[0.32, -0.06]]), ["feminine", "masculine"], [1354, 32467])
    assert [round(float(mean[0]), 2) for mean in bias] == [-0.04, 0.13, 0.13]
    assert bias.by_count[0] == pytest.approx((1354 * 0.32 - 32467 * 0.06) / 33821)


@given(st.integers(0, 2**32 - 1))
def test_all_weights_agree_with_loops(seed):
    """Those of a profession are of replicas with all forms; where a count is not known, the other weights are left."""
    rng = np.random.default_rng(seed)
    biases, genders, counts = _biases(seed, 6, 5), rng.integers(0, 3, 5), rng.integers(0, 4, 5)
    found = np.stack([count_weights(biases, counts), form_weights(biases), gender_weights(biases, genders)])
    whole, uncounted = (profession_bias(biases, genders, known) for known in ([*counts], [*counts[1:], None]))
    alone = profession_bias(biases[:, :1], genders[:1], [None])
    for replica, row in enumerate(biases):
        forms = [form for form in range(5) if not np.isnan(row[form])]
        means = [np.mean([row[f] for f in forms if genders[f] == g]) for g in {genders[f] for f in forms}]
        total = sum(counts[f] for f in forms)
        weighted = sum(counts[f] * row[f] for f in forms) / total if total else np.nan
        plain = np.mean([row[f] for f in forms]) if forms else np.nan
        expected = np.array([weighted, plain, np.mean(means) if means else np.nan])
        np.testing.assert_allclose(found[:, replica], expected, atol=1e-12)
        complete = expected if len(forms) == 5 else np.full(3, np.nan)
        np.testing.assert_allclose([part[replica] for part in whole], complete, atol=1e-12)
        np.testing.assert_allclose([part[replica] for part in uncounted], [np.nan, *complete[1:]], atol=1e-12)
        np.testing.assert_array_equal([part[replica] for part in alone], [row[0]] * 3)


def test_leading_axes_are_kept():
    biases = _biases(3, 2, 4, 3)
    for weighted in (lambda part: gender_weights(part, [0, 1, 1]), lambda part: count_weights(part, [1, 2, 3])):
        np.testing.assert_array_equal(weighted(biases), [weighted(part) for part in biases])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda biases: gender_weights(biases, [0, 1, 1]), r"genders \(3,\) and biases \(3, 2\): must be"),
        (lambda biases: count_weights(biases, np.ones((3, 2))), r"counts \(3, 2\) and biases \(3, 2\): must be"),
        (lambda biases: gender_weights(biases[:, :0], []), "at least one form"),
        (lambda biases: form_weights(biases[:, :0]), "at least one form"),
        (lambda biases: count_weights(biases, [5.0, -1.0]), "must be finite and 0 or more"),
        (lambda biases: count_weights(biases, [5.0, np.nan]), "must be finite and 0 or more"),
        (lambda biases: count_weights(biases, [5.0, np.inf]), "must be finite and 0 or more"),
        (lambda biases: direct_bias_of(biases, exponent=-1), "exponent=-1: must be 0 or more"),
    ],
)
def test_refusals(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(_biases(4, 3, 2))


def test_two_and_three_professions_by_hand():
    # Means 0.4 and 0.8; variances 0.04 and 0.08 over 3 and 2 professions, v = 0.04 / 3 and 0.08 / 2.
    comparison = compare_sets(np.array([[0.2, 0.4, 0.6]]), np.array([[0.6, 1.0]]))
    first, second = 0.04 / 3, 0.08 / 2
    assert (comparison.original_mean[0], comparison.modified_mean[0]) == pytest.approx((0.4, 0.8))
    assert comparison.test.t[0] == pytest.approx(-0.4 / np.sqrt(first + second))
    assert comparison.test.df[0] == pytest.approx((first + second) ** 2 / (first**2 / 2 + second**2 / 1))


def test_every_replica_is_tested_over_the_professions_that_it_has():
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


def test_a_set_of_one_profession_is_not_tested_and_the_same_set_differs_by_nothing():
    same = compare_sets(np.array([[0.2, -0.4, 0.6]]), np.array([[0.2, -0.4, 0.6]])).test
    assert (same.t[0], same.p[0]) == (0, 1)
    comparison = compare_sets(np.array([[0.2, np.nan]]), np.array([[0.6, 1.0]]))
    assert np.isnan(comparison.test.t[0])
    assert comparison.original_mean[0] == pytest.approx(0.2)
    assert np.isnan(compare_sets(np.full((1, 2), np.nan), np.array([[0.6, 1.0]])).original_mean[0])


def test_too_few_words_of_a_list_are_not_tested():
    few = dealt(np.array([0.1, 0.2, 0.4, np.nan]), np.arange(9.0) / 9, level=0.95, seed=0)
    assert (few.status, few.value) == ("too_few_units", pytest.approx(0.7 / 3 - 4 / 9))
    assert np.isnan(few.p)
    assert "3 of the unit" in few.reason
