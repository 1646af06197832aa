"""Words that stand in for others: near to a word that is shifted along a direction, and not to the word itself.

After the code that Lantavos and Sushil released with their project on gender bias of language-processing models:

    P(w) = top_k { c : cos(v(c), v(w) + s d) }  without  top_m { c : cos(v(c), v(w)) },   k = 2, m = 4,

where d is v(woman) - v(man), or what several pairs have in common, and s = 1 or -1. Without the second set w itself
and its inflections would come back. A word without a vector has no candidate and is none.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_candidates/1"

NONE = -1
"""In place of a candidate that there is not."""

_BLOCK = 1024
"""Words whose cosines with the whole vocabulary are in memory at once."""


class Candidates(NamedTuple):
    """Attributes:
    words: ``[words, k]`` int64, rows of the vectors, the nearest first; ``NONE`` behind.
    cosines: ``[words, k]`` with the shifted vector; NaN where there is none.
    num_excluded: ``[words]``, of the k nearest, those that are near to the word itself.
    """

    words: NDArray[np.int64]
    cosines: FloatArray
    num_excluded: NDArray[np.int64]


def pair_direction(
    ends: NDArray[np.floating], starts: NDArray[np.floating], kind: Literal["mean", "principal_component"] = "mean"
) -> FloatArray:
    """The direction that leads from the starts of pairs to their ends.

    Args:
        ends, starts: ``[pairs, dims]``, such as of women's words and of men's.
        kind: the mean of end - start; or the first principal component of both about the middle of each pair, of the
            mean's length and on its side, after Bolukbasi et al. 2016.

    Returns:
        ``[dims]``.

    Raises:
        ValueError: if there is no pair, or pairs that have no direction.

    >>> pair_direction(np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros((2, 2)))
    array([2., 0.])
    """
    differences: FloatArray = np.asarray(ends, dtype=np.float64) - np.asarray(starts, dtype=np.float64)
    mean: FloatArray = differences.mean(axis=0) if len(differences) else np.zeros(differences.shape[1:])
    if not (length := float(np.linalg.norm(mean))):
        raise ValueError(f"{len(differences)} pairs have no direction in common; set direction.pairs to others")
    if kind == "mean":
        return mean
    component = np.linalg.svd(differences, full_matrices=False)[2][0]
    direction: FloatArray = component * (length * float(np.sign(component @ mean) or 1.0))
    return direction


def shifted_candidates(
    vectors: NDArray[np.floating], words: NDArray[np.int64], shift: FloatArray, *, top: int = 2, exclude: int = 4
) -> Candidates:
    """P(w) of each word.

    Ties go to the word that stands first.

    Args:
        vectors: ``[vocabulary, dims]``; as stored in the released code, or of length 1.
        words: ``[words]`` rows of the vectors.
        shift: ``[dims]``, s d.
        top: k.
        exclude: m; w is one of them.
    """
    table = _unit(np.asarray(vectors, dtype=np.float64))
    chosen = [
        _nearest(table, vectors, words[start : start + _BLOCK], shift, top, exclude)
        for start in range(0, len(words), _BLOCK)
    ]
    if not chosen:
        return Candidates(np.empty((0, top), np.int64), np.empty((0, top)), np.empty(0, np.int64))
    return Candidates(*(np.concatenate(parts) for parts in zip(*chosen, strict=True)))


def _nearest(
    table: FloatArray,
    vectors: NDArray[np.floating],
    words: NDArray[np.int64],
    shift: FloatArray,
    top: int,
    exclude: int,
) -> Candidates:
    own = vectors[words].astype(np.float64)
    cosines = _unit(own + shift) @ table.T
    shifted = _largest(cosines, top)
    excluded = (shifted[:, :, None] == _largest(_unit(own) @ table.T, exclude)[:, None, :]).any(axis=2)
    order = np.argsort(excluded, axis=1, kind="stable")
    kept = np.take_along_axis(~excluded, order, axis=1)
    ranked = np.take_along_axis(shifted, order, axis=1)
    values = np.where(kept, np.take_along_axis(cosines, ranked, axis=1), np.nan)
    return Candidates(np.where(kept, ranked, NONE), values, excluded.sum(axis=1))


def _largest(values: FloatArray, number: int) -> NDArray[np.int64]:
    """Columns of the largest values of each row, the largest first; of equal ones the first column."""
    return np.argsort(-values, axis=1, kind="stable")[:, :number]


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: FloatArray = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    return unit
