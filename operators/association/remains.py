"""What is left of an attribute in vectors: how well others tell its sides from them (Gonen and Goldberg 2019)."""

from typing import Literal

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.embedding.similarity import unit_vectors

VERSION = "remains/1"

Probe = Literal["linear", "rbf"]
_NUM_STARTS, _MOST_STEPS = 10, 100


def extremes(projections: FloatArray, num: int) -> tuple[IntArray, BoolArray]:
    """Rows of the words that lie furthest along a direction and against it, and whether each lies along.

    Args:
        projections: ``[words]``.
        num: of each side, at most half of the words.

    >>> extremes(np.array([0.1, -3.0, 2.0, 0.0, -1.0]), 1)
    (array([2, 1]), array([ True, False]))
    """
    order = np.argsort(-projections, kind="stable")
    return np.concatenate([order[:num], order[len(order) - num :]]), np.arange(2 * num) < num


def accuracy_of_probe(words: FloatArray, is_first: BoolArray, folds: IntArray, probe: Probe) -> float:
    """Balanced accuracy of a classifier of the sides, each word judged by one that learnt from the other folds.

    A logistic regression or a support vector machine with the Gaussian kernel (L2, C = 1, gamma = 1 / dims) on vectors
    of length sqrt(dims). Without the attribute it is about 0.5, whatever the shares of the sides.

    Args:
        words: ``[words, dims]``.
        is_first: ``[words]``, their sides.
        folds: ``[words]``, the number of each one's fold; folds that lack a side in training judge nothing.

    Returns:
        NaN if a side is judged nowhere.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second
    from sklearn.svm import SVC

    scaled = unit_vectors(words) * np.sqrt(words.shape[1])
    fit = (
        SVC(kernel="rbf", C=1.0, gamma=1.0 / words.shape[1])
        if probe == "rbf"
        else LogisticRegression(C=1.0, tol=1e-8, max_iter=1000, solver="newton-cholesky")
    )
    is_right, is_judged = np.zeros(len(words), bool), np.zeros(len(words), bool)
    for fold in np.unique(folds):
        judged = folds == fold
        if 0 < is_first[~judged].sum() < (~judged).sum():
            fit.fit(scaled[~judged], is_first[~judged])
            is_right[judged], is_judged[judged] = fit.predict(scaled[judged]) == is_first[judged], True
    sides = [is_right[is_judged & (is_first == side)] for side in (True, False)]
    return float(np.mean([side.mean() for side in sides])) if all(side.size for side in sides) else float("nan")


def accuracy_of_clusters(words: FloatArray, is_first: BoolArray, generator: np.random.Generator) -> float:
    """max(a, 1 - a) of two clusters of unit vectors against the sides, in [0.5, 1] (Gonen and Goldberg 2019).

    k-means with k = 2 and starts by k-means++, of ten the one with the smallest sum of squares. Labels by chance give
    more than 0.5: 0.5126 on average with 1,000 words, 0.540 with 100.

    Args:
        words: ``[words, dims]``.
        is_first: ``[words]``, their sides.
        generator: of the starts.
    """
    if len(words) < 2:
        return float("nan")
    units = unit_vectors(words)
    tried = [_clustered(units, generator) for _ in range(_NUM_STARTS)]
    share = float((min(tried, key=lambda one: one[0])[1] == is_first).mean())
    return max(share, 1.0 - share)


def _clustered(units: FloatArray, generator: np.random.Generator) -> tuple[float, BoolArray]:
    """Sum of squares, and which words are in the first cluster."""
    first = units[generator.integers(len(units))]
    squares = ((units - first) ** 2).sum(axis=1)
    total = squares.sum()
    second = units[generator.choice(len(units), p=squares / total) if total > 0 else 0]
    is_in = np.zeros(len(units), bool)
    for _ in range(_MOST_STEPS):
        # |w - a| < |w - b| as 2 w.(a - b) > |a|^2 - |b|^2.
        nearer = 2.0 * units @ (first - second) > first @ first - second @ second
        if nearer.all() or not nearer.any() or (nearer == is_in).all():
            break
        is_in, first, second = nearer, units[nearer].mean(axis=0), units[~nearer].mean(axis=0)
    apart = (((units - first) ** 2).sum(axis=1), ((units - second) ** 2).sum(axis=1))
    return float(np.minimum(*apart).sum()), is_in
