"""`entity_resolution`: reliability of scores among pairs of clusters that were drawn from a population.

Entities of three records lie in blocks of six, whose pairs are scored with effects of entities and records.
Half of the entities are held out. What is true of a bin of their pairs is the share of matches among all pairs of
19,998 entities with scores between its ends.
"""

from functools import cache

import numpy as np

from benchmarks.calibration.registry import Claim, Experiment, Outcome, ends, share
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.resolution.records.calibration import Labels, equal_bins, reliability

_BLOCK, _COPIES, _BIN = 6, 3, 7
"""Entities of a block, their records, and the bin that is looked at, where scores are neither near 0 nor near 1."""


def _population(num: int, seed: int) -> tuple[FloatArray, BoolArray, IntArray]:
    """Scores, matches and both entities of all pairs within blocks."""
    rng = np.random.default_rng(seed)
    entity = (np.arange(num * _COPIES) // _COPIES).reshape(-1, _BLOCK * _COPIES)
    ends = np.triu_indices(_BLOCK * _COPIES, 1)
    units = np.stack([entity[:, end].ravel() for end in ends], axis=1)
    effect = rng.normal(0, 0.5, num)[entity] + rng.normal(0, 0.5, entity.shape)
    is_match = units[:, 0] == units[:, 1]
    noise = sum(effect[:, end].ravel() for end in ends) + rng.normal(0, 1, is_match.size)
    return share(2 * (np.where(is_match, 1.5, -1.5) + noise)), is_match, units


@cache
def _all_pairs() -> tuple[FloatArray, FloatArray]:
    scores, is_match, _ = _population(19_998, 10**9)
    order = np.argsort(scores)
    return scores[order], np.append(0.0, np.cumsum(is_match[order]))


def _reliability(number: int) -> dict[str, Outcome]:
    num, rng = 402, np.random.default_rng([1, number])
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
