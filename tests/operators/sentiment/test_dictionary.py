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
    "a form of unicode": ("mein cafe\u0301", {"caf\u00e9": "bar"}, "mein bar"),
    "another form of it": ("mein caf\u00e9", {"cafe\u0301": "bar"}, "mein bar"),
    "nothing": ("", SPANISH, ""),
    "no entry": ("man", {}, "man"),
    "hundreds of entries": ("w0 w999 w1000", {f"w{number}": f"t{number}" for number in range(1000)}, "t0 t999 w1000"),
    "marks that mean themselves": ("c++ c.d cxd", {"c++": r"\1 \g<0>", "c.d": "x"}, r"\1 \g<0> x cxd"),
}


@pytest.mark.parametrize(("text", "words", "expected"), TEXTS.values(), ids=TEXTS)
def test_a_text_by_a_dictionary(text, words, expected) -> None:
    assert translated(text, words) == translated(text, dict(reversed(words.items()))) == expected


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


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        *(([entry], re.escape(f"entry {entry!r}: has no word to look for")) for entry in ("", " ", "...")),
        *((["man", other], "are one for a text; take one out") for other in ("Man", "MAN", " man")),
        (["caf\u00e9", "cafe\u0301"], "are one for a text"),
    ],
)
def test_entries_without_a_word_or_that_a_text_cannot_tell_apart_are_refused(entries, message) -> None:
    with pytest.raises(ValueError, match=message):
        translate_words(["man"], dict.fromkeys(entries, "x"))
