"""Errors that are the label's and not the model's: confident learning (Northcutt et al. 2021, section 3.1).

With p out-of-sample probabilities of another model, t_j = mean of p_j over the texts labelled j is how sure it is of a
class where that is the label. A text labelled i is suspected of being a j if j != i is, of the classes with p_j >= t_j,
the one with the largest p_j.
"""

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray

VERSION = "label_errors/1"


def suspected(probabilities: FloatArray, labels: IntArray) -> BoolArray:
    """Whether each label is suspected.

    Args:
        probabilities: ``[texts, classes]``, of a model that was not trained with the text.
        labels: ``[texts]``, number of the class.

    >>> probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.05, 0.95]])
    >>> suspected(probabilities, np.array([0, 0, 1, 1, 0]))
    array([False, False, False, False,  True])
    """
    classes = range(probabilities.shape[1])
    levels = np.array(
        [probabilities[labels == name, name].mean() if (labels == name).any() else np.inf for name in classes]
    )
    confident = np.where(probabilities >= levels, probabilities, -1.0)
    return np.asarray((confident.max(axis=1) >= 0.0) & (confident.argmax(axis=1) != labels))
