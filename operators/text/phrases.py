"""Terms of several words, found in a line of words and written as one."""

from collections.abc import Iterable, Mapping, Sequence

PhraseIndex = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases by their first word, the longest first."""


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
