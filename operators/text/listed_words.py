"""Where the entries of a word list stand in a text: words, and phrases of several words."""

from collections.abc import Sequence

from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.tokenised import word_spans

VERSION = "listed_words/2"


class WordList:
    """Entries of one or more words, found without regard to case.

    Of a word with an apostrophe, such as "he's", what stands before it is found as well. Of several entries that begin
    at a word, the longest counts, and what it covers begins no other.

    Args:
        entries: as people write them.

    >>> WordList(["I", "you know", "isn't it"]).entries(["You", "know", ",", "I'm", "late", ",", "isn't", "it", "?"])
    ['you know', 'you know', None, 'i', None, None, "isn't it", "isn't it", None]
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries: dict[str, list[tuple[str, ...]]] = {}
        for entry in sorted({tuple(folded_words(entry)) for entry in entries}, key=len, reverse=True):
            self._entries.setdefault(entry[0], []).append(entry)

    def entries(self, words: Sequence[str]) -> list[str | None]:
        """The entry that each word of a text is a part of, :func:`.normalisation.folded`; None if of none."""
        forms = [_forms(word) for word in words]
        listed: list[str | None] = [None] * len(words)
        place = 0
        while place < len(words):
            entry = self._at(forms, place)
            length = max(len(entry), 1)
            listed[place : place + length] = [" ".join(entry) or None] * length
            place += length
        return listed

    def _at(self, forms: Sequence[tuple[str, ...]], place: int) -> tuple[str, ...]:
        candidates = (entry for form in forms[place] for entry in self._entries.get(form, ()))
        matching = (
            entry
            for entry in candidates
            if len(entry) <= len(forms) - place
            and all(part in spellings for part, spellings in zip(entry, forms[place : place + len(entry)], strict=True))
        )
        return max(matching, key=len, default=())


def folded_words(text: str) -> list[str]:
    """The words of a text as they are compared.

    >>> folded_words("You know, don’t you?")
    ['you', 'know', ',', "don't", 'you', '?']
    """
    return [folded(text[start:end]) for start, end in word_spans(text)]


def _forms(word: str) -> tuple[str, ...]:
    whole = folded(word)
    before = whole.partition("'")[0]
    return (whole,) if before in ("", whole) else (whole, before)
