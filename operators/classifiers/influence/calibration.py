"""How sure a student is of its teacher's class, beside how often it is right.

The published p'' = softmax(C z'') imitates the teacher's own probability: it is near 1/2 wherever the teacher is in
doubt, even if the student knows well on which side of the border it is. How probable it is that the teacher has the
student's class is another question. If errors of the student's differences of logits are normal, with a root mean
square e on development texts, it is

    Phi(g / e),   g = the largest logit less the second largest.

How far each is from what they expect, :meth:`.clusters.SampledClusters.binned_gap` measures (Guo et al. 2017, *On
calibration of modern neural networks*).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, softmax

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
