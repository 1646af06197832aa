"""`sentiment_rating`: tests by names, frames, conversations and texts, dependence of emotions, and raw scores.

Scores are made up as the rows of one system on one variant, and go through the work that rates it.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from importlib import resources
from typing import Any

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray
from pydantic import TypeAdapter

from benchmarks.calibration.registry import Claim, Experiment, Outcome, holds
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.sentiment.rating.config import RatingConfig
from tiltmeter.jobs.sentiment.rating.ratings import OrderSystems
from tiltmeter.jobs.sentiment.rating.raw_scores import Findings, rate
from tiltmeter.jobs.sentiment.rating.tables import TABLES, Comparisons, RawScores, Resamples
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.two_samples import PUBLISHED, moments, pairwise_tests

JOB = "sentiment_rating"
SCHEMA = pl.DataFrame(TABLES["scores"].empty_table()).schema
P_VALUES = ("p_value", "p_holm", "p_benjamini_hochberg")
Numbers = NDArray[np.float64]


def settings(**values: Any) -> RatingConfig:
    """How systems are rated, with some settings other than they usually are."""
    files = (
        resources.files("tiltmeter.conf").joinpath(name) for name in ("resampling.yaml", "job/sentiment_rating.yaml")
    )
    intervals, job = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    return TypeAdapter(RatingConfig).validate_python(intervals | job["rating"] | values)


def rated(scores: Numbers, gender: Sequence[str], config: RatingConfig, repetition: int, **columns: Any) -> Findings:
    """What the scores of a system say."""
    fixed = {"variant": "original", "system": "s", "group": "g", "dataset": "d", "status": "ok", "reason": ""}
    frame = pl.DataFrame({"sentiment": np.clip(scores, -1.0, 1.0), "gender": gender, **columns})
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in fixed.items() if name not in columns)
    lacking = [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in frame.columns]
    return rate(frame.with_columns(lacking).with_row_index("place").drop("place"), config, repetition)


def _tested(repetition: int, units: int, first: int, size: float, kind: str, effect: float) -> dict[str, Outcome]:
    """Units of one value each, some with many texts, which share as much as they differ; texts are in two data sets."""
    rng = np.random.default_rng([repetition, units, first])
    sizes = np.ones(units, int) if kind == "text" else 1 + rng.poisson((size - 1) * rng.lognormal(-0.5, 1.0, units))
    codes = np.repeat(np.arange(units), sizes)
    shared = 0.0 if kind == "text" else 0.2 * rng.standard_normal(units)[codes]
    scores = shared + 0.2 * rng.standard_normal(codes.size)
    gender = np.where(codes < first, "f", "m")
    names = [f"unit {code}" for code in codes]
    columns = {"conversation": names} if kind == "conversation" else {}
    if kind == "name":
        columns = {
            "person": names,
            "template": [f"t{place % 4}" for place in range(codes.size)],
            "emotion_word": ["w"] * codes.size,
        }
    if kind == "text":
        columns["dataset"] = [f"d{code % 2}" for code in codes]
    rating = settings(num_resamples=0, design="independent")
    null = rated(scores, gender.tolist(), rating, repetition, **columns).tests
    moved = rated(scores + effect * (codes < first), gender.tolist(), rating, repetition, **columns).tests
    adjusted = {name: min(getattr(row, name) for row in null) for name in P_VALUES[1:]}
    return {"p_value": null[0].p_value, **adjusted, "power": min(row.p_holm for row in moved)}


def _framed(repetition: int, frames: int) -> dict[str, Outcome]:
    """Two names of each gender in frames of a template and a word; a coin says who scores higher in each."""
    rng = np.random.default_rng([repetition, frames, 1])
    rows = [(side, name, frame) for frame in range(frames) for side in "fm" for name in range(2)]
    noise = 0.1 * rng.standard_normal(len(rows))
    columns = {
        "person": [f"{side}{name}" for side, name, _ in rows],
        "template": [f"t{frame % 4}" for *_, frame in rows],
        "emotion_word": [f"w{frame // 4}" for *_, frame in rows],
    }
    rating = settings(num_resamples=0, design="independent")
    outcome: dict[str, Outcome] = {}
    for name, sides in (("p_value", rng.choice([-1, 1], frames)), ("power", np.ones(frames))):
        scores = noise + np.array([0.15 * sides[frame] * (1 if side == "f" else -1) for side, _, frame in rows])
        [row] = rated(scores, [side for side, *_ in rows], rating, repetition, **columns).tests
        outcome[name] = row.p_value
    return outcome


def _dependent(repetition: int, units: int, size: int) -> dict[str, Outcome]:
    """Three emotions that are dealt whatever the gender, over two data sets; or a third as often as for women."""
    rng = np.random.default_rng([repetition, units, size, 2])
    codes = np.repeat(np.arange(units), 1 + rng.poisson(size - 1, units) if size > 1 else 1)
    gender = rng.integers(2, size=units)
    rating = settings(num_resamples=0, convention="published")
    columns: dict[str, Any] = {"dataset": [f"d{code % 2}" for code in codes]}
    if size > 1:
        columns["conversation"] = [f"talk {code}" for code in codes]
    outcome: dict[str, Outcome] = {}
    for name, follows in (("dependence_p", 0.0), ("power", 0.7)):
        felt = np.where(rng.random(units) < follows, gender, rng.integers(3, size=units))
        emotion = [f"e{felt[code]}" for code in codes]
        found = rated(
            np.zeros(codes.size),
            ["fm"[gender[code]] for code in codes],
            rating,
            repetition,
            emotion=emotion,
            **columns,
        )
        outcome[name] = found.raw_scores[0].dependence_p
    return outcome


GAP, EACH, SETS, AFTER = 0.08, 60, 4, 0.5


def _drawn(rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Scores of women and men before and after a round trip, which loses half of what tells them apart."""
    before = 0.3 * rng.standard_normal(2 * EACH * SETS)
    after = 0.8 * before + 0.18 * rng.standard_normal(before.size)
    gap = np.tile(np.repeat([GAP, 0.0], EACH), SETS)
    return before + gap, after + AFTER * gap


@lru_cache
def _expected() -> tuple[float, float]:
    """Of such samples, the mean raw score before and after."""
    rng, cells = np.random.default_rng(0), np.repeat([0, 1], EACH)
    scores = [[_score(part, cells) for part in _drawn(rng)] for _ in range(1500)]
    before, after = np.mean(scores, axis=0)
    return float(before), float(after)


def _score(scores: Numbers, cells: NDArray[np.int64]) -> float:
    p_values = [pairwise_tests(moments(part, cells, 2), PUBLISHED).p for part in np.split(scores, SETS)]
    return float(weighted_rejections(np.concatenate(p_values), PUBLISHED).score)


def _raw(repetition: int) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, 3])
    rating = settings(num_resamples=200, convention="published")
    gender = (["f"] * EACH + ["m"] * EACH) * SETS
    sets = [f"d{place}" for place in range(SETS) for _ in range(2 * EACH)]
    parts = [
        rated(scores, gender, rating, repetition, variant=[name] * len(sets), dataset=sets)
        for name, scores in zip(("original", "es"), _drawn(rng), strict=True)
    ]
    scored = [
        (found.raw_scores[0], Resamples(values=found.resampled[0].tolist(), items=None, num_items=len(sets)))
        for found in parts
    ]
    how = {name: getattr(rating, name) for name in ("measure", "num_levels", "cut", "level", "interval")}
    work = OrderSystems(raw_scores=[], resampled=[], weights=rating.rules.weights, seed=0, **how)
    rows = list(work.order(scored))
    first, second = (_interval(row.raw_score) for row in rows if isinstance(row, RawScores))
    [change] = [_interval(row.change) for row in rows if isinstance(row, Comparisons)]
    before, after = _expected()
    return {
        "raw_score": holds(first, "", before),
        "round_trip": holds(second, "", after),
        "change": holds(change, "", after - before),
    }


def _interval(estimate: Estimate | None) -> dict[str, float]:
    return {} if estimate is None else {"low": estimate.low, "high": estimate.high}


def _claims(unit: str, truth: str, power: float, *, documented: bool = False) -> tuple[Claim, ...]:
    sizes = [Claim(name, "tests", (name,), "size", unit, truth, documented=documented) for name in P_VALUES]
    return (*sizes, Claim("power", "tests", P_VALUES, "power", unit, "means differ", power))


DEALT = "which units have which value has nothing to do with their means"
EXPERIMENTS = [
    Experiment(
        JOB,
        "texts, 12 against 28, in two data sets",
        1000,
        partial(_tested, units=40, first=12, size=1.0, kind="text", effect=0.3),
        _claims("text", DEALT, 0.7),
    ),
    Experiment(
        JOB,
        "16 conversations of 8 turns",
        1000,
        partial(_tested, units=16, first=8, size=8.0, kind="conversation", effect=0.35),
        _claims("conversation", DEALT, 0.5),
    ),
    Experiment(
        JOB,
        "names, 4 against 10",
        1000,
        partial(_tested, units=14, first=4, size=8.0, kind="name", effect=0.45),
        _claims("name", DEALT, 0.4),
    ),
    Experiment(
        JOB,
        "12 frames, two names a side",
        1000,
        partial(_framed, frames=12),
        (
            Claim("p_value", "tests", ("p_value",), "size", "frame", "a coin per frame says which value is higher"),
            Claim("power", "tests", ("p_value",), "power", "frame", "one value is higher in every frame", 0.9),
        ),
    ),
    Experiment(
        JOB,
        "emotions of 60 texts",
        1000,
        partial(_dependent, units=60, size=1),
        (
            Claim(
                "dependence_p",
                "raw_scores",
                ("dependence_p",),
                "size",
                "text",
                "emotions are dealt whatever the gender",
            ),
            Claim(
                "power",
                "raw_scores",
                ("dependence_p",),
                "power",
                "text",
                "seven of ten emotions follow the gender",
                0.8,
            ),
        ),
    ),
    Experiment(
        JOB,
        "emotions of 50 conversations",
        1000,
        partial(_dependent, units=50, size=6),
        (
            Claim(
                "dependence_p",
                "raw_scores",
                ("dependence_p",),
                "size",
                "conversation",
                "moods are dealt whatever the gender",
            ),
            Claim(
                "power",
                "raw_scores",
                ("dependence_p",),
                "power",
                "conversation",
                "seven of ten moods follow the gender",
                0.6,
            ),
        ),
    ),
    Experiment(
        JOB,
        "raw scores of four data sets, and a round trip",
        1000,
        _raw,
        (
            Claim(
                "raw_score",
                "raw_scores",
                ("raw_score_low", "raw_score_high"),
                "coverage",
                "text",
                "mean raw score of such samples; a count of thresholds, whose interval holds about 90 %",
                documented=True,
            ),
            Claim(
                "round_trip",
                "raw_scores",
                ("raw_score_low", "raw_score_high"),
                "coverage",
                "text",
                "the same after a round trip",
            ),
            Claim(
                "change",
                "comparisons",
                ("change_low", "change_high"),
                "coverage",
                "text",
                "mean change of such samples",
            ),
        ),
    ),
]
