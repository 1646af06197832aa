import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from operators.association import effect_size, word_associations
from operators.similarity import cosine, unit_vectors

Sets = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def _at(*degrees: float) -> np.ndarray:
    """One replica of words in the plane, ``[1, words, 2]``."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)[np.newaxis]


def _random(seed: int, replicas: int = 3, dims: int = 5) -> Sets:
    """Targets X and Y, attributes A and B."""
    rng = np.random.default_rng(seed)
    x, y, a, b = (rng.normal(size=(replicas, words, dims)) for words in (4, 4, 3, 6))
    return x, y, a, b


def _each(change: Callable[[NDArray[Any]], NDArray[Any]], sets: Sets) -> Sets:
    x, y, a, b = (change(vectors) for vectors in sets)
    return x, y, a, b


def test_associations_by_hand() -> None:
    found = word_associations(_at(0, 60, 90), _at(0), _at(90))
    np.testing.assert_allclose(found, [[1.0, 0.5 - math.sqrt(3) / 2, -1.0]], atol=1e-12)


def test_associations_are_means_of_cosines() -> None:
    words, _, a, b = _random(0)
    pairwise_a = cosine(words[:, :, None], a[:, None]).mean(axis=-1)
    pairwise_b = cosine(words[:, :, None], b[:, None]).mean(axis=-1)
    np.testing.assert_allclose(word_associations(words, a, b), pairwise_a - pairwise_b, atol=1e-12)


def test_effect_size_by_hand() -> None:
    # Associations cos - sin: 1 and 0 for X (0 and 45 degrees), 0 and -1 for Y. Difference of means 0.5 - (-0.5) = 1;
    # variance of (1, 0, 0, -1): 2/4 for the population, 2/3 for the sample.
    x, y, a, b = _at(0, 45), _at(45, 90), _at(0), _at(90)
    assert effect_size(x, y, a, b, ddof=0)[0] == pytest.approx(math.sqrt(2))
    assert effect_size(x, y, a, b)[0] == pytest.approx(math.sqrt(1.5))


@given(st.integers(0, 2**32 - 1))
def test_swapping_targets_or_attributes_flips_the_sign(seed: int) -> None:
    x, y, a, b = _random(seed)
    found = effect_size(x, y, a, b)
    np.testing.assert_allclose(effect_size(y, x, a, b), -found, atol=1e-12)
    np.testing.assert_allclose(effect_size(x, y, b, a), -found, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_lengths_do_not_matter(seed: int) -> None:
    sets = _random(seed)
    rng = np.random.default_rng(seed + 1)
    stretched = _each(lambda vectors: vectors * rng.uniform(0.01, 100, (*vectors.shape[:2], 1)), sets)
    np.testing.assert_allclose(effect_size(*stretched), effect_size(*sets), atol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_largest_effect_size(seed: int) -> None:
    sets = _random(seed)
    assert (np.abs(effect_size(*sets, ddof=0)) <= 2 + 1e-12).all()
    assert (np.abs(effect_size(*sets)) <= 2 * math.sqrt(7 / 8) + 1e-12).all()


def test_replicas_do_not_mix() -> None:
    sets = _random(1)
    together = effect_size(*sets)
    middle = effect_size(*_each(lambda vectors: vectors[1:2], sets))
    np.testing.assert_allclose(together[1:2], middle, rtol=1e-12)


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_replica_without_a_word_has_no_effect_size(missing: int) -> None:
    sets = _random(2)
    complete = effect_size(*sets)
    sets[missing][1, 0] = np.nan
    found = effect_size(*sets)
    assert np.isnan(found[1])
    np.testing.assert_array_equal(found[[0, 2]], complete[[0, 2]])


def test_missing_word_has_no_association_but_others_have() -> None:
    words, _, a, b = _random(3)
    words[0, 1] = np.nan
    assert np.isnan(word_associations(words, a, b)).tolist()[0] == [False, True, False, False]


def test_equal_associations_have_no_effect_size() -> None:
    assert np.isnan(effect_size(_at(30, 30), _at(30, 30), _at(0), _at(90))).all()


def test_float32_vectors_are_computed_in_float64() -> None:
    sets = _each(lambda vectors: vectors.astype(np.float32), _random(4))
    found = effect_size(*sets)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, effect_size(*_each(lambda vectors: vectors.astype(np.float64), sets)))


def test_vector_of_length_zero_has_no_direction() -> None:
    assert np.isnan(unit_vectors(np.zeros((2, 3)))).all()


def test_refusals() -> None:
    x, y, a, b = _random(5)
    with pytest.raises(ValueError, match="ddof=2: must be 1"):
        effect_size(x, y, a, b, ddof=2)
    with pytest.raises(ValueError, match=r"targets_y has shape \(3, 0, 5\)"):
        effect_size(x, y[:, :0], a, b)
    with pytest.raises(ValueError, match="must share their replicas and dims"):
        effect_size(x, y, a[:1], b)
    with pytest.raises(ValueError, match=r"words has shape \(4, 5\)"):
        word_associations(x[0], a, b)
