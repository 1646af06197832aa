import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.tokens import tokenize


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("Don't—DON’T 'quoted' rock'n'roll, O’’Neil", ["don't", "don't", "quoted", "rock'n'roll", "o", "neil"]),
        ("a_b __init__ x-y 3.14 1990s", ["a", "b", "init", "x", "y", "3", "14", "1990s"]),
        ("Cafe\u0301 ÅNGSTRÖM", ["café", "ångström"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("مُحَمَّد، كِتَاب", ["مُحَمَّد", "كِتَاب"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می‌شود کتاب‌ها", ["می\u200cشود", "کتاب\u200cها"]),
        ("auf\u00adgehen a\u00ad\u0301", ["aufgehen", "á"]),
        ("\u0301abc ❤\ufe0f \u200cx\u200d", ["abc", "x"]),
        ("柏林是首都。城市", ["柏林是首都", "城市"]),
        ("H₂O x² ½", ["h₂o", "x²", "½"]),
    ],
)
def test_words_by_hand(line, words):
    assert tokenize(line) == [unicodedata.normalize("NFC", word) for word in words]


@given(st.text())
def test_tokenizing_words_again_changes_nothing(line):
    words = tokenize(line)
    assert tokenize(" ".join(words)) == words


@given(st.text(alphabet="aBé'’_ \u0301\u200c\u00ad1-ªΣσİ"))
def test_tokenizing_again_changes_nothing_where_it_is_delicate(line):
    words = tokenize(line)
    assert tokenize(" ".join(words)) == words


@given(st.text())
def test_words_are_composed_lower_case_and_begin_with_a_letter_or_digit(line):
    for word in tokenize(line):
        assert unicodedata.is_normalized("NFC", word)
        assert word[0].isalnum()
        assert not set(word) & set("_ \n’")


@given(st.text())
def test_no_letter_or_digit_is_lost(line):
    kept = "".join(tokenize(line))
    composed = unicodedata.normalize("NFC", line.lower().replace("\u00ad", ""))
    assert [c for c in kept if c.isalnum()] == [c for c in composed if c.isalnum()]


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_lines_are_cut_as_in_other_company(line):
    assert [*tokenize(line), "é"] == tokenize(line + " é")
