"""Wrong labels: how many there are, how suspicious each is, and in which order texts are looked at."""

import math

import numpy as np
import pytest

from tiltmeter.operators.classifiers.attribution.attribute import softmax
from tiltmeter.operators.classifiers.decoys.contamination import (
    evidence_against,
    flipped_labels,
    inspected,
    losses,
    self_influence,
)
from tiltmeter.operators.classifiers.decoys.detection import Explained
from tiltmeter.operators.compute.keys import document_key

KEYS = [document_key(f"text {number}") for number in range(400)]


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_a_share_of_the_labels_is_another_class(share):
    labels = ["a", "b", "c", "b"] * 100
    given = flipped_labels(labels, KEYS, share, seed=3)
    flipped = [row for row in range(400) if given[row] != labels[row]]
    assert len(flipped) == round(share * 400)
    assert flipped_labels(labels[::-1], KEYS[::-1], share, seed=3) == given[::-1]
    assert flipped_labels(labels, KEYS, share, seed=4) != given
    others = [given[row] for row in flipped if labels[row] == "b"]
    assert others.count("a") == pytest.approx(len(others) / 2, abs=2 * math.sqrt(len(others)))
    assert set(others) == {"a", "c"}


def test_labels_of_which_none_would_be_wrong_are_refused():
    with pytest.raises(ValueError, match=r"0 of 4 labels, of 2 classes: must be one at least.*contamination\.share"):
        flipped_labels(["a", "b"] * 2, KEYS[:4], 0.1, seed=0)
    with pytest.raises(ValueError, match="2 of 4 labels, of 1 classes"):
        flipped_labels(["a"] * 4, KEYS[:4], 0.5, seed=0)


def test_evidence_against_a_label_is_that_of_the_words_that_are_shown():
    values = np.array([2.0, -3.0, 0.5, np.nan])
    words = ["fine", "dull", "film", "zq"]
    assert [evidence_against(Explained(words, values), k) for k in (1, 2, 3, 4)] == [3.0, 1.0, 0.5, 0.5]
    assert evidence_against(Explained([], np.array([])), 3) == 0.0


def test_the_loss_is_minus_the_log_of_what_the_label_was_given():
    probabilities = np.array([[0.25, 0.75], [0.25, 0.75], [1.0, 0.0]])
    assert losses(probabilities, np.array([0, 1, 0])) == pytest.approx([math.log(4), math.log(4 / 3), 0.0])
    assert np.isfinite(losses(probabilities, np.array([0, 1, 1]))).all()


def test_influence_is_that_of_koh_and_liang_by_whole_matrices():
    rng, damping = np.random.default_rng(0), 0.05
    inputs = np.column_stack([rng.normal(size=(30, 2)), np.ones(30)])
    shares, labels = softmax(rng.normal(size=(30, 3))), rng.integers(0, 3, 30)
    spreads = [np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x)) for p, x in zip(shares, inputs, strict=True)]
    inverse = np.linalg.inv(np.mean(spreads, axis=0) + damping * np.eye(9))
    slopes = [np.kron(p - np.eye(3)[label], x) for p, label, x in zip(shares, labels, inputs, strict=True)]
    expected = [slope @ inverse @ slope for slope in slopes]
    np.testing.assert_allclose(self_influence(inputs[:, :2], shares, labels, damping), expected)


def test_the_most_suspicious_come_first_and_equal_ones_in_an_order_of_their_texts():
    scores = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0])
    order = inspected(scores, KEYS[:4], seed=0).tolist()
    assert (order[0], set(order[1:3]), order[3]) == (3, {1, 2}, 0)
    at_random = [inspected(np.zeros(400), KEYS, seed).tolist() for seed in (0, 1)]
    assert sorted(at_random[0]) == sorted(at_random[1]) == list(range(400))
    assert at_random[0] != at_random[1]
    turned = inspected(np.zeros(400), KEYS[::-1], 0)
    assert (399 - turned).tolist() == at_random[0]
