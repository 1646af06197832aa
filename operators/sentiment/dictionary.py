"""Translation word by word, by a list of words: no grammar, no context."""

import re
from collections.abc import Mapping, Sequence
from unicodedata import normalize

VERSION = "dictionary/2"


def translate_words(texts: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """Replace the words and phrases that a dictionary has, and keep whatever stands between them.

    A word is a run of letters, digits and underscores. Where several entries fit, the one with the longest name is
    taken, and what it has replaced is not translated again. An entry written in a text as in the dictionary gives the
    translation as it is; otherwise case does not matter, and capitals of the whole entry (of two letters or more) or of
    its first letter are kept.

    Args:
        texts: in any number.
        words: translations of words, and of phrases, between whose words a text may have any white space.

    Returns:
        A translation of each text, in Unicode's normal form C; words without an entry are unchanged.

    Raises:
        ValueError: if an entry has no words, or two differ only in case or white space.

    >>> translate_words(["This man is SAD, man."], {"man": "hombre", "this man": "este hombre", "sad": "triste"})
    ['Este hombre is TRISTE, hombre.']
    """
    _check(sorted(words, key=len, reverse=True))
    words = {normalize("NFC", entry): word for entry, word in words.items()}
    entries = sorted(words, key=len, reverse=True)
    if not entries:
        return list(texts)
    any_entry = "|".join(f"({_pattern(entry)})" for entry in entries)

    def translated(match: re.Match[str]) -> str:
        entry = entries[(match.lastindex or 0) - 1]
        return words[entry] if match[0] == entry else _with_capitals(words[entry], match[0])

    pattern = re.compile(rf"(?<!\w)(?:{any_entry})(?!\w)", re.IGNORECASE)
    return [pattern.sub(translated, normalize("NFC", text)) for text in texts]


def _check(entries: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for entry in entries:
        if not re.search(r"\w", entry):
            raise ValueError(f"entry {entry!r}: has no word to look for; set the dictionary's entries")
        if (other := seen.setdefault(normalize("NFC", " ".join(entry.casefold().split())), entry)) != entry:
            raise ValueError(f"entries {other!r} and {entry!r}: are one for a text; take one out of the dictionary")


def _pattern(entry: str) -> str:
    return r"\s+".join(map(re.escape, entry.split()))


def _with_capitals(word: str, like: str) -> str:
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
