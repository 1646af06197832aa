"""From a line of text to the words of its language, and from a list's entry to the same words."""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import regex

from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.operators.text.segmentation import segmenter

VERSION = "tokens/3"
"""Raised whenever :class:`Tokenizer` would cut or spell any word differently."""

_LIBRARIES = {"zh": ("rjieba", "OpenCC")}
"""What a language needs beyond ``regex``; dictionaries come with these packages and change with their versions."""

PhraseIndex = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases by their first word, the longest first."""

_LANGUAGE_CODE = regex.compile(r"[a-z]{2,}(?:[-_][a-z0-9]+)*", regex.IGNORECASE)


class Tokenizer:
    """Words of one language: normalisation, word boundaries, phrases; used alike for text and for word lists.

    Args:
        language: language code, as Wikipedia's; what follows a hyphen (``pt-br``) changes nothing here.
            ``-spaced`` alone says that spaces were put between the words of a script that has none.
        fold_case: write text and lists in lower case. Without it both keep their case: "Arzt" is found as "Arzt", and
            a noun at the start of a sentence is told from a verb, but sentence-initial words are told from the others.
        phrases: terms of several words that count as one word, in any spelling; entries of one word are no phrases.

    Attributes:
        identity: plain data that changes whenever the words might: the arguments, normalised, and the versions of the
            tables and libraries that this language uses.

    Raises:
        ValueError: for a language that is no code, or has no spaces between words; for a phrase without any word.

    >>> wolof = Tokenizer("wo", phrases=["Doom ju jigéen"])
    >>> wolof("Am na benn doom ju jigéen.")
    ['am', 'na', 'benn', 'doom ju jigéen']
    >>> Tokenizer("de", fold_case=False)("Die Ärztin fragt den Arzt.")
    ['Die', 'Ärztin', 'fragt', 'den', 'Arzt']
    """

    def __init__(self, language: str, fold_case: bool = True, phrases: Collection[str] = ()) -> None:
        if not _LANGUAGE_CODE.fullmatch(language):
            raise ValueError(
                f"language={language!r} must be a language code, for example en: set it in corpus.language"
            )
        primary = regex.split("[-_]", language.lower())[0]
        self._normalize = Normalizer(primary, fold_case)
        self._segment = segmenter(language)
        terms = sorted({term for phrase in phrases if " " in (term := self.entry(phrase))})
        self._phrases = phrase_index(terms)
        libraries = ("regex", *_LIBRARIES.get(primary, ()))
        self.identity: dict[str, Any] = {
            "operator": VERSION,
            "language": language,
            "fold_case": fold_case,
            "phrases": terms,
            "versions": {"unicode": unicodedata.unidata_version} | {name: version(name) for name in libraries},
        }

    def __call__(self, line: str) -> list[str]:
        """The words of a line, in order; the words of ``" ".join(words)`` are the same words.

        A word begins with a letter or digit; what :mod:`.text.segmentation` says belongs together stays together.
        A phrase is one word with spaces inside: the leftmost and then the longest is taken, and none overlap.
        """
        return join_phrases(self._words(line), self._phrases)

    def entry(self, text: str) -> str:
        """How the vocabulary would write an entry of a word list: its words, joined by one space.

        Raises:
            ValueError: if there is no word in it.

        >>> Tokenizer("ar").entry("عَالِم  الفَلَك")
        'عالم الفلك'
        """
        if words := self._words(text):
            return " ".join(words)
        raise ValueError(f"{text!r} holds no word: an entry of a word list must have a letter or digit")

    def _words(self, line: str) -> list[str]:
        return self._segment(self._normalize(line))

    def __reduce__(self) -> tuple[type["Tokenizer"], tuple[str, bool, tuple[str, ...]]]:
        # Dictionaries stay behind: every process loads its own.
        return Tokenizer, (self.identity["language"], self.identity["fold_case"], tuple(self.identity["phrases"]))


def phrase_index(phrases: Iterable[str]) -> PhraseIndex:
    """Phrases whose words are joined by one space, ready for :func:`join_phrases`."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(set(phrases)):
        words = tuple(phrase.split(" "))
        index.setdefault(words[0], []).append(words)
    return {first: tuple(sorted(starting, key=len, reverse=True)) for first, starting in index.items()}


def join_phrases(words: list[str], index: PhraseIndex) -> list[str]:
    """Leftmost, longest, without overlap: each phrase in ``words`` becomes one word with spaces inside.

    >>> index = phrase_index(["assistant professor", "professor emeritus", "assistant professor of law"])
    >>> join_phrases("an assistant professor emeritus".split(), index)
    ['an', 'assistant professor', 'emeritus']
    """
    if index.keys().isdisjoint(words):
        return words
    joined, place = [], 0
    while place < len(words):
        size = _phrase_length(words, place, index)
        joined.append(" ".join(words[place : place + size]))
        place += size
    return joined


def _phrase_length(words: Sequence[str], place: int, index: PhraseIndex) -> int:
    for phrase in index.get(words[place], ()):
        if tuple(words[place : place + len(phrase)]) == phrase:
            return len(phrase)
    return 1
