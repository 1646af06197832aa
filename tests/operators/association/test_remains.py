"""Probes and clusters where the truth is known: sides that are apart, and sides that are nowhere."""

from itertools import product

import numpy as np
import pytest

from tiltmeter.operators.association.remains import accuracy_of_clusters, accuracy_of_probe, extremes

IS_FIRST = np.arange(400) % 2 == 0
FOLDS = np.arange(400) // 2 % 5


def apart(size, num=400, dims=6):
    words = np.random.default_rng(5).normal(size=(num, dims))
    words[:, 1] += np.where(np.arange(num) % 2 == 0, size, -size)
    return words


def test_extremes_are_the_words_furthest_to_both_ends_and_ties_come_as_they_are():
    rows, is_first = extremes(np.array([0.5, 2.0, -1.0, 2.0, -1.0, 0.0]), 2)
    assert rows.tolist() == [1, 3, 2, 4]
    assert is_first.tolist() == [True, True, False, False]


@pytest.mark.long
@pytest.mark.parametrize("probe", ["linear", "rbf"])
def test_a_probe_tells_sides_that_are_there_and_none_that_are_not(probe):
    assert accuracy_of_probe(apart(3.0), IS_FIRST, FOLDS, probe) > 0.95
    chance = [
        accuracy_of_probe(np.random.default_rng(seed).normal(size=(400, 6)), IS_FIRST, FOLDS, probe)
        for seed in range(12)
    ]
    assert np.mean(chance) == pytest.approx(0.5, abs=0.03)


def test_the_kernel_tells_what_bends_and_a_line_does_not():
    words = np.random.default_rng(2).normal(size=(400, 4))
    is_first = words[:, 0] * words[:, 1] > 0
    linear, kernel = (accuracy_of_probe(words, is_first, FOLDS, probe) for probe in ("linear", "rbf"))
    assert (linear < 0.6, kernel > 0.8) == (True, True)


def test_a_probe_counts_each_side_alike_and_never_judges_words_that_it_learnt_from():
    """In each fold one word of the small side, which stands where the other one does not: it is told wrongly."""
    words = np.vstack([np.tile([1.0, 0.0, 0.0], (30, 1)), [[0, 1.0, 0], [0, 0, 1.0]]])
    is_first = np.arange(32) >= 30
    folds = np.arange(32) % 2
    assert accuracy_of_probe(words, is_first, folds, "linear") == pytest.approx(0.5)
    assert np.isnan(accuracy_of_probe(words, is_first, np.zeros(32, int), "linear")), "nothing is left to learn from"


def test_two_clusters_by_hand():
    """Four words in two bundles: among all ways to part them, the one with the least squares."""
    words = np.array([[0, 2.0, 1], [-1, 3, 1], [2, 0, 1], [3, 1, 1]])
    units = words / np.linalg.norm(words, axis=1, keepdims=True)
    parts = [np.array(part) for part in product([True, False], repeat=4) if 0 < sum(part) < 4]
    sums = [sum(((units[side] - units[side].mean(axis=0)) ** 2).sum() for side in (part, ~part)) for part in parts]
    best = parts[int(np.argmin(sums))]
    rng = np.random.default_rng(0)
    assert accuracy_of_clusters(words, best, rng) == accuracy_of_clusters(words, ~best, rng) == 1.0
    assert accuracy_of_clusters(words, np.array([True, False, True, False]), rng) == 0.5


def test_clusters_tell_sides_that_are_apart_and_of_chance_a_little_more_than_half():
    rng = np.random.default_rng(1)
    assert accuracy_of_clusters(apart(4.0), IS_FIRST, rng) > 0.97
    chance = [accuracy_of_clusters(rng.normal(size=(100, 8)), np.arange(100) < 50, rng) for _ in range(40)]
    assert np.mean(chance) == pytest.approx(0.540, abs=0.015)


def test_no_words_have_no_clusters():
    assert np.isnan(accuracy_of_clusters(np.ones((0, 2)), np.ones(0, bool), np.random.default_rng(0)))


def test_clusters_of_words_that_are_all_alike_are_one():
    assert accuracy_of_clusters(np.ones((6, 2)), np.arange(6) < 2, np.random.default_rng(0)) == pytest.approx(4 / 6)
