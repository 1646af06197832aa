from collections.abc import Callable
from typing import Any

import pytest

from tiltmeter.operators.text.wordsets import (
    Association,
    DefiningPair,
    GenderSurvey,
    GenderWords,
    NamedWords,
    Occupations,
    Wefat,
    WordForms,
    Words,
    WordSets,
    neutral_survey,
    word_lists,
)


def _association(x: Words = ("Frau",), y: Words = ("Mann",)) -> Association:
    return Association(
        "s", NamedWords("x", x), NamedWords("y", y), NamedWords("a", ("gut",)), NamedWords("b", ("böse",))
    )


def _wefat(a: Words = ("Frau",), b: Words = ("Mann",)) -> Wefat:
    return Wefat("s", NamedWords("a", a), NamedWords("b", b))


def _survey(pair: tuple[str, str] = ("Frau", "Mann"), script: str = "Latn", **professions: WordForms) -> GenderSurvey:
    return GenderSurvey(script, "source", {"woman-man": DefiningPair(*pair)}, professions)


def _german(**lists: Any) -> WordSets:
    return WordSets("de", **lists)


def _shares(**percent: float) -> Occupations:
    return Occupations("source", 2020, percent)


def test_lists_have_readable_names_and_keep_their_order() -> None:
    wordset = _german(
        cue_pairs=(("sie", "er"), ("ihr", "sein")),
        other_cue_pairs=(("Liebe", "Hass"),),
        occupations=_shares(Arzt=40, Koch=30),
        associations={"weat6": _association()},
        wefats={"gender": _wefat()},
        gender=GenderWords((("Frau", "Mann"),)),
        gender_survey=_survey(
            doctor=WordForms(("Ärztin",), ("Arzt", "Doktor")),
            person=WordForms(neutral=("Person",)),
            aide=WordForms(note="?"),
        ),
    )
    assert word_lists(wordset) == {
        "cue_pairs": ("sie", "er", "ihr", "sein"),
        "other_cue_pairs": ("Liebe", "Hass"),
        "occupations": ("Arzt", "Koch"),
        "associations.weat6.target_x": ("Frau",),
        "associations.weat6.target_y": ("Mann",),
        "associations.weat6.attribute_a": ("gut",),
        "associations.weat6.attribute_b": ("böse",),
        "wefats.gender.attribute_a": ("Frau",),
        "wefats.gender.attribute_b": ("Mann",),
        "gender.definitional_pairs": ("Frau", "Mann"),
        "gender_survey.defining": ("Frau", "Mann"),
        "gender_survey.professions": ("Ärztin", "Arzt", "Doktor", "Person"),
    }


def test_words_for_the_gender_direction_become_a_survey_of_neutral_forms() -> None:
    gender = GenderWords((("woman", "man"), ("Mary", "John")), ("nurse", "cab driver"))
    survey = neutral_survey(gender)
    assert survey.defining == {"woman-man": DefiningPair("woman", "man"), "Mary-John": DefiningPair("Mary", "John")}
    assert survey.professions == {
        "nurse": WordForms(neutral=("nurse",)),
        "cab driver": WordForms(neutral=("cab driver",)),
    }
    surveyed, measured = word_lists(WordSets("en", gender_survey=survey)), word_lists(WordSets("en", gender=gender))
    assert list(surveyed.values()) == list(measured.values())


def test_a_language_may_have_one_pair_for_two_english_ones() -> None:
    pair = DefiningPair("دختر", "پسر")
    assert GenderSurvey("Arab", "source", {"daughter-son": pair, "girl-boy": pair}, {}).defining["girl-boy"] == pair


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GenderSurvey("Latn", "s", {}, {}), "wordset.gender_survey.defining is empty: give at least one pair"),
        (lambda: _survey(("Frau", "Frau")), r"defining.woman-man: \['Frau', 'Frau'\] must be two different words"),
        (lambda: _survey((" ", "Mann")), r"defining.woman-man: \[' '\] must be words without spaces at their ends"),
        (lambda: _survey(cook=WordForms(("Köchin", ""))), r"professions.cook: \[''\] must be words without spaces"),
        (lambda: _survey(cook=WordForms((), ("Koch", "Koch"))), r"professions.cook: \['Koch'\] listed more than once"),
        (
            lambda: _survey(judge=WordForms(("juez", "jueza"), ("juez",))),
            r"professions.judge: \['juez'\] under several genders: list a form for both under neutral alone",
        ),
        (lambda: _survey(judge=WordForms((), ("juez",), ("juez",))), r"\['juez'\] under several genders"),
        (lambda: _survey(aide=WordForms(note=" ")), "professions.aide: no form; give one, or a note that says why"),
        (lambda: _survey(script="latin"), r"should match pattern '\^\[A-Z\]\[a-z\]\{3\}\$' .*input_value='latin'"),
        (
            lambda: _german(other_cue_pairs=(("Hass", "Hass"),)),
            "wordset.other_cue_pairs: .* must be two different words",
        ),
        (
            lambda: _german(wefats={"gender": _wefat()}),
            r"wefats: \['gender'\] have no targets: give wordset.occupations",
        ),
        (_german, "no list: give at least one of cue_pairs, other_cue_pairs, .*, gender, gender_survey"),
    ],
)
def test_wrong_lists_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
