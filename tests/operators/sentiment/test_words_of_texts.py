"""Words of texts: translated by a dictionary, put before texts, and looked for after a round trip."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.dictionary import translate_words
from tiltmeter.operators.sentiment.protected_words import ProxyText, first_words, lost_words, with_proxies

SPANISH = {"man": "hombre", "this man": "este hombre", "feels": "se siente", "sad": "triste", "niño": "boy"}


def translated(text, words):
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
def test_a_text_by_a_dictionary(text, words, expected):
    assert translated(text, words) == translated(text, dict(reversed(words.items()))) == expected


LETTERS = st.text(alphabet="abñß", min_size=1)


@given(st.text(alphabet="abñß_1.-\n "), st.lists(st.lists(LETTERS, min_size=1, max_size=2).map(" ".join)))
def test_a_dictionary_of_words_by_themselves_changes_no_lower_case_text(text, entries):
    text = re.sub(r"\s+", " ", text)
    words = {entry.casefold(): entry for entry in entries}.values()
    assert translated(text, dict(zip(words, words, strict=True))) == text


@given(st.text(), st.lists(st.text(alphabet="abcİKſßσς ", min_size=1).filter(str.strip), max_size=3))
def test_texts_of_any_characters_can_be_translated(text, entries):
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
def test_entries_without_a_word_or_that_a_text_cannot_tell_apart_are_refused(entries, message):
    with pytest.raises(ValueError, match=message):
        translate_words(["man"], dict.fromkeys(entries, "x"))


# --- words before texts ------------------------------------------------------------------------------------------

PROXIES = {"male": "Hey boy, ", "female": "Hey girl, ", "neutral": "Hey, "}
PROTECTED = {"male": ["Hey", "boy"], "female": ["Hey", "girl"], "neutral": ["Hey"]}


def told(row, gender, text):
    return ProxyText(row, gender, PROXIES[gender] + text, PROTECTED[gender])


def test_texts_of_unknown_gender_get_every_proxy():
    expected = [told(row, gender, text) for row, text in enumerate("ab") for gender in PROXIES]
    assert with_proxies(["a", "b"], PROXIES) == expected


def test_texts_of_known_gender_get_their_own():
    found = with_proxies(["a", "b", "c"], {"female": "Hey girl, ", "neutral": ""}, ["neutral", None, "female"])
    plain = [ProxyText(row, "neutral", text, []) for row, text in enumerate("ab")]
    assert found == [plain[0], told(1, "female", "b"), plain[1], told(2, "female", "c")]


def test_turns_that_take_no_proxy_stay_as_they_are_and_have_the_gender_of_whom_they_speak_with():
    genders, takes_proxy = ["male", "male", None, None], [True, False, False, True]
    found = with_proxies(["a", "b", "c", "d"], PROXIES, genders, takes_proxy)
    as_they_are = [ProxyText(1, "male", "b", []), ProxyText(2, None, "c", [])]
    assert found == [told(0, "male", "a"), *as_they_are, *(told(3, gender, "d") for gender in PROXIES)]


STARTS = {"Hey boy, hello": ["Hey"], "HEY, boy": ["Hey"], "Boy, hello": ["boy"], "Hello boy, hey": [], "boys": []}
STARTS |= {"Boy's day": ["boy"], "": []}


@pytest.mark.parametrize(("text", "expected"), STARTS.items())
def test_words_that_a_text_starts_with(text, expected):
    assert first_words([text], [["Hey", "boy"]]) == [expected]


def test_a_gender_without_proxy_and_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"gender \['Female'\]: must be one of male, female, neutral.*sentences\.prox"):
        with_proxies(["a", "b"], PROXIES, ["male", "Female"])
    with pytest.raises(ValueError, match="zip"):
        with_proxies(["a", "b"], PROXIES, ["male"])
    with pytest.raises(ValueError, match="zip"):
        lost_words(["a"], [])


WHOLE = [
    ("Hey girl, thanks", "hey"), ("HEY girl", "Hey"), ("Ｈｅｙ girl", "hey"), ("a boy-like face", "boy"),
    ("Adam's brother", "Adam"), ("Adam’s brother", "Adam"), ("the boys' brother", "boys"), ("she'll come", "she"),
    ("Don't", "don't"), ("Jos\u00e9 came", "Jose\u0301"), ("this  man, feels", "this man"), ("this\nMAN's", "this man"),
]  # fmt: skip
LOST = [
    ("They left", "hey"), ("Hello girl", "hey"), ("the boyfriend", "boy"), ("the boys", "boy"), ("Jose came", "José"),
    ("this old man", "this man"), ("this", "this man"), ("", "boy"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "word", "is_lost"), [*((*pair, False) for pair in WHOLE), *((*pair, True) for pair in LOST)]
)
def test_words_are_found_whole(text, word, is_lost):
    assert lost_words([text], [[word]]) == [[word] if is_lost else []]


def test_each_text_has_its_own_words():
    texts = ["Hi boy, yes", "Hey girl, yes", "yes", "yes"]
    assert lost_words(texts, [["Hey", "boy"], ["Hey", "girl"], ["Hey", "boy"], []]) == [["Hey"], [], ["Hey", "boy"], []]


@given(st.lists(st.text(max_size=20), max_size=4))
def test_nothing_is_lost_where_nothing_is_translated(texts):
    made = with_proxies(texts, PROXIES)
    assert len(made) == 3 * len(texts)
    assert not any(lost_words([text.text for text in made], [text.protected_words for text in made]))
