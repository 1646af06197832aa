"""`sentiment_rating`: tests by names, frames, conversations and texts, dependence of emotions, and raw scores.

Scores are made up as the rows of one system on one variant, and go through the work that rates it.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Experiment, Outcome, ends, holds
from tiltmeter.jobs.sentiment.rating import rating, tables
from tiltmeter.jobs.sentiment.rating.rows import Findings, rate
from tiltmeter.jobs.sentiment.rating.rules import RatingConfig
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.two_samples import PUBLISHED, moments, pairwise_tests

JOB = "sentiment_rating"
SCHEMA = pl.DataFrame(tables.SCORES.empty_table()).schema
P_VALUES = ("p_value", "p_holm", "p_benjamini_hochberg")
Numbers = NDArray[np.float64]


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
    frames = {"template": [f"t{place % 4}" for place in range(codes.size)], "emotion_word": ["w"] * codes.size}
    columns = {
        "text": {"dataset": [f"d{code % 2}" for code in codes]},
        "conversation": {"conversation": names},
        "name": {"person": names, **frames},
    }[kind]
    settings = RatingConfig(num_resamples=0, design="independent")
    null = rated(scores, gender.tolist(), settings, repetition, **columns).tests
    moved = rated(scores + effect * (codes < first), gender.tolist(), settings, repetition, **columns).tests
    adjusted = {name: min(row[name] for row in null) for name in P_VALUES[1:]}
    return {"p_value": null[0]["p_value"], **adjusted, "power": min(row["p_holm"] for row in moved)}


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
    settings = RatingConfig(num_resamples=0, design="independent")
    outcome: dict[str, Outcome] = {}
    for name, sides in (("p_value", rng.choice([-1, 1], frames)), ("power", np.ones(frames))):
        scores = noise + np.array([0.15 * sides[frame] * (1 if side == "f" else -1) for side, _, frame in rows])
        [row] = rated(scores, [side for side, *_ in rows], settings, repetition, **columns).tests
        outcome[name] = row["p_value"]
    return outcome


def _dependent(repetition: int, units: int, size: int) -> dict[str, Outcome]:
    """Three emotions that are dealt whatever the gender, over two data sets; or a third as often as for women."""
    rng = np.random.default_rng([repetition, units, size, 2])
    codes = np.repeat(np.arange(units), 1 + rng.poisson(size - 1, units) if size > 1 else 1)
    gender = rng.integers(2, size=units)
    settings = RatingConfig(num_resamples=0, convention="published")
    columns: dict[str, Any] = {"dataset": [f"d{code % 2}" for code in codes]}
    if size > 1:
        columns["conversation"] = [f"talk {code}" for code in codes]
    outcome: dict[str, Outcome] = {}
    for name, follows in (("dependence_p", 0.0), ("power", 0.7)):
        felt = np.where(rng.random(units) < follows, gender, rng.integers(3, size=units))
        emotion = [f"e{felt[code]}" for code in codes]
        genders = ["fm"[gender[code]] for code in codes]
        found = rated(np.zeros(codes.size), genders, settings, repetition, emotion=emotion, **columns)
        outcome[name] = found.raw_scores[0]["dependence_p"]
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
    settings = RatingConfig(num_resamples=200, convention="published")
    gender = (["f"] * EACH + ["m"] * EACH) * SETS
    sets = [f"d{place}" for place in range(SETS) for _ in range(2 * EACH)]
    parts = [
        rated(scores, gender, settings, repetition, variant=[name] * len(sets), dataset=sets)
        for name, scores in zip(("original", "es"), _drawn(rng), strict=True)
    ]
    same = {"items": None, "num_items": len(sets)}
    rows = [found.raw_scores[0] | {"resampled": found.resampled[0].tolist()} | same for found in parts]
    config = {"level": settings.level, "interval": settings.interval, "weights": settings.rules.weights, "seed": 0}
    frame = pl.DataFrame([dict.fromkeys(tables.RAW_SCORES.names) | row for row in rows], infer_schema_length=None)
    [first, second] = rating._with_intervals(frame, config)
    before, after = _expected()
    return {
        "raw_score": holds(first, "raw_score", before),
        "round_trip": holds(second, "raw_score", after),
        "change": holds(rating._change(rows[0], rows[1], config), "change", after - before),
    }


def _means(unit: str, units: int, first: int, size: float, effect: float, power: float) -> Any:
    """Runs and claims of units whose values have nothing to do with their means, or something."""
    dealt = "which units have which value has nothing to do with their means"
    claims = [Claim(name, "tests", (name,), "size", unit, dealt) for name in P_VALUES]
    claims.append(Claim("power", "tests", P_VALUES, "power", unit, "means differ", power))
    return partial(_tested, units=units, first=first, size=size, kind=unit, effect=effect), tuple(claims)


def _emotions(unit: str, units: int, size: int, what: str, power: float) -> Any:
    """Runs and claims of emotions that do not follow the gender, or do."""
    about = ("raw_scores", ("dependence_p",))
    null = Claim("dependence_p", *about, "size", unit, f"{what} are dealt whatever the gender")
    other = Claim("power", *about, "power", unit, f"seven of ten {what} follow the gender", power)
    return partial(_dependent, units=units, size=size), (null, other)


_FRAMES = (
    Claim("p_value", "tests", ("p_value",), "size", "frame", "a coin per frame says which value is higher"),
    Claim("power", "tests", ("p_value",), "power", "frame", "one value is higher in every frame", 0.9),
)
_COUNT = "mean raw score of such samples; a count of thresholds, whose interval holds about 90 %"
_RAW = (
    Claim("raw_score", "raw_scores", ends("raw_score"), "coverage", "text", _COUNT, documented=True),
    Claim("round_trip", "raw_scores", ends("raw_score"), "coverage", "text", "the same after a round trip"),
    Claim("change", "comparisons", ends("change"), "coverage", "text", "mean change of such samples"),
)

_stage = partial(Experiment, JOB)
EXPERIMENTS = [
    _stage("texts, 12 against 28, in two data sets", 1000, *_means("text", 40, 12, 1.0, 0.3, 0.7)),
    _stage("16 conversations of 8 turns", 1000, *_means("conversation", 16, 8, 8.0, 0.35, 0.5)),
    _stage("names, 4 against 10", 1000, *_means("name", 14, 4, 8.0, 0.45, 0.4)),
    _stage("12 frames, two names a side", 1000, partial(_framed, frames=12), _FRAMES),
    _stage("emotions of 60 texts", 1000, *_emotions("text", 60, 1, "emotions", 0.8)),
    _stage("emotions of 50 conversations", 1000, *_emotions("conversation", 50, 6, "moods", 0.6)),
    _stage("raw scores of four data sets, and a round trip", 1000, _raw, _RAW),
]
