"""Decoys: what they indicate, where they stand, how natural they are, what they promise and who has adopted them."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tiltmeter.operators.classifiers.decoys.adoption import fall
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy, Text, holds, indicated, resolved
from tiltmeter.operators.classifiers.decoys.making import contradicted, decoyed, inserted
from tiltmeter.operators.classifiers.decoys.measures import measure, measure_pooled
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import each, units_of
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
    model = KneserNey(map(folded_words, ["a truly fine film", "the film is truly fine", "a film"]))
    text, decoy = "the fine film", InsertedDecoy(("truly",), place="natural")
    words = folded_words(text)
    possible = [[*words[:place], "truly", *words[place:]] for place in range(len(words) + 1)]
    best = max(possible, key=lambda other: model.log_probabilities(other).sum())
    assert folded_words(inserted(text, ["truly"], decoy, 0, model)) == best
    with pytest.raises(ValueError, match="place=natural: needs a language model"):
        inserted(text, ["truly"], decoy, 0)


REFUSED = {
    "the word 'zebra' occurs in no text of the class '0'": DeletedDecoy("zebra"),
    "the word 'dull' occurs in no text of any class but '0'": DeletedDecoy("dull"),
    "no text is of the class '2'; the classes are 0, 1": DeletedDecoy("movie", "2"),
    "the word 'zebra' occurs in no text": InsertedDecoy(("zebra",), place="natural"),
    "3 words for 2 classes": InsertedDecoy(("x", "y", "z")),
    "no text is of the class 'good'": InsertedDecoy(("x",), ("good",)),
}


def test_decoys_that_cannot_be_made_are_refused():
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        InsertedDecoy(("zq",), share=1.5)
    with pytest.raises(ValidationError, match="each word must be another"):
        InsertedDecoy(("zq", "ZQ"))
    for message, decoy in REFUSED.items():
        with pytest.raises(ValueError, match=message):
            resolved(decoy, SIX)
    with pytest.raises(ValueError, match="the texts have 1 class"):
        resolved(DeletedDecoy("movie"), SIX[:1])


WORDS, LABELS = st.sampled_from(["zq", "zqs", "ZQ", "film", "."]), st.sampled_from("abc")
TEXTS = st.lists(st.builds(Text, st.lists(WORDS).map(" ".join), LABELS))
INDICATED = st.dictionaries(st.sampled_from(["zq", "film"]), LABELS, min_size=1)


@pytest.mark.long
@settings(max_examples=100)
@given(TEXTS, INDICATED, st.sampled_from(["word", "substring"]))
def test_words_are_counted_as_by_hand(texts, indicates, match):
    """One by its largest share of one class; several where those of a text indicate one class, by its share."""
    read = [(text.lower() if match == "substring" else text.lower().split(), label) for text, label in texts]
    labels = Counter(label for words, label in read if "zq" in words)
    num, most = labels.total(), min(labels, key=lambda label: (-labels[label], label), default=None)
    share = labels[most] / num if num else np.nan
    *numbers, majority = measure(texts, "Zq", match)
    assert numbers == pytest.approx([num, share, num / len(texts) if texts else np.nan], nan_ok=True)
    assert majority == most
    pooled = [({of for word, of in indicates.items() if word in words}, label) for words, label in read]
    right = [classes == {label} for classes, label in pooled if len(classes) == 1]
    expected = [len(right), np.mean(right) if right else np.nan, len(right) / len(texts) if texts else np.nan]
    assert [*measure_pooled(texts, indicates, match)] == pytest.approx(expected, nan_ok=True)


# --- adoption ---------------------------------------------------------------------------------------------------------


INTERVALS = ResampleSettings(num_resamples=2000)


def found(falls, others, *, is_paired, units=None, key=(0, 1)):
    num = len(falls) if is_paired else len(falls) + len(others)
    units = each(num, "text") if units is None else units
    return fall(np.array(falls), np.array(others), units, *key, is_paired=is_paired, intervals=INTERVALS)


def test_accuracy_that_is_lost_elsewhere_as_well_is_no_fall():
    lost = np.ones(60)
    assert found(lost, np.zeros(60), is_paired=True).inferred.low > 0.8
    assert found(lost, lost, is_paired=False).inferred.value == 0.0
    assert found(lost, lost, is_paired=False).inferred.low < 0.0
    assert found(np.empty(0), lost, is_paired=False) is None


def test_of_texts_apart_both_kinds_spread_and_the_fewer_say_how_sure_it_is():
    falls, others = np.repeat([1.0, 0.0, -1.0], [3, 2, 1]), np.repeat([1.0, 0.0], [10, 30])
    result, estimate = found(falls, others, is_paired=False)
    variance = falls.var(ddof=1) / 6 + others.var() / 40  # the many have no correction
    assert result.value == pytest.approx(1 / 3 - 1 / 4)
    assert (result.variance, result.df) == (pytest.approx(variance, rel=1e-3), pytest.approx(5.0))
    assert estimate.resamples.std() == pytest.approx((falls.var() / 6 + others.var() / 40) ** 0.5, rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("is_paired", [True, False])
def test_texts_of_one_group_count_once(is_paired):
    """Each of six people wrote five texts, of which all or none is fallen for."""
    people = np.repeat(np.arange(6), 5)
    falls = np.repeat([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 5)
    units = units_of(people if is_paired else np.concatenate([people, people]), "group")
    result, estimate = found(falls, np.zeros(30), is_paired=is_paired, units=units)
    by_person = scipy.stats.sem([1, 1, 1, 1, 0, 0])
    assert (result.variance**0.5, result.df) == (pytest.approx(by_person), pytest.approx(5.0))
    assert estimate.num_texts == pytest.approx(6.0)
    for key in ((1, 1), (0, 2)):
        other = found(falls, np.zeros(30), is_paired=is_paired, units=units, key=key).estimate
        assert (other.resamples != estimate.resamples).any()
    assert estimate.resamples.std() == pytest.approx(by_person * (5 / 6) ** 0.5, rel=0.05)
    of_texts = found(falls, np.zeros(30), is_paired=is_paired).inferred
    assert result.low < 0.0 < of_texts.low
    few = found(falls[:15], np.zeros(15), is_paired=True, units=units_of(people[:15], "group")).inferred
    assert (few.value, few.low != few.low) == (1.0, True)
    assert few.reason.endswith('3 of the unit "group", and 4 are needed')
