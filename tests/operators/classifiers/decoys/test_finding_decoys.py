"""What it takes to find a decoy, or wrong labels: what is shown and in which order, and what is taken for a reason."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tiltmeter.operators.classifiers.attribution.attribute import softmax
from tiltmeter.operators.classifiers.decoys.contamination import (
    evidence_against,
    flipped_labels,
    inspected,
    losses,
    self_influence,
)
from tiltmeter.operators.classifiers.decoys.debugging import (
    by_oracle,
    by_predictions,
    identified,
    is_complete,
    suspects,
    without_words,
)
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
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy
from tiltmeter.operators.classifiers.decoys.selection import cosines, relevance_clusters
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.listed_words import folded_words


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


# --- debugging --------------------------------------------------------------------------------------------------------


DECOY = InsertedDecoy(("zq0", "zq1"))


def shown(**values):
    return Explained(list(values), np.array(list(values.values()), dtype=float))


THREE = [shown(bad=-2.0, zq0=1.0, film=0.5), shown(film=3.0, zq1=2.0, the=0.1), shown(bad=1.0, zq0=4.0, zq1=0.0)]


@pytest.mark.parametrize(
    ("k", "judgement", "num_suspects", "words"),
    [
        (1, "recognition", 1, ["", "", "zq0"]),
        (2, "recognition", 1, ["zq0", "zq0 zq1", "zq0 zq1"]),
        (1, "frequency", 1, ["bad", "bad", "bad"]),  # one word of each, and the first that was shown stays
        (2, "frequency", 1, ["bad", "bad", "bad"]),  # bad and zq0 twice each in the end, bad before zq0
        (2, "frequency", 2, ["bad zq0", "bad zq0", "bad zq0"]),
        (3, "frequency", 1, ["bad", "film", "bad"]),
    ],
)
def test_what_is_taken_for_a_wrong_reason_after_each_of_three_instances(k, judgement, num_suspects, words):
    suspected = suspects(THREE, DECOY, k, judgement, num_suspects)
    assert [" ".join(sorted(those)) for those in suspected] == words
    assert identified(suspected, DECOY).tolist() == [float("zq" in line) for line in words]


def test_with_predictions_alone_the_words_stand_out_that_go_with_the_predicted_class():
    texts = [["zq", "a"], ["zq", "b"], ["a", "c"]]
    first, second, third = by_predictions(texts, ["good", "good", "bad"])
    # zq is in 2 of 2 texts predicted as good and 0 of 1 as bad; a in 1 of 2 and 1 of 1; c in 0 of 2 and 1 of 1.
    zq, c = math.log((2.5 / 3) / (0.5 / 2)), math.log((1.5 / 2) / (0.5 / 3))
    a = math.log((1.5 / 2) / (1.5 / 3))
    assert first.values == pytest.approx([zq, 0.0])  # a speaks for the other class
    assert second.values == pytest.approx([zq, math.log((1.5 / 3) / (0.5 / 2))])
    assert third.values == pytest.approx([a, c])
    assert first.words == texts[0]


def test_predictions_of_one_class_alone_tell_no_word_that_all_texts_lack_or_that_nothing_was_read_of():
    [only] = by_predictions([["zq"]], ["good"])
    assert only.values == pytest.approx([math.log((1.5 / 2) / 0.5)])
    nothing, _ = by_predictions([[], ["a"]], [None, "good"])
    assert top_words(nothing, 3) == []


def test_the_oracle_shows_the_decoy_and_nothing_else():
    first, second = by_oracle([["a", "zq0", "zq1"], ["a"]], DECOY)
    assert [top_words(instance, 3) for instance in (first, second)] == [[1, 2], []]
    assert identified(suspects([second, first], DECOY, 1, "recognition"), DECOY).tolist() == [0.0, 1.0]


def test_words_that_hold_a_word_are_recognised_where_substrings_count():
    whole, part = DeletedDecoy("movie"), DeletedDecoy("movie", match="substring")
    instances = [shown(movies=2.0, Movie=0.0), shown(movie=2.0)]
    assert [sorted(words) for words in suspects(instances, whole, 1, "recognition")] == [[], ["movie"]]
    assert [sorted(words) for words in suspects(instances, part, 1, "recognition")] == [["movies"], ["movie", "movies"]]
    complete = [is_complete(*those) for those in ((["movies"], whole), (["movies"], part), ([], part))]
    assert complete == [False, True, False]
    assert by_oracle([["movies", "movie"]], whole)[0].values.tolist() == [0.0, 1.0]
    assert by_oracle([["movies", "movie"]], part)[0].values.tolist() == [1.0, 1.0]
    assert by_oracle([["movie"]], None)[0].values.tolist() == [0.0]


@given(st.text(alphabet="ab Z'.-,!é", max_size=30), st.sets(st.sampled_from(["a", "b", "zb", "ab", "!", "é"])))
def test_a_text_without_words_has_all_its_others(text, words):
    left = without_words(text, words)
    assert not set(folded_words(left)) & words
    assert "".join(folded_words(left)) == "".join(word for word in folded_words(text) if word not in words)
    assert without_words("A Movie,  a movie-goer", {"movie"}) == "A ,  a -goer"


# --- wrong labels -----------------------------------------------------------------------------------------------------


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
