"""Which slices got worse from one version of a model to the next, among many: max-T over which way texts moved.

Of the texts of which one version is right and the other wrong, those of a slice that are of unit g became wrong b_g
times and right c_g times. Were either way as likely for each unit, T = sum_g (b_g - c_g) / sqrt(sum_g (b_g - c_g)^2)
would lie around 0; with texts as units it is (b - c) / sqrt(b + c) (McNemar 1947). A draw turns every unit either way
by chance, in all slices that have texts of it; p is adjusted as in :mod:`.max_t`. Slices are of what both versions
share: whatever one of them has predicted knows of its errors.
"""

from collections.abc import Sequence

import numpy as np

from tiltmeter.operators.classifiers.errors.slices import max_t
from tiltmeter.operators.classifiers.errors.slices.bits import Bits, common_counts, packed
from tiltmeter.operators.classifiers.errors.slices.conjunctions import conjunctions_of, folded
from tiltmeter.operators.classifiers.errors.slices.group_flips import MIN_GROUPS, MIN_WITHIN, flipped_units
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.classifiers.errors.slices.max_t import Statistics
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, plain
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.units import Units

VERSION = "version_slices/2"

_MOST = 2
"""Predicates of a slice: those of three are many, and few texts move."""


def worse_p(
    members: BoolArray,
    predicates: Sequence[Predicate],
    before: BoolArray,
    after: BoolArray,
    units: Units,
    config: SliceConfig,
    seed: int,
) -> tuple[list[Conjunction], FloatArray]:
    """Slices, and the adjusted p-value of each that it got worse; NaN where texts of fewer than five units moved.

    Args:
        members: ``[predicates, texts]``.
        before, after: ``[texts]``, errors of each version.
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
    bits, worse = packed(members[:, moved]), packed((after & ~before)[np.newaxis, moved])
    statistics = _statistics(bits, conjunctions, worse, members[:, moved], movers, (after & ~before)[moved])
    draws = _turned((after & ~before)[moved], movers, seed, config.num_permutations)
    hits = max_t.reached(bits, conjunctions, statistics, draws)
    return [plain(row) for row in conjunctions], max_t.adjusted(hits, statistics.value, config.num_permutations)


def leading_changes(
    members: BoolArray,
    slices: Sequence[Conjunction],
    p_values: FloatArray,
    before: BoolArray,
    after: BoolArray,
    units: Units,
    alpha: float,
) -> list[int]:
    """Numbers of the slices that say what all say that got worse: each does so beside those that come before it.

    Args:
        members: ``[predicates, texts]``.
        p_values: of :func:`worse_p`.
        units: of the texts.
    """
    change = after.astype(np.int64) - before
    rows = {number: rows_with(members, slices[number]) for number in np.flatnonzero(p_values <= alpha).tolist()}
    values = {number: _standardised(change * inside, units) for number, inside in rows.items()}
    critical, left, chosen = min(values.values(), default=np.inf), np.ones(len(before), dtype=bool), list[int]()
    while values := {number: value for number, value in values.items() if value >= critical}:
        chosen.append(max(values, key=lambda number: (values[number], -len(slices[number]), -number)))
        left &= ~rows[chosen[-1]]
        others = values.keys() - {chosen[-1]}
        values = {number: _standardised(change * (rows[number] & left), units) for number in others}
    return chosen


def _standardised(change: IntArray, units: Units) -> float:
    sums = units.sums(change)
    scale = np.sqrt(np.square(sums).sum())
    return float(sums.sum() / scale) if scale else -np.inf


def _statistics(
    bits: Bits, conjunctions: IntArray, worse: Bits, members: BoolArray, units: Units, is_worse: BoolArray
) -> Statistics:
    everyone = packed(np.ones((1, len(is_worse)), dtype=bool))
    counts = common_counts(bits, conjunctions, np.concatenate([worse, everyone]))
    wrong, moved = counts[:, 0].astype(np.int64), counts[:, 1].astype(np.int64)
    change, scale, tested = np.where(is_worse, 1.0, -1.0), np.zeros(len(moved)), np.zeros(len(moved), dtype=bool)
    for place, conjunction in enumerate(conjunctions):
        inside = rows_with(members, plain(conjunction))
        scale[place] = np.sqrt(np.square(units.sums(change * inside)).sum()) / 2
        tested[place] = np.count_nonzero(units.sums(inside)) >= MIN_WITHIN and scale[place] > 0.0
    value = np.where(tested, (wrong - moved / 2) / np.where(tested, scale, 1.0), np.nan)
    return Statistics(moved, wrong, moved / 2, scale, value)


def _turned(is_worse: BoolArray, units: Units, seed: int, num_draws: int) -> Bits:
    """``[draws, words]``: which texts are worse where the signs of some units are changed."""
    flipped = (flipped_units(units.num, seed, draw)[units.codes] for draw in range(num_draws))
    return np.concatenate([packed((is_worse ^ part)[np.newaxis]) for part in flipped])
