from collections.abc import Callable

import pytest

from tests.fixtures.word_lists import association, gender_survey, german, shares, wefat
from tiltmeter.operators.text.wordsets import (
    DefiningPair,
    GenderSurvey,
    GenderWords,
    WordForms,
    WordSets,
    neutral_survey,
    word_lists,
)


def test_lists_have_readable_names_and_keep_their_order() -> None:
    wordset = german(
        cue_pairs=(("sie", "er"), ("ihr", "sein")),
        other_cue_pairs=(("Liebe", "Hass"),),
        occupations=shares(Arzt=40, Koch=30),
        associations={"weat6": association()},
        wefats={"gender": wefat()},
        gender=GenderWords((("Frau", "Mann"),)),
        gender_survey=gender_survey(
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
    pair = DefiningPair("دختر", "پسر")  # a language may have one for two English ones
    assert GenderSurvey("Arab", "source", {"daughter-son": pair, "girl-boy": pair}, {}).defining["girl-boy"] == pair
    surveyed, measured = word_lists(WordSets("en", gender_survey=survey)), word_lists(WordSets("en", gender=gender))
    assert list(surveyed.values()) == list(measured.values())


BOTH = r"professions.judge: \['juez'\] under several genders: "


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: GenderSurvey("Latn", "s", {}, {}), "wordset.gender_survey.defining is empty: give at least one pair"),
        (lambda: gender_survey(("Frau", "Frau")), r"woman-man: \['Frau', 'Frau'\] must be two different words"),
        (lambda: gender_survey((" ", "Mann")), r"woman-man: \[' '\] must be words without spaces at their ends"),
        (lambda: gender_survey(cook=WordForms(("Köchin", ""))), r"cook: \[''\] must be words without spaces"),
        (lambda: gender_survey(cook=WordForms((), ("Koch", "Koch"))), r"cook: \['Koch'\] listed more than once"),
        (
            lambda: gender_survey(judge=WordForms(("juez", "jueza"), ("juez",))),
            BOTH + "list a form for both under neutral",
        ),
        (lambda: gender_survey(judge=WordForms((), ("juez",), ("juez",))), BOTH),
        (lambda: gender_survey(aide=WordForms(note=" ")), "aide: no form; give one, or a note that says why"),
        (
            lambda: gender_survey(script="latin"),
            r"should match pattern '\^\[A-Z\]\[a-z\]\{3\}\$' .*input_value='latin'",
        ),
        (
            lambda: german(other_cue_pairs=(("Hass", "Hass"),)),
            "wordset.other_cue_pairs: .* must be two different words",
        ),
        (lambda: german(wefats={"gender": wefat()}), r"wefats: \['gender'\] have no targets: give wordset.occupations"),
        (german, "no list: give at least one of cue_pairs, other_cue_pairs, .*, gender, gender_survey"),
    ],
)
def test_wrong_lists_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
