"""What perturbed vectors say of their word (Feyisetan et al. 2020, section 4), and the best attacker's success."""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

VERSION = "deniability/1"

_ROWS_AT_ONCE = 256


def nearest_rows(vectors: FloatArray, vocabulary: FloatArray) -> IntArray:
    """Row of the vocabulary that each vector is nearest to: for noise whose density falls with its norm, the maximum
    of the likelihood, so that no attacker without prior knowledge names the word more often; ``[n]``.

    >>> nearest_rows(np.array([[0.2], [4.0]]), np.array([[0.0], [1.0], [5.0]]))
    array([0, 2])
    """
    norms = np.einsum("ij,ij->i", vocabulary, vocabulary)
    parts = [vectors[start : start + _ROWS_AT_ONCE] for start in range(0, len(vectors), _ROWS_AT_ONCE)]
    rows = [(norms - 2 * part @ vocabulary.T).argmin(axis=1) for part in parts]
    return np.concatenate([np.empty(0, np.int64), *rows])


class Deniability(NamedTuple):
    """Of perturbations of one word.

    Attributes:
        returned: N_w, share that give the word back.
        distinct: S_w, different words among them.
    """

    returned: float
    distinct: int


def deniability(rows: IntArray, row: int) -> Deniability:
    """N_w and S_w from the words that perturbations of one word were nearest to.

    >>> deniability(np.array([3, 3, 1, 2]), 3)
    Deniability(returned=0.5, distinct=3)
    """
    return Deniability(float(np.mean(rows == row)), len(np.unique(rows)))
