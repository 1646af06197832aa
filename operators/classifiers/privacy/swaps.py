"""Texts with the words of one gender in place of the other's, of which PrivAug has copies.

Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy Preserving Emotion
Recognition Models Using Sociolinguistic Knowledge*, section 5.3: by a list of pronouns, each sentence gets a copy.
"""

from collections.abc import Mapping, Sequence

from tiltmeter.operators.text.tokenised import word_spans

VERSION = "gender_swaps/1"


def swaps(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Each word's counterpart.

    Raises:
        ValueError: if a word is in two pairs, so that a text would not come back from being swapped twice.

    >>> swaps([("he", "she")])
    {'he': 'she', 'she': 'he'}
    """
    words = [word.casefold() for pair in pairs for word in pair]
    if repeated := sorted({word for word in words if words.count(word) > 1}):
        raise ValueError(f"explanation_words.swaps: {repeated[0]!r} is in two pairs: keep one of them")
    counterparts = {first.casefold(): second.casefold() for first, second in pairs}
    return counterparts | {second: first for first, second in counterparts.items()}


def swapped(text: str, counterparts: Mapping[str, str]) -> str:
    """A text with each listed word's counterpart in its place; a capital stays a capital.

    Of a word with an apostrophe, what stands before it is swapped. Swapped twice, a text is as it was, unless it has a
    listed word in capitals and small letters mixed.

    Args:
        text: to be changed.
        counterparts: of :func:`swaps`.

    >>> swapped("HE said she’s his, not hers.", swaps([("he", "she"), ("his", "hers")]))
    'SHE said he’s hers, not his.'
    """
    parts, place = [], 0
    for start, end in word_spans(text):
        word = text[start:end]
        head = word.replace("’", "'").partition("'")[0]
        other = counterparts.get(head.casefold())
        if other is not None:
            parts += [text[place:start], _as_written(head, other)]
            place = start + len(head)
    return "".join([*parts, text[place:]])


def _as_written(word: str, other: str) -> str:
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other
