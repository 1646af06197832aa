"""Words of texts: as entries of lists, as phrases, in lists of words, and how many there are."""

import math
import pickle
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tiltmeter.operators.text.lengths import text_statistics
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.tokenised import word_spans
from tiltmeter.operators.text.tokens import Tokenizer, join_phrases, phrase_index

# An entry of each language as a list might spell it, and a sentence that holds it spelled otherwise.
_SENTENCES = {
    "en": ("registered nurse", "‘She’s a registered  nurse’s registered\u00a0nu\u00adrse.’"),
    "zh": ("軟件工程師", "她是软件工程师，不是医生。"),
    "es": ("niña", "La nin\u0303a, otra vez."),
    "ar": ("عَالِم الفَلَك", "قال عالم الفلك إن القمر"),
    "de": ("Ärztin", "„A\u0308rztin“ steht da"),
    "fr": ("infirmière", "C’est l’infirmie\u0300re."),
    "fa": ("كتاب\u200cهاي", "این کتاب\u200c\u200cهای من است"),
    "ur": ("لڑكي", "یہ لڑکی ہے۔"),
    "tr": ("IŞIK", "Kadın Işık’ı, ışık ve ışik"),
    "az": ("Bakı I\u0307slam", "BAKI İSLAM"),
    "el": ("οδός", "Η ΟΔΟ\u0301Σ.Ο"),
    "th-spaced": ("ผู้หญิง", "ผู้หญิง\u200bกิน ข้าว"),
    "wo": ("Doom ju jigéen", "Am na Doom ju jige\u0301en ak Doom ju góor"),
}


@pytest.mark.parametrize("language", _SENTENCES)
def test_an_entry_is_found_in_text_that_spells_it_otherwise(language):
    """Capitals of some languages are their own, where case is folded."""
    entry, sentence = _SENTENCES[language]
    for fold_case in (True,) if language in ("tr", "az", "el") else (True, False):
        tokenizer = Tokenizer(language, fold_case, phrases=[entry])
        assert tokenizer.entry(entry) in tokenizer(sentence)


def test_phrases_come_out_as_one_word():
    tokenizer = Tokenizer("en", phrases=["Assistant  Professor", "professor emeritus", "nurse"])
    assert tokenizer.identity["phrases"] == ["assistant professor", "professor emeritus"]
    assert tokenizer("An assistant PROFESSOR emeritus, nurse") == ["an", "assistant professor", "emeritus", "nurse"]
    wolof = Tokenizer("wo", phrases=["Doom ju jigéen"])
    assert wolof.entry(" Doom  ju JIGÉEN ") == Tokenizer("wo").entry("doom ju jigéen") == "doom ju jigéen"
    assert tokenizer("Professor Emeritus") == ["professor emeritus"]


def test_identity_changes_with_whatever_the_words_depend_on():
    identity = Tokenizer("zh", phrases=["女 王"]).identity
    assert set(identity) == {"operator", "language", "fold_case", "phrases", "versions"}
    assert set(identity["versions"]) == {"unicode", "regex", "rjieba", "OpenCC"}
    assert set(Tokenizer("en").identity["versions"]) == {"unicode", "regex"}
    variants = [Tokenizer("en"), Tokenizer("en", False), Tokenizer("en", phrases=["a b"]), Tokenizer("de")]
    assert len({str(variant.identity) for variant in variants}) == 4


def test_a_tokenizer_goes_to_another_process():
    tokenizer = Tokenizer("zh", fold_case=False, phrases=["软件工程师"])
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.identity == tokenizer.identity
    assert copy("Google的軟件工程師") == tokenizer("Google的軟件工程師") == ["Google", "的", "软件 工程师"]


@pytest.mark.parametrize("language", ["", "e", "en us", "english!"])
def test_what_is_no_language_code_is_refused(language):
    with pytest.raises(ValueError, match=r"must be a language code, for example en: set it in corpus\.language"):
        Tokenizer(language)


def test_entries_without_a_word_are_refused():
    with pytest.raises(ValueError, match="'— \\?' holds no word"):
        Tokenizer("en").entry("— ?")
    with pytest.raises(ValueError, match="'…' holds no word"):
        Tokenizer("en", phrases=["…"])


_PHRASES = ("a b", "b l'été", "دختر کوچک")


@pytest.mark.long
@pytest.mark.parametrize("fold_case", [True, False])
@pytest.mark.parametrize("language", ["en", "es", "ar", "de", "fr", "fa", "ur", "wo", "bg", "tr", "el", "th-spaced"])
@settings(max_examples=50)
@example("㐀ھ")
@example("1\u200c㐀")
@given(
    st.text() | st.text(alphabet="aBlIİıé'’._ \u0301\u0307\u200b\u200c\u200d\u00ad1-ªΣσİßدخترکچوىےھہ\u0654،٣²\u202f漢")
)
def test_tokenizing_words_again_changes_nothing(language, fold_case, line):
    tokenizer = Tokenizer(language, fold_case, _PHRASES)
    words = tokenizer(line)
    assert tokenizer(" ".join(words)) == words == tokenizer(unicodedata.normalize("NFD", line))
    assert all(tokenizer.entry(word) == word for word in words)
    assert all(unicodedata.is_normalized("NFC", word) for word in words)


@pytest.mark.parametrize(
    ("language", "name", "words"),
    [
        ("de", "ud_german-gsd_dev_test.sentences.txt", ["Frau", "Mann", "Tochter", "Sohn", "Mutter", "Vater"]),
        ("ar", "ud_arabic-pud.sentences.txt", ["النساء", "رجل", "ولد", "زوجة"]),
        ("fa", "ud_persian-seraji_dev_test.sentences.txt", ["زن", "مرد", "دختر", "پسر", "مادر", "پدر"]),
        ("ur", "ud_urdu-udtb_dev_test.sentences.txt", ["عورت", "بیٹی", "ماں", "باپ", "لڑکی", "محترمہ"]),
        ("zh", "ud_chinese-gsdsimp_dev_test.sentences.txt", ["女儿", "儿子", "母亲", "父亲", "女王", "国王"]),
        ("wo", "ud_wolof-wtb.sentences.txt", ["Jigéen", "Góor", "Yaay", "Baay", "Buur"]),
    ],
)
def test_list_words_occur_in_real_text(data_file, language, name, words):
    tokenizer = Tokenizer(language)
    found = set(tokenizer(data_file(f"corpora/{language}/{name}").read_text().replace("\n", " ")))
    assert {tokenizer.entry(word) for word in words} <= found


_FEW = st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map(" ".join))


@given(st.lists(st.sampled_from("abcd")), _FEW)
def test_each_place_takes_the_longest_phrase_that_fits(words, phrases):
    joined = join_phrases(words, phrase_index(phrases))
    assert " ".join(joined).split() == words
    at = 0
    for word in joined:
        fitting = [phrase for phrase in phrases if f"{' '.join(words[at:])} ".startswith(f"{phrase} ")]
        assert word == max(fitting, key=len, default=words[at])
        at += len(word.split(" "))


OTHERWISE = {"café": "the CAFE\u0301 there", "İstanbul": "in istanbul now", "istanbul": "in I\u0307STANBUL now"}
OTHERWISE |= {"nurse": "a nu\u00adrse here", "don't": "we don‛t mind", "rock’n’roll": "old rock'n'roll here"}


@pytest.mark.parametrize(("entry", "text"), OTHERWISE.items())
def test_an_entry_is_in_a_text_that_writes_it_otherwise(entry, text):
    words = [text[start:end] for start, end in word_spans(text)]
    assert [listed is not None for listed in WordList([entry]).entries(words)] == [False, True, False]


def test_what_is_not_seen_is_no_word_and_parts_none():
    text = "\ufeffShe\u200bsaid\u00a0nu\u00adrse\u2060s \u200d ! ❤\ufe0f"
    words = [text[start:end] for start, end in word_spans(text)]
    assert words == ["She", "said", "nu\u00adrse\u2060s", "!", "❤\ufe0f"]


@given(st.text(alphabet="aéİiß'’ ,\u0301\u0307\u00ad\u200b\u2060") | st.text())
def test_a_text_has_as_many_words_in_each_form(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len(word_spans(forms[0])) == len(word_spans(forms[1]))


def test_words_and_stop_words_of_a_conversation():
    # Stop words: i, am, where, is, the; go, to, the, but not "don't".
    found = text_statistics(["I am lost: where IS the library?", "Don't worry! Go to the 2nd floor."])
    assert found == (2, 14, 7.0, 7, 7, 8, 4.0, 3, 5, None, None, None, None)


def test_the_shortest_and_the_longest_text_may_have_no_word_and_no_stop_word():
    # Words 4, 1, 0; stop words: that is the, none, none.
    found = text_statistics(["That is the question", "question", "?!"], ["x", "x", "y"])
    assert found == (3, 5, 5 / 3, 0, 4, 3, 1.0, 0, 3, 2, 1.5, 1, 2)
    some = text_statistics(["a"] * 6, ["x", "y", "x", None, "y", "x"])
    assert (some.num_texts, some[-4:]) == (6, (2, 2.5, 2, 3))


def test_nothing_has_no_means_and_texts_have_as_many_conversations():
    nan, found = math.nan, text_statistics([], [])
    assert list(found) == pytest.approx([0, 0, nan, None, None, 0, nan, None, None, 0, nan, None, None], nan_ok=True)
    with pytest.raises(ValueError, match="zip"):
        text_statistics(["a", "b"], ["x"])
