"""Which slices got worse from one version of a model to the next, among many: max-T over which way texts moved.

Of the texts of which one version is right and the other wrong, those of a slice became wrong b times and right c times.
Were both as likely, b would be binomial with one half, and T = (b - c) / sqrt(b + c) says how far it lies off (McNemar
1947). A draw turns every such text either way by chance, in all slices that have it; p is adjusted as in
:mod:`.max_t`.
"""

from collections.abc import Sequence

import numpy as np

from tiltmeter.operators.classifiers.errors.slices import max_t
from tiltmeter.operators.classifiers.errors.slices.bits import Bits, common_counts, packed
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.classifiers.errors.slices.max_t import Statistics
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, plain
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_bits
from tiltmeter.operators.compute.philox import Stream

VERSION = "version_slices/1"

_MOST = 2
"""Predicates of a slice: those of three are many, and few texts move."""

_TURN = 6
"""What is drawn; the second number of a key."""


def worse_p(
    members: BoolArray,
    predicates: Sequence[Predicate],
    before: BoolArray,
    after: BoolArray,
    config: SliceConfig,
    seed: int,
) -> tuple[list[Conjunction], FloatArray]:
    """Slices, and the adjusted p-value of each that it got worse; NaN where no text of it moved.

    Args:
        members: ``[predicates, texts]``.
        before, after: ``[texts]``, errors of each version.
    """
    features = [predicate.feature for predicate in predicates]
    everyone = packed(members)
    conjunctions = conjunctions_of(everyone, features, min(_MOST, config.max_predicates), config.min_size)
    conjunctions = conjunctions[folded(everyone, conjunctions)[0]]
    moved = before != after
    if not moved.any() or not len(conjunctions):
        return [plain(row) for row in conjunctions], np.full(len(conjunctions), np.nan)
    bits, worse = packed(members[:, moved]), packed((after & ~before)[np.newaxis, moved])
    statistics = _statistics(bits, conjunctions, worse, int(moved.sum()))
    draws = np.concatenate([_turned(int(moved.sum()), seed, draw) for draw in range(config.num_permutations)])
    hits = max_t.reached(bits, conjunctions, statistics, draws)
    return [plain(row) for row in conjunctions], max_t.adjusted(hits, statistics.value, config.num_permutations)


def leading_changes(
    members: BoolArray,
    slices: Sequence[Conjunction],
    p_values: FloatArray,
    before: BoolArray,
    after: BoolArray,
    alpha: float,
) -> list[int]:
    """Numbers of the slices that say what all say that got worse: each does so beside those that come before it.

    Args:
        members: ``[predicates, texts]``.
        p_values: of :func:`worse_p`.
    """
    worse, better = after & ~before, before & ~after
    rows = {number: rows_with(members, slices[number]) for number in np.flatnonzero(p_values <= alpha).tolist()}
    values = {number: _standardised(inside, worse, better) for number, inside in rows.items()}
    critical, left, chosen = min(values.values(), default=np.inf), np.ones(len(before), dtype=bool), list[int]()
    while values := {number: value for number, value in values.items() if value >= critical}:
        chosen.append(max(values, key=lambda number: (values[number], -len(slices[number]), -number)))
        left &= ~rows[chosen[-1]]
        values = {number: _standardised(rows[number] & left, worse, better) for number in values.keys() - {chosen[-1]}}
    return chosen


def _standardised(inside: BoolArray, worse: BoolArray, better: BoolArray) -> float:
    num_worse, num_better = int((inside & worse).sum()), int((inside & better).sum())
    moved = num_worse + num_better
    return (num_worse - num_better) / np.sqrt(moved) if moved else -np.inf


def _statistics(bits: Bits, conjunctions: IntArray, worse: Bits, num_rows: int) -> Statistics:
    counts = common_counts(bits, conjunctions, np.concatenate([worse, packed(np.ones((1, num_rows), dtype=bool))]))
    wrong, moved = counts[:, 0].astype(np.int64), counts[:, 1].astype(np.int64)
    scale = np.sqrt(moved) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(moved > 0, (wrong - moved / 2) / scale, np.nan)
    return Statistics(moved, wrong, moved / 2, scale, value)


def _turned(num_rows: int, seed: int, draw: int) -> Bits:
    """Each row with one half, as bits."""
    bits = keyed_bits(seed, Stream.ERROR_CHARACTERISATION, (0, _TURN, draw, 0)).random_raw((num_rows + 63) // 64)
    last = np.uint64(2 ** (num_rows % 64) - 1) if num_rows % 64 else ~np.uint64(0)
    words = np.asarray(bits, dtype=np.uint64)
    words[-1] &= last
    return words[np.newaxis]
