"""How sure a student is of its teacher's class, beside how often it is right.

The published p'' = softmax(C z'') imitates the teacher's own probability: it is near 1/2 wherever the teacher is in
doubt, even if the student knows well on which side of the border it is. How probable it is that the teacher has the
student's class is another question. If errors of the student's differences of logits are normal, with a root mean
square e on development texts, it is

    Phi(g / e),   g = the largest logit less the second largest.

What a student is wrong by grows with the change that it tells: words that turn a text are among those that change it
most, and are the likeliest to have been told too large a change. So of counterfactuals, with s a change of a difference
of logits and e its error,

    E e^2 = constant + growth s^2,   both at least 0, by least squares.

How far the first two are from what they expect, :meth:`.clusters.SampledClusters.binned_gap` measures (Guo et al. 2017,
*On calibration of modern neural networks*).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import log_ndtr, ndtr, ndtri, softmax

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

_NUM_BINS = 20


def published_confidence(logits: NDArray[np.floating]) -> FloatArray:
    """p'' of the student's class: ``[pairs]`` of ``[pairs, classes]``.

    >>> published_confidence(np.log([[1.0, 3.0]]))
    array([0.75])
    """
    return np.asarray(softmax(logits.astype(np.float64), axis=-1).max(axis=-1))


def calibrated_confidence(logits: NDArray[np.floating], error: float) -> FloatArray:
    """How probable it is that the teacher has the student's class: ``[pairs]`` of ``[pairs, classes]``.

    Args:
        logits: the student's.
        error: root mean square error of their differences, which is above 0.

    >>> calibrated_confidence(np.array([[0.0, 0.3], [0.1, 0.1]]), 0.2).round(3)
    array([0.933, 0.5  ])
    """
    ordered = np.sort(logits.astype(np.float64), axis=-1)
    return np.asarray(ndtr((ordered[..., -1] - ordered[..., -2]) / error))


def calibrated_odds(odds: FloatArray, error: float) -> FloatArray:
    """Log odds of a class by the student, as log odds of the teacher having it.

    >>> calibrated_odds(np.array([-0.3, 0.0, 0.3]), 0.2).round(3)
    array([-2.637,  0.   ,  2.637])
    """
    return np.asarray(log_ndtr(odds / error) - log_ndtr(-odds / error))


def confidence_bins(confidence: FloatArray) -> IntArray:
    """Twentieths, the last of which has 1 too.

    >>> confidence_bins(np.array([0.5, 0.96, 1.0])).tolist()
    [10, 19, 19]
    """
    return np.minimum((confidence * _NUM_BINS).astype(np.int64), _NUM_BINS - 1)


class MarginErrors(NamedTuple):
    """Of differences of logits, y_k - y_0, of words in contexts.

    Attributes:
        errors: ``[pairs]``, the student's less the teacher's.
        changes: ``[pairs]``, the student's, from the text without the word.
    """

    errors: FloatArray
    changes: FloatArray

    @property
    def rms(self) -> float:
        """Root mean square error."""
        return float(np.sqrt(np.square(self.errors).mean()))

    @property
    def growth(self) -> "ErrorGrowth":
        """How the error grows with the change."""
        squares = np.square(self.changes)
        return ErrorGrowth(*map(float, nnls(np.stack([np.ones_like(squares), squares], axis=1), self.errors**2)[0]))


class ErrorGrowth(NamedTuple):
    """The mean square of what a difference of logits is wrong by.

    Attributes:
        constant: of words that change nothing.
        growth: for each unit of the squared change.
    """

    constant: float
    growth: float

    def deviation(self, changes: NDArray[np.floating]) -> FloatArray:
        """Root mean square error of changes, of any shape.

        >>> ErrorGrowth(0.09, 0.04).deviation(np.array([0.0, -2.0]))
        array([0.3, 0.5])
        """
        return np.asarray(np.sqrt(self.constant + self.growth * np.square(changes)))


def sure_cuts(
    logits: NDArray[np.floating], base: FloatArray, given: int, growth: ErrorGrowth, sureness: float
) -> FloatArray:
    """By how much another class must have more than the text's own for the teacher to say so with some certainty.

    Phi^-1(sureness) times what the student's change is wrong by, as if errors were normal. At 0.5 it is 0, and any word
    counts that the student calls unlike, as published.

    Args:
        logits: ``[words, classes]``, the student's, of the text with each word.
        base: ``[classes]``, the teacher's, of what the changes are added to.
        given: the class of the text.
        growth: of errors.
        sureness: from 0.5.

    Returns:
        ``[words]``.

    >>> logits, growth = np.array([[0.0, 0.0], [0.0, 2.0]]), ErrorGrowth(0.09, 0.04)
    >>> sure_cuts(logits, np.zeros(2), 0, growth, 0.95).round(3), sure_cuts(logits, np.zeros(2), 0, growth, 0.5)
    (array([0.493, 0.822]), array([0., 0.]))
    """
    return np.asarray(ndtri(sureness) * growth.deviation(gaps(logits, given) - gaps(base[None], given)))


def gaps(logits: NDArray[np.floating], given: int) -> FloatArray:
    """By how much the largest other class has more than a class: ``[words]`` of ``[words, classes]``.

    >>> gaps(np.array([[1.0, 0.0, 3.0]]), given=0)
    array([2.])
    """
    return np.asarray(np.delete(logits, given, axis=1).max(axis=1) - logits[:, given])
