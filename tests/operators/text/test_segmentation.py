import polars as pl
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.segmentation import (
    chinese_words,
    french_words,
    segmenter,
    spaced,
    spaced_words,
    unicode_words,
    unsegmented_share,
)


@pytest.mark.parametrize(
    ("cut", "text", "words"),
    [
        (unicode_words, "", []),
        (unicode_words, "'quoted' don't—rock'n'roll, O''Neil 'a", ["quoted", "don't", "rock'n'roll", "O", "Neil", "a"]),
        (unicode_words, "a_b __init__ x-y ki:lo file_3", ["a", "b", "init", "x", "y", "ki", "lo", "file", "3"]),
        (
            unicode_words,
            "3.14 1,000 1'000 1990s 1;2 1،2 5. ,6",
            ["3.14", "1,000", "1'000", "1990s", "1", "2", "1", "2", "5", "6"],
        ),
        (unicode_words, "e.g. u.s.a, x3.2 Ph.D", ["e.g", "u.s.a", "x3.2", "Ph", "D"]),
        (unicode_words, "end.Next a.next ق.م كتاب.وقد", ["end", "Next", "a", "next", "ق.م", "كتاب", "وقد"]),
        (unicode_words, "हिन्दी में क\u0301.ख", ["हिन्दी", "में", "क\u0301.ख"]),
        (unicode_words, "می\u200cشود. کتاب\u200cها", ["می\u200cشود", "کتاب\u200cها"]),
        (unicode_words, "\u0301abc ❤\ufe0f ½ col·lecció ˂abc", ["abc", "½", "col·lecció", "abc"]),
        (unicode_words, "柏林a 東京タワー ไทย", ["柏", "林", "a", "東", "京", "タワー", "ไ", "ท", "ย"]),
        (french_words, "l'homme 'l'Équipe' d'hôtel", ["l", "homme", "l", "Équipe", "d", "hôtel"]),
        (french_words, "jusqu'à lorsqu'il qu'un", ["jusqu", "à", "lorsqu", "il", "qu", "un"]),
        (french_words, "aujourd'hui quelqu'un presqu'île", ["aujourd'hui", "quelqu'un", "presqu'île"]),
        (french_words, "N'Djamena O'Neil rock'n'roll l'1", ["N'Djamena", "O'Neil", "rock'n'roll", "l", "1"]),
        (chinese_words, "我是女人。", ["我", "是", "女人"]),
        (chinese_words, "这个女孩在1990年用Windows系统", ["这个", "女孩", "在", "1990", "年", "用", "Windows", "系统"]),
        (chinese_words, "王在她家,3.14%", ["王", "在", "她家", "3.14"]),
        (chinese_words, "plain e.g. ASCII", ["plain", "e.g", "ASCII"]),
    ],
)
def test_words_by_hand(cut, text, words):
    assert cut(text) == words


@given(st.text(alphabet=st.characters(max_codepoint=127)) | st.text(alphabet="aB1.,':;_ -"))
def test_ascii_text_is_cut_as_in_other_company(text):
    assert [*unicode_words(text), "é"] == unicode_words(text + " é")


# Letters that Python's tables don't know yet are no letters to ``str.isalnum``.
_ASSIGNED = st.characters(exclude_categories=["Cn", "Cs"])


@given(st.text(_ASSIGNED) | st.text(alphabet="aé1.,'·_ \u0301\u200c½漢あア\u0e17ب٣"))
def test_no_letter_or_digit_is_lost(text):
    words = unicode_words(text)
    assert all(word[0].isalnum() for word in words)
    assert [c for word in words for c in word if c.isalnum()] == [c for c in text if c.isalnum()]


@given(st.text(alphabet="aéßب1३٣,' 漢あアーक-"))
def test_words_agree_with_another_implementation_of_unicode_boundaries(text):
    # The one in regex sees no boundary between an opening apostrophe and a vowel: 'all is no word to it.
    text = regex.sub(r"(?<!\p{WB=ALetter})'", " ", text)
    pieces = regex.split(r"(?V1w)\b", text)
    assert unicode_words(text) == [piece for piece in pieces if piece[:1].isalnum()]


def test_french_nouns_are_found_behind_their_articles(data_file):
    text = data_file("corpora/fr/ud_french-sequoia.sentences.txt").read_text().lower().replace("’", "'")
    hidden, found = (sum(word == "homme" for word in words(text)) for words in (unicode_words, french_words))
    assert (hidden, found) == (11, 33)


@given(st.text(alphabet="我是女人王在她家国的一二三工程师软件职业〇々𠀀㐀豈a1 ，"))
def test_a_chinese_word_alone_is_cut_as_in_its_sentence(text):
    words = chinese_words(text)
    assert chinese_words(" ".join(words)) == words
    assert "".join(words) == "".join(c for c in text if c.isalnum())


@pytest.mark.parametrize("language", ["th", "lo", "km", "my", "ja", "yue", "zh-spaced"])
def test_a_language_without_spaces_has_words_only_where_spaces_were_put(language):
    assert segmenter("en") is segmenter("bg") is unicode_words, "which have no rules of their own"
    assert segmenter(language if language.endswith("spaced") else spaced(language)) is spaced_words
    if not language.endswith("spaced"):
        with pytest.raises(ValueError, match=rf"{language} is written without spaces .* th-spaced; for Chinese, zh"):
            segmenter(language)


@pytest.mark.parametrize(
    ("language", "text", "share"),
    [
        ("en", "ผู้หญิงกินข้าว", 1),
        ("en", "ພາສາລາວ", 1),
        ("en", "ភាសាខ្មែរ", 1),
        ("en", "မြန်မာဘာသာ", 1),
        ("en", "私は看護師です a b c d e f g h", 0.5),
        ("en", "她是护士", 1),
        ("zh", "她是护士", 0),
        ("zh", "彼女はかんごしです", 0.9),
        ("en", "タワー 간호사 नर्स סיסטר nurse", 0),
    ],
)
def test_characters_in_place_of_words_are_counted(language, text, share):
    words = segmenter(language)(text)
    counts = pl.Series([1] * len(words))
    assert unsegmented_share(pl.Series(words), counts, language) == pytest.approx(share, abs=0.15)
    assert unsegmented_share(pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Int64), language) == 0
