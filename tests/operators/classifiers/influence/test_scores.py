"""Influence scores, unlike ratios, counterfactuals, agreement, masking, clusters: by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import norm

from tiltmeter.operators.classifiers.influence.all_correct import all_correct, length_groups, per_word
from tiltmeter.operators.classifiers.influence.calibration import ErrorGrowth, MarginErrors, sure_cuts
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.masking import coverage, masking_order, num_masked, random_scores
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters
from tiltmeter.operators.classifiers.influence.parts_of_speech import (
    TAGS,
    brought_tags,
    tagged,
    tagged_vocabulary,
    tags_fault,
)
from tiltmeter.operators.classifiers.influence.records import Teacher
from tiltmeter.operators.classifiers.influence.scores import (
    counterfactuals,
    hybrid,
    hybrid_sum,
    influence_scores,
    support,
)
from tiltmeter.operators.classifiers.small import words_of
from tiltmeter.operators.statistics.text_intervals import ResampleSettings


@pytest.mark.parametrize("bias", [None, np.array([0.3, -0.8, 0.1])], ids=["without a bias", "with one"])
def test_scores_of_two_classes_are_twice_the_probability_less_one_and_more_have_log_odds(bias):
    rng = np.random.default_rng(0)
    changes, weight = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    for num in (2, 3):
        added = None if bias is None else bias[:num]
        p = softmax(changes @ weight[:num].T + (0.0 if added is None else added), axis=1)
        scores = influence_scores(changes, weight[:num], added)
        np.testing.assert_allclose(scores, 2 * p[:, 1] - 1 if num == 2 else np.log(p / (1 - p)))
    np.testing.assert_array_equal(support(scores, 2), scores[:, 2])


def test_ratios_are_backed_by_influence_only_where_all_say_nothing():
    supports = np.array([0.4, -0.2])
    assert hybrid(np.array([np.nan, 0.0]), supports, of_places=False).tolist() == [0.4, -0.2]
    assert hybrid(np.array([np.nan, 0.1]), supports, of_places=False).tolist() == [0.0, 0.1]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.7]), st.floats(-1, 1)), min_size=1, max_size=9))
def test_places_whose_ratio_says_nothing_follow_by_their_influence(pairs):
    ratios, supports = (np.array(values) for values in zip(*pairs, strict=True))
    order = masking_order(hybrid(ratios, supports)).tolist()
    expected = sorted(range(len(pairs)), key=lambda place: (-ratios[place], -supports[place] * (ratios[place] == 0)))
    assert [pairs[place][0] for place in order] == [pairs[place][0] for place in expected]
    words = np.arange(len(pairs)) % 2
    largest = [max(ratios[words == word]) for word in words]
    assert masking_order(ratios, words).tolist() == sorted(range(len(pairs)), key=lambda place: -largest[place])
    assert hybrid_sum(np.where(ratios == 0.0, np.nan, ratios), supports).tolist() == (ratios + supports).tolist()
    silent = [supports[place] for place in order if ratios[place] == 0]
    assert silent == pytest.approx(sorted(silent, reverse=True), abs=1e-12)


def test_counterfactuals_are_the_surest_that_count():
    logits = np.array([[0.0, 4.0], [0.0, 1.0], [3.0, 0.0], [0.0, 2.0]])
    allowed = np.array([False, True, True, True])
    result = counterfactuals(logits, 0, allowed, most=1)
    assert (result.words.tolist(), result.num) == ([3], 2)
    assert counterfactuals(logits[2:3], 0).num == 0


def test_a_counterfactual_is_sure_if_another_class_is_ahead_by_the_cut_of_its_word():
    logits = np.array([[0.0, 0.3, -2.0], [0.0, -1.0, 0.5], [0.0, -0.1, -0.2]])
    assert counterfactuals(logits, 0, cuts=0.4) == (pytest.approx([1]), 2, 1)
    assert counterfactuals(logits, 0).num_sure == 2
    assert counterfactuals(np.ones((1, 2)), 1)[1:] == (1, 1)  # a tie, of which the first class is the student's
    logits = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    assert counterfactuals(logits, 0, cuts=np.array([0.9, 2.5, 0.0])) == (pytest.approx([2, 0]), 3, 2)


def test_a_cut_grows_with_what_the_word_changes():
    logits, growth = np.array([[0.0, 0.5, -1.0], [0.0, -4.0, 2.0]]), ErrorGrowth(0.04, 0.01)
    base = np.array([0.0, -1.0, -3.0])
    moved = np.array([0.5 - -1.0, 2.0 - -1.0])  # of the largest other class less the first
    expected = norm.ppf(0.9) * np.sqrt(0.04 + 0.01 * moved**2)
    np.testing.assert_allclose(sure_cuts(logits, base, 0, growth, 0.9), expected)
    np.testing.assert_array_equal(sure_cuts(logits, base, 0, growth, 0.5), 0.0)


def test_the_growth_of_an_error_is_found_again():
    generator = np.random.default_rng(0)
    changes, signs = generator.normal(size=500), generator.choice([-1.0, 1.0], 500)
    wrong = MarginErrors(signs * np.sqrt(0.04 + 0.25 * changes**2), changes)
    assert wrong.growth == pytest.approx((0.04, 0.25))
    assert wrong.rms == pytest.approx(np.sqrt(0.04 + 0.25 * (changes**2).mean()))
    falling = MarginErrors(signs / (1.0 + changes**2), changes).growth
    assert falling == (pytest.approx(np.mean((1.0 + changes**2) ** -2)), 0.0)


def test_counterfactuals_of_three_classes_go_by_the_texts_own_class():
    logits = np.array([[0.0, 5.0, 4.9], [0.0, 5.0, 0.0]])
    # p(0) = 1 / (1 + e^5 + e^4.9) against 1 / (1 + e^5 + 1): the first is surer that it is not 0
    assert counterfactuals(logits, 0).words.tolist() == [0, 1]


def test_a_text_counts_if_all_its_places_do():
    is_right = np.array([True, True, False, True, True, True])
    texts, clusters = np.array([5, 5, 7, 7, 9, 9]), np.array([0, 0, 0, 0, 1, 1])
    sampled = SampledClusters(2, ResampleSettings(num_resamples=50), 0, 1, "sentence")
    agreement = all_correct(is_right, texts, clusters, sampled)
    assert (agreement.value, agreement.num) == (pytest.approx(2 / 3), 3)
    assert per_word(is_right, clusters, sampled).value == pytest.approx(5 / 6)
    assert (sum(group.astype(int) for group in length_groups(np.arange(1, 60)).values()) == 1).all()


@pytest.fixture
def counting():
    """A teacher whose state is the number of words 'good' less that of 'bad': positive above zero."""

    def states(texts):
        return np.array([[sum((word == "good") - (word == "bad") for word in text)] for text in texts], np.float32)

    weight, bias = np.array([[0.0], [1.0]], np.float32), np.array([0.0, -0.5], np.float32)
    return Teacher(states, weight, bias, ("negative", "positive"), lambda word: word != "unheard")


def test_words_are_left_out_until_the_class_changes(counting):
    texts = [("good", "film", "good"), ("a", "good", "film"), ("good",) * 4]
    orders = [np.array([0, 2, 1]), np.array([0, 1, 2]), np.arange(4)]
    assert num_masked(counting, texts, orders, budget=3).tolist() == [2, 2, 0]
    assert num_masked(counting, texts, orders, budget=9).tolist() == [2, 2, 4]
    covered = coverage(np.array([2, 2, 4]), budget=3)
    assert (covered.coverage, covered.mean_masked) == (pytest.approx(2 / 3), 2.0)


def test_random_scores_belong_to_the_text_and_the_seed():
    first, again, *others = (
        random_scores(text, seed).tolist() for text, seed in ((("a", "b"), 1), (["a", "b"], 1), ("ac", 1), ("ab", 2))
    )
    assert first == again
    assert first not in others


def test_phrases_belong_to_their_sentence():
    sentence = ["the", "film", "is", "a", "lovely", ",", "quiet", "thing"]
    texts = [sentence[2:5], sentence, ["nothing"], sentence[:1], [*sentence[3:6], "odd"]]
    assert containment_clusters(texts).tolist() == [1, 1, 2, 1, 4]


def test_tags_are_those_of_the_universal_set():
    texts = [["The", "iditarod", "lasts", "for", "days", "."], ["charming", "and", "3", "n't"]]
    tags = tagged(texts)
    assert [len(row) for row in tags] == [6, 4]
    assert {tag for row in tags for tag in row} <= set(TAGS)
    assert tags[0][0] == "DET"


def test_a_vocabulary_has_words_by_part_of_speech_the_most_frequent_first():
    texts = [["A", "Run"], ["a", "run"], ["Run", "a"], ["Welsh", "run"]]
    words = tagged_vocabulary(texts, [["DET", "NOUN"], ["DET", "VERB"], ["NOUN", "DET"], ["ADJ", "VERB"]])
    assert [(word.word, word.tag, word.num) for word in words] == [
        *(("a", "DET", 3), ("run", "NOUN", 2), ("run", "VERB", 2), ("welsh", "ADJ", 1)),
    ]
    assert [word.written for word in words] == ["a", "run", "run", "Welsh"]


@given(st.lists(st.tuples(st.sampled_from(["film", "well-made", "n't", "(no)", "...", "3.14"]), st.sampled_from(TAGS))))
def test_every_word_has_the_tag_that_was_brought_for_it(pairs):
    text, tags = " ".join(word for word, _ in pairs), " ".join(tag for _, tag in pairs)
    assert tags_fault(text, tags) == ""
    expected = [
        tag if any(character.isalnum() for character in part) else "." for word, tag in pairs for part in words_of(word)
    ]
    assert list(brought_tags(text, tags)) == expected
