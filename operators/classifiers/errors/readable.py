"""Features of a text that somebody can read: how often it thanks, asks, denies, names a number, praises or blames.

After Misra et al. 2021, *Accountable Error Characterization*, section 3.3.1: a feature is a count, divided by the
number of tokens of the text. Their emotions are those of a lexicon that may not be passed on; it is given as a file,
and VADER's valence, of words and of the text, and TextBlob's polarity stand beside it. What their parser finds is in
:mod:`.dependencies`; pairs of neighbouring tags stand in for it where texts have no parse.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import regex

from tiltmeter.operators.text.tokenised import word_spans

VERSION = "readable_features/2"

DENSE = ("num_tokens", "polarity", "valence")
"""Features that are no counts: every text has a value, and it is not divided by the number of tokens."""

_MARKS = {
    "exclamation_marks": r"!",
    "question_marks": r"\?",
    "mentions": r"(?<!\w)@\w+",
    "hashtags": r"(?<!\w)#\w+",
    "links": r"https?://\S+|www\.\S+",
    "ellipses": r"\.{2,}|…",
    "capitals": r"\b\p{Lu}{2,}\b",
    "numbers": r"(?<![\w.])[#$€£]?\d[\d.,:]*",
    "times": (
        r"(?i)\b\d{1,2}:\d\d\b|\b\d+\s?(?:am|pm|hours?|hrs?|minutes?|mins?|days?|weeks?|months?|years?)\b"
        r"|\b(?:today|tomorrow|yesterday|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    ),
}
_PUBLISHED = frozenset(
    {
        *("greeting", "thanks", "apology", "second_person", "question_yesno", "question_wh", "no"),
        *("exclamation_marks", "question_marks", "positive_words", "negative_words", "numbers", "times"),
    }
)
"""Conversation, the two polarities, and the kinds of entities that rules find."""

_PATTERNS = {name: regex.compile(pattern) for name, pattern in _MARKS.items()}
_SENTENCE = regex.compile(r"[^.!?…]+[.!?…]*")
_LEADING = regex.compile(r"^(?:[^\w@]*@\w+)*\W*")
_QUESTIONS = {"question_yesno": "question_verbs", "question_wh": "question_words"}


class Readable(NamedTuple):
    """Attributes:
    num_tokens: words, numbers and runs of punctuation of the text.
    counts: of the features that it has, by name.
    polarity: by TextBlob, in [-1, 1].
    valence: VADER's compound score, in [-1, 1].
    """

    num_tokens: int
    counts: Mapping[str, int]
    polarity: float
    valence: float


class _Vader(NamedTuple):
    """What tells valences of texts and of words, and words that deny and boost."""

    analyser: Any
    negations: frozenset[str]
    boosters: frozenset[str]


class ReadableFeatures:
    """What makes counts of texts in English.

    Args:
        lists: words and phrases by the name of their feature; ``question_verbs`` and ``question_words`` are the first
            words of questions, which count as ``question_yesno`` and ``question_wh``.
        lexicon: categories of each word, which count as ``lexicon:<category>``.
        tags: whether to count tags of words and pairs of neighbours, as ``tag:JJ`` and ``tags:JJ-NN``.

    Attributes:
        identity: plain data that changes whenever a count might.

    >>> readable = ReadableFeatures({"thanks": ["thanks", "thank you"], "question_verbs": ["can"]}, tags=False)
    >>> text = readable("@user Thank you! Can I get 2 seats?")
    >>> text.num_tokens, {name: text.counts[name] for name in ("thanks", "question_yesno", "numbers", "mentions")}
    (11, {'thanks': 1, 'question_yesno': 1, 'numbers': 1, 'mentions': 1})
    """

    def __init__(
        self,
        lists: Mapping[str, Sequence[str]],
        lexicon: Mapping[str, Sequence[str]] | None = None,
        *,
        tags: bool = True,
    ) -> None:
        starts = {*_QUESTIONS.values()}
        self._phrases = {name: _any_of(words) for name, words in lists.items() if name not in starts and words}
        self._questions = {name: frozenset(lists.get(key, ())) for name, key in _QUESTIONS.items()}
        self._lexicon, self._tags = dict(lexicon or {}), tags
        self.identity: dict[str, Any] = {
            "operator": VERSION,
            "lists": {name: list(words) for name, words in lists.items()},
            "tags": tags,
            "versions": {name: version(name) for name in ("vaderSentiment", "textblob", "regex")},
        }

    def __call__(self, text: str) -> Readable:
        """Count what a text has."""
        from textblob.en import polarity  # imports NLTK, which takes seconds

        words = [text[start:end].lower() for start, end in word_spans(text)]
        counts = Counter({name: len(pattern.findall(text)) for name, pattern in _PATTERNS.items()})
        lower = text.lower().replace("’", "'")
        counts.update({name: len(pattern.findall(lower)) for name, pattern in self._phrases.items()})
        counts.update(self._first_words(text))
        counts.update(_valences(words))
        counts.update(f"lexicon:{category}" for word in words for category in self._lexicon.get(word, ()))
        if self._tags:
            counts.update(_tags(text))
        present = {name: num for name, num in counts.items() if num}
        return Readable(len(words), present, float(polarity(text)), _vader().analyser.polarity_scores(text)["compound"])

    def _first_words(self, text: str) -> Iterable[str]:
        """A question for each sentence that ends with its mark and begins so, after names that it is addressed to."""
        for sentence in _SENTENCE.findall(text):
            if sentence.rstrip().endswith("?"):
                first = _LEADING.sub("", sentence.lower()).split(maxsplit=1)[:1]
                words = {word.strip("?!.,") for word in first}
                yield from (name for name, starts in self._questions.items() if words & starts)


def is_published(feature: str) -> bool:
    """Whether the paper has a feature, or one that it stands in for: of its section 3.3.1 and its table 6.

    >>> [name for name in ("thanks", "polarity", "tags:JJ-NN", "dependency:amod-NN-JJ") if is_published(name)]
    ['thanks', 'dependency:amod-NN-JJ']
    """
    return feature in _PUBLISHED or feature.startswith(("dependency:", "entity:", "lexicon:"))


def matrix(texts: Sequence[Mapping[str, float]], names: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Features as ``[texts, names]``, 0 where a text has none."""
    places = {name: place for place, name in enumerate(names)}
    values = np.zeros((len(texts), len(names)))
    for row, features in enumerate(texts):
        for name, value in features.items():
            if name in places:
                values[row, places[name]] = value
    return values


def lexicon_of(rows: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Categories of words, of rows of a word, a category, and 1 or 0 for whether it has it, as NRC's lexicon has them.

    Raises:
        ValueError: for a row of another form.

    >>> lexicon_of([("late", "anger", "1"), ("late", "joy", "0"), ("late", "negative", "1")])
    {'late': ('anger', 'negative')}
    """
    categories: dict[str, list[str]] = {}
    for row in rows:
        if len(row) != 3 or row[2] not in ("0", "1"):
            raise ValueError(f"{row!r}: must be a word, a category, and 1 or 0; set features.lexicon to such a file")
        if row[2] == "1":
            categories.setdefault(row[0].lower(), []).append(row[1])
    return {word: tuple(names) for word, names in categories.items()}


def _any_of(words: Sequence[str]) -> regex.Pattern[str]:
    """Whole words and phrases, the longest first."""
    ordered = sorted(map(str.lower, words), key=len, reverse=True)
    return regex.compile(rf"(?<![\w'])(?:{'|'.join(map(regex.escape, ordered))})(?![\w'])")


@cache
def _vader() -> _Vader:
    from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SentimentIntensityAnalyzer

    return _Vader(SentimentIntensityAnalyzer(), frozenset(NEGATE), frozenset(BOOSTER_DICT))


def _valences(words: Sequence[str]) -> dict[str, int]:
    analyser, negations, boosters = _vader()
    valences = analyser.lexicon
    known = [valences[word] for word in words if word in valences]
    return {
        "positive_words": sum(valence > 0 for valence in known),
        "negative_words": sum(valence < 0 for valence in known),
        "negations": sum(word in negations or word.endswith("n't") for word in words),
        "boosters": sum(word in boosters for word in words),
    }


def _tags(text: str) -> Iterable[str]:
    from textblob.en import tag  # imports NLTK, which takes seconds

    tags = [name for _, name in tag(text) if name[:1].isalpha()]
    yield from (f"tag:{name}" for name in tags)
    yield from (f"tags:{first}-{second}" for first, second in pairwise(tags))
