"""Parts of speech of English words without a download, and the vocabularies that contexts draw from.

The tagger is TextBlob's, with the lexicon of its package; on the development part of the English Web Treebank it gives
nine words of ten the right coarse tag. Tags of a better one can be brought along with the texts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

VERSION = "parts_of_speech/1"

TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", ".", "X")
"""Of Petrov, Das and McDonald 2012, *A universal part-of-speech tagset*."""

_COARSE = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "NNP-LOC", "NNP-PERS", "NNP-ORG"), "NOUN"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"), "VERB"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADV"),
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$"), "PRON"),
    **dict.fromkeys(("DT", "PDT", "WDT", "EX"), "DET"),
    **dict.fromkeys(("RP", "TO", "POS"), "PRT"),
    "IN": "ADP",
    "CD": "NUM",
    "CC": "CONJ",
}


def tagged(texts: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The coarse tag of each word of each text.

    >>> tagged([["bleak", "and", "desperate", "."]])
    [('ADJ', 'CONJ', 'ADJ', '.')]
    """
    from textblob.en import parser  # imports NLTK, which takes seconds

    return [tuple(_coarse(tag, word) for word, tag in parser.find_tags(list(words))) for words in texts]


def _coarse(tag: str, word: str) -> str:
    if not any(character.isalnum() for character in word):
        return "."
    return _COARSE.get(tag, "X")


class TaggedWord(NamedTuple):
    """A word in lower case as one part of speech, and how often the texts have it as that."""

    word: str
    tag: str
    num: int


def tagged_vocabulary(texts: Iterable[Sequence[str]], tags: Iterable[Sequence[str]]) -> list[TaggedWord]:
    """Words by the part of speech that they have in texts, the most frequent first.

    >>> [tuple(word) for word in tagged_vocabulary([["A", "run"], ["run", "a"]], [["DET", "NOUN"], ["VERB", "DET"]])]
    [('a', 'DET', 2), ('run', 'NOUN', 1), ('run', 'VERB', 1)]
    """
    counts = Counter(
        (word.casefold(), tag)
        for text, row in zip(texts, tags, strict=True)
        for word, tag in zip(text, row, strict=True)
    )
    ordered = sorted((-count, word, tag) for (word, tag), count in counts.items())
    return [TaggedWord(word, tag, -count) for count, word, tag in ordered]
