from typing import Any

import pytest

from tests.fixtures.word_lists import association, gender_survey, german, shares, wefat
from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import (
    DefiningPair,
    GenderSurvey,
    GenderWords,
    Synonyms,
    WordForms,
    WordSets,
)


def test_entries_are_written_as_the_vocabulary_writes_them() -> None:
    wordset = german(
        cue_pairs=(("Sie", "Er"), ("SIE", "er"), ("Frau", "Mann")),
        other_cue_pairs=(("Liebe", "Hass"),),
        occupations=shares(Arzt=40, ARZT=40, Koch=30),
        associations={"test": association(("A\u0308rztin", "Ärztin", "Frau  Dr."), ("Arzt",))},
        wefats={"test": wefat(("Frau", "FRAU"))},
        synonyms=Synonyms("s", {"Freude": ("Lust", "LUST"), "FREUDE": ("Wonne",)}),
        gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt", "auf\u00adgehend")),
    )
    written = normalised(wordset, Tokenizer("de"))
    assert written.cue_pairs == (("sie", "er"), ("frau", "mann"))
    assert written.other_cue_pairs == (("liebe", "hass"),)
    assert written.occupations == shares(arzt=40, koch=30)
    assert written.associations["test"].target_x.words == ("ärztin", "frau dr")
    assert written.associations["test"].attribute_b.words == ("böse",)
    assert written.wefats == {"test": wefat(("frau",), ("mann",))}
    assert written.synonyms == Synonyms("s", {"freude": ("lust", "wonne")})
    assert written.gender == GenderWords((("frau", "mann"),), ("arzt", "aufgehend"))
    assert normalised(written, Tokenizer("de")) == written


def test_forms_of_one_gender_that_become_equal_are_one() -> None:
    forms = WordForms(("Ärztin", "A\u0308RZTIN"), ("Arzt",), ("ärztliche  Person",), "two spellings")
    survey = GenderSurvey("Latn", "source", {"woman-man": DefiningPair("Frau", "Mann", "short")}, {"doctor": forms})
    written = normalised(german(gender_survey=survey), Tokenizer("de")).gender_survey
    assert written == GenderSurvey(
        "Latn",
        "source",
        {"woman-man": DefiningPair("frau", "mann", "short")},
        {"doctor": WordForms(("ärztin",), ("arzt",), ("ärztliche person",), "two spellings")},
    )


def test_case_is_kept_where_the_text_keeps_it_and_what_a_language_lacks_stays_absent() -> None:
    wordset = german(gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt")), gender_survey=gender_survey())
    assert normalised(german(cue_pairs=(("Sie", "Er"),)), Tokenizer("de")) == german(cue_pairs=(("sie", "er"),))
    assert normalised(wordset, Tokenizer("de", fold_case=False)) == wordset


def test_phrases_are_the_entries_of_several_words() -> None:
    wordset = WordSets("fr", cue_pairs=(("l’Infirmière", "homme"), ("dame  de fer", "l'infirmière")))
    assert phrases(wordset, Tokenizer("fr")) == ("dame de fer", "l infirmière")
    found = Tokenizer("fr", phrases=phrases(wordset, Tokenizer("fr")))("Voilà l'infirmière et la Dame de Fer.")
    assert found == ["voilà", "l infirmière", "et", "la", "dame de fer"]


def test_forms_of_a_survey_are_found_as_phrases() -> None:
    survey = gender_survey(("Doom ju jigéen", "Doom ju góor"), scientist=WordForms(neutral=("boroom xam-xam", "nit")))
    found = phrases(WordSets("wo", gender_survey=survey), Tokenizer("wo"))
    assert found == ("boroom xam xam", "doom ju góor", "doom ju jigéen")


KOCH = gender_survey(cook=WordForms(("KOCH",), ("Koch",)))


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"cue_pairs": (("sie", "Sie"),)}, r"wordset.cue_pairs: \['sie', 'Sie'\] are one word, 'sie', once they are"),
        ({"other_cue_pairs": (("Arm", "arm"),)}, "wordset.other_cue_pairs: .* are one word, 'arm'"),
        ({"gender": GenderWords((("Ärztin", "A\u0308rztin"),))}, "wordset.gender.definitional_pairs: .* are one word"),
        ({"gender": GenderWords((("sie", "er"),), ("—",))}, "wordset.gender.professions: '—' holds no word"),
        ({"occupations": shares(Arzt=40, arzt=41)}, "arzt: 41.0, but the same word, .* has 40.0 before"),
        ({"associations": {"t": association(("Frau",), ("frau",))}}, r"\['frau'\] in both targets"),
        ({"gender_survey": gender_survey(("sie", "Sie"))}, "gender_survey.defining.woman-man: .* are one word, 'sie'"),
        ({"gender_survey": KOCH}, r"gender_survey.professions.cook: \['koch'\] under several genders"),
        ({"gender_survey": gender_survey(cook=WordForms(("…",)))}, "gender_survey.professions: '…' holds no word"),
    ],
)
def test_lists_that_normalisation_breaks_are_refused(lists: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normalised(german(**lists), Tokenizer("de"))
