import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.gender import direct_bias, gender_direction, projection
from operators.similarity import unit_vectors


def _pairs(seed: int, replicas: int = 4, pairs: int = 6, dims: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Pairs around random middles that differ along the first axis, female positive, plus noise."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(replicas, pairs, dims))
    offsets = 0.1 * rng.normal(size=(replicas, pairs, dims))
    offsets[..., 0] += 1.0
    return middles + offsets, middles - offsets


def test_two_pairs_by_hand() -> None:
    # Unit vectors; half differences (0.6, 0, 0) and (0, 0.28, 0): squares 0.36 and 0.0784.
    female = np.array([[[0.6, 0.0, 0.8], [0.0, 0.28, 0.96]]])
    male = female * [-1, -1, 1]
    found = gender_direction(female, male)
    np.testing.assert_allclose(found.direction, [[1, 0, 0]], atol=1e-12)
    assert found.first_share[0] == pytest.approx(0.36 / 0.4384)
    assert found.second_share[0] == pytest.approx(0.0784 / 0.4384)
    assert found.num_pairs[0] == 2


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


@given(st.integers(0, 2**32 - 1))
def test_lengths_do_not_matter(seed: int) -> None:
    female, male = _pairs(seed)
    factors = np.random.default_rng(seed).uniform(0.1, 10, (2, 4, 6, 1))
    stretched = gender_direction(female * factors[0], male * factors[1])
    np.testing.assert_allclose(stretched.direction, gender_direction(female, male).direction, atol=1e-9)


def test_missing_pair_is_left_out_in_its_replica_only() -> None:
    female, male = _pairs(2)
    complete = gender_direction(female, male)
    without = gender_direction(np.delete(female, 3, axis=1), np.delete(male, 3, axis=1))
    male[1, 3] = np.nan
    found = gender_direction(female, male)
    assert found.num_pairs.tolist() == [6, 5, 6, 6]
    np.testing.assert_allclose(found.direction[1], without.direction[1], atol=1e-12)
    np.testing.assert_allclose(found.first_share[1], without.first_share[1])
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


def test_refusals() -> None:
    female, male = _pairs(4)
    with pytest.raises(ValueError, match="must both be"):
        gender_direction(female, male[:, :2])
    with pytest.raises(ValueError, match="at least one pair"):
        gender_direction(female[:, :0], male[:, :0])
    with pytest.raises(ValueError, match="exponent=-1: must be 0 or more"):
        direct_bias(female, female[:, 0], exponent=-1)
