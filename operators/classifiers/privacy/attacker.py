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


def uar(
    right: NDArray[np.floating], classes: NDArray[np.integer], counts: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Unweighted average recall, of the texts as they are or of resamples.

    Args:
        right: ``[texts]``, 1 where the class is recognised, 0 where it is not; or the share of models that do.
        classes: ``[texts]``, the true ones.
        counts: ``[resamples, texts]``, how often each has each text, every class at least once; None: the texts.

    Returns:
        ``[resamples]``, a single one of the texts as they are.

    >>> uar(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1]))
    array([0.5])
    """
    times = np.ones((1, len(right))) if counts is None else counts
    recalls = [
        (times[:, members] @ right[members]) / times[:, members].sum(axis=1)
        for members in (classes == k for k in np.unique(classes))
    ]
    return np.asarray(np.mean(recalls, axis=0))
