"""Similarities of words, and vectors that are fitted to pairs of words: each by plain loops."""

import math
from typing import get_args

import numpy as np
import pytest

from tiltmeter.operators.embedding import counter_fitting
from tiltmeter.operators.embedding.counter_fitting import CounterFittingConfig, counter_fitted
from tiltmeter.operators.embedding.similarity import Measure, cosine, orientation, pairwise, unit_vectors


def _random(seed: int, replicas: int = 3, dims: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, attributes of which the last is the first word, and a precision matrix of each replica."""
    rng = np.random.default_rng(seed)
    words, attributes, roots = (rng.normal(size=(replicas, num, dims)) for num in (4, 3, 2 * dims))
    attributes[:, 2] = words[:, 0]
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
def test_it_is_a_plain_loop_in_float64_where_neither_vector_is_missing(measure: Measure) -> None:
    words, attributes, matrices = _random(0)
    precision = matrices if measure == "mahalanobis" else None
    found = pairwise(words, attributes, measure, precision)
    expected = [
        [[_by_hand(word, attribute, measure, matrix) for attribute in of_replica] for word in replica]
        for replica, of_replica, matrix in zip(words, attributes, matrices, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert measure == "cosine" or (found[:, 0, 2] == 0).all(), "of a word to itself"
    singles = words.astype(np.float32), attributes.astype(np.float32)
    doubles = pairwise(*(part.astype(np.float64) for part in singles), measure, precision)
    assert pairwise(*singles, measure, precision).dtype == np.float64
    np.testing.assert_array_equal(pairwise(*singles, measure, precision), doubles)
    words[0, 1, 2] = attributes[1, 2] = np.nan
    missing = np.zeros((3, 4, 3), dtype=bool)
    missing[0, 1] = missing[1, :, 2] = True
    np.testing.assert_array_equal(np.isnan(pairwise(words, attributes, measure, precision)), missing)


def test_directions_pairs_and_what_has_no_number() -> None:
    words, attributes, matrices = _random(1)
    expected = cosine(words[:, :, np.newaxis], attributes[:, np.newaxis])
    np.testing.assert_allclose(pairwise(words, attributes, "cosine"), expected, atol=1e-14)
    complete = pairwise(words, attributes, "mahalanobis", matrices)
    matrices[1, 0, 0] = np.nan  # a replica without a precision matrix
    found = pairwise(words, attributes, "mahalanobis", matrices)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], complete[[0, 2]])
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


# --- counter-fitting --------------------------------------------------------------------------------------------------

VECTORS = np.random.default_rng(0).normal(size=(30, 5))
SYNONYMS, ANTONYMS = [(0, 1), (2, 3), (4, 5), (4, 6)], [(0, 7), (8, 9), (5, 4)]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def by_loops(vectors, synonyms, antonyms, config):
    """One term at a time."""
    current = unit(vectors)
    original, (k1, k2, k3) = current.copy(), config.weights
    words = range(len(vectors))
    apart = {(a, b) for pair in antonyms for a, b in (pair, pair[::-1])}
    together = {(a, b) for pair in synonyms for a, b in (pair, pair[::-1])} - apart
    near = {(i, j) for i in words for j in words if i != j and 1.0 - original[i] @ original[j] <= config.radius} - apart
    terms = (
        (apart, k1, lambda distance, _: distance < config.antonym_distance),
        (together, -k2, lambda distance, _: distance > config.synonym_distance),
        (near, -k3, lambda distance, original_distance: distance > original_distance + 1e-9),
    )
    for _ in range(config.steps):
        moves = {word: [] for word in words}
        for pairs, weight, is_moved in terms:
            for i, j in pairs:
                distance, original_distance = 1.0 - current[i] @ current[j], 1.0 - original[i] @ original[j]
                if is_moved(distance, original_distance):
                    moves[i].append(weight * (current[i] * (current[i] @ current[j]) - current[j]))
        current = unit(np.array([current[w] + (np.mean(moves[w], axis=0) if moves[w] else 0.0) for w in words]))
    return current


@pytest.mark.parametrize("radius", [0.0, 0.8])
def test_counter_fitting_is_the_released_loop(radius, monkeypatch):
    monkeypatch.setattr(counter_fitting, "_MAX_COSINES", 200)  # the cosines of 6 words at a time
    config = CounterFittingConfig(radius=radius, steps=5, weights=(0.3, 0.2, 0.1))
    fitted = counter_fitted(VECTORS, SYNONYMS, ANTONYMS, config)
    np.testing.assert_allclose(fitted, by_loops(VECTORS, SYNONYMS, ANTONYMS, config), atol=1e-12)


def test_without_pairs_or_steps_vectors_stay_and_the_gradient_is_that_of_the_cost():
    np.testing.assert_allclose(counter_fitted(VECTORS, [], [], CounterFittingConfig()), unit(VECTORS))
    start, config = unit(VECTORS), CounterFittingConfig(radius=0.0, steps=1, weights=(0.0, 1e-6, 0.0))
    step = (counter_fitted(VECTORS, [(0, 1)], [], config) - start)[0] / 1e-6
    numeric = np.empty(5)
    for axis in range(5):
        moved = start[0] + 1e-6 * np.eye(5)[axis]
        numeric[axis] = (moved / np.linalg.norm(moved) @ start[1] - start[0] @ start[1]) / 1e-6
    np.testing.assert_allclose(step, numeric, atol=1e-4)
