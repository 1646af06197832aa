"""What tells errors of a classifier without a model of them: how unsure it is, and which class it names.

Of probabilities p of K classes, in falling order (Settles 2009, *Active learning literature survey*, section 3.1):

    least confidence: 1 - p_1;  margin: -(p_1 - p_2);  entropy: -sum_k p_k log p_k.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray

VERSION = "uncertainty/1"


def least_confidence(probabilities: FloatArray) -> FloatArray:
    """1 less the largest probability.

    >>> least_confidence(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]))
    array([0.5, 0. ])
    """
    return np.asarray(1.0 - probabilities.max(axis=1))


def margin(probabilities: FloatArray) -> FloatArray:
    """The second largest probability less the largest: the closer to 0, the less sure.

    >>> margin(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]))
    array([-0.25, -1.  ])
    """
    ordered = np.sort(probabilities, axis=1)
    return ordered[:, -2] - ordered[:, -1]


def entropy(probabilities: FloatArray) -> FloatArray:
    """In nats.

    >>> entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])).round(4)
    array([0.6931, 0.    ])
    """
    logs = np.log(np.where(probabilities > 0.0, probabilities, 1.0))
    return np.asarray(0.0 - (probabilities * logs).sum(axis=1))


UNCERTAINTIES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "least_confidence": least_confidence,
    "margin": margin,
    "entropy": entropy,
}


def class_rates(predicted: Sequence[str], errors: BoolArray) -> dict[str, float]:
    """The error rate of each predicted class, shrunk by one error and one hit, so that small classes lie in the middle.

    >>> class_rates(["a", "a", "b"], np.array([True, False, True]))
    {'a': 0.5, 'b': 0.6666666666666666}
    """
    names = np.asarray(predicted, dtype=object)
    return {
        name: float((errors[names == name].sum() + 1) / ((names == name).sum() + 2)) for name in sorted(set(predicted))
    }


def rated(predicted: Sequence[str], rates: Mapping[str, float]) -> FloatArray:
    """The rate of each text's predicted class; one half for a class that has none."""
    return np.array([rates.get(name, 0.5) for name in predicted], dtype=np.float64)


def checked_probabilities(probabilities: NDArray[np.floating]) -> FloatArray:
    """Probabilities that add up to 1 in every row, as far as rounding goes, and exactly so after it.

    Raises:
        ValueError: naming the first row that does not, or has a value outside [0, 1].
    """
    sums = probabilities.sum(axis=1)
    wrong = ~((probabilities >= 0.0).all(axis=1) & (probabilities <= 1.0).all(axis=1) & (np.abs(sums - 1.0) < 1e-3))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row}: probabilities {probabilities[row].tolist()} must lie in [0, 1] and add up to 1")
    return np.asarray(probabilities / sums[:, np.newaxis], dtype=np.float64)
