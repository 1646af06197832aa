import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.tokenised import word_spans


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("café", "the CAFE\u0301 there"),
        ("İstanbul", "in istanbul now"),
        ("istanbul", "in I\u0307STANBUL now"),
        ("nurse", "a nu\u00adrse here"),
        ("don't", "we don‛t mind"),
        ("rock’n’roll", "old rock'n'roll here"),
    ],
)
def test_an_entry_is_in_a_text_that_writes_it_otherwise(entry, text):
    words = [text[start:end] for start, end in word_spans(text)]
    assert [listed is not None for listed in WordList([entry]).entries(words)] == [False, True, False]


def test_what_is_not_seen_is_no_word_and_parts_none():
    text = "\ufeffShe\u200bsaid\u00a0nu\u00adrse\u2060s \u200d ! ❤\ufe0f"
    spans = word_spans(text)
    assert [text[start:end] for start, end in spans] == ["She", "said", "nu\u00adrse\u2060s", "!", "❤\ufe0f"]


@given(st.text(alphabet="aéİiß'’ ,\u0301\u0307\u00ad\u200b\u2060") | st.text())
def test_a_text_has_as_many_words_in_each_form(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len(word_spans(forms[0])) == len(word_spans(forms[1]))
