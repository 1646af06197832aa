import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.embedding.similarity import cosine, unit_vectors
from tiltmeter.operators.gender.direction import (
    DOMINANCE,
    direct_bias,
    dominates,
    gender_direction,
    projection,
    without_each_pair,
)


def _pairs(seed: int, replicas: int = 4, pairs: int = 6, dims: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Pairs around random middles that differ along the first axis, female positive, plus noise."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(replicas, pairs, dims))
    offsets = 0.1 * rng.normal(size=(replicas, pairs, dims))
    offsets[..., 0] += 1.0
    return middles + offsets, middles - offsets


def _words(seed: int, replicas: int = 4, words: int = 9, dims: int = 8) -> np.ndarray:
    return np.random.default_rng(seed + 1).normal(size=(replicas, words, dims))


def _two_orthogonal_pairs(first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """One replica of unit vectors with half differences (first, 0, 0) and (0, second, 0)."""
    female = np.array([[[first, 0.0, np.sqrt(1 - first**2)], [0.0, second, np.sqrt(1 - second**2)]]])
    return female, female * [-1, -1, 1]


def test_two_pairs_by_hand() -> None:
    # Unit vectors; half differences (0.6, 0, 0) and (0, 0.28, 0): squares 0.36 and 0.0784.
    female = np.array([[[0.6, 0.0, 0.8], [0.0, 0.28, 0.96]]])
    male = female * [-1, -1, 1]
    found = gender_direction(female, male)
    np.testing.assert_allclose(found.direction, [[1, 0, 0]], atol=1e-12)
    assert found.first_share[0] == pytest.approx(0.36 / 0.4384)
    assert found.second_share[0] == pytest.approx(0.0784 / 0.4384)
    assert found.gap[0] == pytest.approx((0.36 - 0.0784) / 0.4384)
    assert found.num_pairs[0] == 2


@pytest.mark.parametrize(("ratio", "expected"), [(DOMINANCE - 1e-6, False), (DOMINANCE + 1e-6, True), (1.0, False)])
def test_first_component_dominates_from_twice_the_second_share(ratio: float, expected: bool) -> None:
    # Shares go with the squares of the half differences.
    found = gender_direction(*_two_orthogonal_pairs(0.5 * np.sqrt(ratio), 0.5))
    assert found.first_share[0] / found.second_share[0] == pytest.approx(ratio)
    assert dominates(found).tolist() == [expected]


def test_agrees_with_the_covariance_of_the_centred_words() -> None:
    female, male = _pairs(0, replicas=1)
    f, m = unit_vectors(female[0]), unit_vectors(male[0])
    middle = (f + m) / 2
    values, vectors = np.linalg.eigh(np.cov(np.concatenate([f - middle, m - middle]).T))
    found = gender_direction(female, male)
    assert abs(found.direction[0] @ vectors[:, -1]) == pytest.approx(1)
    assert found.first_share[0] == pytest.approx(values[-1] / values.sum())
    assert found.second_share[0] == pytest.approx(values[-2] / values.sum())


@given(st.integers(0, 2**32 - 1))
def test_female_side_is_positive(seed: int) -> None:
    female, male = _pairs(seed)
    found = gender_direction(female, male)
    assert (found.direction[:, 0] > 0).all()
    np.testing.assert_allclose(gender_direction(male, female).direction, -found.direction, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.direction, axis=1), 1)


def test_one_contrary_pair_does_not_turn_the_direction() -> None:
    female, male = _pairs(1)
    female[:, 0], male[:, 0] = male[:, 0].copy(), female[:, 0].copy()
    found = gender_direction(female, male)
    assert (found.direction[:, 0] > 0).all()
    np.testing.assert_allclose(found.agreement, 5 / 6)


def test_missing_pair_is_left_out_in_its_replica_only() -> None:
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


def test_no_pairs_and_coinciding_pairs_have_no_direction() -> None:
    female, male = _pairs(3)
    female[0] = np.nan
    male[1] = 3.0 * female[1]
    found = gender_direction(female, male)
    assert found.num_pairs.tolist() == [0, 6, 6, 6]
    for measure in found[:4]:
        assert np.isnan(measure[:2]).all()
        assert np.isfinite(measure[2:]).all()


def test_single_pair_is_its_own_direction() -> None:
    found = gender_direction(np.array([[[0.0, 2.0]]]), np.array([[[1.0, 0.0]]]))
    np.testing.assert_allclose(found.direction, [[-np.sqrt(0.5), np.sqrt(0.5)]])
    assert (found.first_share[0], found.second_share[0]) == (pytest.approx(1), 0)


def test_projection_and_direct_bias_by_hand() -> None:
    words = np.array([[[3.0, 4.0], [-8.0, 6.0], [0.0, 1.0]]])
    direction = np.array([[1.0, 0.0]])
    np.testing.assert_allclose(projection(words, direction), [[0.6, -0.8, 0.0]])
    assert direct_bias(words, direction)[0] == pytest.approx(1.4 / 3)
    assert direct_bias(words, direction, exponent=2)[0] == pytest.approx((0.36 + 0.64) / 3)
    assert direct_bias(words, direction, exponent=0)[0] == pytest.approx(2 / 3)


def test_missing_words_are_left_out_of_direct_bias() -> None:
    words = np.array([[[3.0, 4.0], [np.nan, 0.0]], [[np.nan, 1.0], [np.nan, np.nan]], [[3.0, 4.0], [1.0, 0.0]]])
    direction = np.array([[1.0, 0.0], [1.0, 0.0], [np.nan, np.nan]])
    found = direct_bias(words, direction)
    assert found[0] == pytest.approx(0.6)
    assert np.isnan(found[1:]).all()


def test_gap_without_a_pair_by_hand() -> None:
    # Three orthogonal pairs with halves 0.6, 0.28 and 0.8 long: squares 0.36, 0.0784 and 0.64.
    halves = np.diag([0.6, 0.28, 0.8])
    middles = np.hstack([np.zeros((3, 3)), np.diag([0.8, 0.96, 0.6])])
    female, male = (np.hstack([sign * halves, np.zeros((3, 3))])[np.newaxis] + middles for sign in (1, -1))
    assert gender_direction(female, male).gap[0] == pytest.approx((0.64 - 0.36) / 1.0784)
    found = without_each_pair(female, male, female)
    expected = [(0.64 - 0.0784) / 0.7184, (0.64 - 0.36) / 1.0, (0.36 - 0.0784) / 0.4384]
    np.testing.assert_allclose(found.gap[:, 0], expected)
    np.testing.assert_allclose(found.second_share[:, 0], [0.0784 / 0.7184, 0.36, 0.0784 / 0.4384])


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.5])
def test_leaving_out_each_pair_is_the_direction_of_the_others(exponent: float) -> None:
    (female, male), words = _pairs(7), _words(7)
    words[2, 4] = np.nan
    found = without_each_pair(female, male, words, exponent)
    for replica in range(4):
        complete = gender_direction(female[[replica]], male[[replica]]).direction
        for pair in range(6):
            others = [other for other in range(6) if other != pair]
            alone = gender_direction(female[[replica]][:, others], male[[replica]][:, others])
            bias = direct_bias(words[[replica]], alone.direction, exponent)
            np.testing.assert_allclose(found.direction[pair, replica], alone.direction[0], atol=1e-9)
            np.testing.assert_allclose(found.first_share[pair, replica], alone.first_share[0])
            np.testing.assert_allclose(found.gap[pair, replica], alone.gap[0], atol=1e-12)
            np.testing.assert_allclose(found.similarity[pair, replica], cosine(alone.direction, complete)[0])
            np.testing.assert_allclose(found.direct_bias[pair, replica], bias[0])


def test_leaving_out_a_missing_pair_changes_nothing() -> None:
    (female, male), words = _pairs(8), _words(8)
    male[1, 3] = np.nan
    complete, found = gender_direction(female, male), without_each_pair(female, male, words)
    np.testing.assert_array_equal(found.direction[3, 1], complete.direction[1])
    assert found.first_share[3, 1] == complete.first_share[1]
    assert found.similarity[3, 1] == pytest.approx(1)
    assert found.direct_bias[3, 1] == direct_bias(words, complete.direction)[1]
    assert (np.delete(found.first_share[:, 1], 3) != complete.first_share[1]).all()


def test_a_pair_that_outvotes_a_contrary_one_turns_the_direction_when_left_out() -> None:
    female = np.array([[[3.0, 4.0], [-7.0, 24.0]]])
    found = without_each_pair(female, female * [-1, 1], female)
    np.testing.assert_allclose(found.similarity[:, 0], [-1, 1])


@pytest.mark.filterwarnings("error")
def test_nothing_remains_of_a_single_pair() -> None:
    (female, male), words = _pairs(10, pairs=2), _words(10)
    female[0, 1] = np.nan
    female[1] = np.nan
    found = without_each_pair(female, male, words)
    for measure in found:
        undefined = np.isnan(measure).reshape(2, 4, -1).all(axis=-1)
        assert undefined.tolist() == [[True, True, False, False], [False, True, False, False]]
    assert np.isnan(without_each_pair(female[:, :1], male[:, :1], words).direct_bias).all()


@given(st.integers(0, 2**32 - 1))
def test_rotations_and_lengths_do_not_matter(seed: int) -> None:
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


def test_refusals() -> None:
    female, male = _pairs(4)
    with pytest.raises(ValueError, match="must both be"):
        gender_direction(female, male[:, :2])
    with pytest.raises(ValueError, match="at least one pair"):
        gender_direction(female[:, :0], male[:, :0])
    with pytest.raises(ValueError, match="exponent=-1: must be 0 or more"):
        direct_bias(female, female[:, 0], exponent=-1)
    with pytest.raises(ValueError, match="must both be"):
        without_each_pair(female[:, :2], male, female)
    with pytest.raises(ValueError, match="exponent=nan: must be 0 or more"):
        without_each_pair(female, male, female, exponent=float("nan"))
