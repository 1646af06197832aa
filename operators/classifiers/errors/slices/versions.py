"""Which slices got worse from one version of a model to the next, among many: max-T over which way texts moved.

Of the texts of which one version is right and the other wrong, those of a slice that are of unit g became wrong b_g
times and right c_g times. Were either way as likely for each unit, T = sum_g (b_g - c_g) / sqrt(sum_g (b_g - c_g)^2)
would lie around 0; with texts as units it is (b - c) / sqrt(b + c) (McNemar 1947). A draw turns every unit either way
by chance, in all slices that have texts of it; p is adjusted as in :mod:`.max_t`. Slices are of what both versions
share: whatever one of them has predicted knows of its errors. Of losses, b_g - c_g is by how much those of unit g have
grown.
"""

from collections.abc import Sequence

import numpy as np

from tiltmeter.operators.classifiers.errors.slices import max_t
from tiltmeter.operators.classifiers.errors.slices.bits import Bits, packed
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.group_flips import MIN_GROUPS, MIN_WITHIN, flipped_units, spreads
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.classifiers.errors.slices.losses import reached, sums_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, plain
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray, LossArray
from tiltmeter.operators.statistics.units import Units

VERSION = "version_slices/2"

_AT_ONCE = 100
_MOST = 2
"""Predicates of a slice: those of three are many, and few texts move."""


def worse_p(
    members: BoolArray,
    predicates: Sequence[Predicate],
    before: LossArray,
    after: LossArray,
    units: Units,
    config: SliceConfig,
    seed: int,
) -> tuple[list[Conjunction], FloatArray]:
    """Slices, and the adjusted p-value of each that it got worse; NaN where texts of fewer than five units moved.

    Args:
        members: ``[predicates, texts]``.
        before, after: ``[texts]``, errors or losses of each version.
        units: of the texts; fewer than eight with texts that moved get no test.
    """
    features = [predicate.feature for predicate in predicates]
    everyone = packed(members)
    conjunctions = conjunctions_of(everyone, features, min(_MOST, config.max_predicates), config.min_size)
    conjunctions = conjunctions[folded(everyone, conjunctions)[0]]
    moved = before != after
    movers = units.part(moved)
    if movers.num < MIN_GROUPS or not len(conjunctions):
        return [plain(row) for row in conjunctions], np.full(len(conjunctions), np.nan)
    bits, change = packed(members[:, moved]), after[moved].astype(np.float64) - before[moved]
    value, scale = _values(bits, conjunctions, change, movers)
    order = max_t.falling(value)
    chosen, hits = np.ascontiguousarray(conjunctions[order]), np.zeros(len(conjunctions), dtype=np.int64)
    for start in range(0, config.num_permutations, _AT_ONCE):
        block = range(start, min(start + _AT_ONCE, config.num_permutations))
        flipped = np.stack([flipped_units(movers.num, seed, draw) for draw in block], axis=1)
        turned = change[:, np.newaxis] * np.where(flipped, -1.0, 1.0)[movers.codes]
        hits[order] += reached(sums_of(bits, chosen, turned) / scale[order, np.newaxis], value[order])
    return [plain(row) for row in conjunctions], max_t.adjusted(hits, value, config.num_permutations)


def leading_changes(
    members: BoolArray,
    slices: Sequence[Conjunction],
    p_values: FloatArray,
    before: LossArray,
    after: LossArray,
    units: Units,
    alpha: float,
) -> list[int]:
    """Numbers of the slices that say what all say that got worse: each does so beside those that come before it.

    Args:
        members: ``[predicates, texts]``.
        p_values: of :func:`worse_p`.
        units: of the texts.
    """
    change = after.astype(np.float64) - before
    rows = {number: rows_with(members, slices[number]) for number in np.flatnonzero(p_values <= alpha).tolist()}
    values = {number: _standardised(change * inside, units) for number, inside in rows.items()}
    critical, left, chosen = min(values.values(), default=np.inf), np.ones(len(before), dtype=bool), list[int]()
    while values := {number: value for number, value in values.items() if value >= critical}:
        chosen.append(max(values, key=lambda number: (values[number], -len(slices[number]), -number)))
        left &= ~rows[chosen[-1]]
        others = values.keys() - {chosen[-1]}
        values = {number: _standardised(change * (rows[number] & left), units) for number in others}
    return chosen


def _standardised(change: FloatArray, units: Units) -> float:
    sums = units.sums(change)
    scale = np.sqrt(np.square(sums).sum())
    return float(sums.sum() / scale) if scale else -np.inf


def _values(bits: Bits, conjunctions: IntArray, change: FloatArray, units: Units) -> tuple[FloatArray, FloatArray]:
    """T of each conjunction, NaN without a test, and its denominator."""
    nothing = np.zeros((len(conjunctions), 1)), np.zeros((units.num, 1))
    scale, num_within = spreads(bits, conjunctions, change, units.codes, *nothing)
    tested = (num_within >= MIN_WITHIN) & (scale > 0.0)
    total = sums_of(bits, conjunctions, change[:, np.newaxis])[:, 0]
    return np.where(tested, total / np.where(tested, scale, 1.0), np.nan), scale
