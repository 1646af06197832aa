import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.normalisation import Normalizer, as_labels, folded, straightened

_LANGUAGES = ["en", "zh", "es", "ar", "de", "fr", "fa", "ur", "wo", "hi", "tr", "az", "el", "lt"]

# Letters, signs and invisible characters that the tables speak of, with what they may meet.
_DELICATE = (
    "aB1ßİIiıjÎΣσςé\u0301\u0307\u0323\u034f\u3164\u2060 .,'’_\u00ad\u00ac\u200b\u200c\u200d\u200f\ufeff\ufe0f²ﬁＡ１"
    "اآبدكکيیىےہھهەۀۂۓةۃںۓ\u0653\u0654\u064e\u0670\u0640٣۳٫ٱ\ufefb\ufbe8\ufba4\ufdf2\ufe71\ufe70\ufcf2漢於伦中कि"
)


@pytest.mark.parametrize(
    ("language", "text", "written"),
    [
        ("en", "Cafe\u0301 ÅNGSTRÖM don’t ‘x’ Qurʼan", "café ångström don't 'x' qur'an"),
        ("de", "auf\u00adgehen Auf\u200clage a\u00ad\u0301 Straße", "aufgehen auflage á straße"),
        ("es", "km² H₂O ﬁn Ｗｉｎ３２ \ufeffuno\u200f", "km2 h2o fin win32 uno"),
        # The Turkish I is the capital of ı, and İ that of i, composed or not; in other languages İ is an i too.
        ("tr", "Işık IŞIK ışık ISPARTA KIZ İstanbul I\u0307STANBUL", "ışık ışık ışık ısparta kız istanbul istanbul"),
        ("az", "QIZ Kişi İŞÇİ ALİM", "qız kişi işçi alim"),
        ("en", "İstanbul I\u0307STANBUL i\u0307stanbul ISTANBUL", "istanbul istanbul istanbul istanbul"),
        ("de", "İzmir Iller", "izmir iller"),
        ("lt", "Į\u0307\u0301 i\u0307\u0300 Ì", "į\u0301 ì ì"),
        ("el", "ΤΟΥΣ.Ο ΟΔΟΣ Σ", "τους.ο οδος σ"),
        ("en", "a\u034fb\u2060c\ufeffd\u3164 x\u200by x\u00a0y ‛tis", "abcd x\u200by x\u00a0y 'tis"),
        ("hi", "क्\u200dया", "क्\u200dया"),
        # Vowel signs and tatweel; presentation forms; letters of Farsi and Urdu keyboards; digits.
        ("ar", "مُحَمَّد كتـــاب", "محمد كتاب"),
        ("ar", "\ufee3\ufea4\ufee4\ufeaa \ufdf2 \ufefb", "محمد الله لا"),
        ("ar", "کتابی على ہند ٱلله", "كتابي على هند الله"),
        ("ar", "٢٠١٩ ۱۹۹۰ ٣٫١٤", "2019 1990 3.14"),
        ("ar", "ال\u200cكتاب رسـ\u200dالة", "الكتاب رسالة"),
        ("ar", "مسي\u0654ول شى\u0654", "مسئول شئ"),
        ("fa", "كتاب علي موسى ھمسر", "کتاب علی موسی همسر"),
        ("fa", "معجزه\u0654 خانۀ ا\u0653ن", "معجزه خانه آن"),
        # One non-joiner between letters that would join; none where it is not seen.
        ("fa", "می\u200cشود می\u200c\u200c\u200fشود می\u00adشود می\u00acشود", " ".join(["می\u200cشود"] * 4)),
        ("fa", "کار\u200cها \u200cکتاب\u200c به\u200c، auf\u00adgehen", "کارها کتاب به، aufgehen"),
        ("ur", "لڑكي بيٹى یہ ھے به", "لڑکی بیٹی یہ ہے بہ"),
        ("ur", "بھائی جذبۂ جذبۀ جذبہ\u0654 سورة", "بھائی جذبہ جذبہ جذبہ سورۃ"),
        ("ur", "گۓ مےں", "گئے میں"),
        ("tr as it is", "Işık I\u0307stanbul i\u0307stanbul", "Işık İstanbul istanbul"),
        ("de as it is", "Die Ärztin’s ＡＢ", "Die Ärztin's AB"),
        ("de", "Maße Masse", "maße masse"),
        ("zh", "漢語 電腦 台灣 Ｗｉｎｄｏｗｓ", "汉语 电脑 台湾 windows"),
    ],
)
def test_spelling_by_hand(language, text, written):
    spell = Normalizer(language.removesuffix(" as it is"), fold_case=not language.endswith("as it is"))
    assert spell(text) == unicodedata.normalize("NFC", written)


@pytest.mark.long
@pytest.mark.parametrize("fold_case", [True, False])
@pytest.mark.parametrize("language", [code for code in _LANGUAGES if code != "zh"])
@given(st.text(alphabet=_DELICATE) | st.text())
def test_normalising_again_changes_nothing(language, fold_case, text):
    spell = Normalizer(language, fold_case)
    once = spell(text)
    assert spell(once) == once == spell(unicodedata.normalize("NFD", text))
    assert unicodedata.is_normalized("NFC", once)


@given(st.text(alphabet="漢語于余後后發髮電腦台灣里裏干乾的是女人ABc１ ，"))
def test_normalising_chinese_again_changes_nothing(text):
    spell = Normalizer("zh", fold_case=True)
    assert spell(spell(text)) == spell(text)


@given(st.text(alphabet=_DELICATE) | st.text())
def test_what_is_compared_is_one_whatever_its_form(text):
    once = folded(text)
    assert folded(once) == once == folded(unicodedata.normalize("NFD", text))
    assert len(straightened(text)) == len(text)


def test_words_without_a_language_meet_whatever_their_case_and_apostrophes():
    assert {folded(word) for word in ("İstanbul", "I\u0307STANBUL", "istanbul", "ist\u00adanbul")} == {"istanbul"}
    assert {folded(word) for word in ("Don't", "DON’T", "don‛t")} == {"don't"}
    assert folded("Maße") == folded("MASSE")


def test_labels_of_settings_are_those_of_tables():
    assert as_labels({"cafe\u0301": 0.5, 1: "re\u0301"}) == {"café": 0.5, "1": "ré"}
    assert as_labels((0, "a")) == ["0", "a"]
    assert as_labels(None) is None
