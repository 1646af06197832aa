"""What a classifier says of parts of a text: the game whose players are the words.

A part keeps some words; each other one is gone (``delete``: a space is in its place, so that its neighbours do not join
to one word) or hidden (``mask``: one mask token is in its place, however many tokens it had). The parts are texts, and
are read anew: no token is taken from a text that the classifier would not read so. Of a text of which it reads nothing
all classes are said to be as likely.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.attribution.records import Output
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.text.tokenised import Spans, word_spans

VERSION = "games/1"

Removal = Literal["mask", "delete"]
Logits = Callable[[Sequence[str]], FloatArray]

_LEAST = 1e-12
"""A chance below it has its logarithm."""


def logits_by(classifier: Classifier) -> Logits:
    """Logits ``[texts, classes]``; of a classifier that is no network, the logarithms of its chances."""
    if isinstance(classifier, Networked):
        from tiltmeter.operators.classifiers.attribution.batches import logits_of  # imports torch, which takes seconds

        network, most = classifier.network, classifier.max_tokens
        return lambda texts: logits_of(network, network.tokenise(texts), most)
    return lambda texts: np.log(np.maximum(classifier.probabilities(texts), _LEAST))


def words_read(classifier: Classifier, text: str) -> tuple[str, Spans, bool]:
    """A text up to the last word that is read, where its words lie, and whether it was cut there."""
    if not isinstance(classifier, Networked):
        return text, word_spans(text), False
    [tokenised] = classifier.network.tokenise([text])
    num = int(tokenised.word_of.max(initial=-1)) + 1 if tokenised.truncated else len(tokenised.words)
    spans, place = [], 0
    for word in tokenised.words[:num]:
        start = text.index(word, place)
        place = start + len(word)
        spans.append((start, place))
    return (text[:place] if tokenised.truncated else text), spans, tokenised.truncated


@dataclass
class Game:
    """Parts of one text, each of which is asked about once.

    Attributes:
        text: that is explained.
        spans: of its words.
        removal: how a word is left out.
        mask: what stands in its place, by ``mask``.
        ask: for the logits of texts.
    """

    text: str
    spans: Spans
    removal: Removal
    mask: str | None
    ask: Logits
    _known: dict[bytes, FloatArray] = field(default_factory=dict, init=False)

    @property
    def num(self) -> int:
        """Of words."""
        return len(self.spans)

    def part(self, present: BoolArray) -> str:
        """The text with these words."""
        if present.all():
            return self.text
        instead = f" {self.mask} " if self.removal == "mask" else " "
        pieces, place = [], 0
        for (start, end), is_there in zip(self.spans, present.tolist(), strict=True):
            pieces += [self.text[place:start], self.text[start:end] if is_there else instead]
            place = end
        return " ".join("".join([*pieces, self.text[place:]]).split())

    def logits(self, present: BoolArray) -> FloatArray:
        """``[parts, words]`` to ``[parts, classes]``."""
        keys = [row.tobytes() for row in np.packbits(present, axis=1)]
        new = {key: row for row, key in enumerate(keys) if key not in self._known}
        if new:
            results = self.ask([self.part(present[row]) for row in new.values()])
            self._known |= zip(new, np.where(np.isnan(results), 0.0, results), strict=True)
        return np.stack([self._known[key] for key in keys])

    def values(self, present: BoolArray, target: int, output: Output) -> FloatArray:
        """What the classifier says for a class, ``[..., words]`` to ``[...]``; see :func:`output_of`."""
        flat = present.reshape(-1, self.num)
        return output_of(self.logits(flat), target, output).reshape(present.shape[:-1])

    def falls(self, present: BoolArray, target: int, output: Output) -> FloatArray:
        """What it says of the whole text less what it says of parts."""
        return self.values(np.ones(self.num, dtype=bool), target, output) - self.values(present, target, output)


def all_parts(num: int) -> BoolArray:
    """``[2^num, num]``: word i is there where bit i of a part's number is set."""
    return (np.arange(2**num)[:, np.newaxis] >> np.arange(num) & 1).astype(bool)


def output_of(logits: FloatArray, target: int, output: Output) -> FloatArray:
    """As :func:`.batches.explained_output`, of logits ``[parts, classes]``.

    >>> [output_of(np.log([[0.2, 0.8]]), 1, name).round(6) for name in ("probability", "log_odds")]
    [array([0.8]), array([1.386294])]
    """
    others = np.delete(logits, target, axis=1)
    most = others.max(axis=1)
    odds = logits[:, target] - most - np.log(np.exp(others - most[:, np.newaxis]).sum(axis=1))
    if output == "log_odds":
        return np.asarray(odds)
    return np.asarray(logits[:, target] if output == "logit" else 1.0 / (1.0 + np.exp(-odds)))


def shapley(table: FloatArray) -> FloatArray:
    """phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S + i) - v(S)) (Shapley 1953), ``[2^n]`` to ``[n]``.

    >>> shapley(np.array([0.0, 1.0, 3.0, 6.0]))
    array([2., 4.])
    """
    from scipy.special import gammaln

    num = int(table.size).bit_length() - 1
    numbers = np.arange(table.size)
    size = np.bitwise_count(numbers).astype(np.int64)
    values = np.empty(num)
    for word in range(num):
        without = numbers[numbers >> word & 1 == 0]
        s = size[without]
        weight = np.exp(gammaln(s + 1) + gammaln(num - s) - gammaln(num + 1))
        values[word] = weight @ (table[without | 1 << word] - table[without])
    return values


def sampled_shapley(
    value: Callable[[BoolArray], FloatArray], num: int, generator: np.random.Generator, tolerance: float, most: int
) -> tuple[FloatArray, FloatArray]:
    """The same from orders in which words come in, each with its reverse (antithetic), and their standard errors.

    Args:
        value: ``[parts, words]`` to ``[parts]``.
        tolerance: for the largest standard error, of the unit of the values; at least 8 pairs of orders are taken.
        most: pairs of orders.
    """
    pairs: list[FloatArray] = []
    errors = np.full(num, np.inf)
    while len(pairs) < most and not (len(pairs) >= _LEAST_PAIRS and errors.max() <= tolerance):
        order = generator.permutation(num)
        pairs.append(np.mean([_marginal(value, turned) for turned in (order, order[::-1])], axis=0))
        if len(pairs) > 1:
            errors = np.std(pairs, axis=0, ddof=1) / np.sqrt(len(pairs))
    return np.asarray(np.mean(pairs, axis=0)), errors


_LEAST_PAIRS = 8


def _marginal(value: Callable[[BoolArray], FloatArray], order: IntArray) -> FloatArray:
    """What each word adds to those before it."""
    rank = np.argsort(order)
    return np.diff(value(rank[np.newaxis] < np.arange(order.size + 1)[:, np.newaxis]))[rank]
