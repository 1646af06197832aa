import pytest

from operators.tokens import Tokenizer
from operators.wordsets import (
    Association,
    GenderWords,
    NamedWords,
    Occupations,
    WordSets,
    normalised,
    phrases,
    word_lists,
)


def _association(x=("Frau",), y=("Mann",)) -> Association:
    return Association(
        "s", NamedWords("x", x), NamedWords("y", y), NamedWords("a", ("gut",)), NamedWords("b", ("böse",))
    )


def _german(**lists) -> WordSets:
    return WordSets("de", **lists)


def _shares(**percent) -> Occupations:
    return Occupations("source", 2020, percent)


def test_lists_have_readable_names_and_keep_their_order():
    wordset = _german(
        cue_pairs=(("sie", "er"), ("ihr", "sein")),
        occupations=_shares(Arzt=40, Koch=30),
        associations={"weat6": _association()},
        gender=GenderWords((("Frau", "Mann"),)),
    )
    assert word_lists(wordset) == {
        "cue_pairs": ("sie", "er", "ihr", "sein"),
        "occupations": ("Arzt", "Koch"),
        "associations.weat6.target_x": ("Frau",),
        "associations.weat6.target_y": ("Mann",),
        "associations.weat6.attribute_a": ("gut",),
        "associations.weat6.attribute_b": ("böse",),
        "gender.definitional_pairs": ("Frau", "Mann"),
    }


def test_entries_are_written_as_the_vocabulary_writes_them():
    wordset = _german(
        cue_pairs=(("Sie", "Er"), ("SIE", "er"), ("Frau", "Mann")),
        occupations=_shares(Arzt=40, ARZT=40, Koch=30),
        associations={"test": _association(("A\u0308rztin", "Ärztin", "Frau  Dr."), ("Arzt",))},
        gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt", "auf\u00adgehend")),
    )
    written = normalised(wordset, Tokenizer("de"))
    assert written.cue_pairs == (("sie", "er"), ("frau", "mann"))
    assert written.occupations == _shares(arzt=40, koch=30)
    assert written.associations["test"].target_x.words == ("ärztin", "frau dr")
    assert written.associations["test"].attribute_b.words == ("böse",)
    assert written.gender == GenderWords((("frau", "mann"),), ("arzt", "aufgehend"))
    assert normalised(written, Tokenizer("de")) == written


def test_case_is_kept_where_the_text_keeps_it():
    wordset = _german(gender=GenderWords((("Frau", "Mann"),), ("Arzt", "arzt")))
    assert normalised(wordset, Tokenizer("de", fold_case=False)) == wordset


def test_what_a_language_lacks_stays_absent():
    written = normalised(_german(cue_pairs=(("Sie", "Er"),)), Tokenizer("de"))
    assert written == _german(cue_pairs=(("sie", "er"),))


def test_phrases_are_the_entries_of_several_words():
    wordset = WordSets("fr", cue_pairs=(("l’Infirmière", "homme"), ("dame  de fer", "l'infirmière")))
    assert phrases(wordset, Tokenizer("fr")) == ("dame de fer", "l infirmière")
    found = Tokenizer("fr", phrases=phrases(wordset, Tokenizer("fr")))("Voilà l'infirmière et la Dame de Fer.")
    assert found == ["voilà", "l infirmière", "et", "la", "dame de fer"]


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"cue_pairs": (("sie", "Sie"),)}, r"wordset.cue_pairs: \['sie', 'Sie'\] are one word, 'sie', once they are"),
        ({"gender": GenderWords((("Ärztin", "A\u0308rztin"),))}, "wordset.gender.definitional_pairs: .* are one word"),
        ({"gender": GenderWords((("sie", "er"),), ("—",))}, "wordset.gender.professions: '—' holds no word"),
        (
            {"occupations": _shares(Arzt=40, arzt=41)},
            "percent_women: arzt: 41.0, but the same word, .* has 40.0 before",
        ),
        ({"associations": {"t": _association(("Frau",), ("frau",))}}, r"\['frau'\] in both targets"),
    ],
)
def test_lists_that_normalisation_breaks_are_refused(lists, message):
    with pytest.raises(ValueError, match=message):
        normalised(_german(**lists), Tokenizer("de"))
