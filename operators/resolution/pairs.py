"""Scored pairs of records, cleaned: each pair once, its records numbered, what can't count left out and counted."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "scored_pairs/1"

MAX_SUM = 1e300
"""Of absolute weights: what is computed of them, such as differences of their sums, stays finite."""


class ScoredPairs(NamedTuple):
    """Attributes:
    left, right: ``[pairs]`` int64, numbers of the records, left < right; sorted, each pair once.
    weights: ``[pairs]`` float64.
    num_self, num_repeated, num_contradicting, num_below: pairs that were left out, or merged into one with the mean
        of their weights (contradicting).
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weights: FloatArray
    num_self: int
    num_repeated: int
    num_contradicting: int
    num_below: int


def clean_pairs(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.floating], threshold: float | None
) -> ScoredPairs:
    """Pairs without direction, each once.

    A pair of a record with itself says nothing and is left out. A pair that comes several times, in either direction,
    is taken once; if its weights differ, with their mean. After that, pairs of less weight than ``threshold`` count as
    never scored.

    Args:
        left, right: ``[pairs]``, numbers of the records.
        weights: ``[pairs]``, finite.

    Raises:
        ValueError: if a weight is not finite, naming its row, or the absolute weights add up to more than ``MAX_SUM``.

    >>> left, right = np.array([1, 0, 2, 0]), np.array([0, 1, 2, 2])
    >>> pairs = clean_pairs(left, right, np.array([0.5, 0.25, 1.0, -0.5]), threshold=0.0)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.weights.tolist()
    ([0], [1], [0.375])
    >>> pairs.num_self, pairs.num_repeated, pairs.num_contradicting, pairs.num_below
    (1, 0, 1, 1)
    """
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"weight {weights[row]} in row {row + 1} of the pairs: must be a finite number")
    _check_sums(weights)
    apart = left != right
    low, high = np.minimum(left, right)[apart].astype(np.int64), np.maximum(left, right)[apart].astype(np.int64)
    span = int(high.max(initial=0)) + 1
    keys, weights = low * span + high, weights[apart].astype(np.float64)
    order = _by_pair(keys, weights)
    keys, weights = keys[order], weights[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    sizes = np.diff(np.append(first, keys.size))
    differ = weights[first] < weights[first + sizes - 1]
    means = np.where(differ, np.add.reduceat(weights, first) / sizes, weights[first]) if first.size else weights
    kept = means >= (-np.inf if threshold is None else threshold)
    low, high = np.divmod(keys[first][kept], span)
    surplus = sizes - 1
    return ScoredPairs(
        low,
        high,
        np.asarray(means[kept], dtype=np.float64),
        int((~apart).sum()),
        int(surplus[~differ].sum()),
        int(surplus[differ].sum()),
        int((~kept).sum()),
    )


def _by_pair(keys: NDArray[np.int64], weights: NDArray[np.floating]) -> NDArray[np.int64]:
    """Places in the order of pairs, and of one pair by weight: the order of a file changes no mean."""
    order = np.argsort(keys)
    ordered = keys[order]
    is_repeated = ordered[1:] == ordered[:-1]
    places = np.flatnonzero(np.append(is_repeated, False) | np.append(False, is_repeated))
    again = order[places]
    order[places] = again[np.lexsort((weights[again], keys[again]))]
    return order


def _check_sums(weights: NDArray[np.floating]) -> None:
    sizes = np.abs(weights.astype(np.float64))
    with np.errstate(over="ignore"):
        total = sizes.sum()
    if total > MAX_SUM:
        row = int(sizes.argmax())
        raise ValueError(
            f"weight {weights[row]} in row {row + 1} of the pairs: all weights, without their signs, must add up to "
            f"{MAX_SUM:g} or less; divide them by one number"
        )


def weights_of(probabilities: NDArray[np.floating]) -> FloatArray:
    """w = 2 p - 1: positive where two records are more likely one than not.

    Raises:
        ValueError: if a probability lies outside [0, 1], naming its row.

    >>> weights_of(np.array([0.0, 0.75]))
    array([-1. ,  0.5])
    """
    outside = np.flatnonzero(~((probabilities >= 0.0) & (probabilities <= 1.0)))
    if outside.size:
        row = int(outside[0])
        raise ValueError(f"match_probability {probabilities[row]} in row {row + 1} of the pairs: must lie in [0, 1]")
    return np.asarray(2.0 * probabilities.astype(np.float64) - 1.0)
