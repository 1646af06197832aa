"""The fast linear victim gives what scikit-learn gives for the texts themselves."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tiltmeter.operators.classifiers.adversary.fitting import linear_model
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.spaces import levels

WORDS = np.array([f"word{number}" for number in range(40)])


def _texts(num_classes, seed=0):
    draws = np.random.default_rng(seed)
    labels = np.arange(240) % num_classes
    texts = [" ".join(draws.choice(WORDS[label * 5 : label * 5 + 20], size=9)) for label in labels]
    return texts, labels


@pytest.mark.parametrize("num_classes", [2, 3])
def test_probabilities_are_those_of_the_classifier_on_the_texts_themselves(num_classes):
    texts, labels = _texts(num_classes)
    vectorizer = TfidfVectorizer()
    features = vectorizer.fit_transform(texts)
    classifier = CalibratedClassifierCV(LinearSVC(loss="hinge", random_state=0, max_iter=20_000), cv=3)
    model = linear_model(vectorizer.idf_, classifier.fit(features, labels).calibrated_classifiers_)
    words = [["word1", "word9", "unheard"], ["word2", "word1"], ["unseen", "word30-word2 word30", "word2", "word7"]]
    others = ["word2", "word2", "word39", "nowhere"]
    known, parts = vectorizer.vocabulary_, vectorizer.build_analyzer()
    options = [[[known[part] for part in parts(word) if part in known] for word in row] for row in words]
    choices = np.concatenate([np.zeros((1, 3), np.int64), *(levels([2, 1, 3], number) for number in (1, 2, 3))])
    read = [" ".join([*others, *(row[c] for row, c in zip(words, choice, strict=True))]) for choice in choices.tolist()]
    found = model.victim(options, [known[word] for word in others if word in known])(choices)
    np.testing.assert_allclose(found, classifier.predict_proba(vectorizer.transform(read)), atol=1e-12)


def test_a_text_without_a_known_word_has_the_scores_of_no_word():
    model = LinearModel(np.ones(2), np.ones((1, 1, 2)), np.full((1, 1), 2.0), -np.ones((1, 1)), np.zeros((1, 1)))
    found = model.victim([[[], []]], [])(np.array([[0], [1]]))
    np.testing.assert_allclose(found[:, 1], 1.0 / (1.0 + np.exp(-2.0)))


def _long(num_positions, seed=0):
    """A text with as many words that may each become two others, and a victim of it."""
    draws = np.random.default_rng(seed)
    model = LinearModel(
        1.0 + draws.random(500), draws.normal(size=(3, 1, 500)), np.zeros((3, 1)), -np.ones((3, 1)), np.zeros((3, 1))
    )
    return model.victim([[(feature,) for feature in draws.integers(500, size=3)] for _ in range(num_positions)], [])


def test_a_text_is_read_alike_however_many_are_read_with_it():
    choices = np.random.default_rng(1).integers(3, size=(700, 450))
    victim = _long(450)
    np.testing.assert_array_equal(victim(choices), np.concatenate([victim(row[None]) for row in choices]))
