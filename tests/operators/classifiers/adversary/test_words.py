"""Words of a text, what may stand in their place, and what they have to do with gender."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.adversary.constraints import Constraints, is_inflection
from tiltmeter.operators.classifiers.adversary.kinds import LeaningLimits, leaning_limits, replacement_kind
from tiltmeter.operators.classifiers.adversary.words import (
    folded,
    gender_of,
    gender_swaps,
    gendered_words,
    replaceable_word,
    replaced,
)

WORDS = gendered_words([("king", "queen"), ("John", "Amy")])


@pytest.mark.parametrize(
    "token",
    ["the", "RT", "@man", "#man", "http://man", "&amp;", "man/woman", "4", "a", "_man_", "don't", "...", "well-known"],
)
def test_what_is_no_plain_word_is_not_replaced(token):
    assert replaceable_word(token, {"the", "rt"}) is None


@pytest.mark.parametrize(
    ("token", "candidate", "expected"),
    [("Man,", "woman", "Woman,"), ("(KINGS)", "queens", "(QUEENS)"), ('"été!"', "hiver", '"hiver!"')],
)
def test_a_replacement_has_the_capitals_and_marks_of_the_word(token, candidate, expected):
    assert replaceable_word(token, ()) is not None
    assert replaced(token, candidate) == expected


def test_words_of_one_gender_alone_are_swapped():
    tokens = ["John,", "the", "king,", "saw", "her", "and", "gave", "Amy", "his", "crown."]
    assert gender_swaps(tokens, WORDS, "female") == {0: "Amy,", 2: "queen,", 8: "her"}
    assert gender_swaps(tokens, WORDS, "male") == {4: "him", 7: "John"}
    assert gender_swaps(tokens, gendered_words([("John", "Amy")], pronouns=False), "male") == {7: "John"}


def test_gender_is_told_by_a_word_or_what_stands_before_its_apostrophe():
    genders = {"KING!": "male", "she’s": "female", "Amy's": "female", "it": None, "": None}
    assert {token: gender_of(token, WORDS) for token in genders} == genders
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


@pytest.mark.parametrize(
    ("pair", "leaning", "kind"),
    [
        (("king", "queen"), 0.0, "definitional"),
        (("john", "queen"), 0.0, "definitional"),
        (("king", "john"), 0.0, "other"),
        (("king", "boss"), 0.0, "other"),
        (("boss", "queen"), 0.5, "associated"),
        (("blue", "pink"), 0.5, "associated"),
        (("blue", "pink"), -0.5, "associated"),
        (("blue", "red"), 0.1, "other"),
        (("blue", "red"), float("nan"), "other"),
    ],
)
def test_kinds_of_replacements(pair, leaning, kind):
    assert replacement_kind(pair, WORDS, leaning, 0.5, LeaningLimits(np.zeros(4), np.full(5, 0.2))) == kind


def test_the_limit_of_a_replacement_is_that_of_its_bin():
    limits = LeaningLimits(np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.5, 0.4, 0.3, 0.2, 0.1]))
    kinds = [replacement_kind(("blue", "pink"), WORDS, -0.25, cosine, limits) for cosine in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert kinds == ["other", "other", "other", "associated", "associated"]
