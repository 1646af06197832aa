import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.text.normalisation import Normalizer

_LANGUAGES = ["en", "zh", "es", "ar", "de", "fr", "fa", "ur", "wo", "hi"]

# Letters, signs and invisible characters that the tables speak of, with what they may meet.
_DELICATE = (
    "aB1ßİΣé\u0301 .,'’_\u00ad\u00ac\u200b\u200c\u200d\u200f\ufeff\ufe0f²ﬁＡ１"
    "اآبدكکيیىےہھهەۀۂۓةۃںۓ\u0653\u0654\u064e\u0670\u0640٣۳٫ٱ\ufefb\ufbe8\ufba4\ufdf2\ufe71\ufe70\ufcf2漢於伦中कि"
)


@pytest.mark.parametrize(
    ("language", "text", "written"),
    [
        ("en", "Cafe\u0301 ÅNGSTRÖM don’t ‘x’ Qurʼan", "café ångström don't 'x' qur'an"),
        ("de", "auf\u00adgehen Auf\u200clage a\u00ad\u0301 Straße", "aufgehen auflage á straße"),
        ("es", "km² H₂O ﬁn Ｗｉｎ３２ \ufeffuno\u200f", "km2 h2o fin win32 uno"),
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
        ("zh", "漢語 電腦 台灣 Ｗｉｎｄｏｗｓ", "汉语 电脑 台湾 windows"),
    ],
)
def test_spelling_by_hand(language, text, written):
    assert Normalizer(language, fold_case=True)(text) == unicodedata.normalize("NFC", written)


def test_case_is_kept_on_request():
    assert Normalizer("de", fold_case=False)("Die Ärztin’s ＡＢ") == "Die Ärztin's AB"


def test_german_sharp_s_stays_so_that_measures_and_masses_differ():
    spell = Normalizer("de", fold_case=True)
    assert spell("Maße") != spell("Masse")


@pytest.mark.parametrize("fold_case", [True, False])
@pytest.mark.parametrize("language", [code for code in _LANGUAGES if code != "zh"])
@given(st.text(alphabet=_DELICATE) | st.text())
def test_normalising_again_changes_nothing(language, fold_case, text):
    spell = Normalizer(language, fold_case)
    once = spell(text)
    assert spell(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(st.text(alphabet="漢語于余後后發髮電腦台灣里裏干乾的是女人ABc１ ，"))
def test_normalising_chinese_again_changes_nothing(text):
    spell = Normalizer("zh", fold_case=True)
    assert spell(spell(text)) == spell(text)
