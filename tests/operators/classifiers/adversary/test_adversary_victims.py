"""Victims that read texts or changes say the same; words of a text, and what may stand in their place."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tiltmeter.operators.classifiers.adversary.constraints import Constraints, is_inflection
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.kinds import LeaningLimits, leaning_limits, replacement_kind
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.spaces import levels
from tiltmeter.operators.classifiers.adversary.victims import LinearReader, TextReader, class_weights
from tiltmeter.operators.classifiers.adversary.words import (
    folded,
    gender_of,
    gender_swaps,
    gendered_words,
    replaceable_word,
    replaced,
)

WORDS = ["good", "bad", "don't", "film", "plot", "well-made", "é", "awful", "fine"]
CONFIG = LinearConfig(min_count=2, penalty=0.3)


def texts_and_labels(num_classes):
    """Of unequal classes."""
    draws, numbers = np.random.default_rng(2), np.minimum(np.arange(120) % 5, num_classes - 1)
    texts = [" ".join(draws.choice(WORDS[2 * number : 2 * number + 5], size=8)) for number in numbers]
    return texts, ["abc"[number] for number in numbers]


@pytest.mark.parametrize("num_classes", [2, 3])
def test_changes_are_read_as_scikit_learn_reads_the_texts_that_they_make(num_classes):
    texts, labels = texts_and_labels(num_classes)
    model = fitted(texts, labels, CONFIG)
    vocabulary = {term: number for number, term in enumerate(model.vocabulary)}
    vectorizer = TfidfVectorizer(min_df=2, strip_accents="unicode")
    machine = LinearSVC(C=0.3, loss="hinge", random_state=0, max_iter=100_000)
    classifier = CalibratedClassifierCV(machine, cv=3, method="sigmoid").fit(vectorizer.fit_transform(texts), labels)
    linear = LinearReader(model.model, model.classes, vocabulary, analyser())
    text = TextReader(model.classes, lambda texts: classifier.predict_proba(vectorizer.transform(texts)))
    tokens = ["The", "film,", "DON'T", "you", "know,", "film", "is", "well-made", "good", "good", "nowhere", "é!"]
    space = {1: ["plot,", "nothing,"], 2: ["Good", "unheard"], 7: ["film-film", "bad bad", "é"], 11: ["awful!"]}
    choices = np.concatenate([levels([2, 2, 3, 1], number) for number in range(1, 5)])
    read, expected = (reader.for_text(tokens, [space])(space)(choices) for reader in (linear, text))
    np.testing.assert_allclose(read, expected, atol=1e-12)
    assert [reader.knows("nothing,") for reader in (linear, text)] == [False, None]
    assert linear.knows("plot,")
    assert {*model.vocabulary} - {*fitted(texts, labels, CONFIG, ["plot"]).vocabulary} == {"plot"}


def test_a_text_is_read_once_and_single_changes_together():
    batches = []

    def read(texts):
        batches.append(list(texts))
        return np.tile([0.6, 0.4], (len(texts), 1))

    spaces = [{0: ["x", "y"], 2: ["z"]}, {0: ["y"]}]
    victim_of = TextReader(("a", "b"), read).for_text(["a", "b", "c"], spaces)
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


def test_a_text_without_a_known_word_has_the_scores_of_no_word():
    model = LinearModel(np.ones(2), np.ones((1, 1, 2)), np.full((1, 1), 2.0), -np.ones((1, 1)), np.zeros((1, 1)))
    found = model.victim([[[], []]], [])(np.array([[0], [1]]))
    np.testing.assert_allclose(found[:, 1], 1.0 / (1.0 + np.exp(-2.0)))


def test_a_text_is_read_alike_however_many_are_read_with_it():
    """With as many words that may each become two others."""
    draws, choices = np.random.default_rng(0), np.random.default_rng(1).integers(3, size=(700, 450))
    slopes = -np.ones((3, 1)), np.zeros((3, 1))
    model = LinearModel(1.0 + draws.random(500), draws.normal(size=(3, 1, 500)), np.zeros((3, 1)), *slopes)
    victim = model.victim([[(feature,) for feature in draws.integers(500, size=3)] for _ in range(450)], [])
    np.testing.assert_array_equal(victim(choices), np.concatenate([victim(row[None]) for row in choices]))


# --- words ------------------------------------------------------------------------------------------------------------


PAIRS = gendered_words([("king", "queen"), ("John", "Amy")])


NO_WORDS = ["the", "RT", "@man", "#man", "http://man", "&amp;", "man/woman", "4", "a", "_man_", "don't", "well-known"]


def test_what_is_no_plain_word_is_not_replaced():
    assert [token for token in NO_WORDS if replaceable_word(token, {"the", "rt"}) is not None] == []


@pytest.mark.parametrize(
    ("token", "candidate", "expected"),
    [("Man,", "woman", "Woman,"), ("(KINGS)", "queens", "(QUEENS)"), ('"été!"', "hiver", '"hiver!"')],
)
def test_a_replacement_has_the_capitals_and_marks_of_the_word(token, candidate, expected):
    assert replaceable_word(token, ()) is not None
    assert replaced(token, candidate) == expected


def test_words_of_one_gender_alone_are_swapped():
    tokens = ["John,", "the", "king,", "saw", "her", "and", "gave", "Amy", "his", "crown."]
    assert gender_swaps(tokens, PAIRS, "female") == {0: "Amy,", 2: "queen,", 8: "her"}
    assert gender_swaps(tokens, PAIRS, "male") == {4: "him", 7: "John"}
    assert gender_swaps(tokens, gendered_words([("John", "Amy")], pronouns=False), "male") == {7: "John"}


def test_gender_is_told_by_a_word_or_what_stands_before_its_apostrophe():
    genders = {"KING!": "male", "she’s": "female", "Amy's": "female", "it": None, "": None}
    assert {token: gender_of(token, PAIRS) for token in genders} == genders
    assert folded(["She’S", "!", "(Ok)"]) == ["she’s", "!", "ok"]


def test_a_word_in_two_pairs_is_refused():
    with pytest.raises(ValueError, match="'king' is in two pairs"):
        gendered_words([("king", "queen"), ("King", "lady")])


def test_forms_of_a_word_and_opposites_are_left_out_where_that_is_wanted():
    are_forms = {"pictures": True, "pictured": True, "picturing": True, "painting": False}
    assert {other: is_inflection("picture", other) for other in are_forms} == are_forms
    assert is_inflection("city", "cities")
    everything = Constraints(None, True, frozenset())
    assert everything("good", "goods", -1.0) == ""
    tags = {"good": {"ADJ"}, "fine": {"ADJ", "NOUN"}, "run": {"NOUN", "VERB"}}
    constraints = Constraints(0.2, False, {("good", "bad")}, tags)
    others = {"fine": 0.2, "dear": 0.1, "goods": 0.9, "bad": 0.5, "run": 0.5, "great": 0.5}
    failed = ["", "min_cosine", "inflection", "antonym", "part_of_speech", ""]
    assert [constraints("good", other, cosine) for other, cosine in others.items()] == failed
    assert constraints("bad", "good", 0.5) == "antonym"


def test_five_in_a_hundred_controls_lean_further_than_the_limit_of_their_bin():
    draws = np.random.default_rng(0)
    cosines, spread = draws.uniform(size=20_000), draws.normal(size=20_000)
    limits = leaning_limits(cosines, spread * (1.0 + 9.0 * (cosines > 0.8)))
    np.testing.assert_allclose(limits.cosines, [0.2, 0.4, 0.6, 0.8], atol=0.02)
    np.testing.assert_allclose(limits.limits, [1.96] * 4 + [19.6], rtol=0.06)


KINDS = {
    "definitional": [("king", "queen", 0.0), ("john", "queen", 0.0)],
    "associated": [("boss", "queen", 0.5), ("blue", "pink", 0.5), ("blue", "pink", -0.5)],
    "other": [("king", "john", 0.0), ("king", "boss", 0.0), ("blue", "red", 0.1), ("blue", "red", float("nan"))],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_replacements(kind):
    limits = LeaningLimits(np.zeros(4), np.full(5, 0.2))
    for *pair, leaning in KINDS[kind]:
        assert replacement_kind(tuple(pair), PAIRS, leaning, 0.5, limits) == kind, pair


def test_the_limit_of_a_replacement_is_that_of_its_bin():
    limits = LeaningLimits(np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.5, 0.4, 0.3, 0.2, 0.1]))
    kinds = [replacement_kind(("blue", "pink"), PAIRS, -0.25, cosine, limits) for cosine in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert kinds == ["other", "other", "other", "associated", "associated"]
