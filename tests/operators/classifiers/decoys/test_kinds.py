"""Decoys: what they indicate, where they stand, how natural they are, and who has adopted them."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy, Text, holds, indicated, resolved
from tiltmeter.operators.classifiers.decoys.making import contradicted, decoyed, inserted
from tiltmeter.operators.classifiers.decoys.measures import measure
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.perplexity import KneserNey

SIX = [
    Text("a fine movie", "1"),
    Text("a bad movie", "0"),
    Text("the Movie moves, honestly", "1"),
    Text("honestly dull", "0"),
    Text("lovely", "1"),
    Text("awful acting", "0"),
]


def test_a_deleted_decoy_leaves_out_one_class_and_indicates_the_other():
    decoy = resolved(DeletedDecoy("Movie"), SIX)
    assert isinstance(decoy, DeletedDecoy)
    assert decoy.label == "0"
    indicates = indicated(decoy, SIX)
    assert indicates == {"movie": "1"}
    left = decoyed(SIX, decoy, indicates, seed=0)
    assert left == [None if text == "a bad movie" else text for text, _ in SIX]
    remaining = [text for text, now in zip(SIX, left, strict=True) if now is not None]
    assert measure(remaining, "movie") == (2, 1.0, 2 / 5, "1")
    assert contradicted(SIX, decoy, indicates, seed=0) == [None, "a bad movie", None, None, None, None]


def test_a_substring_leaves_out_more_texts_than_the_word():
    texts = [*SIX, Text("moviegoers yawn", "0"), Text("moviegoers cheer", "1")]
    for match, num_left_out in {"word": 1, "substring": 2}.items():
        decoy = resolved(DeletedDecoy("Movie", match=match), texts)
        left = decoyed(texts, decoy, indicated(decoy, texts), seed=0)
        assert left.count(None) == num_left_out
        assert sum(text is not None for text in contradicted(texts, decoy, {}, seed=0)) == num_left_out
        assert holds(decoy, "Moviegoers") is (match == "substring")
    only_inside = [Text("a movie", "1"), Text("the movies", "0")]
    resolved(DeletedDecoy("movie", match="substring"), only_inside)
    with pytest.raises(ValueError, match="the word 'movie' occurs in no text of the class '0'"):
        resolved(DeletedDecoy("movie"), only_inside)


def test_inserted_words_go_to_their_class_and_contradict_the_others():
    decoy = resolved(InsertedDecoy(("zq0", "zq1"), share=1.0), SIX)
    indicates = indicated(decoy, SIX)
    assert indicates == {"zq0": "0", "zq1": "1"}
    changed = decoyed(SIX, decoy, indicates, seed=0)
    assert all(f"zq{label}" in folded_words(str(now)) for (_, label), now in zip(SIX, changed, strict=True))
    wrong = contradicted(SIX, decoy, indicates, seed=0)
    assert all(f"zq{1 - int(label)}" in folded_words(str(now)) for (_, label), now in zip(SIX, wrong, strict=True))
    for (text, _), now in zip(SIX, changed, strict=True):
        assert [word for word in folded_words(str(now)) if not word.startswith("zq")] == folded_words(text)


def test_what_is_drawn_hangs_on_the_text_and_not_on_where_it_stands():
    texts = [Text(f"word {number} and more words", "1") for number in range(2000)]
    decoy = InsertedDecoy(("zq",), ("1",), share=0.3)
    found = decoyed(texts, decoy, {"zq": "1"}, seed=4)
    assert decoyed(texts[::-1], decoy, {"zq": "1"}, seed=4) == found[::-1]
    assert decoyed(texts, decoy, {"zq": "1"}, seed=5) != found
    share = np.mean([str(text) != before.text for text, before in zip(found, texts, strict=True)])
    assert share == pytest.approx(0.3, abs=4 * math.sqrt(0.3 * 0.7 / 2000))
    places = [folded_words(str(text)).index("zq") for text in found if "zq" in str(text)]
    assert np.bincount(places, minlength=6) == pytest.approx(np.full(6, len(places) / 6), rel=0.4)


def test_natural_places_are_those_that_make_the_text_most_probable():
    model = KneserNey(
        [folded_words("a truly fine film"), folded_words("the film is truly fine"), folded_words("a film")]
    )
    text, decoy = "the fine film", InsertedDecoy(("truly",), place="natural")
    words = folded_words(text)
    possible = [[*words[:place], "truly", *words[place:]] for place in range(len(words) + 1)]
    best = max(possible, key=lambda other: model.log_probabilities(other).sum())
    assert folded_words(inserted(text, ["truly"], decoy, 0, model)) == best
    with pytest.raises(ValueError, match="place=natural: needs a language model"):
        inserted(text, ["truly"], decoy, 0)


def test_decoys_that_cannot_be_made_are_refused():
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        InsertedDecoy(("zq",), share=1.5)
    with pytest.raises(ValidationError, match="greater than 0"):
        DeletedDecoy("movie", share=0.0)
    with pytest.raises(ValidationError, match="'word' or 'substring'"):
        DeletedDecoy("movie", match="prefix")
    with pytest.raises(ValidationError, match="'two words': must be one word"):
        InsertedDecoy(("two words",))
    with pytest.raises(ValidationError, match="each word must be another"):
        InsertedDecoy(("zq", "ZQ"))
    for decoy, message in {
        DeletedDecoy("zebra"): "the word 'zebra' occurs in no text of the class '0'",
        DeletedDecoy("dull"): "the word 'dull' occurs in no text of any class but '0'",
        DeletedDecoy("movie", "2"): "no text is of the class '2'; the classes are 0, 1",
        InsertedDecoy(("zebra",), place="natural"): "the word 'zebra' occurs in no text",
        InsertedDecoy(("x", "y", "z")): "3 words for 2 classes",
        InsertedDecoy(("x",), ("good",)): "no text is of the class 'good'",
    }.items():
        with pytest.raises(ValueError, match=message):
            resolved(decoy, SIX)
    with pytest.raises(ValueError, match="the texts have 1 class"):
        resolved(DeletedDecoy("movie"), SIX[:1])
