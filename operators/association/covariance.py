"""Precision matrices of word sets for the Mahalanobis distance, and word sets large enough to estimate them.

Azarpanah and Farhadloo 2021 (*Measuring Biases of Word Embeddings: What Similarity Measures and Descriptive Statistics
to Use?*) take the distance by the covariance of the attribute words. A set of a few words in hundreds of dimensions has
no invertible sample covariance, so the estimate is regularised, and the set may be enlarged by its neighbours.
"""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import unit_vectors

VERSION = "covariance/1"

Estimator = Literal["shrinkage", "graphical_lasso"]

_NUM_FOLDS = 3
_NUM_PENALTIES = 17
_MIN_VECTORS = {"shrinkage": 2, "graphical_lasso": _NUM_FOLDS}

_WORDS_AT_ONCE = 8192
_DIGITS = 12
"""Cosines are compared to this many decimals; further ones are rounding, which would decide between equal vectors."""


class _Fit(NamedTuple):
    likelihood: float
    precision: FloatArray


def precision(vectors: NDArray[np.floating], estimator: Estimator = "shrinkage") -> FloatArray:
    """The inverse covariance of a set of vectors, regularised so that it exists.

    ``shrinkage``: the inverse of (1 - rho) S + rho tr(S)/dims I, with S the sample covariance (divided by n) and rho
    the oracle approximating shrinkage of Chen et al. 2010 (*Shrinkage algorithms for MMSE covariance estimation*).
    There is always a rho > 0, so any two different vectors have a precision matrix. 2 ms at 100 dims, 20 ms at 300.

    ``graphical_lasso``: the Theta that minimises tr(S Theta) - log det Theta + lambda sum_{i != j} \\|Theta_ij\\|
    (Friedman et al. 2008, *Sparse inverse covariance estimation with the graphical lasso*), as in the paper with lambda
    by three-fold cross-validation: it falls from max_{i != j} \\|S_ij\\|, in steps of 10^(1/4), until the likelihood
    of the held-out vectors falls, or to 1e-4 of that. Row i is in fold i mod 3, so that rows in the order of frequency
    make folds that are alike. On strongly correlated vectors, those of small corpora among them, the solver breaks
    down before, and the estimate is refused. On one core 0.3 to 5 s at 100 dims and 4 to 5 s at 300 (a refusal up to
    26 s), for 10 to 500 vectors: an hour for 33 replicas of 20 sets at 300 dims.

    Args:
        vectors: ``[n, dims]``, one set of words in one replica; n may be less than dims.
        estimator: which of the two.

    Returns:
        ``[dims, dims]`` float64, symmetric, in the inverse square of the vectors' unit.

    Raises:
        ValueError: if ``estimator`` is unknown, a vector is not finite, all are equal, or there are fewer than 2 (3 for
            the graphical lasso).
        ArithmeticError: if the graphical lasso fails before the likelihood falls.

    >>> precision(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 5.0]])).round(4)
    array([[ 0.4631, -0.0571],
           [-0.0571,  0.3989]])
    """
    from scipy import linalg

    doubles = np.asarray(vectors, dtype=np.float64)
    _check(doubles, estimator)
    if estimator == "graphical_lasso":
        return _graphical_lasso(doubles)
    return np.asarray(linalg.inv(_shrunk_covariance(doubles), assume_a="pos"))


def _shrunk_covariance(vectors: FloatArray) -> FloatArray:
    """By equation 23 of Chen et al. without its terms of 2 / dims, as scikit-learn's ``oas``, to the bit."""
    num, dims = vectors.shape
    centred = vectors - vectors.mean(axis=0)
    sample = np.dot(centred.T, centred) / num
    size, level = np.mean(sample**2), np.trace(sample) / dims
    excess = (num + 1) * (size - level**2 / dims)
    share = 1.0 if excess == 0 else min((size + level**2) / excess, 1.0)
    shrunk: FloatArray = (1.0 - share) * sample
    shrunk.flat[:: dims + 1] += share * level
    return shrunk


def enlarged(
    sets: Sequence[NDArray[np.integer]], vocabulary: NDArray[np.floating], num_neighbours: int
) -> list[NDArray[np.int64]]:
    """Word sets, each together with the nearest neighbours, by the cosine, of each of its words.

    Args:
        sets: ``[words of the set]`` each, rows of the vocabulary.
        vocabulary: ``[words, dims]``, for example float32 in a memory map: it is read once for all sets, a few thousand
            words at a time. Words without a vector (NaN) or with one of length 0 are nobody's neighbours.
        num_neighbours: how many neighbours each word brings in. They may be other words of the set, or neighbours of
            several, so the set grows by so many times its size at most. Of equally near words (to 12 decimals) the
            first in the vocabulary is taken.

    Returns:
        For each set rows of the vocabulary in rising order, each once, the set's own always among them.

    Raises:
        ValueError: if a set is empty, leaves the vocabulary, or has a word without a vector, or if ``num_neighbours``
            is negative.

    >>> vocabulary = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0], [1.0, -0.1]])
    >>> enlarged([np.array([0])], vocabulary, num_neighbours=1)
    [array([0, 3])]
    """
    for words in sets:
        _check_set(words, vocabulary, num_neighbours)
    asked = np.unique(np.concatenate([np.empty(0, np.int64), *sets]))
    queries = unit_vectors(vocabulary[asked])
    if not np.isfinite(queries).all():
        missing = asked[np.isnan(queries).any(axis=1)].tolist()
        raise ValueError(f"sets: rows {missing} of the vocabulary have no vector, or one of length 0")
    nearest = _nearest_neighbours(asked, queries, vocabulary, num_neighbours)
    return [np.union1d(words, nearest[:, np.searchsorted(asked, words)]) for words in sets]


def _nearest_neighbours(
    asked: NDArray[np.int64], queries: FloatArray, vocabulary: NDArray[np.floating], num_neighbours: int
) -> NDArray[np.int64]:
    """Rows ``[neighbours, queries]``; of a vocabulary with too few words, the query's own in place of more."""
    cosines = np.full((num_neighbours, asked.size), -np.inf)
    rows = np.tile(asked, (num_neighbours, 1))
    for start in range(0, len(vocabulary) if num_neighbours else 0, _WORDS_AT_ONCE):
        further = (unit_vectors(vocabulary[start : start + _WORDS_AT_ONCE]) @ queries.T).round(_DIGITS)
        here = np.flatnonzero((asked >= start) & (asked < start + _WORDS_AT_ONCE))
        further[asked[here] - start, here] = -np.inf
        cosines, rows = _nearest(cosines, rows, further, start)
    return rows


def _nearest(
    cosines: FloatArray, rows: NDArray[np.int64], further: FloatArray, start: int
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The nearest so far, ``[neighbours, queries]`` in falling order, after further words ``[words, queries]``."""
    nearer = np.flatnonzero((further > cosines.min(axis=0, initial=np.inf)).any(axis=1))
    nearer_rows = np.broadcast_to(start + nearer[:, np.newaxis], (nearer.size, cosines.shape[1]))
    cosines_all, rows_all = np.concatenate([cosines, further[nearer]]), np.concatenate([rows, nearer_rows])
    # A stable sort leaves the earlier of equally near words ahead.
    order = np.argsort(-cosines_all, axis=0, kind="stable")[: len(cosines)]
    return np.take_along_axis(cosines_all, order, axis=0), np.take_along_axis(rows_all, order, axis=0)


def _graphical_lasso(vectors: FloatArray) -> FloatArray:
    covariance = np.atleast_2d(np.cov(vectors, rowvar=False, bias=True))
    largest = np.abs(covariance - np.diag(np.diagonal(covariance))).max()
    best = _Fit(-np.inf, np.empty((0, 0)))
    failure = ""
    for step in range(_NUM_PENALTIES):
        try:
            fit = _fit(vectors, largest * 10.0 ** (-step / 4))
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            failure = str(error)
            continue
        if fit.likelihood < best.likelihood:
            return best.precision
        best, failure = fit, ""
    if failure:
        raise ArithmeticError(
            f"the graphical lasso failed ({failure}) before a penalty was found below which the likelihood falls: the "
            "vectors are too strongly correlated; set the covariance's estimator to 'shrinkage', which always exists"
        )
    return best.precision


def _fit(vectors: FloatArray, penalty: float) -> _Fit:
    """The fit to all vectors, and the mean log likelihood of each fold under the fit to the others.

    Each penalty starts anew. GraphicalLassoCV starts each from the last, breaks down sooner, and takes the penalty
    before that for the best.
    """
    from sklearn.covariance import GraphicalLasso
    from sklearn.exceptions import ConvergenceWarning

    folds = np.arange(len(vectors)) % _NUM_FOLDS
    # At the default inner tolerance of 1e-4 the dual gap of 500 word vectors stalls above the outer one, also of 1e-4.
    model = GraphicalLasso(penalty, enet_tol=1e-6)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Once the dual gap is closed, it does not matter whether the regression of a dim on the others left off early.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("error", "graphical_lasso: did not converge", ConvergenceWarning)
        try:
            held_out = [model.fit(vectors[folds != fold]).score(vectors[folds == fold]) for fold in range(_NUM_FOLDS)]
            fit = _Fit(float(np.mean(held_out)), np.asarray(model.fit(vectors).precision_))
        except ConvergenceWarning as error:
            raise FloatingPointError(str(error)) from error
    if not np.isfinite(fit.likelihood):
        raise FloatingPointError("an estimate is not positive definite")
    return fit


def _check(vectors: FloatArray, estimator: Estimator) -> None:
    if estimator not in _MIN_VECTORS:
        allowed = ", ".join(get_args(Estimator))
        raise ValueError(f"estimator={estimator!r}: must be one of {allowed}; set the covariance's estimator")
    least = _MIN_VECTORS[estimator]
    if vectors.ndim != 2 or len(vectors) < least:
        raise ValueError(
            f"vectors has shape {vectors.shape}: {estimator} takes [n, dims] with n of {least} or more; enlarge the "
            "set by its neighbours"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("vectors: must be finite; leave out the words that have no vector")
    if (vectors == vectors[0]).all():
        raise ValueError(f"vectors: all {len(vectors)} are equal, and have no covariance; enlarge the set")


def _check_set(attributes: NDArray[np.integer], vocabulary: NDArray[np.floating], num_neighbours: int) -> None:
    if num_neighbours < 0:
        raise ValueError(f"num_neighbours={num_neighbours}: must be 0 or more; set the covariance's num_neighbours")
    if attributes.size == 0 or attributes.min() < 0 or attributes.max() >= len(vocabulary):
        raise ValueError(f"sets: each must be one or more rows of the {len(vocabulary)} in the vocabulary")
