"""What it takes to find a decoy, and in which order instances are looked at."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tiltmeter.operators.classifiers.decoys.detection import (
    Explained,
    detection_at_random,
    expected_instances,
    identification_success,
    order_of,
    relevance_matrix,
    shows,
    top_words,
)
from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy
from tiltmeter.operators.classifiers.decoys.selection import cosines, relevance_clusters


def test_the_probability_at_random_is_that_of_all_subsets():
    showing = [True, False, False, True, False]
    for budget in range(1, 6):
        hits = [any(showing[row] for row in rows) for rows in combinations(range(5), budget)]
        assert detection_at_random(2, 5, np.array([budget])) == pytest.approx([np.mean(hits)])
    assert detection_at_random(0, 3, np.array([1, 3])).tolist() == [0.0, 0.0]
    # Of one among n, the mean place in a random order is (n + 1) / 2.
    assert expected_instances(detection_at_random(1, 7, np.arange(1, 8))) == pytest.approx(4.0)


@settings(max_examples=40)
@given(
    arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.sampled_from([0.0, 0.5, 1.0, 4.0])),
    st.integers(1, 3),
)
def test_submodular_pick_covers_nearly_as_much_as_the_best_choice(relevance, num):
    num = min(num, len(relevance))
    importance = np.sqrt(relevance.sum(axis=0))

    def coverage(rows):
        return float(importance[(relevance[list(rows)] > 0).any(axis=0)].sum())

    picked = order_of(relevance, "submodular_pick", 6)
    assert sorted(picked.tolist()) == list(range(len(relevance)))
    best = max(coverage(rows) for rows in combinations(range(len(relevance)), num))
    assert coverage(picked[:num]) >= (1 - 1 / math.e) * best - 1e-9


def test_clusters_are_of_instances_in_which_the_same_words_matter():
    relevance = np.zeros((9, 3))
    groups = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2])
    relevance[np.arange(9), groups] = np.arange(1.0, 10.0)
    clusters = relevance_clusters(relevance, 6)
    assert (cosines(clusters[:, None] == np.arange(9)) == cosines(groups[:, None] == np.arange(9))).all()
    order = order_of(relevance, "clustering", 6)
    assert groups[order].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 0]  # the largest first, one of each in turn
    assert relevance_clusters(relevance[:2], 6).tolist() == [0, 0]
    assert order_of(relevance, "random", 6).tolist() == list(range(9))


def test_words_that_say_nothing_are_never_among_the_top():
    instance = Explained(["zq", "b", "c"], np.array([0.0, np.nan, -1.0]))
    assert top_words(instance, 3) == [2]
    assert [shows(instance, InsertedDecoy((word,)), 3) for word in ("zq", "b", "C")] == [False, False, True]
    relevance = relevance_matrix([Explained(["a", "b", "a"], np.array([1.0, 0.5, -2.0]))], 3)
    assert relevance.tolist() == [[3.0, 0.5]]


def test_models_are_told_apart_by_the_word_that_stands_out():
    decoy, plain = Explained(["zq", "good"], np.array([3.0, 1.0])), Explained(["zq", "good"], np.array([0.0, 1.0]))
    other = Explained(["zq", "dull"], np.array([0.1, -1.0]))
    budgets = np.array([1, 2])
    assert identification_success([decoy, decoy], [plain, other], 1, budgets).tolist() == [0.5, 1.0]
    assert identification_success([plain, other], [decoy, decoy], 1, budgets).tolist() == [0.5, 0.0]
