"""`gender_adversary`: victims that can't know gender, a planted word, and texts in groups whose rates are known.

The victims are in :mod:`.adversary_worlds`. Of the texts, flips, falls and controls are made up and go through the work
of the last stage: in each group either of the two ways flips more, by a coin, and a direction differs from the next as
controls differ among themselves.
"""

from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.adversary_worlds import (
    RANKS,
    SETTINGS,
    SUMMARY,
    Held,
    attacked,
    configured,
    drawn_labels,
    planted_labels,
    told_labels,
)
from benchmarks.calibration.registry import Claim, Experiment, Outcome
from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.adversary.evaluating import stage as evaluating
from tiltmeter.jobs.adversary.vectors import WholeVectors

JOB = "gender_adversary"
DIRECTIONS = ("pair_to_female", "pair_to_male")
BASE, ABLE, NUM_CONTROLS = 0.25, 0.75, 39


class Case(NamedTuple):
    """Made-up texts: how many groups, of how many texts, with how many replicas; and by how much to women differs."""

    num_groups: int
    group_size: float
    num_replicas: int = 0
    lead: float = 0.0


@cache
def rated_config() -> GenderAdversaryRun:
    """Settings of the last stage."""
    return configured(*SETTINGS, f"controls.number={NUM_CONTROLS}", "victim=linear")


def rated(repetition: int, case: Case) -> dict[str, Outcome]:
    """What the last stage makes of flips whose chances are known."""
    draws = np.random.default_rng([repetition, case.num_groups, case.num_replicas, 7])
    sizes = 1 + draws.poisson(case.group_size - 1.0, case.num_groups)
    groups = np.repeat(np.arange(case.num_groups), sizes)
    able = draws.random(groups.size) < ABLE
    kinds = np.clip(draws.normal(1.0, 0.15, 1 + NUM_CONTROLS), 0.5, 1.5)
    replicas = np.clip(draws.normal(1.0, 0.1, 1 + case.num_replicas), 0.7, 1.3) if case.num_replicas else np.ones(1)
    parts = [
        part
        for control in range(-1, NUM_CONTROLS)
        for part in _both_ways(
            draws, groups, kinds[control + 1], replicas[: 1 if control >= 0 else None], control, case
        )
    ]
    summary = _summary_of(
        groups, able, pl.concat(parts).filter(pl.col("row").is_in(np.flatnonzero(able).tolist())), case
    )
    [row] = [row for row in summary if (row["direction"], row["stratum"]) == (DIRECTIONS[0], "all")]
    rate = BASE * (kinds[0] + case.lead)
    truths = {"changeable_rate": rate, "flip_rate": ABLE * rate, "excess": ABLE * (rate - BASE * kinds[1:].mean())}
    held = {
        name: None if row[f"{name}_low"] is None else bool(row[f"{name}_low"] <= truth <= row[f"{name}_high"])
        for name, truth in truths.items()
    }
    adjusted = min(one["p_adjusted"] for one in summary if one["stratum"] == "all")
    return held | {name: row[name] for name in SIGNS + RANKS} | {"p_adjusted": adjusted}


SIGNS = ("asymmetry_p", "asymmetry_p_adjusted")


def _both_ways(
    draws: np.random.Generator,
    groups: NDArray[np.int64],
    kind: float,
    replicas: NDArray[np.float64],
    control: int,
    case: Case,
) -> list[pl.DataFrame]:
    """Of every text along a direction and back; which way a group flips more, a coin says."""
    ways = np.clip(draws.normal(1.0, 0.3, (2, case.num_groups)), 0.4, 1.6)
    found = []
    for name, way, lead in zip(DIRECTIONS, ways, (case.lead if control < 0 else 0.0, 0.0), strict=True):
        chances = BASE * (kind + lead) * way[groups]
        luck = draws.random(groups.size)
        for number, replica in enumerate(replicas):
            columns = {"row": np.arange(groups.size), "is_flip": luck < chances * replica, "fall": chances}
            same: dict[str, Any] = {
                "victim": pl.lit("linear"),
                "direction": pl.lit(name),
                "control": control,
                "replica": number,
            }
            sizes: dict[str, Any] = {"num_candidates": pl.lit(2, pl.Int32), "log10_size": draws.normal(1.0, 0.1)}
            found.append(pl.DataFrame(columns).with_columns(**same, **sizes))
    return found


def _summary_of(
    groups: NDArray[np.int64], able: NDArray[np.bool_], outcomes: pl.DataFrame, case: Case
) -> list[dict[str, Any]]:
    held, named = Held(), [None if case.group_size == 1.0 else f"group {group}" for group in groups]
    texts = [
        {"row": row, "victim": "linear", "text": f"text {row}", "group": group, "predicted": "a", "has_female": False}
        | {"has_male": False}
        for row, group in enumerate(named)
    ]
    attacks = [
        {"row": row, "victim": "linear", "direction": name, "search": "ladder"}
        | {"status": "robust_proven" if able[row] else "no_candidate", "num_changes": 0}
        for row in range(groups.size)
        for name in DIRECTIONS
    ]
    made = {
        "texts": pa.Table.from_pylist(texts, tables.TEXTS),
        "attacks": pa.Table.from_pylist(attacks, tables.ATTACKS),
        "substitutions": tables.SUBSTITUTIONS.empty_table(),
        "outcomes": outcomes.select(tables.OUTCOMES.names).to_arrow().cast(tables.OUTCOMES),
    }
    embedding = WholeVectors(
        [held.put(tables.PAIRS.empty_table())] * (1 + case.num_replicas), {"number": case.num_replicas}
    )
    refs = {name: [held.put(table, name)] for name, table in made.items()}
    [found] = evaluating.evaluate(cast(Runner, held), rated_config(), refs, [], embedding)[SUMMARY]
    return pl.DataFrame(held.read(found)).to_dicts()


# --- what is claimed ------------------------------------------------------------------------------------------------

LABELS_DEALT = "labels are dealt anew: no victim can know gender"
MASKED = "the victim neither learns nor reads gendered words"
PLANTED = "of 30 in 100 training texts the first word, a man's or a woman's, decides the class"
ALIKE = "the direction is one like its controls"
EITHER = "in each group either way is as likely to flip more"


def _ranks(kind: str, truth: str, bound: float | None = None) -> tuple[Claim, ...]:
    return tuple(Claim(name, SUMMARY, (name,), cast(Any, kind), "direction", truth, bound) for name in RANKS)


def _planted() -> tuple[Claim, ...]:
    """At equal size, to which a line through controls of nearly one size leads, there is little to find."""
    claims = _victims("power", PLANTED, 0.8)
    return tuple(replace(claim, bound=0.2) if claim.name == "size_p_value" else claim for claim in claims)


def _victims(kind: str, truth: str, bound: float | None = None) -> tuple[Claim, ...]:
    """Ranks, and a side as the page names it: where both p-values are small."""
    both = ("asymmetry_p_adjusted", "asymmetry_control_p")
    return (
        *_ranks(kind, truth, bound),
        Claim("side", SUMMARY, both, cast(Any, kind), "text and direction", truth, bound),
    )


def _rated(unit: str) -> tuple[Claim, ...]:
    ends = [
        Claim(name, SUMMARY, (f"{name}_low", f"{name}_high"), "coverage", unit, "chances that were drawn")
        for name in ("flip_rate", "changeable_rate", "excess")
    ]
    signs = [Claim(name, SUMMARY, (name,), "size", unit, EITHER) for name in SIGNS]
    adjusted = Claim("p_adjusted", SUMMARY, ("p_adjusted",), "size", "direction", ALIKE)
    return (*ends, *signs, *_ranks("size", ALIKE), adjusted)


def _experiment(name: str, repetitions: int, run: Any, claims: tuple[Claim, ...]) -> Experiment:
    return Experiment(f"{JOB}: {name}", JOB, "stage", repetitions, run, claims)


MORE = "to women flips 2.5 times as many"
_POWER = tuple(Claim(name, SUMMARY, (name,), "power", "group", MORE, 0.5) for name in (*SIGNS, "p_adjusted"))
EXPERIMENTS = [
    _experiment(
        "labels dealt anew",
        200,
        partial(attacked, labels=drawn_labels, victim="linear"),
        _victims("size", LABELS_DEALT),
    ),
    _experiment(
        "gendered words masked",
        200,
        partial(attacked, labels=told_labels, victim="linear_masked"),
        _victims("size", MASKED),
    ),
    _experiment(
        "a planted word",
        200,
        partial(attacked, labels=planted_labels, victim="linear", planted=True),
        _planted(),
    ),
    _experiment("texts alone", 400, partial(rated, case=Case(80, 1.0)), _rated("text")),
    _experiment("20 groups of about 5", 400, partial(rated, case=Case(20, 5.0)), _rated("group")),
    _experiment("8 groups of about 10", 400, partial(rated, case=Case(8, 10.0)), _rated("group")),
    _experiment("20 groups, 8 replicas", 400, partial(rated, case=Case(20, 5.0, 8)), _rated("group")),
    _experiment(
        "20 groups, more flips to women",
        200,
        partial(rated, case=Case(20, 5.0, 0, 1.5)),
        (*_POWER, *_ranks("power", MORE, 0.5)),
    ),
]
