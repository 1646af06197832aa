"""Victims that read texts and victims that read changes say the same, and how they are asked does not matter."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.ladder import (
    SearchConfig,
    all_at_once,
    greedy_attack,
    ladder,
    single_fall,
)
from tiltmeter.operators.classifiers.adversary.spaces import Queries, levels
from tiltmeter.operators.classifiers.adversary.victims import LinearReader, TextReader, class_weights

DRAWS = np.random.default_rng(2)
WORDS = ["good", "bad", "don't", "film", "plot", "well-made", "é", "awful", "fine"]
TEXTS = [" ".join(DRAWS.choice(WORDS[: 6 + number % 2 * 3], size=8)) for number in range(120)]
LABELS = [("a", "b")[number % 2] for number in range(120)]
CONFIG = LinearConfig(min_count=2)


@pytest.fixture(scope="module")
def readers():
    model = fitted(TEXTS, LABELS, CONFIG)
    vocabulary = {term: number for number, term in enumerate(model.vocabulary)}
    vectorizer = TfidfVectorizer(min_df=2, strip_accents="unicode")
    machine = LinearSVC(C=1.0, loss="hinge", random_state=0, max_iter=100_000)
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


def margin(gains):
    """A victim of two classes, whose margin falls by the gain of each change."""

    def victim(choices):
        values = 1.0 - sum(np.array([0.0, *row])[choices[:, place]] for place, row in enumerate(gains))
        p = 1.0 / (1.0 + np.exp(-values))
        return np.column_stack([p, 1.0 - p])

    return victim


def test_the_ladder_proves_what_it_can_and_searches_on_where_it_can_not():
    gains = [[0.3, 0.1]] * 8
    proven = ladder(Queries(margin(gains), 0), [2] * 8, 4, SearchConfig(), 0, 1)
    assert (proven.status, proven.num_changes) == ("flipped_minimal", 4)
    # Of texts with up to 1, 2, 3 and 4 changes there are 16, 128, 576 and 1,696.
    for budget, status in ((1000, "flipped_minimal"), (400, "flipped")):
        found = ladder(Queries(margin(gains), 0), [2] * 8, 4, SearchConfig(budget=budget), 0, 1)
        assert (found.status, found.num_changes) == (status, 4)
    assert ladder(Queries(margin(gains), 0), [2] * 8, 3, SearchConfig(), 0, 1).status == "robust_proven"


def test_all_at_once_is_one_query_and_greedy_ends_where_its_steps_do():
    gains = [[0.4], [0.7, 0.1], [-0.5]]
    queries = Queries(margin(gains), 0)
    attack = all_at_once(queries, [1, 2, 1])
    assert (attack.status, attack.choices, queries.num_distinct) == ("not_found", (1, 1, 1), 2)
    attack = greedy_attack(Queries(margin(gains), 0), [1, 2, 1])
    assert (attack.status, attack.choices) == ("flipped", (1, 1, 0))
    assert attack.after == pytest.approx(1.0 / (1.0 + np.exp(0.1)))


def test_the_largest_single_fall_is_none_where_nothing_falls():
    queries = Queries(margin([[0.4], [0.7]]), 0)
    before = 1.0 / (1.0 + np.exp(-1.0))
    assert single_fall(queries, [1, 1], before) == pytest.approx(before - 1.0 / (1.0 + np.exp(-0.3)))
    assert single_fall(Queries(margin([[-0.4]]), 0), [1], before) == 0.0
    assert single_fall(queries, [0, 0], before) == 0.0
