"""Texts with the words of one gender in place of the other's, of which PrivAug has copies.

Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy Preserving Emotion
Recognition Models Using Sociolinguistic Knowledge*, section 5.3: by a list of pronouns, each sentence gets a copy.
"""

from collections.abc import Mapping, Sequence

from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.pronouns import swap_gender
from tiltmeter.operators.text.tokenised import word_spans

VERSION = "gender_swaps/3"


def swaps(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Each word's counterpart.

    Raises:
        ValueError: if a word is in two pairs, so that a text would not come back from being swapped twice.

    >>> swaps([("he", "she")])
    {'he': 'she', 'she': 'he'}
    """
    words = [folded(word) for pair in pairs for word in pair]
    if repeated := sorted({word for word in words if words.count(word) > 1}):
        raise ValueError(f"explanation_words.swaps: {repeated[0]!r} is in two pairs: keep one of them")
    counterparts = {folded(first): folded(second) for first, second in pairs}
    return counterparts | {second: first for first, second in counterparts.items()}


def swapped(text: str, counterparts: Mapping[str, str], *, in_context: bool = True) -> str:
    """A text with each listed word's counterpart in its place; a capital stays a capital.

    Args:
        text: to be changed.
        counterparts: of :func:`swaps`.
        in_context: "her" and "his" become what fits their sentences, by :func:`.pronouns.swap_gender`; False: what is
            listed, as published, so that "his book" becomes "hers book".

    >>> counterparts = swaps([("he", "she"), ("him", "her"), ("his", "hers")])
    >>> swapped("HE said his dog bit her arm, not hers.", counterparts)
    'SHE said her dog bit his arm, not his.'
    >>> swapped("She’s his.", counterparts, in_context=False)
    'He’s hers.'
    """
    spans = word_spans(text)
    words = swap_gender([text[start:end] for start, end in spans], counterparts, in_context=in_context)
    parts, place = [], 0
    for (start, end), word in zip(spans, words, strict=True):
        parts += [text[place:start], word]
        place = end
    return "".join([*parts, text[place:]])
