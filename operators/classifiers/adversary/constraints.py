"""Candidates that may not stand in a word's place, though they are near to it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

VERSION = "adversary_constraints/2"

_ENDINGS = ("s", "es", "ed", "d", "ing", "er", "est", "ly")
_LEAST_STEM = 3


class Constraints(NamedTuple):
    """What leaves a candidate out.

    Attributes:
        min_cosine: with the word; None: any.
        inflections: whether forms of the word itself may be taken.
        antonyms: pairs of opposites, in either order.
        tags: parts of speech that words can be; a word that is not among them may be any.

    >>> constraints = Constraints(0.2, False, {("good", "bad")}, {"good": {"ADJ"}, "run": {"NOUN", "VERB"}})
    >>> others = (("fine", 0.1), ("goods", 0.9), ("bad", 0.5), ("run", 0.5), ("great", 0.5))
    >>> [constraints("good", other, cosine) for other, cosine in others]
    ['min_cosine', 'inflection', 'antonym', 'part_of_speech', '']
    """

    min_cosine: float | None
    inflections: bool
    antonyms: Collection[tuple[str, str]]
    tags: Mapping[str, Collection[str]] = {}

    def __call__(self, word: str, candidate: str, cosine: float) -> str:
        """The constraint that a candidate fails; empty if none.

        Args:
            cosine: of the candidate with the word.
        """
        if self.min_cosine is not None and cosine < self.min_cosine:
            return "min_cosine"
        if not self.inflections and is_inflection(word, candidate):
            return "inflection"
        is_opposite = (word, candidate) in self.antonyms or (candidate, word) in self.antonyms
        if is_opposite:
            return "antonym"
        tags = self.tags.get(word), self.tags.get(candidate)
        return "part_of_speech" if tags[0] and tags[1] and set(tags[0]).isdisjoint(tags[1]) else ""


def is_inflection(word: str, other: str) -> bool:
    """Whether one of two words is the other with an ending, an e or a y before it aside.

    >>> is_inflection("picture", "pictures"), is_inflection("likes", "liking"), is_inflection("ugly", "unattractive")
    (True, True, False)
    """
    return not _stems(word).isdisjoint(_stems(other))


def _stems(word: str) -> set[str]:
    cut = {word, *(word.removesuffix(ending) for ending in _ENDINGS if len(word) > len(ending) + _LEAST_STEM - 1)}
    return cut | {stem[:-1] for stem in cut if stem[-1] in "eyi" and len(stem) > _LEAST_STEM}
