"""What can be told of a speaker from a representation, by who is given both for some texts; and how often it is right.

The attacker is a logistic regression with weights of classes (Elazar and Goldberg 2018, *Adversarial Removal of
Demographic Attributes from Text Data*, train theirs after the encoder, too, and leave the encoder as it is). Both what
it finds and what a model finds are counted by unweighted average recall, with n_k texts of class k of K,

    UAR = (1 / K) sum_k (1 / n_k) sum_{x of k} [x is recognised],

in which every class counts alike, however rare it is: 1 / K is chance.
"""

import numpy as np
from numpy.typing import NDArray

VERSION = "attacker/1"


def attack(training: NDArray[np.floating], classes: NDArray[np.int64], test: NDArray[np.floating]) -> NDArray[np.int64]:
    """The classes that a logistic regression gives the representations of other texts.

    Components are standardised by the training texts; errors count by the rarity of their class, and the L2 penalty is
    that of scikit-learn (C = 1).

    Args:
        training: ``[texts, size]``.
        classes: ``[texts]``, of the training texts.
        test: ``[other texts, size]``.

    Returns:
        ``[other texts]``.

    Raises:
        ValueError: if all training texts are of one class.

    >>> attack(np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), np.array([[-3.0], [0.5]]))
    array([0, 1])
    """
    from sklearn.linear_model import LogisticRegression  # takes a second
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    attacker = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
    attacker.fit(np.asarray(training, dtype=np.float64), classes)
    return np.asarray(attacker.predict(np.asarray(test, dtype=np.float64)), dtype=np.int64)


def weighted_recalls(right: NDArray[np.bool_], classes: NDArray[np.integer]) -> NDArray[np.float64]:
    """What each text adds to the unweighted average recall: n / (K n_k) where it is recognised, otherwise 0.

    UAR is their mean over the n texts, and over a resample that has as many texts of every class.

    Args:
        right: ``[texts]``, whether the class is recognised.
        classes: ``[texts]``, the true ones.

    >>> weighted_recalls(np.array([True, True, True, False]), np.array([0, 0, 0, 1])).mean().round(6)
    np.float64(0.5)
    """
    _, places, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    return np.asarray(right * (len(classes) / (sizes.size * sizes[places])))
