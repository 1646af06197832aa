"""A linear classifier of TF-IDF features with calibrated probabilities, which reads changes of a text and not the text.

Lantavos and Sushil's victim: TF-IDF of words (rows of length 1), a linear support vector machine per class with the
hinge loss, and Platt's sigmoids by three-fold cross-validation, whose mean is the probability. The scores of a text
are

    s_c = (sum_j n_j idf_j w_cj) / sqrt(sum_j (n_j idf_j)^2) + b_c,

and replacing a word takes one of its terms away and adds one; so numerators and, as far as terms come once, squared
lengths add up over changes. Where a term comes more than once, or may, its counts are summed before they are squared.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from tiltmeter.operators.classifiers.adversary.spaces import Choices
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_linear/1"

Features = Sequence[int]
"""Of a word: most have one, "don't" may have two."""

_BLOCK, _CELLS = 4096, 2**18
"""Texts that are read at once, and of how many words in all."""
_NO_BOUND = 1e9
"""Beyond any score; infinity times a slope of 0 would be no number."""


@dataclass(frozen=True)
class LinearModel:
    """Attributes:
    idf: ``[features]``.
    weights: ``[folds, classes, features]``.
    biases: ``[folds, classes]``.
    slopes, offsets: ``[folds, classes]``: p = 1 / (1 + exp(slope s + offset)), before classes add up to 1.
    """

    idf: FloatArray
    weights: FloatArray
    biases: FloatArray
    slopes: FloatArray
    offsets: FloatArray

    def victim(self, options: Sequence[Sequence[Features]], others: Features) -> "LinearVictim":
        """The classifier, for the choices of one text.

        Args:
            options: of each position that may change, the features of its word and of each candidate; none of a word
                that the classifier does not know, so that to replace by it is to delete.
            others: features of the words that stay.
        """
        table = _Text(self, _repeated(options, others))
        terms = [table.terms(row) for row in options]
        return LinearVictim(self, table.terms([others])[0], terms, table.num_repeated)


@dataclass(frozen=True)
class LinearVictim:
    """The classifier, for the choices of one text; what its words add to sums is known beforehand.

    Attributes:
        model: the classifier.
        fixed: ``[sums]`` of the words that stay: squared length, values of repeated features, scores.
        terms: of each position, ``[options, sums]``, the same of its word and of each candidate.
        num_repeated: features that may come more than once.
    """

    model: LinearModel
    fixed: FloatArray
    terms: Sequence[FloatArray]
    num_repeated: int

    def __call__(self, choices: Choices) -> FloatArray:
        size = max(1, min(_BLOCK, _CELLS // (len(self.terms) + 1)))
        blocks = [choices[start : start + size] for start in range(0, len(choices), size)]
        return np.concatenate([self._read(block) for block in blocks])

    @cached_property
    def _rows(self) -> FloatArray:
        """What stays, and then the options of all positions."""
        return np.concatenate([self.fixed[None], *self.terms])

    @cached_property
    def _starts(self) -> Choices:
        """Of each position in the rows, behind what stays."""
        numbers = [len(rows) for rows in self.terms]
        return np.cumsum([1, *numbers], dtype=np.int64)[: len(numbers)]

    def _read(self, choices: Choices) -> FloatArray:
        width = len(self.terms) + 1
        columns = np.zeros((len(choices), width), dtype=np.int64)
        columns[:, 1:] = choices + self._starts
        shape = len(choices), len(self._rows)
        chosen = csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, width)), shape=shape)
        sums: FloatArray = np.asarray(chosen @ self._rows)
        squares = _squares(sums, self.num_repeated)
        lengths = np.where(squares > 0.0, np.sqrt(squares), 1.0)
        scores = sums[:, 1 + self.num_repeated :] / lengths[:, None]
        model = self.model
        margins = -(model.slopes * (scores.reshape(-1, *model.biases.shape) + model.biases) + model.offsets)
        mean: FloatArray = _normalised(expit(margins)).mean(axis=1)
        return mean

    def lead_bounds(self, low: FloatArray, high: FloatArray, label: int) -> FloatArray:
        """By how much another class can be more probable than that of the label at most, given what sums lie between.

        With N between N- and N+, and the length between L- and L+, a score N / L + b is at most N+ / L- + b if N+ is
        positive, and N+ / L+ + b if not. A sigmoid rises or falls with its score throughout. In one fold,
        (a - y) / (a + y + o), for a class, the label's and the sum of all others, rises with a, falls with y, and falls
        with o where a > y. Bounds of the folds add up to one of their mean.

        Args:
            low, high: ``[texts, sums]``.
            label: of the original text.

        Returns:
            ``[texts]``: below 0 where no text between the sums is of another class.
        """
        least, most = (self._lengths(sums) for sums in (low, high))
        scores = slice(1 + self.num_repeated, None)
        lower, upper = _quotients(low[:, scores], high[:, scores], least, most)
        model = self.model
        ends = [
            expit(-(model.slopes * (part.reshape(-1, *model.biases.shape) + model.biases) + model.offsets))
            for part in (lower, upper)
        ]
        bounds: FloatArray = _lead(np.minimum(*ends), np.maximum(*ends), label).mean(axis=1).max(axis=1)
        return bounds

    def _lengths(self, sums: FloatArray) -> FloatArray:
        lengths: FloatArray = np.sqrt(_squares(np.maximum(sums[:, : 1 + self.num_repeated], 0.0), self.num_repeated))
        return lengths[:, None]


def _squares(sums: FloatArray, num_repeated: int) -> FloatArray:
    squares: FloatArray = sums[:, 0] + (sums[:, 1 : 1 + num_repeated] ** 2).sum(axis=1)
    return squares


def _quotients(low: FloatArray, high: FloatArray, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between which scores lie; a length that may be 0, or that of an empty text, which is 1, bounds nothing."""
    is_bounded = least > 1e-9
    shortest, longest = np.where(is_bounded, least, 1.0), np.maximum(most, 1e-9)
    lower = np.where(low >= 0.0, low / longest, low / shortest)
    upper = np.where(high >= 0.0, high / shortest, high / longest)
    return np.where(is_bounded, lower, -_NO_BOUND), np.where(is_bounded, upper, _NO_BOUND)


def _lead(low: FloatArray, high: FloatArray, label: int) -> FloatArray:
    """``[texts, folds, classes - 1]``; of sigmoids between bounds, of classes that they are normalised over."""
    if low.shape[-1] == 1:  # of the second of two classes
        return 1.0 - 2.0 * low if label == 1 else 2.0 * high - 1.0
    others = np.delete(np.arange(low.shape[-1]), label)
    first, last = high[..., others], low[..., [label]]
    gains = first - last
    rest = np.where(
        gains > 0.0,
        low[..., others].sum(axis=-1, keepdims=True) - low[..., others],
        high[..., others].sum(axis=-1, keepdims=True) - high[..., others],
    )
    totals = first + last + rest
    lead: FloatArray = np.where(totals > 0.0, gains / np.where(totals > 0.0, totals, 1.0), 1.0)
    return lead


class _Text:
    """What each word adds: its squared length if its term can come once only, its value if more often, its scores."""

    def __init__(self, model: LinearModel, repeated: Choices) -> None:
        self._model, self._repeated = model, repeated
        self.num_repeated = len(repeated)

    def terms(self, words: Sequence[Features]) -> FloatArray:
        """``[words, 1 + repeated + folds * classes]``, of each word the sum over its features."""
        lengths = [len(features) for features in words]
        sums = np.zeros((len(words), 1 + self.num_repeated + self._model.biases.size))
        features = np.array([feature for row in words for feature in row], dtype=np.int64)
        np.add.at(sums, np.repeat(np.arange(len(words)), lengths), self._terms(features))
        return sums

    def _terms(self, features: Choices) -> FloatArray:
        idf = self._model.idf[features]
        is_repeated = features[:, None] == self._repeated
        squares = np.where(is_repeated.any(axis=1), 0.0, idf**2)
        scores = np.moveaxis(self._model.weights[:, :, features] * idf, -1, 0).reshape(
            len(features), self._model.biases.size
        )
        return np.column_stack([squares, is_repeated * idf[:, None], scores])


def _repeated(options: Sequence[Sequence[Features]], others: Features) -> Choices:
    """Features that may come more than once in a text."""
    numbers = Counter(others)
    for row in options:
        # Of several features of one word, all may be there at once.
        numbers.update({feature: max(word.count(feature) for word in row) for word in row for feature in word})
    return np.array(sorted(feature for feature, number in numbers.items() if number > 1), dtype=np.int64)


def _normalised(values: FloatArray) -> FloatArray:
    """Over classes, the last axis; equal where all are 0. One sigmoid is that of the second of two classes."""
    if values.shape[-1] == 1:
        return np.concatenate([1.0 - values, values], axis=-1)
    totals = values.sum(axis=-1, keepdims=True)
    return np.where(totals > 0.0, values / np.where(totals > 0.0, totals, 1.0), 1.0 / values.shape[-1])
