"""How much an agreement of two records says about their being one entity.

Fellegi and Sunter 1969, *A theory for record linkage*. The values of a field agree to a degree k, from 0 (not at all)
to K - 1 (equal). With m_k = P(k | match) and u_k = P(k | no match), and fields that are independent given either,

    log2 P(match | k) / P(no match | k) = log2 P(match) / P(no match) + sum over fields of log2 m_k / u_k.

A field that one of the two records lacks adds nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "record_linkage/3"

MISSING = -1
"""Degree of agreement where a record has no value."""

_PSEUDO_COUNT = 0.5


class Agreement(NamedTuple):
    """What labelled pairs say about one field, for each degree of agreement, from 0.

    Attributes:
        num_matches, num_distinct: ``[degrees]`` int64, pairs that are one entity, and that are not.
        m, u: ``[degrees]`` their shares, each summing to 1, none 0.
    """

    num_matches: NDArray[np.int64]
    num_distinct: NDArray[np.int64]
    m: FloatArray
    u: FloatArray

    @property
    def weights(self) -> FloatArray:
        """``[degrees]``, log2 m / u, in bits: positive where the agreement speaks for a match."""
        return np.asarray(np.log2(self.m / self.u), dtype=np.float64)


def estimate_agreement(degrees: NDArray[np.integer], is_match: NDArray[np.bool_], num_degrees: int) -> Agreement:
    """Shares of the degrees of agreement among matches and among other pairs.

    Half a pair is added to every count (Jeffreys' prior: the mean of the posterior Dirichlet distribution), so that a
    degree which no labelled pair reached does not rule anything out.

    Args:
        degrees: ``[pairs]``, 0..``num_degrees`` - 1, or ``MISSING``; a pair that lacks a value does not count.
        is_match: ``[pairs]``.

    Raises:
        ValueError: if a degree is out of range.

    >>> result = estimate_agreement(np.array([1, 1, 0, 0, MISSING]), np.array([True, True, True, False, False]), 2)
    >>> result.num_matches, result.m, result.u
    (array([1, 2]), array([0.375, 0.625]), array([0.75, 0.25]))
    """
    if degrees.size and not MISSING <= int(degrees.min()) <= int(degrees.max()) < num_degrees:
        raise ValueError(f"degrees {degrees.min()}..{degrees.max()}: must lie in {MISSING}..{num_degrees - 1}")
    known = degrees != MISSING
    matches = np.bincount(degrees[known & is_match], minlength=num_degrees)
    distinct = np.bincount(degrees[known & ~is_match], minlength=num_degrees)
    return Agreement(matches, distinct, shares_of(matches), shares_of(distinct))


def shares_of(counts: NDArray[np.int64] | FloatArray) -> FloatArray:
    """Shares of counts to each of which half a pair is added: they sum to 1, and none is 0."""
    smoothed = counts + _PSEUDO_COUNT
    return np.asarray(smoothed / smoothed.sum(), dtype=np.float64)
