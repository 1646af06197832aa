"""What each replaced word has to do with the fall of a verdict: Shapley values over all subsets of the changes.

phi_i = sum over subsets S without i of |S|! (m - |S| - 1)! / m! [p(S) - p(S + i)], where p(S) is the probability of the
original verdict with the changes of S alone. They add up to p() - p(all); Shapley 1953.
"""

from math import factorial

import numpy as np

from tiltmeter.operators.classifiers.adversary.spaces import Choices, Queries
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_shares/1"

MAX_CHANGES = 12
"""Whose 2^12 subsets are all read."""


def shapley_values(queries: Queries, choices: Choices) -> FloatArray:
    """The share of each position in the fall of p(y0).

    Args:
        queries: the victim.
        choices: ``[positions]`` of a text with at most ``MAX_CHANGES`` changes.

    Returns:
        ``[positions]``, 0 where nothing changed.

    Raises:
        ValueError: if the text has more changes.
    """
    changed = np.flatnonzero(choices)
    if changed.size > MAX_CHANGES:
        raise ValueError(f"{changed.size} changes: must be at most {MAX_CHANGES}; lower search.max_share")
    members = (np.arange(2**changed.size)[:, None] >> np.arange(changed.size)) & 1
    texts = np.zeros((len(members), len(choices)), dtype=np.int64)
    texts[:, changed] = members * choices[changed]
    values, sizes = queries(texts)[0], members.sum(axis=1)
    shares = np.zeros(len(choices))
    for number, position in enumerate(changed.tolist()):
        without = np.flatnonzero(members[:, number] == 0)
        weights = np.array([_weight(size, changed.size) for size in sizes[without].tolist()])
        shares[position] = weights @ (values[without] - values[without + 2**number])
    return shares


def _weight(size: int, num_changes: int) -> float:
    return factorial(size) * factorial(num_changes - size - 1) / factorial(num_changes)
