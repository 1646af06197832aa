"""Words that stand in for others: near to a word that is shifted along a direction, and not to the word itself.

After the code that Lantavos and Sushil released with their project on gender bias of language-processing models:

    P(w) = top_k { c : cos(v(c), v(w) + s d) }  without  top_m { c : cos(v(c), v(w)) },   k = 2, m = 4,

where d is v(woman) - v(man), or what several pairs have in common, and s = 1 or -1. Without the second set w itself
and its inflections would come back. A word without a vector has no candidate and is none.

Where *woman* is one of the words nearest to *man*, as in most embeddings, the second set takes away what the shift was
made for: no *man* ever becomes a *woman*. Words of the other gender can therefore be exempt from it. Of a direction
that is to have nothing to do with gender they can be left out altogether, and the next nearest words take their place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_candidates/2"

NONE = -1
"""In place of a candidate that there is not."""

Crossings = Literal["excluded", "kept", "barred"]
"""Candidates of the other gender than the word: as all others (published), not excluded as near to it, or not taken."""

_MAX_COSINES = 200_000
"""At once; numbers of 8 bytes for each stay in a core's cache, through which every shift goes three times."""
_LETTERS = regex.compile(r"\p{L}+(['\u2019-]\p{L}+)*")
_FEW = 8
"""Largest numbers that are found one after the other, which is faster than to part a row."""


class Candidates(NamedTuple):
    """Attributes:
    words: ``[shifts, words, k]`` int64, rows of the vectors, the nearest first; ``NONE`` behind.
    cosines: ``[shifts, words, k]`` with the shifted vector; NaN where there is none.
    num_excluded: ``[shifts, words]``, of the k nearest, those that are near to the word itself.
    """

    words: NDArray[np.int64]
    cosines: FloatArray
    num_excluded: NDArray[np.int64]


DirectionOf = Literal["mean", "principal_component"]
"""What several pairs have in common; see :func:`pair_direction`."""


def pair_direction(ends: NDArray[np.floating], starts: NDArray[np.floating], kind: DirectionOf = "mean") -> FloatArray:
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
    vectors: NDArray[np.floating],
    words: NDArray[np.int64],
    shifts: FloatArray,
    *,
    top: int = 2,
    exclude: int = 4,
    genders: NDArray[np.int8] | None = None,
    crossings: Crossings = "excluded",
    pool: NDArray[np.int64] | None = None,
) -> Candidates:
    """P(w) of each word along each direction.

    Ties go to the word that stands first.

    Args:
        vectors: ``[vocabulary, dims]``; as stored in the released code, or of length 1.
        words: ``[words]`` rows of the vectors.
        shifts: ``[shifts, dims]``, each an s d.
        top: k.
        exclude: m; w is one of them.
        genders: ``[vocabulary]``, 1 and -1 of words of either gender, 0 of all others.
        crossings: what becomes of candidates whose gender is the other one than the word's.
        pool: rows, rising, of words that may be c; None: all.
    """
    taken = np.arange(len(vectors)) if pool is None else pool
    table = unit_rows(np.asarray(vectors[taken], dtype=np.float64))
    signs = np.zeros(len(vectors), dtype=np.int8) if genders is None else genders
    moved = _Shifts(np.asarray(shifts, dtype=np.float64), np.asarray(shifts, dtype=np.float64) @ table.T)
    size = max(1, _MAX_COSINES // max(len(table), 1))
    blocks = []
    for start in range(0, max(len(words), 1), size):
        rows = words[start : start + size]
        places = np.nonzero(signs[rows][:, None] * signs[taken] == -1)
        bases = vectors[rows].astype(np.float64)
        blocks.append(_of_block(table, bases, moved, (top, exclude), _Crossings(crossings, places)))
    ranked, cosines, num_excluded = (np.concatenate(part, axis=1) for part in zip(*blocks, strict=True))
    result = ranked.astype(np.int64)
    chosen = np.where(result == NONE, NONE, taken[np.maximum(result, 0)])
    return Candidates(chosen, cosines, num_excluded[:, :, 0].astype(np.int64))


class _Shifts(NamedTuple):
    """``[shifts, dims]``, and what each adds to the product with every word, ``[shifts, vocabulary]``."""

    vectors: FloatArray
    gains: FloatArray


class _Crossings(NamedTuple):
    """What becomes of candidates of the other gender, and where they stand: rows and columns of the cosines."""

    kind: Crossings
    places: tuple[NDArray[np.int64], ...]


def _of_block(
    table: FloatArray, bases: FloatArray, shifts: _Shifts, sizes: tuple[int, int], crossings: _Crossings
) -> tuple[FloatArray, FloatArray, FloatArray]:
    top, exclude = sizes
    products = bases @ table.T
    near = _largest(products, exclude)
    if crossings.kind == "kept":
        is_crossing = np.zeros(products.shape, dtype=bool)
        is_crossing[crossings.places] = True
        near = np.where(np.take_along_axis(is_crossing, near, axis=1), NONE, near)
    if crossings.kind == "barred":
        products[crossings.places] = -np.inf
    rows = [_of_shift(products, row, near, top) for row in shifts.gains]
    lengths = np.linalg.norm(bases + shifts.vectors[:, None], axis=2)[:, :, None]
    ranked, sums, num_excluded = (np.stack(part) for part in zip(*rows, strict=True))
    return ranked, np.divide(sums, lengths, out=np.full_like(sums, np.nan), where=lengths > 0.0), num_excluded


def _of_shift(
    products: FloatArray, gains: FloatArray, near: NDArray[np.int64], top: int
) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64]]:
    """(w + s d) v(c) is w v(c) + s d v(c), of which the second is the same for every word."""
    sums = products + gains
    shifted = _largest(sums, top)
    is_barred = np.isneginf(np.take_along_axis(sums, shifted, axis=1))
    excluded = (shifted[:, :, None] == near[:, None, :]).any(axis=2) | is_barred
    order = np.argsort(excluded, axis=1, kind="stable")
    kept = np.take_along_axis(~excluded, order, axis=1)
    ranked = np.take_along_axis(shifted, order, axis=1)
    values = np.where(kept, np.take_along_axis(sums, ranked, axis=1), np.nan)
    return np.where(kept, ranked, NONE), values, excluded.sum(axis=1, keepdims=True)


def nearest_candidates(vectors: NDArray[np.floating], words: NDArray[np.int64], *, top: int = 8) -> Candidates:
    """The words nearest to each word, without itself: N(w), of counter-fitted vectors after Alzantot et al. 2018.

    Args:
        vectors, words, top: as for :func:`shifted_candidates`.

    Returns:
        Of one shift, which is none.
    """
    table = unit_rows(np.asarray(vectors, dtype=np.float64))
    top = min(top, len(table) - 1)
    parts = [(np.empty((0, top), np.int64), np.empty((0, top)))]
    size = max(1, _MAX_COSINES // max(len(table), 1))
    for start in range(0, len(words), size):
        block = words[start : start + size]
        cosines = table[block] @ table.T
        cosines[np.arange(len(block)), block] = -np.inf
        ranked = _largest(cosines, top)
        parts.append((ranked, np.take_along_axis(cosines, ranked, axis=1)))
    ranked, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Candidates(ranked[None], values[None], np.zeros((1, len(words)), np.int64))


def _largest(values: FloatArray, number: int) -> NDArray[np.int64]:
    """Columns of the largest values of each row, the largest first; of equal ones the first column."""
    number = min(number, values.shape[1])
    if number <= _FEW:
        return _one_by_one(values, number)
    least = np.partition(values, values.shape[1] - number, axis=1)[:, values.shape[1] - number]
    rows, columns = np.nonzero(values >= least[:, None])
    order = np.lexsort((columns, -values[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    chosen: NDArray[np.int64] = columns[order][starts[:, None] + np.arange(number)]
    return chosen


def _one_by_one(values: FloatArray, number: int) -> NDArray[np.int64]:
    """Where all that are left are -inf, the first of these comes more than once."""
    rest, rows = values.copy(), np.arange(len(values))
    chosen = np.empty((len(values), number), dtype=np.int64)
    for place in range(number):
        chosen[:, place] = rest.argmax(axis=1)
        is_left = rest[rows, chosen[:, place]] > -np.inf
        if not is_left.all():
            chosen[:, place] = np.where(is_left, chosen[:, place], values.argmin(axis=1))
        rest[rows, chosen[:, place]] = -np.inf
    return chosen


def unit_rows(rows: FloatArray) -> FloatArray:
    """Vectors of length 1; one of length 0 stays."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: FloatArray = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    return unit


class Vocabulary(NamedTuple):
    """The words of an embedding as far as they may take part.

    Attributes:
        words: that may be replaced.
        rows: of each in the vectors.
        vectors: ``[words, dims]``, as they are shifted.
        pool: rows, rising, of those that may be candidates, or make control pairs.
    """

    words: Sequence[str]
    rows: Mapping[str, int]
    vectors: FloatArray
    pool: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        vectors: FloatArray,
        most: int,
        *,
        unit_vectors: bool,
        counts: Mapping[str, int] | None = None,
        min_count: int = 0,
    ) -> "Vocabulary":
        """Of an embedding.

        Args:
            most: words, those that stand first.
            unit_vectors: whether vectors are shifted at length 1.
            counts: of words in the texts, in small letters; None: any word may be a candidate.
            min_count: of a candidate.

        Raises:
            ValueError: if no word may be one.
        """
        kept = [row for row, word in enumerate(words) if _LETTERS.fullmatch(word)][:most]
        names = [words[row] for row in kept]
        pool = np.arange(len(names))
        if counts is not None:
            common = [row for row, name in enumerate(names) if counts.get(name.lower(), 0) >= min_count]
            pool = np.array(common, dtype=np.int64)
            if not pool.size:
                raise ValueError(
                    f"candidates.min_count={min_count}: no word of the embedding occurs so often in the texts; lower "
                    "it, or set data.path to more texts"
                )
        chosen = unit_rows(vectors[kept]) if unit_vectors else vectors[kept]
        return cls(names, {word: row for row, word in enumerate(names)}, chosen, pool)

    def known(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
        """Rows of the pairs that have vectors."""
        return [(self.rows[one], self.rows[two]) for one, two in pairs if one in self.rows and two in self.rows]

    def direction(self, pairs: Iterable[tuple[str, str]], kind: DirectionOf) -> FloatArray:
        """From the first to the second words of the pairs that have vectors, as :func:`pair_direction` has it."""
        rows = np.array(self.known(pairs), dtype=np.int64).reshape(-1, 2)
        return pair_direction(self.vectors[rows[:, 1]], self.vectors[rows[:, 0]], kind)

    def leaning(self, pairs: Iterable[tuple[str, str]]) -> FloatArray:
        """Of length 1, along the first pair that has vectors; 0 where none has: ``[dims]``."""
        known = self.known(pairs)
        if not known:
            return np.zeros(self.vectors.shape[1])
        start, end = unit_rows(self.vectors[list(known[0])])
        direction: FloatArray = unit_rows((end - start)[None])[0]
        return direction

    def rows_without(self, barred: Collection[str]) -> NDArray[np.int64]:
        """Of all candidates but some, given in small letters, however the embedding writes them.

        >>> Vocabulary(["Woman", "tree"], {"Woman": 0, "tree": 1}, np.eye(2), np.arange(2)).rows_without({"woman"})
        array([1])
        """
        return np.array([row for row in self.pool.tolist() if self.words[row].lower() not in barred], dtype=np.int64)
