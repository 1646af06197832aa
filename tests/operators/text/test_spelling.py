"""Word lists: what they are called, what becomes of their spelling, and which are refused."""

import pytest
from pydantic import TypeAdapter

from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import (
    Association,
    DefiningPair,
    GenderSurvey,
    GenderWords,
    NamedWords,
    Occupations,
    Synonyms,
    Wefat,
    WordForms,
    WordSets,
    neutral_survey,
    word_lists,
)


def association(x=("Frau",), y=("Mann",)):
    sides = {"x": x, "y": y, "a": ("gut",), "b": ("böse",)}
    return Association("s", *(NamedWords(name, words) for name, words in sides.items()))


def wefat(a=("Frau",), b=("Mann",)):
    return Wefat("s", NamedWords("a", a), NamedWords("b", b))


def gender_survey(pair=("Frau", "Mann"), script="Latn", **professions):
    return GenderSurvey(script, "source", {"woman-man": DefiningPair(*pair)}, professions)


def german(**lists):
    return WordSets("de", **lists)


def shares(**percent):
    return Occupations("source", 2020, percent)


def test_lists_have_readable_names_and_keep_their_order():
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
    assert list(word_lists(wordset).items()) == [
        ("cue_pairs", ("sie", "er", "ihr", "sein")),
        ("other_cue_pairs", ("Liebe", "Hass")),
        ("occupations", ("Arzt", "Koch")),
        ("associations.weat6.target_x", ("Frau",)),
        ("associations.weat6.target_y", ("Mann",)),
        ("associations.weat6.attribute_a", ("gut",)),
        ("associations.weat6.attribute_b", ("böse",)),
        ("wefats.gender.attribute_a", ("Frau",)),
        ("wefats.gender.attribute_b", ("Mann",)),
        ("gender.definitional_pairs", ("Frau", "Mann")),
        ("gender_survey.defining", ("Frau", "Mann")),
        ("gender_survey.professions", ("Ärztin", "Arzt", "Doktor", "Person")),
    ]


def test_words_for_the_gender_direction_become_a_survey_of_neutral_forms():
    gender = GenderWords((("woman", "man"), ("Mary", "John")), ("nurse", "cab driver"))
    survey = neutral_survey(gender)
    assert survey.defining == {"woman-man": DefiningPair("woman", "man"), "Mary-John": DefiningPair("Mary", "John")}
    assert survey.professions == {name: WordForms(neutral=(name,)) for name in gender.professions}
    pair = DefiningPair("دختر", "پسر")  # a language may have one for two English ones
    assert GenderSurvey("Arab", "source", {"daughter-son": pair, "girl-boy": pair}, {}).defining["girl-boy"] == pair
    surveyed, measured = word_lists(WordSets("en", gender_survey=survey)), word_lists(WordSets("en", gender=gender))
    assert list(surveyed.values()) == list(measured.values())


def test_entries_are_written_as_the_vocabulary_writes_them():
    """What becomes equal is one, of a profession within a gender; case is kept where the text keeps it."""
    forms = WordForms(("Ärztin", "A\u0308RZTIN"), ("Arzt",), ("ärztliche  Person",), "two spellings")
    given = german(
        cue_pairs=(("Sie", "Er"), ("SIE", "er"), ("Frau", "Mann")),
        other_cue_pairs=(("Liebe", "Hass"),),
        occupations=shares(Arzt=40, ARZT=40, Koch=30),
        associations={"test": association(("A\u0308rztin", "Ärztin", "Frau  Dr."), ("Arzt",))},
        wefats={"test": wefat(("Frau", "FRAU"))},
        synonyms=Synonyms("s", {"Freude": ("Lust", "LUST"), "FREUDE": ("Wonne",)}),
        gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt", "auf\u00adgehend")),
        gender_survey=gender_survey(doctor=forms),
    )
    written = german(
        cue_pairs=(("sie", "er"), ("frau", "mann")),
        other_cue_pairs=(("liebe", "hass"),),
        occupations=shares(arzt=40, koch=30),
        associations={"test": association(("ärztin", "frau dr"), ("arzt",))},
        wefats={"test": wefat(("frau",), ("mann",))},
        synonyms=Synonyms("s", {"freude": ("lust", "wonne")}),
        gender=GenderWords((("frau", "mann"),), ("arzt", "aufgehend")),
        gender_survey=gender_survey(
            ("frau", "mann"), doctor=WordForms(("ärztin",), ("arzt",), ("ärztliche person",), "two spellings")
        ),
    )
    assert normalised(given, Tokenizer("de")) == written == normalised(written, Tokenizer("de"))
    kept = german(gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt")), gender_survey=gender_survey())
    assert normalised(kept, Tokenizer("de", fold_case=False)) == kept


def test_phrases_are_the_entries_of_several_words():
    wordset = WordSets("fr", cue_pairs=(("l’Infirmière", "homme"), ("dame  de fer", "l'infirmière")))
    assert phrases(wordset, Tokenizer("fr")) == ("dame de fer", "l infirmière")
    found = Tokenizer("fr", phrases=phrases(wordset, Tokenizer("fr")))("Voilà l'infirmière et la Dame de Fer.")
    assert found == ["voilà", "l infirmière", "et", "la", "dame de fer"]
    survey = gender_survey(("Doom ju jigéen", "Doom ju góor"), scientist=WordForms(neutral=("boroom xam-xam", "nit")))
    found = phrases(WordSets("wo", gender_survey=survey), Tokenizer("wo"))
    assert found == ("boroom xam xam", "doom ju góor", "doom ju jigéen")


BROKEN = [
    ({"cue_pairs": (("sie", "Sie"),)}, r"wordset.cue_pairs: \['sie', 'Sie'\] are one word, 'sie', once they are"),
    ({"other_cue_pairs": (("Arm", "arm"),)}, "wordset.other_cue_pairs: .* are one word, 'arm'"),
    ({"gender": GenderWords((("Ärztin", "A\u0308rztin"),))}, "wordset.gender.definitional_pairs: .* are one word"),
    ({"gender": GenderWords((("sie", "er"),), ("—",))}, "wordset.gender.professions: '—' holds no word"),
    ({"occupations": shares(Arzt=40, arzt=41)}, "arzt: 41.0, but the same word, .* has 40.0 before"),
    ({"associations": {"t": association(("Frau",), ("frau",))}}, r"\['frau'\] in both targets"),
    ({"gender_survey": gender_survey(("sie", "Sie"))}, "gender_survey.defining.woman-man: .* are one word, 'sie'"),
    (
        {"gender_survey": gender_survey(cook=WordForms(("KOCH",), ("Koch",)))},
        r"gender_survey.professions.cook: \['koch'\] under several genders",
    ),
    ({"gender_survey": gender_survey(cook=WordForms(("…",)))}, "gender_survey.professions: '…' holds no word"),
]


@pytest.mark.parametrize(("lists", "message"), BROKEN)
def test_lists_that_normalisation_breaks_are_refused(lists, message):
    with pytest.raises(ValueError, match=message):
        normalised(german(**lists), Tokenizer("de"))


def _gender(pairs=(("she", "he"),), professions=()):
    return {"gender": {"definitional_pairs": [*pairs], "professions": [*professions]}}


def _percent_women(**percent):
    return {"occupations": {"source": "s", "year": 2020, "percent_women": percent}}


def _named(words, **sides):
    return {side: {"name": side, "words": [*word]} for side, word in (words | sides).items()} | {"source": "s"}


def _associations(**sides):
    usual = {"target_x": ["math"], "target_y": ["art"], "attribute_a": ["he"], "attribute_b": ["she"]}
    return {"associations": {"weat7": _named(usual, **sides)}}


def _survey(defining=("Frau", "Mann"), script="Latn", **professions):
    pairs = {"woman-man": {"feminine": defining[0], "masculine": defining[1]}} if defining else {}
    return {"gender_survey": {"script": script, "source": "s", "defining": pairs, "professions": professions}}


WEFATS = {"wefats": {"gender": _named({"attribute_a": ["Frau"], "attribute_b": ["Mann"]})}}
BOTH = r"professions.judge: \['juez'\] under several genders: "
WRONG = [
    (_gender(professions=["nurse", "cook", "nurse"]), r"professions: \['nurse'\] listed more than once"),
    (_gender(professions=["nurse "]), r"professions: \['nurse '\] must be words without spaces"),
    (_gender(professions=["nurse", False]), "valid string"),
    (_gender([["she", "she"]]), "must be two different words"),
    (_gender([]), "wordset.gender.definitional_pairs is empty"),
    ({"cue_pairs": [["she", "he"], ["she", "he"]]}, "listed more than once: list each pair once"),
    ({"cue_pairs": [["she", "he", "it"]]}, "at most 2 items"),
    ({"cue_pairs": [[True, False]]}, "valid string"),
    ({"other_cue_pairs": [["Hass", "Hass"]]}, "wordset.other_cue_pairs: .* must be two different words"),
    (_percent_women(nurse=101), "nurse: 101.0 must lie in 0..100"),
    (_percent_women(nurse=True), "valid number"),
    (_percent_women(), "percent_women is empty"),
    (_associations(target_y=["math"]), r"\['math'\] in both targets"),
    (_associations(target_y=["art", "art"]), "listed more than once"),
    ({"wefats": {"g": _named({"attribute_a": [], "attribute_b": ["he"]})}}, "words of 'attribute_a' .* is empty"),
    (WEFATS, r"wefats: \['gender'\] have no targets: give wordset.occupations"),
    ({"language": " "}, "wordset.language"),
    ({"colour": "red"}, "colour"),
    ({}, "no list: give at least one of cue_pairs, other_cue_pairs, .*, gender, gender_survey"),
    (_survey([]), "wordset.gender_survey.defining is empty: give at least one pair"),
    (_survey(["Frau", "Frau"]), r"woman-man: \['Frau', 'Frau'\] must be two different words"),
    (_survey([" ", "Mann"]), r"woman-man: \[' '\] must be words without spaces at their ends"),
    (_survey(cook={"feminine": ["Köchin", ""]}), r"cook: \[''\] must be words without spaces"),
    (_survey(cook={"masculine": ["Koch", "Koch"]}), r"cook: \['Koch'\] listed more than once"),
    (
        _survey(judge={"feminine": ["juez", "jueza"], "masculine": ["juez"]}),
        f"{BOTH}list a form for both under neutral",
    ),
    (_survey(judge={"masculine": ["juez"], "neutral": ["juez"]}), BOTH),
    (_survey(aide={"note": " "}), "aide: no form; give one, or a note that says why"),
    (_survey(script="latin"), r"should match pattern '\^\[A-Z\]\[a-z\]\{3\}\$' .*input_value='latin'"),
]


@pytest.mark.parametrize(("lists", "message"), WRONG)
def test_wrong_lists_are_refused(lists, message):
    with pytest.raises(ValueError, match=message):
        TypeAdapter(WordSets).validate_python({"language": "de"} | lists)
