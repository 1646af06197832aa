import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.dictionary import translate_words

SPANISH = {"man": "hombre", "this man": "este hombre", "feels": "se siente", "sad": "triste", "niño": "boy"}


def translated(text, words=SPANISH):
    return translate_words([text], words)[0]


YORK = {"new": "nuevo", "new york": "Nueva York", "new york city": "la ciudad", "york": "Y"}
TEXTS = {
    "words": ("man feels sad.", SPANISH, "hombre se siente triste."),
    "what is between them": (" man,\tsad\n\n-- (man)…😀 ", SPANISH, " hombre,\ttriste\n\n-- (hombre)…😀 "),
    "parts of words": ("woman mans man_ man2 sadly unsad", SPANISH, "woman mans man_ man2 sadly unsad"),
    "words beside marks": ("man's sad-sad man", SPANISH, "hombre's triste-triste hombre"),
    "letters with marks": ("niño niños Niño ÑNIÑO NIÑO", SPANISH, "boy niños Boy ÑNIÑO BOY"),
    "another script": ("манн манна", {"манн": "man"}, "man манна"),
    "capitals": ("Man MAN mAN This Man THIS MAN", SPANISH, "Hombre HOMBRE hombre Este hombre ESTE HOMBRE"),
    "one capital is an initial": ("A MAN", {"a": "un", "man": "hombre"}, "Un HOMBRE"),
    "as the dictionary writes it": ("and I say US", {"I": "yo", "US": "EE. UU."}, "and yo say EE. UU."),
    "the longest entry": ("new york city, new york, new, york", YORK, "la ciudad, Nueva York, nuevo, Y"),
    "a phrase on two lines": ("this \n man", SPANISH, "este hombre"),
    "no phrase": ("this, man", SPANISH, "this, hombre"),
    "nothing twice": ("a b", {"a": "b", "b": "a"}, "b a"),
    "marks that mean themselves": ("c++ c.d cxd", {"c++": r"\1 \g<0>", "c.d": "x"}, r"\1 \g<0> x cxd"),
}


@pytest.mark.parametrize(("text", "words", "expected"), TEXTS.values(), ids=TEXTS)
def test_a_text_by_a_dictionary(text, words, expected) -> None:
    assert translated(text, words) == translated(text, dict(reversed(words.items()))) == expected


def test_hundreds_of_entries_are_no_limit() -> None:
    words = {f"w{number}": f"t{number}" for number in range(1000)}
    assert translated("w0 w999 w1000", words) == "t0 t999 w1000"


def test_nothing_to_translate() -> None:
    assert translate_words([], SPANISH) == []
    assert translate_words(["", "man"], {}) == ["", "man"]


LETTERS = st.text(alphabet="abñß", min_size=1)


@given(st.text(alphabet="abñß_1.-\n "), st.lists(st.lists(LETTERS, min_size=1, max_size=2).map(" ".join)))
def test_a_dictionary_of_words_by_themselves_changes_no_lower_case_text(text, entries) -> None:
    text = re.sub(r"\s+", " ", text)
    words = {entry.casefold(): entry for entry in entries}.values()
    assert translated(text, dict(zip(words, words, strict=True))) == text


@given(st.text(), st.lists(st.text(alphabet="abcİKſßσς ", min_size=1).filter(str.strip), max_size=3))
def test_texts_of_any_characters_can_be_translated(text, entries) -> None:
    words = {" ".join(entry.casefold().split()): "x" for entry in entries}
    assert len(translate_words([text, text.swapcase()], words)) == 2


@pytest.mark.parametrize("entry", ["", " ", "..."])
def test_entries_without_a_word_are_refused(entry) -> None:
    with pytest.raises(ValueError, match=re.escape(f"entry {entry!r}: has no word to look for")):
        translate_words(["man"], {entry: "x"})


@pytest.mark.parametrize("other", ["Man", "MAN", " man"])
def test_entries_that_a_text_cannot_tell_apart_are_refused(other) -> None:
    with pytest.raises(ValueError, match="are one for a text; take one out"):
        translate_words(["man"], {"man": "hombre", other: "x"})


def test_entries_and_texts_meet_in_any_form_of_unicode() -> None:
    assert translate_words(["mein cafe\u0301"], {"caf\u00e9": "bar"}) == ["mein bar"]
    assert translate_words(["mein caf\u00e9"], {"cafe\u0301": "bar"}) == ["mein bar"]
    with pytest.raises(ValueError, match="are one for a text"):
        translate_words([], {"caf\u00e9": "a", "cafe\u0301": "b"})
