"""A linear classifier of TF-IDF features with calibrated probabilities, which reads changes of a text and not the text.

Lantavos and Sushil's victim: TF-IDF of words (rows of length 1), a linear support vector machine per class with the
hinge loss, and Platt's sigmoids by three-fold cross-validation, whose mean is the probability. The scores of a text
are

    s_c = (sum_j n_j idf_j w_cj) / sqrt(sum_j (n_j idf_j)^2) + b_c,

and replacing a word takes one of its terms away and adds one; so numerators and, as far as terms come once, squared
lengths add up over changes. Where a term comes more than once, or may, its counts are summed before they are squared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tiltmeter.operators.classifiers.adversary.spaces import Choices, Victim
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_linear/1"

UNKNOWN = -1
"""In place of the feature of a word that the classifier does not know: replacing by it deletes."""

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

    def victim(self, options: Sequence[Sequence[int]], others: Sequence[int]) -> Victim:
        """The classifier, for the choices of one text.

        Args:
            options: of each position that may change, the feature of its word and of each candidate, or ``UNKNOWN``.
            others: features of the words that stay.
        """
        known = np.array([feature for feature in others if feature != UNKNOWN], dtype=np.int64)
        features = np.unique([*known, *(feature for row in options for feature in row if feature != UNKNOWN)])
        features = features.astype(np.int64)
        base = np.bincount(np.searchsorted(features, known), minlength=len(features)).astype(np.float64)
        one_hot = [_one_hot(features, row) for row in options]
        idf, weights = self.idf[features], self.weights[:, :, features]

        def probabilities(choices: Choices) -> FloatArray:
            blocks = [choices[start : start + _BLOCK] for start in range(0, len(choices), _BLOCK)]
            return np.concatenate([self._read(base, one_hot, idf, weights, block) for block in blocks])

        return probabilities

    def _read(
        self, base: FloatArray, one_hot: Sequence[FloatArray], idf: FloatArray, weights: FloatArray, choices: Choices
    ) -> FloatArray:
        counts = np.repeat(base[None], len(choices), axis=0)
        for position, rows in enumerate(one_hot):
            counts += rows[choices[:, position]]
        values = counts * idf
        lengths = np.sqrt((values**2).sum(axis=1))
        values /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
        scores = np.einsum("tf,kcf->tkc", values, weights, optimize=True) + self.biases
        return _normalised(expit(-(self.slopes * scores + self.offsets))).mean(axis=1)


def _normalised(values: FloatArray) -> FloatArray:
    """Over classes, the last axis; equal where all are 0. One sigmoid is that of the second of two classes."""
    if values.shape[-1] == 1:
        return np.concatenate([1.0 - values, values], axis=-1)
    totals = values.sum(axis=-1, keepdims=True)
    return np.where(totals > 0.0, values / np.where(totals > 0.0, totals, 1.0), 1.0 / values.shape[-1])


def _one_hot(features: Choices, options: Sequence[int]) -> FloatArray:
    rows = np.zeros((len(options), len(features)))
    for number, feature in enumerate(options):
        if feature != UNKNOWN:
            rows[number, np.searchsorted(features, feature)] = 1.0
    return rows
