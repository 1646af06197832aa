import math
from typing import get_args

import numpy as np
import pytest

from tiltmeter.operators.embedding.similarity import Measure, cosine, orientation, pairwise, unit_vectors

_DISTANCES: tuple[Measure, ...] = ("euclidean", "manhattan", "mahalanobis")


def _random(seed: int, replicas: int = 3, dims: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, attributes, and a precision matrix of each replica."""
    rng = np.random.default_rng(seed)
    words, attributes, roots = (rng.normal(size=(replicas, num, dims)) for num in (4, 3, 2 * dims))
    return words, attributes, roots.swapaxes(1, 2) @ roots


def _by_hand(word: np.ndarray, attribute: np.ndarray, measure: Measure, matrix: np.ndarray) -> float:
    pairs = list(zip(word.tolist(), attribute.tolist(), strict=True))
    match measure:
        case "cosine":
            return sum(w * a for w, a in pairs) / math.hypot(*word) / math.hypot(*attribute)
        case "euclidean":
            return math.sqrt(sum((w - a) ** 2 for w, a in pairs))
        case "manhattan":
            return sum(abs(w - a) for w, a in pairs)
        case "mahalanobis":
            differences = [w - a for w, a in pairs]
            terms = [matrix[i, j] * u * v for i, u in enumerate(differences) for j, v in enumerate(differences)]
            return math.sqrt(sum(terms))


@pytest.mark.parametrize("measure", get_args(Measure))
def test_agrees_with_a_plain_loop(measure: Measure) -> None:
    words, attributes, matrices = _random(0)
    found = pairwise(words, attributes, measure, matrices if measure == "mahalanobis" else None)
    expected = [
        [[_by_hand(word, attribute, measure, matrix) for attribute in of_replica] for word in replica]
        for replica, of_replica, matrix in zip(words, attributes, matrices, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_cosine_of_pairs_agrees_with_pairwise() -> None:
    words, attributes, _ = _random(1)
    expected = cosine(words[:, :, np.newaxis], attributes[:, np.newaxis])
    np.testing.assert_allclose(pairwise(words, attributes, "cosine"), expected, atol=1e-14)


@pytest.mark.parametrize("measure", _DISTANCES)
def test_distance_of_a_word_to_itself_is_zero(measure: Measure) -> None:
    words, _, matrices = _random(2)
    found = pairwise(words, words, measure, matrices if measure == "mahalanobis" else None)
    assert (np.diagonal(found, axis1=1, axis2=2) == 0).all()


@pytest.mark.parametrize("measure", get_args(Measure))
def test_missing_vector_is_missing_in_its_replica_only(measure: Measure) -> None:
    words, attributes, matrices = _random(3)
    words[0, 1, 2] = np.nan
    attributes[1, 2] = np.nan
    missing = np.zeros((3, 4, 3), dtype=bool)
    missing[0, 1] = missing[1, :, 2] = True
    found = pairwise(words, attributes, measure, matrices if measure == "mahalanobis" else None)
    np.testing.assert_array_equal(np.isnan(found), missing)


def test_replica_without_a_precision_matrix_has_no_mahalanobis_distance() -> None:
    words, attributes, matrices = _random(4)
    complete = pairwise(words, attributes, "mahalanobis", matrices)
    matrices[1, 0, 0] = np.nan
    found = pairwise(words, attributes, "mahalanobis", matrices)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], complete[[0, 2]])


@pytest.mark.parametrize("measure", get_args(Measure))
def test_float32_vectors_are_computed_in_float64(measure: Measure) -> None:
    words, attributes, matrices = _random(5)
    singles = words.astype(np.float32), attributes.astype(np.float32)
    precision = matrices if measure == "mahalanobis" else None
    found = pairwise(*singles, measure, precision)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, pairwise(*(part.astype(np.float64) for part in singles), measure, precision))


def test_measures_have_their_directions_and_a_vector_of_length_zero_has_none() -> None:
    assert [orientation(measure) for measure in get_args(Measure)] == [1, -1, -1, -1]
    assert np.isnan(unit_vectors(np.zeros((2, 3)))).all()
    assert np.isnan(pairwise(np.zeros((1, 1, 3)), np.ones((1, 1, 3)), "cosine")).all()


WORDS, ATTRIBUTES, MATRICES = _random(6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WORDS, ATTRIBUTES, "dot"), "measure='dot': must be one of cosine, euclidean, manhattan, mahalanobis"),
        ((WORDS, ATTRIBUTES[:, :0], "cosine"), r"attributes has shape \(3, 0, 5\)"),
        ((WORDS[0], ATTRIBUTES, "cosine"), r"words has shape \(4, 5\)"),
        ((WORDS, ATTRIBUTES[:1], "euclidean"), "must share their replicas and dims"),
        ((WORDS, ATTRIBUTES, "mahalanobis"), "measure='mahalanobis' without precision"),
        ((WORDS, ATTRIBUTES, "manhattan", MATRICES), "measure='manhattan' with precision"),
        ((WORDS, ATTRIBUTES, "mahalanobis", MATRICES[:1]), r"precision has shape \(1, 5, 5\): must be .* \(3, 5, 5\)"),
        ((WORDS, ATTRIBUTES, "mahalanobis", -MATRICES), "must be positive definite"),
    ],
)
def test_refusals(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        pairwise(*arguments)
