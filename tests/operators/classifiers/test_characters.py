"""Changes of single characters, their defences, and what they do to classifiers whose answer is known by hand."""

import unicodedata
from collections import Counter
from typing import get_args

import numpy as np
import pytest

from tiltmeter.operators.classifiers.adversary.victims import TextReader
from tiltmeter.operators.classifiers.characters import (
    DEFENCES,
    HOMOGLYPHS,
    INVISIBLE,
    NEIGHBOURS,
    CharacterConfig,
    Kind,
    changes,
    defended,
    stress,
)

KINDS = get_args(Kind)
TOKENS = ["A", "dreary", "film,", "seen", "3", "years", "before", "Tuesday"]
CHANGEABLE = ["dreary", "film,", "years", "before", "Tuesday"]
"""Words that every kind can change with their ends kept; "seen" with its inner letters swapped stays as it is."""


def reader(word="before", fold=str.lower):
    """Texts with a word are of the second class, for sure; all others of the first, a little."""

    def read(texts):
        return np.array([[0.1, 0.9] if word in fold(text).split() else [0.6, 0.4] for text in texts])

    def cut(tokens):
        return [
            (len(token), sum(letter not in "abcdefghijklmnopqrstuvwxyz," for letter in token.lower()))
            for token in tokens
        ]

    return TextReader(("no", "yes"), read, cut)


def outcomes(config, victim=None, seed=0):
    made = stress(victim or reader(), TOKENS, config, np.random.default_rng(seed))
    return {(one.kind, one.number, one.defence): one for one in made}


def test_one_change_of_each_kind_by_hand():
    made = {kind: changes("Seen,", kind, keep_ends=True) for kind in KINDS}
    assert made["swap"] == []
    assert made["drop"] == ["Sen,"]
    assert made["capital"] == ["SEen,", "SeEn,"]
    assert made["homoglyph"] == ["S\u0435en,", "Se\u0435n,"]
    assert set(made["neighbour"]) == {f"S{key}en," for key in "wrsd"} | {f"Se{key}n," for key in "wrsd"}
    assert set(made["insert"]) == {"Seeen,"} | {f"S{ee}n," for key in "wrsd" for ee in (f"e{key}e", f"ee{key}")}
    assert set(made["invisible"]) == {f"{'Seen,'[:at]}{one}{'Seen,'[at:]}" for at in (1, 2, 3) for one in INVISIBLE}
    assert changes("Seen,", "swap", keep_ends=False) == ["eSen,", "Sene,"]
    assert changes("I", "drop", keep_ends=False) == changes("42", "neighbour", keep_ends=False) == []
    assert changes("AB", "neighbour", keep_ends=False)[0] == "QB"


def test_keys_beside_each_other_are_so_both_ways():
    assert (sorted(NEIGHBOURS["g"]), sorted(NEIGHBOURS["q"])) == ([*"bfhtvy"], ["a", "w"])
    assert all(letter in NEIGHBOURS[other] for letter, others in NEIGHBOURS.items() for other in others)


def test_look_alikes_are_other_letters_which_a_normal_form_keeps():
    for letter, others in HOMOGLYPHS.items():
        for other in others:
            assert (
                f"{letter.upper()}" not in unicodedata.name(other).split() or other not in "abcdefghijklmnopqrstuvwxyz"
            )
            assert unicodedata.name(other).startswith(("CYRILLIC SMALL LETTER", "GREEK SMALL LETTER"))
            assert defended(other, "normal_form") == unicodedata.normalize("NFKC", other) == other
            assert defended(other, "skeleton") == letter
    assert {defended(f"f{one}ilm", "normal_form") for one in INVISIBLE} == {"film"}
    assert defended("f\u200bilm", "none") == "f\u200bilm"
    assert defended("\uff46ilm", "normal_form") == "film"


def test_a_classifier_of_one_word_loses_it_to_what_its_tokenizer_does_not_fold_and_gets_it_back_by_the_right_defence():
    made = outcomes(CharacterConfig(kinds=KINDS, numbers=(1, 2), draws=40))
    assert len(made) == len(KINDS) * 2 * len(DEFENCES)
    averted = {"invisible": {"normal_form", "skeleton"}, "homoglyph": {"skeleton"}, "capital": {*DEFENCES}}
    for (kind, number, defence), one in made.items():
        is_flip = defence not in averted.get(kind, ())
        assert one.flips == is_flip, "the word that matters most is always among those that change"
        assert one.random_flips == pytest.approx(is_flip * number / len(CHANGEABLE), abs=0.2)
        assert one.unmoved == pytest.approx(1.0 - is_flip * (1.0 + one.random_flips / max(one.flips, 1)) / 2.0)
        if defence == "none":
            assert (one.unknown_before, one.unknown > 0.0) == (0.0, kind in ("homoglyph", "invisible"))
        assert (one.pieces < 1.0) == (kind == "drop")
        assert (one.pieces > 1.0) == (kind == "insert" or (kind == "invisible" and defence == "none"))


def test_a_defence_reads_the_text_itself_too():
    config = CharacterConfig(kinds=("capital",), numbers=(1,))
    made = stress(reader("film"), ["f\u200bilm"], config, np.random.default_rng(0))
    assert {one.defence: (one.flips, one.unmoved) for one in made} == dict.fromkeys(DEFENCES, (0.0, 1.0))


def test_more_changes_hold_fewer_and_draws_are_those_of_the_generator():
    config = CharacterConfig(kinds=("drop", "capital"), numbers=(1, 3, 6, 7), draws=30)
    made = outcomes(config)
    rates = [made["drop", number, "none"].random_flips for number in (1, 3, 6)]
    assert rates == sorted(rates)
    assert rates[-1] == 1.0
    assert ("drop", 7, "none") not in made, "no text has more words than it can change"
    assert outcomes(config) == made
    assert outcomes(config, seed=1) != made


def test_all_kinds_change_the_same_words():
    read = Counter()

    def notes(texts):
        read.update(texts)
        return reader().read(texts)

    list(
        stress(
            TextReader(("no", "yes"), notes),
            TOKENS,
            CharacterConfig(kinds=KINDS, draws=9, numbers=(1,)),
            np.random.default_rng(0),
        )
    )
    changed = [text for text in read if len(text.split()) == len(TOKENS) and text != " ".join(TOKENS)]
    places = {
        kind: {
            at
            for text in changed
            for at, token in enumerate(text.split())
            if token in changes(TOKENS[at], kind, keep_ends=True)
        }
        for kind in ("drop", "homoglyph", "capital")
    }
    assert {TOKENS[at] for at in places["drop"]} <= set(CHANGEABLE)
    assert places["drop"] == places["homoglyph"] == places["capital"]


def test_what_cannot_be_read_is_no_flip_and_without_pieces_nothing_is_said_of_them():
    def read(texts):
        return np.array(
            [[0.9, 0.1] if "dreary" in text.split() or "" in text.split(" ") else [np.nan] * 2 for text in texts]
        )

    [one, *_] = outcomes(CharacterConfig(kinds=("drop",), numbers=(1,)), TextReader(("a", "b"), read)).values()
    assert (one.flips, one.random_flips) == (0.0, 0.0)
    assert np.isnan([one.pieces, one.unknown, one.unknown_before]).all()
    assert outcomes(CharacterConfig(kinds=KINDS, numbers=(9,))) == {}


def test_a_kind_or_number_that_is_named_twice_counts_once():
    assert outcomes(CharacterConfig(kinds=("drop", "drop"), numbers=(2, 1, 2), draws=5)) == outcomes(
        CharacterConfig(kinds=("drop",), numbers=(1, 2), draws=5)
    )
