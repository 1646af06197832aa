"""Gendered words in place of each other, where English spells two words of one gender alike.

"Her" stands for "him" and for "his", "his" for "her" and for "hers": which one, the words around tell, by the
log odds of :mod:`.pronoun_evidence`. Names, and who it is that a pronoun stands for, are left as they are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import regex

from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.pronoun_evidence import AFTER, BEFORE, FUNCTION_WORDS, KINDS

VERSION = "pronouns/2"

PAIRS = (("he", "she"), ("him", "her"), ("his", "hers"), ("himself", "herself"), ("mr", "ms"))

COUNTERPARTS: Mapping[str, str] = {
    **{word: other for pair in PAIRS for word, other in (pair, pair[::-1])},
    "mrs": "mr",
    "miss": "mr",
}
"""Of a word in small letters. What "her" and "his" become is a matter of the sentence."""

_START, _END = "<s>", "</s>"
_STOPS = {*".!?;:,", _START, _END}
_QUOTES = {*"\"'“”‘’", "``", "''"}
_THIRD = {"her", "him", "his", "hers", "their", "them"}
_JOINING = {"and", "or", "/"}
_NO_NOUN = 2.5
"""Log odds above which no noun follows, so that "his" stands alone ("the house is his."). Weights balance both
readings, but "his" hardly ever stands alone, so that it takes more than 0."""

_PARTS = regex.compile(r"(?P<lead>[^\p{L}\p{N}]*)(?P<word>.*?)(?P<trail>[^\p{L}\p{N}]*)", regex.DOTALL)
_SHORTENED = regex.compile(r"'[\p{L}\p{N}]+")
"""Such as "'s" or "'07", which are words by themselves."""


class Token(NamedTuple):
    """A token: the word in it, as it is written, and what stands before and behind."""

    lead: str
    word: str
    trail: str


def swap_gender(
    tokens: Sequence[str], counterparts: Mapping[str, str] = COUNTERPARTS, *, in_context: bool = True
) -> list[str]:
    """A text with each gendered word's counterpart in its place.

    Case, punctuation and the number of tokens stay. Of a word with an apostrophe that has no counterpart itself, what
    stands before the apostrophe is swapped ("she's"). Swapped twice, most texts are as they were; not those with "mrs"
    or "miss".

    Args:
        tokens: words and marks of one text, in order; marks may stand alone or be a part of a token.
        counterparts: by the word in small letters.
        in_context: whether "her" becomes "him" or "his", and "his" becomes "her" or "hers", as their sentences want it,
            where they have a counterpart; False: as ``counterparts`` says.

    >>> swap_gender(["Her", "sister", "saw", "her", "."])
    ['His', 'sister', 'saw', 'him', '.']
    >>> swap_gender("His dog? It's his, he's sure.".split())
    ['Her', 'dog?', "It's", 'hers,', "she's", 'sure.']
    """
    parts = [token_parts(token) for token in tokens]
    words, places = _flattened(parts)
    return [_swapped(part, words, place, counterparts, in_context) for part, place in zip(parts, places, strict=True)]


def _swapped(part: Token, words: Sequence[str], place: int, counterparts: Mapping[str, str], in_context: bool) -> str:
    whole = part.word
    head = whole if folded(whole) in counterparts else regex.split("['’]", whole, maxsplit=1)[0]
    other = counterparts.get(folded(head))
    if other is None:
        return part.lead + whole + part.trail
    if in_context:
        other = _reading(folded(head), other, words, place)
    return part.lead + as_written(head, other) + whole[len(head) :] + part.trail


def _reading(word: str, other: str, words: Sequence[str], place: int) -> str:
    """The counterpart that fits the sentence, of a word that has two."""
    if word == "her" and other in ("him", "his"):
        return "him" if is_object(words, place) else "his"
    if word == "his" and other in ("her", "hers"):
        return "hers" if _after(words, place) > _NO_NOUN else "her"
    return other


def is_object(words: Sequence[str], place: int) -> bool:
    """Whether "her", at a place, is the object ("saw her") and does not say whose ("her book").

    Args:
        words: and marks of a text, in small letters.
        place: of the word, from 0.

    >>> is_object(["gave", "her", "a", "book"], 1)
    True
    """
    before = words[place - 1] if place else _START
    return _after(words, place) + BEFORE.get(before, 0.0) > 0.0


def _after(words: Sequence[str], place: int) -> float:
    """What the words after a place add to the log odds of an object."""
    following = [*words[place + 1 : place + 4], _END, _END, _END]
    word = following[0]
    if word in _QUOTES and _kind(following[1]) == "end":
        word = following[1]
    if word in _JOINING and following[1] in _THIRD:
        word = following[2]
    return AFTER.get(word, 0.0) + KINDS.get(_kind(word), 0.0)


def _kind(word: str) -> str:
    if word in _STOPS or word in _QUOTES:
        return "end" if word in _STOPS else "quote"
    if not any(character.isalpha() for character in word):
        return "number" if any(character.isdigit() for character in word) else "mark"
    if word in FUNCTION_WORDS or word.endswith("n't"):
        return "function"
    return next((end for end in ("ing", "ed", "ly", "s") if word.endswith(end) and len(word) > len(end) + 2), "word")


def _flattened(parts: Sequence[Token]) -> tuple[list[str], list[int]]:
    """Words and marks one by one, in small letters, and the place of each token's word among them."""
    words: list[str] = []
    places = []
    for part in parts:
        pieces = [part.lead, part.word, part.trail[:1]]
        if (whole := folded("".join(part))) in _QUOTES or _SHORTENED.fullmatch(whole):
            pieces = ["", whole, ""]
        places.append(len(words) + bool(pieces[0]))
        words += [folded(piece) for piece in pieces if piece]
    return words, places


def token_parts(token: str) -> Token:
    """The word of a token without the marks at its ends.

    >>> token_parts("(don't!)")
    Token(lead='(', word="don't", trail='!)')
    """
    return Token(*_PARTS.fullmatch(token).group("lead", "word", "trail"))


def as_written(word: str, other: str) -> str:
    """Another word with the capitals of a word.

    >>> as_written("Man", "woman"), as_written("MAN", "woman"), as_written("I", "you")
    ('Woman', 'WOMAN', 'You')
    """
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other
