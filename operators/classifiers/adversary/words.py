"""Which words of a text may be replaced, how the text reads with others, and what tells gender in it.

A text is cut at spaces, so that what else clings to a word stays with it: marks, and its capitals.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from tiltmeter.operators.text import normalisation
from tiltmeter.operators.text.pronouns import COUNTERPARTS, as_written, swap_gender, token_parts

VERSION = "adversary_words/2"

Gender = Literal["female", "male"]

_LETTERS = regex.compile(r"\p{L}{2,}")
_OF_OTHER_KINDS = frozenset("@#_&/:")
"""Beside a word, they make it a mention, a hashtag, an entity or a part of an address."""


class GenderedWords(NamedTuple):
    """Words of either gender, in small letters.

    Attributes:
        counterparts: of the other gender.
        genders: of each word.
    """

    counterparts: Mapping[str, str]
    genders: Mapping[str, Gender]


def gendered_words(pairs: Sequence[tuple[str, str]], *, pronouns: bool = True) -> GenderedWords:
    """The words of pairs, and the pronouns.

    Args:
        pairs: of a man's and a woman's word.
        pronouns: whether these, and titles, are among them.

    Raises:
        ValueError: if a word is in two pairs.

    >>> words = gendered_words([("king", "queen")])
    >>> words.counterparts["queen"], words.genders["queen"], words.genders["his"]
    ('king', 'female', 'male')
    """
    given = [(normalisation.folded(male), normalisation.folded(female)) for male, female in pairs]
    every = [word for pair in given for word in pair]
    if repeated := sorted({word for word in every if every.count(word) > 1}):
        raise ValueError(f"gendered_words: {repeated[0]!r} is in two pairs: keep one of them")
    counterparts = dict(COUNTERPARTS) if pronouns else {}
    genders: dict[str, Gender] = {}
    if pronouns:
        genders |= dict.fromkeys(("she", "her", "hers", "herself", "ms", "mrs", "miss"), "female")
        genders |= dict.fromkeys(("he", "him", "his", "himself", "mr"), "male")
    for male, female in given:
        counterparts |= {male: female, female: male}
        genders |= {male: "male", female: "female"}
    return GenderedWords(counterparts, genders)


def replaceable_word(token: str, stop_words: Collection[str]) -> str | None:
    """The word of a token in small letters; None of stop words, numbers, mentions, hashtags and addresses.

    >>> [replaceable_word(token, {"the"}) for token in ("(Man,", "the", "@man", "a2", "man/woman")]
    ['man', None, None, None, None]
    """
    lead, word, trail = token_parts(token)
    if not _LETTERS.fullmatch(word) or not _OF_OTHER_KINDS.isdisjoint(lead + trail):
        return None
    return None if word.lower() in stop_words else word.lower()


def replaced(token: str, candidate: str) -> str:
    """A token with another word in it, which has the capitals of the first.

    >>> replaced("(Man,", "woman")
    '(Woman,'
    """
    lead, word, trail = token_parts(token)
    return lead + as_written(word, candidate) + trail


def gender_swaps(tokens: Sequence[str], words: GenderedWords, gender: Gender) -> dict[int, str]:
    """What the words of the other gender become, by their positions: a counterpart that fits the sentence.

    Args:
        tokens: of a text.
        words: that are swapped.
        gender: that words become of.

    >>> gender_swaps(["He", "saw", "her."], gendered_words([]), "female")
    {0: 'She'}
    """
    swapped = swap_gender(tokens, words.counterparts)
    return {
        position: other
        for position, (token, other) in enumerate(zip(tokens, swapped, strict=True))
        if token != other and gender_of(token, words) not in (gender, None)
    }


def gender_of(token: str, words: GenderedWords) -> Gender | None:
    """Of the word in a token, or of what stands before its apostrophe.

    >>> gender_of("She's", gendered_words([])), gender_of("it", gendered_words([]))
    ('female', None)
    """
    word = normalisation.folded(token_parts(token).word)
    return words.genders.get(word) or words.genders.get(word.partition("'")[0])


def gender_signs(vocabulary: Sequence[str], words: GenderedWords) -> NDArray[np.int8]:
    """``[vocabulary]``: 1 of women's words, -1 of men's, 0 of all others.

    >>> gender_signs(["Queen", "river", "king"], gendered_words([("king", "queen")])).tolist()
    [1, 0, -1]
    """
    signs = {"female": 1, "male": -1}
    genders = (words.genders.get(normalisation.folded(word), "") for word in vocabulary)
    return np.array([signs.get(gender, 0) for gender in genders], dtype=np.int8)


def folded(tokens: Sequence[str]) -> list[str]:
    """Words in small letters, as a language model has them; a token without a word as it is.

    >>> folded(["Hello,", "..."])
    ['hello', '...']
    """
    return [token_parts(token).word.lower() or token for token in tokens]
