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

import numpy as np
from scipy.special import expit

from tiltmeter.operators.classifiers.adversary.spaces import Choices, Victim
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_linear/1"

Features = Sequence[int]
"""Of a word: most have one, "don't" may have two."""

_BLOCK = 4096


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

    def victim(self, options: Sequence[Sequence[Features]], others: Features) -> Victim:
        """The classifier, for the choices of one text.

        Args:
            options: of each position that may change, the features of its word and of each candidate; none of a word
                that the classifier does not know, so that to replace by it is to delete.
            others: features of the words that stay.
        """
        table = _Text(self, _repeated(options, others))
        fixed = table.terms([others])
        terms = [table.terms(row) for row in options]

        def probabilities(choices: Choices) -> FloatArray:
            blocks = [choices[start : start + _BLOCK] for start in range(0, len(choices), _BLOCK)]
            return np.concatenate([self._read(fixed, terms, table.num_repeated, block) for block in blocks])

        return probabilities

    def _read(self, fixed: FloatArray, terms: Sequence[FloatArray], num_repeated: int, choices: Choices) -> FloatArray:
        sums = np.repeat(fixed, len(choices), axis=0)
        for position, rows in enumerate(terms):
            sums += rows[choices[:, position]]
        squares = sums[:, 0] + (sums[:, 1 : 1 + num_repeated] ** 2).sum(axis=1)
        lengths = np.where(squares > 0.0, np.sqrt(squares), 1.0)
        scores = (sums[:, 1 + num_repeated :] / lengths[:, None]).reshape(-1, *self.biases.shape) + self.biases
        mean: FloatArray = _normalised(expit(-(self.slopes * scores + self.offsets))).mean(axis=1)
        return mean


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
