"""`entity_resolution`: how good clusters are, from samples of true ones, and whether groups of records differ in it.

Populations are made up: 20,000 entities of up to 61 records, of which some lose records to new clusters, and some are
joined to others. What an interval is for is the number of the whole population.
"""

from functools import cache, partial
from typing import Any, Literal

import numpy as np

from benchmarks.calibration.registry import Claim, Experiment, Outcome
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.quality.estimates import (
    Design,
    compared_groups,
    draw_pairs,
    entity_parts,
    estimates,
    name_parts,
)
from tiltmeter.operators.resolution.quality.overlaps import Overlaps, overlaps
from tiltmeter.operators.statistics.designs.ratios import Parts
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import Inferred, each

JOB = "entity_resolution"
_LEVEL, _NUM = 0.95, 20_000
Kind = Literal["main", "poor", "nearly perfect", "rare merges"]
_SPLIT_AND_MERGED = {
    "main": (0.12, 0.08),
    "poor": (0.45, 0.12),
    "nearly perfect": (0.01, 0.006),
    "rare merges": (0.02, 0.0),
}


def made_up(rng: np.random.Generator, num: int, split: float, merged: float) -> tuple[IntArray, IntArray]:
    """The true cluster of each record, and the one that it was put into."""
    sizes = np.minimum(rng.geometric(0.42, num) + (rng.random(num) < 0.12) * rng.geometric(0.12, num), 61)
    true = np.repeat(np.arange(num), sizes)
    moved = (rng.random(num) < split)[true] & (rng.random(true.size) < 0.3)
    target = np.arange(2 * num)
    joined = np.flatnonzero(rng.random(num) < merged)
    target[joined] = rng.integers(0, num, joined.size)
    return true, target[true + num * moved]


@cache
def _population(kind: Kind) -> tuple[IntArray, IntArray, Overlaps, dict[str, Parts], dict[str, float]]:
    rng = np.random.default_rng(61)
    true, found = made_up(rng, _NUM, *_SPLIT_AND_MERGED[kind])
    if kind == "rare merges":
        middling = rng.permutation(np.flatnonzero(((sizes := np.bincount(true)) >= 12) & (sizes <= 20)))[:24]
        for one, *others in middling.reshape(3, 8):
            found[np.isin(found, others)] = one
    names = np.where(rng.random(true.size) < 0.9, true % 15_000 + 30_000 * (rng.random(true.size) < 0.05), -1)
    table = overlaps(found, true)
    parts = entity_parts(table) | name_parts(true, names)
    truth = {name: float(np.sum(above) / np.sum(below)) for name, (above, below) in parts.items()}
    return true, found, table, parts, truth


def _holds(one: Inferred, truth: float) -> bool | None:
    return None if np.isnan(one.low) else bool(one.low <= truth <= one.high)


def _sampled(kind: Kind, design: Design, num: int, repetition: int) -> dict[str, Outcome]:
    true, found, table, parts, truth = _population(kind)
    rng, num_true = np.random.default_rng([repetition, num, 67]), table.gold_sizes.size
    if design == "by_record":
        draws = np.bincount(true[rng.integers(0, true.size, num)], minlength=num_true)
        chosen, num_draws = np.flatnonzero(draws), draws[np.flatnonzero(draws)]
    else:
        chosen, num_draws = rng.choice(num_true, num, replace=False), None
    part = {name: Parts(above[chosen], below[chosen]) for name, (above, below) in parts.items()}
    sizes = table.gold_sizes[chosen]
    rows = estimates(part, sizes, design, num_draws, true.size, level=_LEVEL)
    held: dict[str, Outcome] = {target: _holds(one, truth[target]) for target, one in rows}
    left, right = draw_pairs(found, 200, repetition)
    of_pairs = share(true[left] == true[right], each(left.size, "labelled pair"), level=_LEVEL)
    return held | {"precision of pairs": _holds(of_pairs, truth["precision"])}


def _targets(bound: float, **others: float) -> tuple[Claim, ...]:
    names = ["precision", "recall", "f1", "cluster_recall", "cluster_precision", "b_cubed_precision", "b_cubed_recall"]
    names += ["matching_rate", "mean_size", "name_variation", "homonymy", "precision of pairs"]
    return tuple(
        Claim(
            name,
            "estimates",
            ("value_low", "value_high"),
            "coverage",
            "labelled pair" if name == "precision of pairs" else "drawn entity",
            f"{name.removesuffix(' of pairs')} of all clusters",
            others.get(name, bound),
            name in others,
        )
        for name in names
    )


# --- groups ---------------------------------------------------------------------------------------------------------


def _grouped(rng: np.random.Generator, num: int, apart: float) -> tuple[Overlaps, IntArray]:
    """Three groups of unlike size, mixed within clusters; records of the last are split off more often by so much."""
    true, found = made_up(rng, num, 0.25, 0.08)
    home = rng.choice(3, num, p=[0.5, 0.3, 0.2])[true]
    groups = np.where(rng.random(true.size) < 0.8, home, rng.choice(3, true.size))
    moved = (groups == 2) & (rng.random(true.size) < apart)
    return overlaps(np.where(moved, 10 * num + np.arange(true.size), found), true), groups


@cache
def _of_groups(apart: float) -> dict[tuple[str, int], tuple[float, float]]:
    table, groups = _grouped(np.random.default_rng(71), 200_000, apart)
    rows = compared_groups(table, groups, 3, level=_LEVEL)
    return {(name, group): (one.value, difference.value) for name, group, one, difference, _ in rows}


def _compared(num: int, apart: float, repetition: int) -> dict[str, Outcome]:
    rows = compared_groups(*_grouped(np.random.default_rng([repetition, num, 73]), num, apart), 3, level=_LEVEL)
    truth, made = _of_groups(apart), dict[str, Outcome]()
    least: dict[str, list[float]] = {}
    for name, group, one, difference, p_holm in rows:
        value, gap = truth[name, group]
        least.setdefault(name, []).append(p_holm)
        if group == 2:
            made[f"{name}: value"], made[f"{name}: difference"] = _holds(one, value), _holds(difference, gap)
            made[f"{name}: p"] = difference.p
    return made | {f"{name}: p_holm": float(np.min(values)) for name, values in least.items()}


def _of_measures(kind: Any, **bounds: float) -> tuple[Claim, ...]:
    unit, null = "true cluster", "a group is as the others" if kind == "size" else "a group is split more often"
    claims = []
    for name in ("precision", "recall", "cluster_recall", "b_cubed_precision", "b_cubed_recall"):
        intervals = {
            "value": ("group_metrics", f"{name} of a group"),
            "difference": ("group_differences", f"its {name}"),
        }
        for column, (table, truth) in intervals.items():
            ends = (f"{column}_low", f"{column}_high")
            claims.append(Claim(f"{name}: {column}", table, ends, "coverage", unit, truth))
        for column in ("p", "p_holm"):
            bound = bounds.get(name) if kind == "power" else None
            if kind == "size" or bound is not None:
                claims.append(Claim(f"{name}: {column}", "group_differences", (column,), kind, unit, null, bound))
    return tuple(claims)


_POWER = {"recall": 0.3, "cluster_recall": 0.5, "b_cubed_recall": 0.5}
_stage = partial(Experiment, JOB, level="operator")
EXPERIMENTS = [
    _stage("entities of 200 records", 500, partial(_sampled, "main", "by_record", 200), _targets(0.92)),
    _stage("poor clusters, entities of 200 records", 500, partial(_sampled, "poor", "by_record", 200), _targets(0.92)),
    _stage("400 entities, none twice", 500, partial(_sampled, "main", "by_cluster", 400), _targets(0.92)),
    _stage(
        "nearly perfect clusters, entities of 200 records",
        500,
        partial(_sampled, "nearly perfect", "by_record", 200),
        _targets(0.92),
    ),
    _stage(
        "three merges of eight clusters, entities of 200 records",
        500,
        partial(_sampled, "rare merges", "by_record", 200),
        _targets(0.92, precision=0.55),
    ),
    _stage("400 true clusters in groups that are alike", 1000, partial(_compared, 400, 0.0), _of_measures("size")),
    _stage("400 true clusters in unlike groups", 400, partial(_compared, 400, 0.15), _of_measures("power", **_POWER)),
]
