"""Counter-fitting, held against its cost by numbers and against a loop over pairs as it was released."""

import numpy as np
import pytest

from tiltmeter.operators.embedding import counter_fitting
from tiltmeter.operators.embedding.counter_fitting import CounterFittingConfig, counter_fitted

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
    near = {(i, j) for i in words for j in words if i != j and 1.0 - original[i] @ original[j] <= config.radius}
    for _ in range(config.steps):
        moves = {word: [] for word in words}
        for i, j in [*apart, *together, *(near - apart)]:
            distance = 1.0 - current[i] @ current[j]
            gradient = current[i] * (current[i] @ current[j]) - current[j]
            if (i, j) in apart and distance < config.antonym_distance:
                moves[i].append(k1 * gradient)
        for i, j in together:
            if 1.0 - current[i] @ current[j] > config.synonym_distance:
                moves[i].append(-k2 * (current[i] * (current[i] @ current[j]) - current[j]))
        for i, j in near - apart:
            if 1.0 - current[i] @ current[j] > 1.0 - original[i] @ original[j] + 1e-9:
                moves[i].append(-k3 * (current[i] * (current[i] @ current[j]) - current[j]))
        current = unit(np.array([current[w] + (np.mean(moves[w], axis=0) if moves[w] else 0.0) for w in words]))
    return current


@pytest.mark.parametrize("radius", [0.0, 0.8])
def test_it_is_the_released_loop(radius, monkeypatch):
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
