"""The gender direction of pairs, biases along it, and how much rests on each pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.embedding.direction import gender_direction, projection
from tiltmeter.operators.embedding.similarity import unit_vectors
from tiltmeter.operators.gender import gender_bias
from tiltmeter.operators.gender.direction import DOMINANCE, direct_bias, dominates, without_each_pair


def _pairs(seed, replicas=4, pairs=6, dims=8):
    """Pairs around random middles that differ along the first axis, female positive, plus noise."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(replicas, pairs, dims))
    offsets = 0.1 * rng.normal(size=(replicas, pairs, dims))
    offsets[..., 0] += 1.0
    return middles + offsets, middles - offsets


def _words(seed, replicas=4, words=9, dims=8):
    return np.random.default_rng(seed + 1).normal(size=(replicas, words, dims))


def _two_orthogonal_pairs(first, second):
    """One replica of unit vectors with half differences (first, 0, 0) and (0, second, 0)."""
    female = np.array([[[first, 0.0, np.sqrt(1 - first**2)], [0.0, second, np.sqrt(1 - second**2)]]])
    return female, female * [-1, -1, 1]


@pytest.mark.parametrize(("ratio", "expected"), [(DOMINANCE - 1e-6, False), (DOMINANCE + 1e-6, True), (1.0, False)])
def test_two_pairs_by_hand_and_dominance_from_twice_the_second_share(ratio, expected):
    # Shares go with the squares of the half differences.
    found = gender_direction(*_two_orthogonal_pairs(0.5 * np.sqrt(ratio), 0.5))
    shares = found.first_share[0], found.second_share[0], found.gap[0]
    assert shares == pytest.approx((ratio / (ratio + 1), 1 / (ratio + 1), (ratio - 1) / (ratio + 1)))
    assert found.num_pairs[0] == 2
    assert dominates(found).tolist() == [expected]


def test_one_contrary_pair_does_not_turn_the_direction():
    female, male = _pairs(1)
    female[:, 0], male[:, 0] = male[:, 0].copy(), female[:, 0].copy()
    found = gender_direction(female, male)
    assert (found.direction[:, 0] > 0).all()
    np.testing.assert_allclose(found.agreement, 5 / 6)


def test_missing_pair_is_left_out_in_its_replica_only():
    female, male = _pairs(2)
    complete = gender_direction(female, male)
    without = gender_direction(np.delete(female, 3, axis=1), np.delete(male, 3, axis=1))
    male[1, 3] = np.nan
    found = gender_direction(female, male)
    assert found.num_pairs.tolist() == [6, 5, 6, 6]
    np.testing.assert_allclose(found.direction[1], without.direction[1], atol=1e-12)
    np.testing.assert_allclose(found.first_share[1], without.first_share[1])
    np.testing.assert_allclose(found.agreement[1], without.agreement[1])
    np.testing.assert_array_equal(found.direction[[0, 2, 3]], complete.direction[[0, 2, 3]])


def test_no_pairs_and_coinciding_pairs_have_no_direction():
    female, male = _pairs(3)
    female[0] = np.nan
    male[1] = 3.0 * female[1]
    found = gender_direction(female, male)
    assert found.num_pairs.tolist() == [0, 6, 6, 6]
    for measure in found[:4]:
        assert np.isnan(measure[:2]).all()
        assert np.isfinite(measure[2:]).all()


def test_projection_and_direct_bias_by_hand():
    words = np.array([[[3.0, 4.0], [-8.0, 6.0], [0.0, 1.0]]])
    direction = np.array([[1.0, 0.0]])
    np.testing.assert_allclose(projection(words, direction), [[0.6, -0.8, 0.0]])
    assert direct_bias(words, direction)[0] == pytest.approx(1.4 / 3)
    assert direct_bias(words, direction, exponent=2)[0] == pytest.approx((0.36 + 0.64) / 3)
    assert direct_bias(words, direction, exponent=0)[0] == pytest.approx(2 / 3)


def test_missing_words_are_left_out_of_direct_bias():
    words = np.array([[[3.0, 4.0], [np.nan, 0.0]], [[np.nan, 1.0], [np.nan, np.nan]], [[3.0, 4.0], [1.0, 0.0]]])
    direction = np.array([[1.0, 0.0], [1.0, 0.0], [np.nan, np.nan]])
    np.testing.assert_allclose(direct_bias(words, direction), [0.6, np.nan, np.nan])


def _by_covariance(female, male):
    """The first component of the centred words of one replica, towards the mean of the female ones, and all shares."""
    f, m = unit_vectors(female), unit_vectors(male)
    values, vectors = np.linalg.eigh(np.cov(np.concatenate([f - (f + m) / 2, m - (f + m) / 2]).T))
    return vectors[:, -1] * np.sign(vectors[:, -1] @ (f - m).sum(axis=0)), values[::-1] / values.sum()


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.5])
def test_leaving_out_each_pair_is_the_direction_of_the_others(exponent):
    (female, male), words = _pairs(7), _words(7)
    words[2, 4] = np.nan
    male[1, 3] = np.nan
    complete, found = gender_direction(female, male), without_each_pair(female, male, words, exponent)
    for replica in range(4):
        known = np.isfinite(male[replica]).all(axis=1)
        whole, _ = _by_covariance(female[replica, known], male[replica, known])
        np.testing.assert_allclose(complete.direction[replica], whole, atol=1e-9)
        for pair in range(6):
            others = known & (np.arange(6) != pair)
            direction, shares = _by_covariance(female[replica, others], male[replica, others])
            bias = direct_bias(words[[replica]], direction[np.newaxis], exponent)
            np.testing.assert_allclose(found.direction[pair, replica], direction, atol=1e-9)
            np.testing.assert_allclose(found.first_share[pair, replica], shares[0])
            np.testing.assert_allclose(found.second_share[pair, replica], shares[1], atol=1e-12)
            np.testing.assert_allclose(found.gap[pair, replica], shares[0] - shares[1], atol=1e-12)
            np.testing.assert_allclose(found.similarity[pair, replica], whole @ direction)
            np.testing.assert_allclose(found.direct_bias[pair, replica], bias[0])


def test_a_pair_that_outvotes_a_contrary_one_turns_the_direction_when_left_out():
    female = np.array([[[3.0, 4.0], [-7.0, 24.0]]])
    found = without_each_pair(female, female * [-1, 1], female)
    np.testing.assert_allclose(found.similarity[:, 0], [-1, 1])


@pytest.mark.filterwarnings("error")
def test_nothing_remains_of_a_single_pair():
    (female, male), words = _pairs(10, pairs=2), _words(10)
    female[0, 1] = np.nan
    female[1] = np.nan
    found = without_each_pair(female, male, words)
    for measure in found:
        undefined = np.isnan(measure).reshape(2, 4, -1).all(axis=-1)
        assert undefined.tolist() == [[True, True, False, False], [False, True, False, False]]
    assert np.isnan(without_each_pair(female[:, :1], male[:, :1], words).direct_bias).all()


@pytest.mark.long
@given(st.integers(0, 2**32 - 1))
def test_rotations_and_lengths_do_not_matter(seed):
    (female, male), words = _pairs(seed), _words(seed)
    rng = np.random.default_rng(seed + 2)
    rotation, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    female_2, male_2, words_2 = (
        vectors * rng.uniform(0.1, 10, (*vectors.shape[:2], 1)) @ rotation for vectors in (female, male, words)
    )
    found, turned = without_each_pair(female, male, words), without_each_pair(female_2, male_2, words_2)
    np.testing.assert_allclose(turned.direction, found.direction @ rotation, atol=1e-9)
    for name in ("direct_bias", "similarity", "first_share"):
        np.testing.assert_allclose(getattr(turned, name), getattr(found, name), atol=1e-9)


(FEMALE, MALE), NAN = _pairs(4), float("nan")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: gender_direction(FEMALE, MALE[:, :2]), "must both be"),
        (lambda: gender_direction(FEMALE[:, :0], MALE[:, :0]), "at least one pair"),
        (lambda: direct_bias(FEMALE, FEMALE[:, 0], exponent=-1), "exponent=-1: must be 0 or more"),
        (lambda: without_each_pair(FEMALE[:, :2], MALE, FEMALE), "must both be"),
        (lambda: without_each_pair(FEMALE, MALE, FEMALE, exponent=NAN), "exponent=nan: must be 0 or more"),
    ],
)
def test_refusals(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_gender_bias_is_what_the_functions_give_one_by_one():
    rng = np.random.default_rng(0)
    female, male, words = (rng.normal(size=(3, num, 5)) for num in (4, 4, 6))
    words[1, 2] = np.nan
    result, direction = gender_bias(female, male, words, exponent=2.0), gender_direction(female, male)
    assert np.array_equal(result.direction.direction, direction.direction)
    assert np.array_equal(result.biases, projection(words, direction.direction), equal_nan=True)
    assert np.array_equal(result.direct_bias, direct_bias(words, direction.direction, 2.0))
    alone = gender_bias(female[1], male[1], words[1], 2.0)
    assert alone.direct_bias == result.direct_bias[1]
    assert np.array_equal(alone.biases, result.biases[1], equal_nan=True)
    assert alone.direction.num_pairs == 4
    with pytest.raises(ValueError, match="at least one pair"):
        gender_bias(female[1], male[1, :3], words[1])
