"""Language models of n-grams by interpolated Kneser-Ney smoothing, and how much a text surprises them.

With h the n - 1 words before w, h' those words less the first, c the counts of the training texts and D the discount,

    p_n(w | h) = max(c(h w) - D, 0) / c(h .) + D N(h .) / c(h .) p_{n-1}(w | h'),

where N(h .) is the number of different words that follow h; where h never occurs, p_n(w | h) = p_{n-1}(w | h'). Below
the highest order, c(h w) is not how often h w occurs, but how many different words come before it; at the bottom stands
p_0 = 1 / V, over the V words of the training texts, the end of a text, and one that stands for all other words.
Kneser and Ney 1995, *Improved backing-off for m-gram language modeling*; in this form Chen and Goodman 1999.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

VERSION = "ngram_perplexity/1"

_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
"""Of three parts each where a text is cut into words, and so never words themselves."""

Gram = tuple[str, ...]


class KneserNey:
    """A language model.

    Args:
        texts: each as its words; spelled alike wherever they are to be one word.
        order: n, words of the longest n-gram.
        discount: D.

    Raises:
        ValueError: if there is no text, or a number is out of its range.

    >>> model = KneserNey([["a", "b"], ["a", "c"]], order=2)
    >>> float(np.exp(model.log_probabilities(["a", "b"])[1]))  # 0.25 / 2 + 0.75 * 2 / 2 * p_1(b), which is 0.17
    0.2525
    """

    def __init__(self, texts: Sequence[Sequence[str]], order: int = 3, discount: float = 0.75) -> None:
        if not texts or order < 1 or not 0.0 < discount < 1.0:
            raise ValueError(
                f"{len(texts)} texts, order={order}, discount={discount}: must be at least one text, an order from 1, "
                "and a discount between 0 and 1; set the language model to others"
            )
        self.order, self._discount = order, discount
        self._words = {word for text in texts for word in text} | {_END, _UNKNOWN}
        self._counts = _counts([self._padded(text) for text in texts], order)
        self._totals: list[Counter[Gram]] = [Counter() for _ in self._counts]
        self._followers: list[Counter[Gram]] = [Counter() for _ in self._counts]
        for level, counts in enumerate(self._counts):
            for gram, count in counts.items():
                self._totals[level][gram[:-1]] += count
                self._followers[level][gram[:-1]] += 1
        self._known: dict[Gram, float] = {}

    def log_probabilities(self, words: Sequence[str]) -> NDArray[np.float64]:
        """ln p of each word of a text after those before it, and at last of its end: ``[words + 1]``."""
        return self._scored(self._padded(words))

    def perplexity(self, texts: Iterable[Sequence[str]]) -> float:
        """exp of the mean of -ln p over all words of all texts, and their ends.

        Raises:
            ValueError: if there is no text.
        """
        scored = [self.log_probabilities(words) for words in texts]
        if not scored:
            raise ValueError("no texts: a perplexity is a mean over at least one")
        return math.exp(-float(np.concatenate(scored).mean()))

    def insertion_gains(self, words: Sequence[str], word: str) -> NDArray[np.float64]:
        """By how much ln p of a text grows with a word before each of its words, or after the last: ``[words + 1]``."""
        padded, before, others = self._padded(words), self.log_probabilities(words), self.order - 1
        [entry] = self._entries([word])
        gains = []
        for place in range(len(words) + 1):
            middle = place + others
            window = [*padded[place:middle], entry, *padded[middle : middle + others]]
            gains.append(float(self._scored(window).sum() - before[place : place + others].sum()))
        return np.array(gains)

    def substitution_gains(
        self, words: Sequence[str], place: int, others: Sequence[str], *, prefix_only: bool = False
    ) -> NDArray[np.float64]:
        """By how much ln p of a text grows with other words in the place of one: ``[others]``.

        Args:
            words: of the text.
            place: of the word, from 0.
            others: each by itself.
            prefix_only: of the place alone, by the words before it; not of those behind it, whose histories change too.
        """
        context = self.order - 1
        padded = self._padded(words)[place : place + 2 * context + 1]
        padded = padded[: context + 1] if prefix_only else padded
        before = self._scored(padded).sum()
        windows = ([*padded[:context], entry, *padded[context + 1 :]] for entry in self._entries(others))
        return np.array([float(self._scored(window).sum() - before) for window in windows], dtype=np.float64)

    def _padded(self, words: Sequence[str]) -> list[str]:
        return [_START] * (self.order - 1) + self._entries(words) + [_END]

    def _entries(self, words: Sequence[str]) -> list[str]:
        return [word if word in self._words else _UNKNOWN for word in words]

    def _scored(self, padded: Sequence[str]) -> NDArray[np.float64]:
        ends = range(self.order, len(padded) + 1)
        return np.log([self._probability(tuple(padded[end - self.order : end])) for end in ends])

    def _probability(self, gram: Gram) -> float:
        if not gram:
            return 1.0 / len(self._words)
        if gram not in self._known:
            self._known[gram] = self._interpolated(gram)
        return self._known[gram]

    def _interpolated(self, gram: Gram) -> float:
        level, history, shorter = len(gram) - 1, gram[:-1], self._probability(gram[1:])
        if not (total := self._totals[level][history]):
            return shorter
        kept = max(self._counts[level][gram] - self._discount, 0.0)
        return (kept + self._discount * self._followers[level][history] * shorter) / total


def _counts(padded: Sequence[Sequence[str]], order: int) -> list[Counter[Gram]]:
    """Of n-grams by their length: occurrences of the longest, different words before all others."""
    counts = [Counter(_grams(padded, order))]
    for _ in range(order - 1):
        counts.insert(0, Counter(gram[1:] for gram in counts[0]))
    return counts


def _grams(padded: Sequence[Sequence[str]], order: int) -> Iterable[Gram]:
    return (tuple(words[end - order : end]) for words in padded for end in range(order, len(words) + 1))
