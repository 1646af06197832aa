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

VERSION = "protected_words/1"

_CONTRACTED = re.compile(r"'(?:s|d|ll|m|re|ve)$")


class ProxyText(NamedTuple):
    """A text that tells a gender.

    Attributes:
        row: which of the texts it is made of.
        gender: of the proxy.
        text: with the proxy before it.
        protected_words: those of the proxy.
    """

    row: int
    gender: str
    text: str
    protected_words: list[str]


def with_proxies(
    texts: Sequence[str], proxies: Mapping[str, str], genders: Sequence[str | None] | None = None
) -> list[ProxyText]:
    """Each text with the proxy of its gender before it, and a text of unknown gender once with every proxy.

    In the paper's data each conversation has a gender, asked for or assigned, and its user's turns get that proxy. With
    every proxy before every text, what is said no longer depends on the gender.

    Args:
        texts: as they are.
        proxies: by gender, with the space that follows; an empty one tells nothing.
        genders: of the texts, None where it is unknown; left out if all are.

    Raises:
        ValueError: if a gender has no proxy.

    >>> proxies = {"male": "Hey boy, ", "female": "Hey girl, ", "neutral": "Hey, "}
    >>> with_proxies(["thanks!"], proxies, ["male"])
    [ProxyText(row=0, gender='male', text='Hey boy, thanks!', protected_words=['Hey', 'boy'])]
    >>> [text for _, _, text, _ in with_proxies(["thanks!"], proxies)]
    ['Hey boy, thanks!', 'Hey girl, thanks!', 'Hey, thanks!']
    """
    genders = [None] * len(texts) if genders is None else genders
    if unknown := sorted({gender for gender in genders if gender is not None} - proxies.keys()):
        raise ValueError(
            f"gender {unknown}: must be one of {', '.join(proxies)}; give it a prefix in sentences.proxies"
        )
    return [
        ProxyText(row, value, proxies[value] + text, unicode_words(proxies[value]))
        for row, (text, gender) in enumerate(zip(texts, genders, strict=True))
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
    normalize = Normalizer("en", fold_case=True)

    def words(text: str) -> list[str]:
        return [_CONTRACTED.sub("", word) for word in unicode_words(normalize(text))]

    def lost(text: str, phrases: Sequence[str]) -> list[str]:
        text_words = words(text)
        return [phrase for phrase in phrases if not _holds(text_words, words(phrase))]

    return [lost(text, phrases) for text, phrases in zip(texts, protected, strict=True)]


def _holds(words: list[str], phrase: list[str]) -> bool:
    return any(words[start : start + len(phrase)] == phrase for start in range(len(words) - len(phrase) + 1))
