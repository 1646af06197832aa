"""One spelling for what readers take for one word: what to fold in every language, and what in one script or language.

The tables are data, each with its reason. Text and word lists go through the same function, so that an entry and the
text can't miss each other.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

import regex

Table = dict[int, str | None]
"""For :meth:`str.translate`: code point to what is written instead; None: nothing."""

Rewrite = Callable[[str], str]

_JOINER, _NON_JOINER, _SOFT_HYPHEN, _NOT_SIGN = "\u200d", "\u200c", "\u00ad", "\u00ac"


def _points(*ranges: tuple[int, int]) -> list[int]:
    return [code for first, last in ranges for code in range(first, last + 1)]


def _table(spelling: Mapping[str, str | None]) -> Table:
    return {ord(character): written for characters, written in spelling.items() for character in characters}


def _nothing(codes: Iterable[int]) -> Table:
    return dict.fromkeys(codes)


def _compatible(codes: Iterable[int]) -> dict[int, str]:
    """What Unicode calls compatible (NFKC); the space that carries an isolated diacritic goes."""
    forms = {code: unicodedata.normalize("NFKC", chr(code)).lstrip() for code in codes}
    return {code: form for code, form in forms.items() if form != chr(code)}


# Invisible: soft hyphens, directions, byte-order marks, word and grapheme joiners, fillers, interlinear and language
# tags, shapes of one character. A zero-width space is none of them: it stands between words, as all spaces do.
_INVISIBLE = _points(
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0xE0001, 0xE007F), (0xE0100, 0xE01EF),
)  # fmt: skip

# Latin ligatures come from typesetting, full-width letters and digits from East Asian fonts. Raised and lowered digits
# are what a wiki's <sup> and <sub> become without markup: m² and m<sup>2</sup> are both m2.
_LATIN_FORMS = _points(
    (0xFB00, 0xFB06), (0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A), (0xB2, 0xB3), (0xB9, 0xB9),
    (0x2070, 0x2070), (0x2074, 0x2079), (0x2080, 0x2089),
)  # fmt: skip

# Arabic, Farsi and Urdu pages write the same numbers in three sets of digits: ASCII, the one all languages share.
_DIGITS = {chr(zero + value): str(value) for zero in (0x660, 0x6F0) for value in range(10)} | {"٫": ".", "٬": ","}

_QUOTES: Table = _table({"’‘‛＇": "'"})
_APOSTROPHES = _QUOTES | _table({"ʼ": "'"})
_EVERYWHERE: Table = _nothing(_INVISIBLE) | _compatible(_LATIN_FORMS) | _APOSTROPHES | _table(_DIGITS)

_WITHOUT_JOINERS: Table = _table({_JOINER + _NON_JOINER: None})
"""Latin and Arabic text uses them to stop a ligature; Chinese not at all."""

# Vowel signs, hamza marks that have no letter of their own, Quranic signs: most writers leave them out. Tatweel
# stretches a line, and the joiner only shapes a letter.
_ARABIC_SIGNS = _nothing(
    code
    for code in _points((0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6ED), (0x8D3, 0x8FF))
    if unicodedata.category(chr(code)) == "Mn"
) | _table({"\u0640" + _JOINER: None})

_PRESENTATION_FORMS = _points((0xFB50, 0xFDFF), (0xFE70, 0xFEFC))
"""Shapes of Arabic letters by their place in a word, from old encodings and PDF files."""

_ARABIC = _table({"ی": "ي", "کڪ": "ك", "ہھەۀۂ": "ه", "ۃ": "ة", "ٱ": "ا"})  # keyboards of other languages

# A hamza above a final heh marks the ezafe, as rarely written as the vowel sign that marks it elsewhere.
_FARSI = _table({"يى": "ی", "كڪ": "ک", "ہھەۀۂ": "ه", "ٱ": "ا"})

# Arabic heh becomes heh goal; do-chashmi heh is a letter of its own there (بھائی). A hamza above heh marks the izafat.
_URDU = _table({"يى": "ی", "كڪ": "ک", "هەۀۂ": "ہ", "ة": "ۃ", "ۓ": "ئے", "ٱ": "ا"})

# Old code pages and editors left a soft hyphen or a not sign where the zero-width non-joiner was typed.
_NON_JOINER_SLIPS = _table({_SOFT_HYPHEN + _NOT_SIGN: _NON_JOINER})

_HAMZA_ON_YEH = regex.compile("[یى]\u0654")
_NON_JOINERS = regex.compile(
    rf"(?<=\p{{Joining_Type=D}})({_NON_JOINER}){_NON_JOINER}*(?=[\p{{Joining_Type=D}}\p{{Joining_Type=R}}])"
    rf"|{_NON_JOINER}+"
)
_FIRST_DO_CHASHMI = regex.compile(r"(?<![\p{Script=Arabic}&&\p{L}])ھ", regex.VERSION1)
_IN_WORDS = r"\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}"
_MARKS = rf"[\p{{M}}{_JOINER}{_NON_JOINER}]*"
_JOINERS = regex.compile(
    rf"((?<=[{_IN_WORDS}]{_MARKS})[{_JOINER}{_NON_JOINER}]+(?={_MARKS}[{_IN_WORDS}]))|[{_JOINER}{_NON_JOINER}]+"
)


_DOTS = regex.compile(r"(?<=\p{Soft_Dotted}[^\P{M}\p{ccc=230}]*)\u0307+")
_FINAL_SIGMA = regex.compile(r"(?<=[\p{Greek}&&\p{L}]\p{M}*)σ(?![[\p{Greek}&&\p{L}]\p{M}])", regex.VERSION1)


def _turkic_lower(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("İ", "i").replace("I", "ı").lower()


def _final_sigma(text: str) -> str:
    """Python's lower case takes the sigma before a full stop for an inner one where no space follows."""
    return str(_FINAL_SIGMA.sub("ς", text))


def _composed(text: str) -> str:
    """Normal form C in which an i has one dot: Unicode's small İ has two, and Lithuanian may write them out."""
    text = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", _DOTS.sub("", text)) if "\u0307" in text else text


def _hamza_on_yeh(text: str) -> str:
    """Unicode composes a hamza with Arabic yeh alone; Farsi yeh and alef maksura look the same under it."""
    return _HAMZA_ON_YEH.sub("ئ", text) if "\u0654" in text else text


def _visible_non_joiners(text: str) -> str:
    """Keeps a zero-width non-joiner where two letters would join, once; elsewhere it changes nothing that is seen."""
    return _NON_JOINERS.sub(r"\1", text) if _NON_JOINER in text else text


def _urdu_letters(text: str) -> str:
    """Aspirates follow a consonant, so a do-chashmi heh that begins a word is a heh goal (ہے, typed ھے).

    Before noon ghunna a word ends in yeh; text converted from old fonts has the look-alike yeh barree there (میں).
    """
    text = _FIRST_DO_CHASHMI.sub("ہ", text) if "ھ" in text else text
    return text.replace("ےں", "یں")


def _joiners_inside_words(text: str) -> str:
    return _JOINERS.sub(r"\1", text) if _JOINER in text or _NON_JOINER in text else text


@functools.cache
def _simplifier() -> Rewrite:
    import opencc

    convert: Rewrite = opencc.OpenCC("t2s").convert
    return convert


def _simplified(text: str) -> str:
    """Traditional to simplified characters by OpenCC, phrases first; words of one region are not translated."""
    return _simplifier()(text)


def _any_of(table: Table) -> Callable[[str], re.Match[str] | None]:
    """Search for a character that the table changes. Ranges: single characters beyond U+FFFF are tried one by one."""
    runs = [
        [code for _, code in run] for _, run in groupby(enumerate(sorted(table)), key=lambda pair: pair[1] - pair[0])
    ]
    ranges = (f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
    return re.compile(f"[{''.join(ranges)}]").search


class _Rules(NamedTuple):
    letters: Table
    rewrites: tuple[Rewrite, ...] = ()  # after the letters
    composing: tuple[Rewrite, ...] = ()  # before them


def _arabic_script(letters: Table) -> Table:
    """Folding of the whole script; what a presentation form stands for is spelled as the language spells it."""
    spelling = _ARABIC_SIGNS | letters
    forms: Table = {code: form.translate(spelling) for code, form in _compatible(_PRESENTATION_FORMS).items()}
    return spelling | forms


_OTHERS = _Rules({}, (_joiners_inside_words,))
"""Joiners inside words change letters in many scripts, those of India for example."""

_LANGUAGES: Mapping[str, _Rules] = {
    **dict.fromkeys(("en", "simple", "es", "de", "fr", "wo"), _Rules(_WITHOUT_JOINERS)),
    **dict.fromkeys(("el", "grc"), _Rules(_WITHOUT_JOINERS, (_final_sigma,))),
    "zh": _Rules(_WITHOUT_JOINERS, (_simplified,)),
    "ar": _Rules(_arabic_script(_ARABIC) | _WITHOUT_JOINERS, (), (_hamza_on_yeh,)),
    "fa": _Rules(_arabic_script(_FARSI) | _NON_JOINER_SLIPS, (_visible_non_joiners,), (_hamza_on_yeh,)),
    "ur": _Rules(_arabic_script(_URDU) | _NON_JOINER_SLIPS, (_visible_non_joiners, _urdu_letters), (_hamza_on_yeh,)),
}


# Crimean Tatar, Gagauz and Zazaki have the letters of Turkish.
_LOWER: Mapping[str, Rewrite] = dict.fromkeys(("tr", "az", "crh", "gag", "diq", "zza"), _turkic_lower)
_COMPARED = _nothing(_INVISIBLE) | _APOSTROPHES | _WITHOUT_JOINERS


def straightened(text: str) -> str:
    """A text with straight apostrophes and as many characters; one that is a letter stays, as words begin with it.

    >>> straightened("don’t")
    "don't"
    """
    return text.translate(_QUOTES)


def folded(text: str) -> str:
    """What is compared where no language is given: without case, normal form, invisible characters and kinds of
    apostrophes; the German Maße and Masse are one.

    >>> [folded(word) for word in ("Don’t", "CAFE\u0301", "İstanbul", "nu\u00adrse")]
    ["don't", 'café', 'istanbul', 'nurse']
    """
    if text.isascii():
        return text.lower()
    return _composed(unicodedata.normalize("NFC", text).casefold().translate(_COMPARED))


def as_labels(value: object) -> object:
    """A setting's names of classes, in a list or as keys, as tables have them: in normal form C, and text where YAML
    takes them for numbers.

    >>> as_labels(1), as_labels(["cafe\u0301", 0]), as_labels({0: "no"})
    ('1', ['café', '0'], {'0': 'no'})
    """
    match value:
        case str() | int():
            return unicodedata.normalize("NFC", str(value))
        case list() | tuple():
            return [as_labels(item) for item in value]
        case dict():
            names = {as_labels(str(key)): item for key, item in value.items()}
            return {name: as_labels(item) if isinstance(item, str) else item for name, item in names.items()}
    return value


class Normalizer:
    """The one spelling of any text of a language, in Unicode normal form C; doing it twice changes nothing more.

    Case is folded by the language's own rules, where it has some (the Turkish ı is the small I), else by ``str.lower``
    and not ``str.casefold``, which would write the German Maße and Masse alike. Everywhere İ and i are one letter.

    Args:
        language: primary code, for example ``"fa"``; for a language not named here only what holds everywhere applies.
        fold_case: whether to write lower case.

    >>> Normalizer("fa", fold_case=True)("كتاب\u200cهاي ۱۳۹۹")
    'کتاب\u200cهای 1399'
    """

    def __init__(self, language: str, fold_case: bool) -> None:
        self._rules = _LANGUAGES.get(language, _OTHERS)
        self._lower = _LOWER.get(language, str.lower) if fold_case else None
        self._letters = _EVERYWHERE | self._rules.letters
        # A search by the standard library costs a tenth of what str.translate does, and most lines hold nothing.
        self._unusual = _any_of(self._letters)

    def __call__(self, text: str) -> str:
        """Normalise one line."""
        if self._lower:
            text = self._lower(text)
        if text.isascii():
            return text
        text = unicodedata.normalize("NFC", text)
        for rewrite in self._rules.composing:
            text = rewrite(text)
        if self._unusual(text):
            text = text.translate(self._letters)
        for rewrite in self._rules.rewrites:
            text = rewrite(text)
        # What stood between a letter and its mark may be gone.
        return _composed(text)
