"""Synthetic scores of mention pairs, for studies of how a partition depends on noise and on the blocking threshold.

Vadrevu et al. 2021, section 5.2, draw the score of a pair from a normal distribution around +0.5 if the two mentions
are of one gold chain, around -0.5 if not. They add "a variance of 0.3"; the edges that their table 6 has at each
threshold are those of a standard deviation of 0.3, which is the usual one here. Their ground truth, +1 and -1, is a
mean of 1 without noise.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

VERSION = "synthetic_scores/2"


def synthetic_scores(
    chains: Sequence[str], mean: float, sd: float, seed: int, about: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """A score for every pair of mentions.

    Args:
        chains: ``[mentions]``, the gold chain of each.
        mean: of pairs of one chain, minus that of the others.
        sd: standard deviation of all.
        seed, about: what the draws are keyed by; ``about`` names the mentions.

    Returns:
        ``left, right, weights``, all ``[mentions * (mentions - 1) / 2]``, left < right.

    >>> left, right, weights = synthetic_scores(["a", "a", "b"], 0.5, 0.3, seed=0, about="topic 1")
    >>> left.tolist(), right.tolist(), weights.shape
    ([0, 0, 1], [1, 2, 2], (3,))
    """
    left, right = np.triu_indices(len(chains), 1)
    numbers = np.unique(np.array(chains, dtype=object).astype(str), return_inverse=True)[1]
    noise = keyed_generator(seed, Stream.SCORE, 0, 0, _key(about)).normal(0.0, sd, left.size)
    return left, right, np.where(numbers[left] == numbers[right], mean, -mean) + noise


def _key(about: str) -> int:
    """Keys of 2^63 or more with 53 bits only: the scores of this version are drawn so."""
    key = document_key(about)
    return key if key < 2**63 else int(float(key))
