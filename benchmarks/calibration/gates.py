"""`compare`: gates on a night of two systems that are sampled anew, of which the noise is shared within clusters."""

from functools import partial

import numpy as np
import polars as pl

from benchmarks.calibration.registry import Claim, Experiment, Outcome, ends, holds
from tiltmeter.jobs.runtime.table import table_from
from tiltmeter.jobs.upkeep.compare.gates import Gate, Gates
from tiltmeter.jobs.upkeep.compare.pairs import ITEMS, Pair
from tiltmeter.jobs.upkeep.compare.verdicts import judged

JOB = "compare"


def _pair(rng: np.random.Generator, units: int, size: int, repeats: int, fall: float) -> Pair:
    """Items with chances of their own, to be right in each of their repeats; half of the noise is its cluster's."""
    codes = np.repeat(np.arange(units), size)
    chances = rng.uniform(0.1 + fall, 0.9, codes.size)
    columns: dict[str, object] = {"item": [str(place) for place in range(codes.size)]}
    columns["cluster"] = [str(code) for code in codes] if size > 1 else [None] * codes.size
    for side, chance in (("first", chances), ("second", chances - fall)):
        noise = rng.random((codes.size, repeats))
        is_shared = rng.random((codes.size, repeats)) < (0.5 if size > 1 else 0.0)
        right = (np.where(is_shared, rng.random((units, repeats))[codes], noise) < chance[:, None]).astype(np.float64)
        columns |= {side: right.mean(axis=1), f"{side}_repeats": [repeats] * codes.size}
        columns[f"{side}_variance"] = right.var(axis=1, ddof=1) if repeats > 1 else [None] * codes.size
    return Pair("task", "acc", "first", "second", pl.DataFrame(columns, schema=ITEMS))


def _row(gate: Gate, pair: Pair) -> dict[str, object]:
    row = Gates(task=pair.task, score=pair.score, first=pair.first, second=pair.second, fails_if=gate.fails_if)
    row.level, row.nights = gate.level, 1
    return dict(table_from([judged(row, gate, pair, None, 0.95)], Gates).to_pylist()[0])


def _fall(repetition: int, units: int, size: int, repeats: int, fall: float) -> dict[str, Outcome]:
    """One decision whether a system has fallen: it has not, and it has."""
    rng = np.random.default_rng([repetition, units, size])
    gate = Gate("acc", rule="single")
    equal, fallen = (_row(gate, _pair(rng, units, size, repeats, by)) for by in (0.0, fall))
    return {"p": equal["p"], "value": holds(equal, "value", 0.0), "power": fallen["p"]}


def _margin(repetition: int, units: int, size: int, margin: float) -> dict[str, Outcome]:
    """One decision that a system is at most so much worse: it is worse by the margin, and as good."""
    rng = np.random.default_rng([repetition, units, size, 1])
    gate = Gate("acc", kind="non_inferior", margin=margin)
    worse, equal = (_row(gate, _pair(rng, units, size, 1, by)) for by in (margin, 0.0))
    return {"p": worse["p"], "value": holds(worse, "value", -margin), "power": equal["p"]}


def _claims(truth: str, moved: str, power: float) -> tuple[Claim, ...]:
    return (
        Claim("p", "gates", ("p",), "size", "cluster", truth),
        Claim("value", "gates", ends("value"), "coverage", "cluster", truth),
        Claim("power", "gates", ("p",), "power", "cluster", moved, power),
    )


_stage = partial(Experiment, JOB)
_EQUAL, _WORSE = "both systems are equal", "the second is worse by the margin"
EXPERIMENTS = [
    _stage(
        *("a gate on 60 clusters of 5 items, 4 repeats", 1000),
        *(partial(_fall, units=60, size=5, repeats=4, fall=0.08), _claims(_EQUAL, "it fell by 8 points", 0.5)),
    ),
    _stage(
        *("a gate on 400 items", 1000),
        *(partial(_fall, units=400, size=1, repeats=1, fall=0.08), _claims(_EQUAL, "it fell by 8 points", 0.6)),
    ),
    _stage(
        *("a margin of 10 points on 400 items", 1000),
        *(partial(_margin, units=400, size=1, margin=0.1), _claims(_WORSE, "both systems are equal", 0.8)),
    ),
    _stage(
        *("a margin of 10 points on 60 clusters of 5 items", 1000),
        *(partial(_margin, units=60, size=5, margin=0.1), _claims(_WORSE, "both systems are equal", 0.4)),
    ),
]
