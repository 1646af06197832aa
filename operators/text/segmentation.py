"""Where words begin and end: Unicode's default boundaries, a dictionary for Chinese, elision in French.

The text is expected in the spelling of :class:`.normalisation.Normalizer`. The rules are those of Unicode
Standard Annex 29, with the annex's own properties as ``regex`` carries them; where they differ is said with the reason.
"""

import functools
import re
from collections.abc import Callable, Mapping

import polars as pl
import regex

Segmenter = Callable[[str], list[str]]

_LETTER = r"\p{WB=ALetter}\p{WB=Hebrew_Letter}"
_DIGIT = r"\p{WB=Numeric}"
_KATAKANA = r"\p{WB=Katakana}"
_MARK = r"\p{M}\p{WB=Format}\u200c\u200d"
_MARKS = rf"[{_MARK}]*+"

# Differences from the annex:
# - An underscore and its like separate (WB13a, WB13b): they come from file names and markup.
# - A colon separates, as in CLDR's root locale: it stands between letters in Swedish and Finnish alone.
# - A full stop joins single letters (e.g, u.s) but not longer words: there it ends a sentence whose space is missing.
# - Numbers are joined by full stop, comma and apostrophe only: a semicolon and the commas of Chinese and Arabic list.
# - Hebrew quotation marks (WB7a to WB7c) are left out.
_BETWEEN_LETTERS = rf"['·](?<=[{_LETTER}]{_MARKS}.){_MARKS}(?=[{_LETTER}])"
_BETWEEN_DIGITS = rf"[.,'](?<=[{_DIGIT}]{_MARKS}.){_MARKS}(?=[{_DIGIT}])"
_ABBREVIATING = (
    rf"\.(?<=(?<![{_LETTER}{_DIGIT}{_MARK}])[{_LETTER}]{_MARKS}\.)"
    rf"(?=[{_LETTER}]{_MARKS}(?![{_LETTER}{_DIGIT}]))"
)
_WORD = (
    rf"[{_LETTER}{_DIGIT}][{_LETTER}{_DIGIT}{_MARK}]*+"
    rf"(?:(?:{_BETWEEN_LETTERS}|{_BETWEEN_DIGITS}|{_ABBREVIATING})[{_LETTER}{_DIGIT}{_MARK}]++)*+"
    rf"|[{_KATAKANA}][{_KATAKANA}{_MARK}]*+"
    rf"|[\p{{L}}\p{{N}}]{_MARKS}"
)
_WORDS = regex.compile(rf"(?=[\p{{L}}\p{{N}}])(?:{_WORD})", regex.VERSION1)

# The same rules where there is nothing but ASCII, by the standard library's faster expressions. Nothing follows the
# outer group, so it need not be possessive; before Python 3.11.5 such groups gave back too much.
_ASCII_WORDS = re.compile(
    r"[A-Za-z0-9]++(?:(?:'(?<=[A-Za-z].)(?=[A-Za-z])|[.,'](?<=[0-9].)(?=[0-9])"
    r"|\.(?<=(?<![A-Za-z0-9])[A-Za-z]\.)(?=[A-Za-z](?![A-Za-z0-9])))[A-Za-z0-9]++)*"
)

_HAN = r"[\p{Script=Han}&&[\p{L}\p{N}]]"
_HAN_FIRST = regex.compile(_HAN, regex.VERSION1)
_HAN_OR_WORDS = regex.compile(rf"{_HAN}++|(?=[\p{{L}}\p{{N}}])(?:{_WORD})", regex.VERSION1)

# Lexicalised compounds (aujourd'hui, quelqu'un, presqu'île) keep their apostrophe, and so does what no vowel follows.
_ELISION = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}]'?)((?:jus|lors|puis|quoi)?qu|[cdjlmnst])'(?=[aàâæeéèêëhiîïoôœuùûüyÿ])",
    regex.VERSION1 | regex.IGNORECASE,
)


def unicode_words(text: str) -> list[str]:
    """Words between Unicode's default boundaries that begin with a letter or digit, in order.

    An apostrophe between letters belongs to the word. A character of a script without spaces (Chinese, Japanese
    except katakana, Thai, Lao, Khmer, Burmese) is a word of its own; see :func:`unsegmented_share`.

    >>> unicode_words("it isn't in a_b: e.g. 3.14 m2, Σωκράτης.Ο l'été")
    ['it', "isn't", 'in', 'a', 'b', 'e.g', '3.14', 'm2', 'Σωκράτης', 'Ο', "l'été"]
    """
    return _ASCII_WORDS.findall(text) if text.isascii() else _WORDS.findall(text)


def french_words(text: str) -> list[str]:
    """Words of French text: an elided pronoun, article or particle is a word of its own, without its apostrophe.

    Otherwise half of the nouns would hide behind their article (l'infirmière, d'avocat), and no list would find them.

    >>> french_words("l'infirmière d'aujourd'hui, qu'il n'a pas")
    ['l', 'infirmière', 'd', "aujourd'hui", 'qu', 'il', 'n', 'a', 'pas']
    """
    return unicode_words(_ELISION.sub(r"\1 ", text) if "'" in text else text)


@functools.cache
def _dictionary() -> Callable[[str, bool], list[str]]:
    import rjieba

    return rjieba.Jieba().cut


def chinese_words(text: str) -> list[str]:
    """Words of simplified Chinese text: the most probable cut of each run of characters by a dictionary.

    The dictionary is that of jieba 0.42 (349,046 words with frequencies that its author counted in newspapers and
    novels, MIT licence), as jieba-rs carries it. Its model for unknown words stays off: it swallows words of a single
    character (男, 女, 王) into names, and how it cuts a word depends on what stands around it, so that a list's entry
    cut alone would miss the text. An unknown word comes out as its known parts, and a phrase finds it.

    >>> chinese_words("这位女工程师在Google工作了12年")
    ['这位', '女', '工程师', '在', 'Google', '工作', '了', '12', '年']
    """
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    cut = _dictionary()
    words: list[str] = []
    for piece in _HAN_OR_WORDS.findall(text):
        if _HAN_FIRST.match(piece):
            words.extend(cut(piece, False))
        else:
            words.append(piece)
    return words


_SPACED = "spaced"
_WITHOUT_SPACES = {
    *("th", "lo", "km", "my", "ja", "nod", "tts", "khb", "shn", "mnw", "ksw"),
    *("yue", "wuu", "gan", "hsn", "lzh"),  # Chinese beside zh
}
_SPACED_WORDS = regex.compile(rf"[\p{{L}}\p{{N}}](?:'?[\p{{L}}\p{{N}}{_MARK}])*+")
_UNSEGMENTED = (
    r"^[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Tham}\p{New_Tai_Lue}\p{Tai_Le}\p{Tai_Viet}\p{Hiragana}%s]\p{M}*$"
)


SEGMENTATION_ADVICE = (
    "put a space, or one of no width, between its words (ICU and PyThaiNLP can), and add -spaced to the code of its "
    "language, as in th-spaced; for Chinese, zh has a dictionary"
)


def spaced_words(text: str) -> list[str]:
    """Words of a text whose spaces, of any width, stand between all words, in any script.

    >>> spaced_words("ผู้หญิง กิน\u200bข้าว, OK")
    ['ผู้หญิง', 'กิน', 'ข้าว', 'OK']
    """
    return list(_SPACED_WORDS.findall(text))


def unsegmented_share(words: pl.Series, counts: pl.Series, language: str) -> float:
    """Share of running words that are a single character of a script without spaces, which no dictionary was asked for.

    >>> unsegmented_share(pl.Series(["ผู้", "ห", "nurse"]), pl.Series([2, 1, 1]), "en")
    0.75
    """
    pattern = _UNSEGMENTED % ("" if _primary(language) == "zh" else r"\p{Han}")
    total = int(counts.sum())
    return int(counts.filter(words.str.contains(pattern)).sum()) / total if total else 0.0


def spaced(language: str) -> str:
    """The code that says of a language without spaces that its words are told apart already; another stays as it is.

    >>> spaced("th"), spaced("en")
    ('th-spaced', 'en')
    """
    return f"{language}-{_SPACED}" if language in _WITHOUT_SPACES else language


def _primary(language: str) -> str:
    return re.split("[-_]", language.lower())[0]


_LANGUAGES: Mapping[str, Segmenter] = {"fr": french_words, "zh": chinese_words}


def segmenter(language: str) -> Segmenter:
    """How the words of a language are told apart.

    Args:
        language: its code, for example ``"fr"``; ``"th-spaced"`` for Thai that has spaces between its words.

    Raises:
        ValueError: for a language that is written without spaces between words, unless they were put there.
    """
    primary = _primary(language)
    if language.lower().split("-")[1:] == [_SPACED]:
        return spaced_words
    if primary in _WITHOUT_SPACES:
        raise ValueError(
            f"{language} is written without spaces between words, and no dictionary of it is here, so that each "
            f"character would count as a word: {SEGMENTATION_ADVICE}"
        )
    return _LANGUAGES.get(primary, unicode_words)
