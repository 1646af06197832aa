"""Words that tell a protected attribute: put before texts that tell none, and looked for after a round trip.

Lakkaraju et al. 2023, *The Effect of Human v/s Synthetic Test Data and Round-tripping on Assessment of Sentiment
Analysis Systems for Bias*: turns of chatbot users do not tell their gender, so a proxy goes before them ("Hey boy, ").
Translation there and back may lose it, and with it what the test is about.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.operators.text.segmentation import unicode_words

VERSION = "protected_words/2"

GENDERS = ("male", "female", "neutral")
"""What genders are called where nothing else is said."""

_CONTRACTED = re.compile(r"'(?:s|d|ll|m|re|ve)$")


class ProxyText(NamedTuple):
    """A text that tells a gender.

    Attributes:
        row: which of the texts it is made of.
        gender: of the proxy, or of whom it is said to; None if that is not known.
        text: with the proxy before it, if it gets one.
        protected_words: those of the proxy.
    """

    row: int
    gender: str | None
    text: str
    protected_words: list[str]


def with_proxies(
    texts: Sequence[str],
    proxies: Mapping[str, str],
    genders: Sequence[str | None] | None = None,
    takes_proxy: Sequence[bool] | None = None,
) -> list[ProxyText]:
    """Each text with the proxy of its gender before it, and a text of unknown gender once with every proxy.

    In the paper's data each conversation has a gender, asked for or assigned. The user's turns get that proxy, the
    chatbot's stay as they are and have the user's gender. With every proxy before every text, what is said no longer
    depends on the gender.

    Args:
        texts: as they are.
        proxies: by gender, with the space that follows; an empty one tells nothing.
        genders: of the texts, None where it is unknown; left out if all are.
        takes_proxy: of the texts; one that takes none comes once. Left out if all do.

    Raises:
        ValueError: if a gender has no proxy.

    >>> proxies = {"male": "Hey boy, ", "female": "Hey girl, ", "neutral": "Hey, "}
    >>> with_proxies(["thanks!"], proxies, ["male"])
    [ProxyText(row=0, gender='male', text='Hey boy, thanks!', protected_words=['Hey', 'boy'])]
    >>> [text for _, _, text, _ in with_proxies(["thanks!"], proxies)]
    ['Hey boy, thanks!', 'Hey girl, thanks!', 'Hey, thanks!']
    """
    genders = [None] * len(texts) if genders is None else genders
    takes_proxy = [True] * len(texts) if takes_proxy is None else takes_proxy
    if unknown := sorted({gender for gender in genders if gender is not None} - proxies.keys()):
        raise ValueError(
            f"gender {unknown}: must be one of {', '.join(proxies)}; give it a prefix in sentences.proxies"
        )
    return [
        version
        for row, (text, gender, takes) in enumerate(zip(texts, genders, takes_proxy, strict=True))
        for version in (_versions(row, text, gender, proxies) if takes else [ProxyText(row, gender, text, [])])
    ]


def _versions(row: int, text: str, gender: str | None, proxies: Mapping[str, str]) -> list[ProxyText]:
    return [
        ProxyText(row, value, proxies[value] + text, unicode_words(proxies[value]))
        for value in (proxies if gender is None else [gender])
    ]


def lost_words(texts: Sequence[str], protected: Sequence[Sequence[str]]) -> list[list[str]]:
    """Which protected words are not in the text, as whole words.

    Capitals, full-width letters and typographic apostrophes make no difference, nor does what is contracted with a
    word: Adam is in "Adam's", and she in "she'll". A phrase is there if its words follow each other.

    Args:
        texts: English, as after a round trip.
        protected: words and phrases of each text.

    Returns:
        Those of each text that are lost, as they were given.

    >>> lost_words(["Hi, that is Adam's brother."], [["Hey", "adam", "my brother"]])
    [['Hey', 'my brother']]
    """
    words = _Words()

    def lost(text: str, phrases: Sequence[str]) -> list[str]:
        text_words = words(text)
        return [phrase for phrase in phrases if not _holds(text_words, words(phrase))]

    return [lost(text, phrases) for text, phrases in zip(texts, protected, strict=True)]


def first_words(texts: Sequence[str], protected: Sequence[Sequence[str]]) -> list[list[str]]:
    """Which protected words a text starts with, told as :func:`lost_words` tells words.

    Args:
        texts, protected: as for :func:`lost_words`.

    >>> first_words(["Hey boy, hello", "Oh hey boy, hello"], [["Hey", "boy"]] * 2)
    [['Hey'], []]
    """
    words = _Words()

    def first(text: str, phrases: Sequence[str]) -> list[str]:
        text_words = words(text)
        return [phrase for phrase in phrases if (sought := words(phrase)) == text_words[: len(sought)]]

    return [first(text, phrases) for text, phrases in zip(texts, protected, strict=True)]


class _Words:
    """The words of a text, without capitals and contractions."""

    def __init__(self) -> None:
        self._normalize = Normalizer("en", fold_case=True)

    def __call__(self, text: str) -> list[str]:
        return [_CONTRACTED.sub("", word) for word in unicode_words(self._normalize(text))]


def _holds(words: list[str], phrase: list[str]) -> bool:
    return any(words[start : start + len(phrase)] == phrase for start in range(len(words) - len(phrase) + 1))
