"""Parts of speech of English words without a download, and the vocabularies that contexts draw from.

The tagger is TextBlob's, with the lexicon of its package; on the development part of the English Web Treebank it gives
nine words of ten the right coarse tag. Tags of a better one can be brought along with the texts.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.tokenised import word_spans

VERSION = "parts_of_speech/3"

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


_OTHER_NAMES = {
    "PROPN": "NOUN",
    "AUX": "VERB",
    "CCONJ": "CONJ",
    "SCONJ": "ADP",
    "PART": "PRT",
    "PUNCT": ".",
    **dict.fromkeys(("INTJ", "SYM", "FW", "LS", "UH", "ADD", "AFX", "GW", "XX"), "X"),
    **dict.fromkeys(("-LRB-", "-RRB-", "HYPH", "NFP"), "."),
}
"""Tags of Universal Dependencies and of the Penn Treebank that are not among the above."""


def coarse_tag(tag: str) -> str | None:
    """Of ``TAGS``, from a tag of these, of Universal Dependencies or of the Penn Treebank; None of any other.

    >>> [coarse_tag(tag) for tag in ("ADJ", "PROPN", "VBZ", "``", "COLOUR")]
    ['ADJ', 'NOUN', 'VERB', '.', None]
    """
    if tag in TAGS:
        return tag
    if not any(character.isalnum() for character in tag):
        return "."
    return _OTHER_NAMES.get(tag, _COARSE.get(tag))


def tags_fault(text: str, tags: str) -> str:
    """Why tags do not fit a text; empty if they do.

    >>> tags_fault("a fine film", "DET ADJ"), tags_fault("a film", "DET NOUN")
    ('2 tags for the 3 words between its spaces', '')
    """
    num, num_tags = len(text.split()), len(tags.split())
    if num != num_tags:
        return f"{num_tags} tags for the {num} words between its spaces"
    unknown = [tag for tag in tags.split() if coarse_tag(tag) is None]
    return f"{unknown[0]!r} is no part of speech" if unknown else ""


def brought_tags(text: str, tags: str) -> tuple[str, ...]:
    """The coarse tag of each word of a text, from those of all that stands between its spaces.

    A word has the tag of what it is a part of; punctuation at it has its own.

    Args:
        text: whose words are those of :func:`.tokenised.word_spans`.
        tags: with spaces between, such as :func:`tags_fault` finds no fault with.

    >>> brought_tags("A well-made film.", "DT JJ NN")
    ('DET', 'ADJ', '.', 'ADJ', 'NOUN', '.')
    """
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    coarse = [coarse_tag(tag) or "X" for tag in tags.split()]
    return tuple(
        _coarse_in(coarse[bisect_right(starts, start) - 1], text[start:end]) for start, end in word_spans(text)
    )


def _coarse_in(tag: str, word: str) -> str:
    return tag if any(character.isalnum() for character in word) else "."


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


def usual_spellings(texts: Iterable[Sequence[str]], normalised: Callable[[str], str]) -> dict[str, str]:
    """How texts mostly write each word; of equally frequent ways, one that begins in lower case.

    >>> usual_spellings([["Welsh", "film"], ["Film"]], str.casefold)
    {'welsh': 'Welsh', 'film': 'film'}
    """
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for word in text:
            spellings.setdefault(normalised(word), Counter())[word] += 1
    return {
        word: min(ways, key=lambda way: (-ways[way], way[:1] != way[:1].lower(), way))
        for word, ways in spellings.items()
    }


class TaggedWord(NamedTuple):
    """A word in lower case as one part of speech, how often the texts have it as that, and how they mostly write it."""

    word: str
    tag: str
    num: int
    written: str


def tagged_vocabulary(texts: Iterable[Sequence[str]], tags: Iterable[Sequence[str]]) -> list[TaggedWord]:
    """Words by the part of speech that they have in texts, the most frequent first.

    >>> texts, tags = [["A", "run"], ["Welsh", "run"], ["a"]], [["DET", "NOUN"], ["ADJ", "VERB"], ["DET"]]
    >>> [tuple(word) for word in tagged_vocabulary(texts, tags)][:2]
    [('a', 'DET', 2, 'a'), ('run', 'NOUN', 1, 'run')]
    >>> tagged_vocabulary(texts, tags)[3]
    TaggedWord(word='welsh', tag='ADJ', num=1, written='Welsh')
    """
    texts = list(texts)
    counts = Counter(
        (folded(word), tag) for text, row in zip(texts, tags, strict=True) for word, tag in zip(text, row, strict=True)
    )
    usual = usual_spellings(texts, folded)
    ordered = sorted((-count, word, tag) for (word, tag), count in counts.items())
    return [TaggedWord(word, tag, -count, usual[word]) for count, word, tag in ordered]
