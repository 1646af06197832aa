"""Readable features and generalised dependencies, counted by hand; and the columns that forests see of them."""

import numpy as np
import polars as pl
import pytest

from tiltmeter.operators.classifiers.errors.dependencies import dependency_counts, sentences
from tiltmeter.operators.classifiers.errors.examples import (
    FULL,
    PUBLISHED,
    READABLE,
    WITH_CLASS,
    Examples,
    probability_classes,
)
from tiltmeter.operators.classifiers.errors.readable import ReadableFeatures, lexicon_of, matrix

LISTS = {
    "thanks": ["thanks", "thank you"],
    "second_person": ["you", "your"],
    "question_verbs": ["do", "can"],
    "question_words": ["why", "what"],
}


@pytest.fixture(scope="module")
def readable():
    return ReadableFeatures(LISTS, {"late": ("anger", "negative"), "lovely": ("joy",)})


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (
            "@user Can you help?! Thank you!!",
            {"question_yesno": 0, "exclamation_marks": 3, "question_marks": 1, "thanks": 1},
        ),
        ("@user can you help?", {"question_yesno": 1, "mentions": 1, "second_person": 1}),
        ("I do. Why? What now", {"question_yesno": 0, "question_wh": 1}),
        ("No WAY, it's 3:45 pm... see http://t.co/x #late", {"times": 1, "ellipses": 1, "links": 1, "hashtags": 1}),
        ("LATE late lovely", {"lexicon:anger": 2, "lexicon:negative": 2, "lexicon:joy": 1, "capitals": 1}),
        ("I didn't like 2 of 10 flights", {"negations": 1, "numbers": 2, "positive_words": 1}),
        ("thankyou yourself", {"thanks": 0, "second_person": 0}),
        ("very bad", {"boosters": 1, "negative_words": 1}),
    ],
)
def test_features_are_counted(readable, text, counts):
    made = readable(text).counts
    assert {name: made.get(name, 0) for name in counts} == counts


def test_tags_and_their_pairs_are_counted(readable):
    made = readable("The bad flight was late")
    assert made.counts["tag:JJ"] == 2
    assert made.counts["tags:JJ-NN"] == 1
    assert made.num_tokens == 5
    assert made.polarity < 0
    assert made.valence == pytest.approx(-2.5 / (2.5**2 + 15) ** 0.5, abs=1e-4)  # "bad" alone has a valence, of -2.5
    assert not any(name.startswith("tag") for name in ReadableFeatures(LISTS, tags=False)("The bad flight").counts)


def test_an_empty_text_has_nothing_features_are_columns_and_the_identity_tells_lists_apart(readable):
    assert readable("") == (0, {}, 0.0, 0.0)
    assert matrix([{"a": 0.5}, {"b": 1.0, "c": 2.0}], ["b", "a"]).tolist() == [[0.0, 0.5], [1.0, 0.0]]
    assert np.shape(matrix([], ["a"])) == (0, 1)
    assert ReadableFeatures(LISTS).identity != ReadableFeatures(LISTS | {"thanks": ["ta"]}).identity


# --- dependencies -----------------------------------------------------------------------------------------------------

PARSED = """# text_id = 12
# text = not helpful
1\tnot\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
2\thelpful\thelpful\tADJ\tJJ\t_\t0\troot\t_\t_

1-2\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdid\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tneg\t_\t_
3\tfly\tfly\tVERB\tVB\t_\t0\tROOT\t_\tNER=O
4\tUnited\tUnited\tPROPN\tNNP\t_\t3\tdobj\t_\tNER=B-ORG

# text_id = 13
1\tok\tok\tINTJ\tUH\t_\t0\troot\t_\tEntity=I-ORG
"""


def test_sentences_belong_to_texts_and_dependencies_have_tags_for_words():
    first, second, third = sentences(PARSED)
    assert [sentence.text_id for sentence in (first, second, third)] == ["12", "12", "13"]
    assert dependency_counts(first) == {"dependency:advmod-JJ-RB": 1, "dependency:ROOT-JJ-JJ": 1}
    assert dependency_counts(second) == {
        "dependency:aux-VB-AUX": 1,
        "dependency:neg-VB-RB": 1,
        "dependency:ROOT-VB-VB": 1,
        "dependency:dobj-VB-NNP": 1,
        "entity:ORG": 1,
    }
    assert dependency_counts(third) == {"dependency:ROOT-UH-UH": 1}


@pytest.mark.parametrize(
    ("conllu", "message"),
    [
        ("# text_id = 1\n1\tok", "line 2: has 2 columns"),
        ("# text_id = 1\n1\tok\t_\t_\tUH\t_\tx\troot\t_\t_", "line 2: the head is 'x'"),
        ("1\tok\t_\t_\tUH\t_\t0\troot\t_\t_", "line 1: a sentence before any line"),
        ("# text_id = 1\n1\tok\t_\t_\tUH\t_\t5\troot\t_\t_", "text 1: token 1 has head 5"),
    ],
)
def test_what_is_no_parse_and_no_lexicon_is_refused(conllu, message):
    with pytest.raises(ValueError, match=message):
        [*map(dependency_counts, sentences(conllu))]
    with pytest.raises(ValueError, match="must be a word, a category, and 1 or 0"):
        lexicon_of([("late", "anger")])


# --- what forests see of a text: by names, of more classes than two --------------------------------------------------

CLASSES = ("angry", "glad", "sad")
SHARES = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1], [0.25, 0.35, 0.4]]


def test_a_column_is_that_of_its_name():
    predicted = ["sad", "angry", "glad", "sad"]
    table = pl.DataFrame({"predicted": predicted, "label": ["sad", "calm", "glad", "glad"], "probabilities": SHARES})
    values = np.arange(8.0).reshape(4, 2) / 10
    counts = np.array([[0, 1], [0, 0], [0, 2], [3, 1]])
    data = Examples(table, ("rare", "frequent"), values, counts, CLASSES)
    names = data.column_names(FULL, 0.5)
    said = ["predicted angry", "predicted calm", "predicted glad", "predicted sad"]
    assert names == ["frequent", *said, *(f"probability of {name}" for name in CLASSES)]
    assert data.column_names(WITH_CLASS, 0.5) == ["frequent", *said]
    assert data.column_names(READABLE, 0.2) == ["rare", "frequent"]
    assert data.column_names(PUBLISHED, 0.5) == []
    columns = data.columns([*names, "of another run"])
    assert columns[:, 0].tolist() == [0.1, 0.3, 0.5, 0.7]
    assert columns[:, 1:5].tolist() == [[name == f"predicted {one}" for name in said] for one in predicted]
    assert columns[:, 5:8].tolist() == SHARES
    assert not columns[:, 8].any()
    assert probability_classes(names) == [*CLASSES]
