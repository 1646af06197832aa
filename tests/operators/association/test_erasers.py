"""Erasers by hand, as their guarantees have it, and on vectors in which there is nothing to erase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.association.erasers import (
    METHODS,
    EraserSettings,
    Pairs,
    Sample,
    double_hard,
    equalised,
    fit_eraser,
    half_sibling,
    inlp,
    leace,
    neutralised,
    without,
)

VECTORS = {
    "he": (3, 1, 0),
    "man": (2, 1, 1),
    "she": (-1, 2, 0),
    "woman": (-1, 1, 2),
    "home": (0, 2, 1),
    "care": (-1, 3, 1),
    "work": (2, 0, 1),
    "pay": (1, 1, 3),
}
WORDS = np.array(list(VECTORS.values()), float)
POINTS = np.array([(3, 1), (2, 2), (2, 0), (-1, 2), (0, 1), (-2, 1)], float)
SIDES = np.arange(6) < 3


def vectors(words):
    return np.array([VECTORS[word] for word in words.split()], float)


PAIRS = Pairs(vectors("he man"), vectors("she woman"))
SETTINGS = EraserSettings(components=3, ridge=0.1, rounds=20)


def test_hard_debiasing_by_hand():
    """WEFE 1.0.1 in single precision has the same, where its vectors are scaled: 5e-8."""
    direction = PAIRS.direction
    assert np.abs(direction) == pytest.approx([0.963593289, 0.230259240, 0.135899437], abs=1e-8)
    [home] = neutralised(vectors("home"), direction)
    assert home == pytest.approx([0.26667659, 0.86432344, 0.42641363], abs=6e-8)
    (he, man), (she, woman) = equalised(PAIRS, direction)
    assert he == pytest.approx([0.88681684, 0.45333008, -0.08970919], abs=1e-7)
    assert she == pytest.approx([-0.58235226, 0.80440108, 0.11749362], abs=1e-7)
    assert he @ home == pytest.approx(she @ home, abs=1e-15) == pytest.approx(0.59006388, abs=1e-7)
    assert man @ home == pytest.approx(woman @ home, abs=1e-15)
    assert np.linalg.norm([he, man, she, woman, home], axis=1) == pytest.approx(np.ones(5))


def test_words_of_a_pair_that_lie_alike_along_the_direction_get_the_first_side_each():
    (first,), (second,) = equalised(Pairs(np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]])), np.array([1.0, 0.0]))
    assert (first.tolist(), second.tolist()) == ([1.0, 0.0], [-1.0, 0.0])


def test_double_hard_debiasing_by_hand():
    made = double_hard(WORDS, PAIRS, 0)
    component = np.array([-0.911247209, 0.406703027, 0.064970549])
    assert made.neutral(vectors("home"))[0] == pytest.approx([-0.00500270, -0.00812326, -0.01931563], abs=1e-8)
    assert made.neutral(WORDS) @ component == pytest.approx(np.zeros(8), abs=1e-8)
    mean = np.array([0.625, 1.375, 1.125])
    by_hand = vectors("he") - mean - np.outer((vectors("he") - mean) @ component, component)
    assert made.specific(vectors("he")) == pytest.approx(by_hand, abs=1e-8), "which keeps its gender"


def test_double_hard_debiasing_takes_the_component_after_which_clusters_tell_least():
    """The second component holds what the pairs don't: once that is gone, the sides are nowhere."""
    rng = np.random.default_rng(1)
    is_first = np.arange(200) < 100
    words = rng.normal(size=(200, 6)) * [9.0, 0.1, 0.1, 0.1, 0.1, 0.1]
    words[:, 1] += np.where(is_first, 3.0, -3.0)
    pairs = Pairs(np.array([[0, 0, 0, 1.0, 0, 0]]), np.array([[0, 0, 0, -1.0, 0, 0]]))
    made = fit_eraser("double_hard", Sample(words, pairs, words, is_first, is_first), SETTINGS, rng)
    after = made.neutral(words)
    assert after[:, 1].std() < 0.05, "the second went"
    assert after[:, 0].std() > 8.0


@pytest.mark.parametrize(
    ("ridge", "home", "care"),
    [
        (1.0, [-0.03, 0.24, 0.046666667], [-0.115, 0.42, -0.043333333]),
        (60.0, [-0.04679296, 1.7547361, 0.8420891], [-0.871380761, 2.676778532, 0.799533299]),
    ],
)
def test_half_sibling_regression_by_hand(ridge, home, care):
    found = half_sibling(vectors("home care"), vectors("he man she woman"), ridge)
    assert found == pytest.approx(np.array([home, care]), abs=1e-7)


def test_half_sibling_regression_takes_the_whole_span_or_nothing_in_its_limits():
    defining = np.array([[1.0, 2.0, 0.0]])
    words = np.array([[3.0, 1.0, 4.0]])
    assert half_sibling(words, defining, 1e-12) == pytest.approx(without(words, defining / 5**0.5), abs=1e-9)
    assert half_sibling(words, defining, 1e12) == pytest.approx(words)


def test_inlp_by_hand():
    [found] = inlp(POINTS, SIDES, 1, np.zeros(6, bool))
    weights = np.array([1.15512556, -0.08380881])
    assert found == pytest.approx(weights / np.linalg.norm(weights), abs=1e-7)
    projected = without(POINTS, found)
    assert projected[0] == pytest.approx([0.08788341, 1.21128527], abs=1e-7)
    means = [projected[SIDES].mean(axis=0), projected[~SIDES].mean(axis=0)]
    assert np.concatenate(means) == pytest.approx([0.0844, 1.1632, 0.0910, 1.2542], abs=1e-4)


def test_inlp_ends_where_judges_are_told_no_better_than_by_the_larger_side():
    rng = np.random.default_rng(0)
    is_first, is_judge = np.arange(600) % 2 == 0, np.arange(600) % 3 == 0
    words = rng.normal(size=(600, 8))
    words[:, 2] += np.where(is_first, 4.0, -4.0)
    found = inlp(words, is_first, 8, is_judge)
    assert 1 <= len(found) < 8
    assert found @ found.T == pytest.approx(np.eye(len(found)), abs=1e-12)
    assert abs(found[0, 2]) > 0.9
    assert len(inlp(words, is_first, 8, is_judge & False)) == 8, "nobody judges"


def test_leace_by_hand():
    found = leace(POINTS, SIDES.astype(float))
    assert found.projection == pytest.approx(np.array([[0.00990099, 0.09900990], [0.09900990, 0.99009901]]), abs=1e-8)
    after = found.erased(POINTS)
    assert after[0] == pytest.approx([0.67326733, 1.23267327], abs=1e-8)
    for side in (SIDES, ~SIDES):
        assert after[side].mean(axis=0) == pytest.approx([2 / 3, 7 / 6], abs=1e-14)


@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_leace_makes_the_means_of_all_classes_one_and_takes_a_dimension_less_than_there_are_classes(seed, classes):
    rng = np.random.default_rng(seed)
    words, labels = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)), np.arange(60) % classes
    words += rng.normal(size=(classes, 5))[labels]
    found = leace(words, np.eye(classes)[labels])
    after = found.erased(words)
    for label in range(classes):
        assert after[labels == label].mean(axis=0) == pytest.approx(words.mean(axis=0), abs=1e-10)
    assert found.rank == classes - 1
    assert np.linalg.matrix_rank(found.projection, tol=1e-8) == 5 - found.rank
    assert found.projection @ found.projection == pytest.approx(found.projection, abs=1e-7)


def test_leace_changes_least_of_all_that_make_the_means_one():
    """Beside taking off the difference of the means, which makes them one too."""
    rng = np.random.default_rng(3)
    sides = np.arange(400) % 2 == 0
    words = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)) + np.outer(sides, [2.0, 0, 1.0, 0])
    apart = words[sides].mean(axis=0) - words[~sides].mean(axis=0)
    other = words - words.mean(axis=0)
    other = other - np.outer(other @ apart, apart) / (apart @ apart) + words.mean(axis=0)
    changes = [((after - words) ** 2).sum() for after in (leace(words, sides.astype(float)).erased(words), other)]
    assert changes[0] < 0.9 * changes[1]


def test_leace_of_words_in_fewer_dimensions_than_they_have_leaves_the_rest_alone():
    words = np.column_stack([POINTS, np.zeros(6), np.ones(6)])
    found = leace(words, SIDES.astype(float))
    assert found.erased(words)[:, 2:].tolist() == words[:, 2:].tolist()
    assert found.rank == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_the_attribute_from_words_that_it_has_not_seen_and_leaves_the_specific(method):
    """A coordinate of its own for gender: no word outside the fit keeps a third of it. Absent, it stays absent."""
    rng = np.random.default_rng(7)
    is_first = np.arange(800) % 2 == 0
    left = {}
    for size in (0.0, 2.0):
        words = rng.normal(size=(800, 10))
        words[:, 0] = np.where(is_first, size, -size) + 0.1 * rng.normal(size=800)
        pairs = Pairs(*(np.column_stack([np.full(6, side), rng.normal(size=(6, 9))]) for side in (3.0, -3.0)))
        seen = np.arange(800) < 400
        sample = Sample(words, pairs, words[seen], is_first[seen], np.arange(400) % 5 == 0)
        eraser = fit_eraser(method, sample, SETTINGS, rng)
        after = eraser(words[~seen], np.zeros(400, bool))
        unit = after / np.linalg.norm(after, axis=1, keepdims=True)
        before = words[~seen] / np.linalg.norm(words[~seen], axis=1, keepdims=True)
        gaps = [np.abs(one[is_first[~seen], 0].mean() - one[~is_first[~seen], 0].mean()) for one in (before, unit)]
        left[size] = gaps
    assert left[2.0][0] > 1.0
    assert left[2.0][1] < left[2.0][0] / 3
    assert left[0.0][1] < 0.05
    specific, neutral = (eraser(pairs.first, np.full(6, is_specific)) for is_specific in (True, False))
    is_apart = not np.allclose(specific, neutral)
    assert is_apart == (method not in ("inlp", "leace")), "these know of no words that have it by meaning"
