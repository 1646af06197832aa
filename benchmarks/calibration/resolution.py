"""`entity_resolution`: reliability of scores among pairs of clusters that were drawn from a population.

Entities of one to four records lie in blocks of six, whose pairs are scored with effects of entities and records.
Half of the entities are held out. What is true of a bin of their pairs is the share of matches among all pairs of
20,000 entities with scores between its ends.
"""

from functools import cache

import numpy as np

from benchmarks.calibration.registry import Claim, Experiment, Outcome, ends, share
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.resolution.records.calibration import Labels, equal_bins, reliability

_BLOCK, _BIN = 6, 7
"""Entities of a block; the bin that is looked at, where scores are neither near 0 nor near 1."""


def _population(num: int, seed: int) -> tuple[FloatArray, BoolArray, IntArray]:
    """Scores, matches and both entities of all pairs within blocks."""
    rng = np.random.default_rng(seed)
    entity = np.repeat(np.arange(num), rng.integers(1, 5, num))
    one, other = np.triu_indices(4 * _BLOCK, 1)
    starts = np.searchsorted(entity, np.arange(0, num, _BLOCK))
    sizes = np.diff(np.append(starts, entity.size))
    pairs = [
        (one[other < size] + start, other[other < size] + start) for start, size in zip(starts, sizes, strict=True)
    ]
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    effect = rng.normal(0, 0.5, num)[entity] + rng.normal(0, 0.5, entity.size)
    is_match = entity[left] == entity[right]
    evidence = np.where(is_match, 1.5, -1.5) + effect[left] + effect[right] + rng.normal(0, 1, left.size)
    return share(2 * evidence), is_match, np.stack([entity[left], entity[right]], axis=1)


@cache
def _all_pairs() -> tuple[FloatArray, FloatArray]:
    scores, is_match, _ = _population(20_000, 10**9)
    order = np.argsort(scores)
    return scores[order], np.append(0.0, np.cumsum(is_match[order]))


def _reliability(number: int) -> dict[str, Outcome]:
    num, rng = 400, np.random.default_rng([1, number])
    scores, is_match, units = _population(num, number)
    held = np.isin(units, rng.permutation(num)[: num // 2]).all(axis=1)
    scores, is_match = scores[held], is_match[held]
    labels = Labels(scores, is_match, np.ones(scores.size), units[held], kept=(num // 2 - 1) / (num - 1))
    found = reliability(scores, labels, kind="entity", level=0.95)[_BIN].share
    inside = scores[equal_bins(scores) == _BIN]
    known, matches = _all_pairs()
    low, high = np.searchsorted(known, inside.min()), np.searchsorted(known, inside.max(), side="right")
    return {"share": bool(found.low <= (matches[high] - matches[low]) / (high - low) <= found.high)}


_CLAIM = Claim("share", "reliability", ends("share"), "coverage", "entity", "share among all pairs of such scores")
EXPERIMENTS = [
    Experiment("entity_resolution", "pairs of entities that were held out", 1000, _reliability, (_CLAIM,), "operator")
]
