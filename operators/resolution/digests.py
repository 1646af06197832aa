"""Components that have not changed, told by a number that stands for all that a solver is given of them."""

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IndexArray, IntArray
from tiltmeter.operators.resolution.pairs import blocks

VERSION = "component_digests/1"

_STEP, _FIRST, _SECOND = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFTS = [np.uint64(shift) for shift in (30, 27, 31)]


def component_digests(
    component: IntArray,
    place: IntArray,
    left: IndexArray,
    right: IndexArray,
    weights: FloatArray,
    groups: IntArray | None = None,
) -> IntArray:
    """``[components]`` int64: sums of a hash of each pair within the component, modulo 2^64, in any order of pairs.

    Two components that differ have the same digest by chance only, once in 2^64; records that are the same have to be
    compared besides, for the digest knows them by their places.

    Args:
        component, place: ``[nodes]``, as of :class:`.components.Components`.
        left, right, weights: ``[pairs]``, by nodes; those between components do not count.
        groups: ``[nodes]``, canonical, equal for nodes that have to be together; None: none have to.

    >>> nodes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> one, other = component_digests(*nodes, np.array([0, 2]), np.array([1, 3]), np.array([0.5, 0.5]))
    >>> bool(one == other)
    True
    """
    digests = np.zeros(int(component.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(digests, component, _mixed(place.astype(np.uint64)))
    for block in blocks(left.size):
        one, other = left[block], right[block]
        inside = component[one] == component[other]
        one, other = one[inside], other[inside]
        hashes = _mixed(_codes(place[one], place[other])) ^ (weights[block][inside] + 0.0).view(np.uint64)
        np.add.at(digests, component[one], _mixed(hashes))
    if groups is not None:
        first = np.unique(groups, return_index=True)[1][groups]
        np.add.at(digests, component, _mixed(~_codes(place, place[first])) * (place != place[first]))
    return digests.view(np.int64)


def _codes(one: IntArray, other: IntArray) -> NDArray[np.uint64]:
    return (one.astype(np.uint64) << np.uint64(32)) | other.astype(np.uint64)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = values + _STEP
    values = (values ^ (values >> _SHIFTS[0])) * _FIRST
    values = (values ^ (values >> _SHIFTS[1])) * _SECOND
    return values ^ (values >> _SHIFTS[2])
