"""From a line of text to words: NFC-normalised, lower-cased runs of letters, combining marks and digits."""

import re
import unicodedata
from itertools import groupby

VERSION = "tokens/1"
"""Raised whenever :func:`tokenize` would cut or spell any word differently."""

_ZERO_WIDTH_JOINERS = "\u200c\u200d"
_SOFT_HYPHEN = "\u00ad"


def _combining_marks() -> str:
    """Unicode category M as ranges of a character class, which ``\\w`` leaves out.

    Outside these two blocks there are none, and asking for all 1.1 million code points would slow every import.
    """
    blocks = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))
    marks = [code for block in blocks for code in block if unicodedata.category(chr(code)).startswith("M")]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


_PIECE = rf"\w[\w{_combining_marks()}]*"
_WORD = re.compile(rf"{_PIECE}(?:['{_ZERO_WIDTH_JOINERS}]{_PIECE})*")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")


def tokenize(line: str) -> list[str]:
    """The words of a line, in order.

    A word is a run of letters, combining marks and digits that begins with a letter or digit. An apostrophe within a
    word belongs to it (``’`` is written ``'``), and so does a zero-width (non-)joiner, as Persian, Urdu and the Indic
    scripts need it. Soft hyphens vanish; an underscore separates. Text without spaces between words (Chinese,
    Japanese, Thai) comes out as one word per run: segment it beforehand.

    Args:
        line: any text.

    Returns:
        Lower-case words in Unicode normal form C; the words of ``" ".join(words)`` are the same words.

    >>> tokenize("She doesn’t say ‘naïve’, a_b: 3 m²!")
    ['she', "doesn't", 'say', 'naïve', 'a', 'b', '3', 'm²']
    """
    lowered = line.lower()
    if lowered.isascii():
        return _ASCII_WORD.findall(lowered)
    joined = lowered.replace(_SOFT_HYPHEN, "").replace("’", "'").replace("_", " ")
    return _WORD.findall(unicodedata.normalize("NFC", joined))
