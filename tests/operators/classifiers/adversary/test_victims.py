"""Victims that read texts and victims that read changes say the same, and how they are asked does not matter."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.spaces import levels
from tiltmeter.operators.classifiers.adversary.victims import LinearReader, TextReader, class_weights

DRAWS = np.random.default_rng(2)
WORDS = ["good", "bad", "don't", "film", "plot", "well-made", "é", "awful", "fine"]
TEXTS = [" ".join(DRAWS.choice(WORDS[: 6 + number % 2 * 3], size=8)) for number in range(120)]
LABELS = [("a", "b")[number % 2] for number in range(120)]
CONFIG = LinearConfig(min_count=2, penalty=0.3)


@pytest.fixture(scope="module")
def readers():
    model = fitted(TEXTS, LABELS, CONFIG)
    vocabulary = {term: number for number, term in enumerate(model.vocabulary)}
    vectorizer = TfidfVectorizer(min_df=2, strip_accents="unicode")
    machine = LinearSVC(C=0.3, loss="hinge", random_state=0, max_iter=100_000)
    classifier = CalibratedClassifierCV(machine, cv=3, method="sigmoid").fit(vectorizer.fit_transform(TEXTS), LABELS)
    return (
        LinearReader(model.model, model.classes, vocabulary, analyser()),
        TextReader(model.classes, lambda texts: classifier.predict_proba(vectorizer.transform(texts))),
    )


def test_changes_are_read_as_the_texts_that_they_make(readers):
    tokens = ["The", "film,", "DON'T", "you", "know,", "is", "well-made", "and", "fine!"]
    space = {1: ["plot,", "nothing,"], 2: ["Good", "unheard"], 6: ["fine-fine", "bad bad", "é"], 8: ["awful!"]}
    choices = np.concatenate([levels([2, 2, 3, 1], number) for number in range(1, 5)])
    linear, text = (reader.open(tokens, [space])(space)(choices) for reader in readers)
    np.testing.assert_allclose(linear, text, atol=1e-12)
    assert [reader.knows("nothing,") for reader in readers] == [False, None]
    assert readers[0].knows("plot,")
    assert {*fitted(TEXTS, LABELS, CONFIG).vocabulary} - {*fitted(TEXTS, LABELS, CONFIG, ["plot"]).vocabulary} == {
        "plot"
    }


def test_a_text_is_read_once_and_single_changes_together():
    batches = []

    def read(texts):
        batches.append(list(texts))
        return np.tile([0.6, 0.4], (len(texts), 1))

    spaces = [{0: ["x", "y"], 2: ["z"]}, {0: ["y"]}]
    victim_of = TextReader(("a", "b"), read).open(["a", "b", "c"], spaces)
    assert batches == [["a b c", "x b c", "y b c", "a b z"]]
    victim_of(spaces[1])(np.array([[0], [1]]))
    victim_of(spaces[0])(levels([2, 1], 2))
    assert batches[1:] == [["x b z", "y b z"]]
    assert victim_of({})(np.zeros((1, 0), dtype=np.int64)).tolist() == [[0.6, 0.4]]


@pytest.mark.parametrize(
    ("texts", "labels", "config", "message"),
    [
        (["a b"] * 5, ["x"] * 5, CONFIG, "all training texts are of the class 'x'"),
        (["a b"] * 5, ["x"] * 4 + ["y"], CONFIG, "1 training texts are of the class 'y': must be at least 3"),
        (["aa bb"] * 6, ["x", "y"] * 3, LinearConfig(min_count=7), "min_count=7: no word is in so many"),
    ],
)
def test_what_can_not_be_learnt_is_refused(texts, labels, config, message):
    with pytest.raises(ValueError, match=message):
        fitted(texts, labels, config)


def test_the_class_of_a_score_has_the_largest_weight_and_the_way_out_is_steady():
    scores = np.linspace(-1.0, 1.0, 200)
    weights = class_weights(scores, [-0.05, 0.3])
    np.testing.assert_array_equal(weights.argmax(axis=1), np.digitize(scores, [-0.05, 0.3], right=True))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (np.diff(weights[:, 0]) < 0.0).all()
    assert (np.diff(weights[:, 2]) > 0.0).all()
    assert np.isnan(class_weights(np.array([np.nan]), [0.0])).all()
