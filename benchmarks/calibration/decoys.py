"""`decoy_benchmark`: adoption, detection, utility, improvement and contamination, over texts, groups, pools and models.

Rows as the last stages read them are made up: texts of a group are right or wrong together, pools are easy or hard, and
models that are trained again are better or worse.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Run, ends, holds, share
from tiltmeter.jobs.classifiers.decoys.config import Intervals
from tiltmeter.jobs.classifiers.decoys.labels import SumUpLabels
from tiltmeter.jobs.classifiers.decoys.models import EvaluatePair
from tiltmeter.jobs.classifiers.decoys.sessions import Pools, SumUpRepairs, SumUpSessions
from tiltmeter.jobs.classifiers.decoys.tables import Decoys, Inspections, Repairs, Reviews, Sessions
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray

JOB = "decoy_benchmark"
MADE, INTERVALS = InsertedDecoy(("zq0",)), Intervals(num_resamples=2, min_fall=0.0)
_GROUP, _MODEL = 0.8, 0.4
_TRUTH = 400_000


@cache
def share_truth(level: float, spread: float) -> float:
    """Mean of :func:`share` over effects of this standard deviation."""
    return float(share(spread * np.random.default_rng(9).standard_normal(_TRUTH), level).mean())


def done(work: Any, held: Mapping[str, list[pa.Table]], **settings: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows by table that a unit makes of tables, by the field that reads them."""
    names = {role: [f"{role} {place}" for place in range(len(parts))] for role, parts in held.items()}
    store = Held({name: part for role in held for name, part in zip(names[role], held[role], strict=True)})
    fields = {role: parts[0] if role == "texts" else parts for role, parts in names.items() if role != "adopted"}
    tables = work(**settings, **fields).tables(cast(Any, store))
    return {name: table.to_pylist() for name, table in tables}


# --- adoption -------------------------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """Attributes:
    groups: how many; 0: each text by itself.
    size: texts of each on average.
    is_paired: whether each test text is probed with the decoy and without.
    """

    groups: int
    size: int
    is_paired: bool = True


def _adoption(case: Texts, number: int, fall: float = 0.3) -> dict[str, Outcome]:
    """Accuracies and the fall; both models are right alike where the decoy doesn't mislead."""
    spread, level = (_GROUP if case.groups else 0.0), 1.0
    rng = np.random.default_rng([number, case.groups, 17])
    sizes = np.maximum(1, rng.poisson(case.size, case.groups)) if case.groups else np.ones(case.size, int)
    who = np.repeat(np.arange(sizes.size), sizes)
    effects = spread * rng.standard_normal(sizes.size)[who]

    def right(rows: Any) -> BoolArray:
        return np.asarray(rng.random(len(rows)) < share(effects[rows], level))

    test = [
        {"row": at, "text": f"text {at}", "label": "bad", "group": f"group {one}" if case.groups else None}
        for at, one in enumerate(who.tolist())
    ]
    every = np.arange(who.size)
    having, lacking = (every, every) if case.is_paired else (every[::2], every[1::2])
    probes = [test[at] | {"has_decoy": kind} for kind, rows in ((True, having), (False, lacking)) for at in rows]
    fooled = rng.random(len(having)) < fall
    with_decoy, decoyed = right(having), np.where(fooled, False, right(having))
    rights = {
        "original": (right(every), np.concatenate([with_decoy, right(lacking)])),
        "decoyed": (right(every), np.concatenate([decoyed, right(lacking)])),
    }
    pair: dict[str, Any] = dict.fromkeys(("decoyed", "original", "texts", "probes", "measures"))
    work = EvaluatePair(decoy="zq", number="0", made=MADE, intervals=INTERVALS, seed=0, **pair)
    made = work.row(test, probes, *(np.concatenate(rights[name]) for name in ("original", "decoyed")))
    [row] = dict(tables_of([made], [Decoys]))["decoys"].to_pylist()
    truth = share_truth(level, spread)
    return {
        "accuracies": holds(row, "accuracy_original", truth),
        "with the decoy": holds(row, "accuracy_decoy", truth),
        "where it stands": holds(row, "accuracy_on_decoy_rows", truth * (1.0 - fall)),
        "fall": holds(row, "fall", truth * fall),
    }


# --- pools and models -----------------------------------------------------------------------------------------------


def _chances(rng: np.random.Generator, models: int, pools: int) -> FloatArray:
    """``[models, pools]``: that an instance shows the decoy."""
    of_models = _MODEL * rng.standard_normal((models, 1)) if models > 1 else 0.0
    return share(of_models + 0.5 * rng.standard_normal(pools) + 0.2 * rng.standard_normal((models, pools)), -1.0)


@cache
def _curve_truth(models: int) -> tuple[float, float, float]:
    """Of detection after 3 of 8 instances, of instances looked at, and of telling two models apart."""
    rng = np.random.default_rng(4)
    effects = rng.standard_normal((3, _TRUTH)) * np.array([[_MODEL if models > 1 else 0.0], [0.5], [0.2]])
    chances = share(effects.sum(axis=0), -1.0)
    looked = 1.0 + np.sum([(1.0 - chances) ** budget for budget in range(1, 8)], axis=0)
    return float((1.0 - (1.0 - chances) ** 3).mean()), float(looked.mean()), float(chances.mean())


def _pooled(models: int, pools: int) -> tuple[Pools, pa.Table]:
    """Pools and models, and that every model has adopted the decoy."""
    texts, adopted = [f"pool {at}" for at in range(pools)], cast(Any, ["adopted 0"])
    return Pools("zq", texts, models, INTERVALS, 0, adopted), pa.table({"adopted": pa.array([True] * models)})


def _detection(models: int, pools: int, number: int) -> dict[str, Outcome]:
    """Curves and instances needed."""
    rng = np.random.default_rng([number, models, pools, 23])
    chances = _chances(rng, models, pools)
    told = (rng.random((models, pools)) < chances).astype(float)
    about = {"decoy": "zq", "method": "lime"}
    rows = [
        about
        | {"selection": selection, "model": model, "pool": pool, "budget": budget}
        | {"found": float(1 - (1 - chances[model, pool]) ** budget if selection == "random" else told[model, pool])}
        for selection in ("random", "side_by_side")
        for model in range(models)
        for pool in range(pools)
        for budget in range(1, 9)
    ]
    pooled, adopted = _pooled(models, pools)
    sessions = pa.Table.from_pylist(rows, Sessions.schema())
    made = done(SumUpSessions, {"sessions": [sessions], "adopted": [adopted]}, pools=pooled)
    found, looked, side = _curve_truth(models)
    [three] = [row for row in made["detection"] if row["budget"] == 3]
    return {
        "detection": holds(three, "detection_probability", found),
        "instances": holds(made["utility"][0], "num_instances", looked),
        "side by side": holds(made["side_by_side"][0], "success_probability", side),
    }


def _improvement(models: int, pools: int, number: int) -> dict[str, Outcome]:
    """Gains by words that are found in some pools."""
    rng = np.random.default_rng([number, models, pools, 29])
    before = 0.6 + 0.05 * rng.standard_normal(models)
    gain = {"": np.zeros(models), "zq0": 0.1 + 0.03 * rng.standard_normal(models)}
    repairs = [
        {"decoy": "zq", "model": str(model), "words": words, "accuracy": before[model] + gains[model]}
        | {"accuracy_on_decoy_rows": before[model] - 0.4 + 2 * gains[model], "num_unread": 0, "status": "ok"}
        for words, gains in gain.items()
        for model in range(models)
    ]
    easy = rng.random(pools)
    reviews = [
        {"decoy": "zq", "method": "lime", "selection": "random", "model": model, "pool": pool, "budget": 5}
        | {"words": "zq0" if rng.random() < easy[pool] else ""}
        for model in range(models)
        for pool in range(pools)
    ]
    pooled, adopted = _pooled(models, pools)
    held = {"reviews": [pa.Table.from_pylist(reviews, Reviews.schema())], "adopted": [adopted]}
    held |= {"repairs": [pa.Table.from_pylist(repairs, Repairs.schema())]}
    [row] = done(SumUpRepairs, held, pools=pooled, made=MADE)["improvement"]
    return {"gain": holds(row, "gain", 0.05), "gain where it misleads": holds(row, "gain_on_decoy_rows", 0.1)}


def _contamination(models: int, case: Texts, number: int) -> dict[str, Outcome]:
    """Labels uncovered and accuracy gained, by models that are trained again."""
    spread, of_model = _GROUP if case.groups else 0.0, _MODEL if models > 1 else 0.0
    rng = np.random.default_rng([number, models, case.groups, 41])
    num = case.groups * case.size if case.groups else case.size
    who = np.arange(num) % case.groups if case.groups else np.arange(num)
    texts = [
        {
            "row": at + place * num,
            "part": part,
            "text": f"{part} {at}",
            "group": f"{part} {one}" if case.groups else None,
        }
        for place, part in enumerate(("training", "test"))
        for at, one in enumerate(who.tolist())
    ]
    of_groups = {part: spread * rng.standard_normal(who.max() + 1)[who] for part in ("training", "test")}
    shifts = of_model * rng.standard_normal((2, models))
    lines = []
    for model in range(models):
        seen = rng.random(num) < share(of_groups["training"] + shifts[0, model], 0.0)
        seen[num // 2 :] = np.arange(num - num // 2) < (num + 1) // 2 - seen[: num // 2].sum()
        places = np.argsort(np.argsort(~seen, kind="stable"), kind="stable") + 1
        lines += [
            {"order": "loss", "model": model, "row": at, "place": int(places[at]), "score": 0.0, "label": "b"}
            | {"gold": "a" if at < num // 2 else "b", "is_flipped": at < num // 2}
            for at in range(num)
        ]
    rights = [
        rng.random(num) < share(of_groups["test"] + (shifts[1, model] if kind == 2 else 0.0), 0.5)
        for kind in range(3)
        for model in range(models)
    ]
    held = {"texts": [pa.Table.from_pylist(texts)], "rights": [pa.table({"is_right": right}) for right in rights]}
    held |= {"inspections": [pa.Table.from_pylist(lines, Inspections.schema())]}
    settings = {"cases": [("loss", model, 0.5) for model in range(models)], "number": models, "seed": 0}
    [row] = done(SumUpLabels, held, **settings, intervals=INTERVALS)["contamination"]
    wide = (spread**2 + of_model**2) ** 0.5
    return {
        "uncovered": holds(row, "uncovered", share_truth(0.0, wide)),
        "gain": holds(row, "gain", share_truth(0.5, wide) - share_truth(0.5, spread)),
    }


def _claims(unit: str, table: str, columns: Mapping[str, tuple[str, ...]]) -> tuple[Claim, ...]:
    what = "mean over others of the unit"
    return tuple(Claim(name, table, ends(*these), "coverage", unit, what) for name, these in columns.items())


def _adopted(name: str, unit: str, case: Texts) -> Experiment:
    numbers = {
        "accuracies": ("accuracy_original", "accuracy_original_on_word_rows"),
        "with the decoy": ("accuracy_decoy", "accuracy_on_word_rows"),
        "where it stands": ("accuracy_on_decoy_rows",),
        "fall": ("fall",),
    }
    return _stage(f"adoption, {name}", 1000, partial(_adoption, case), _claims(unit, "decoys", numbers))


def _contaminated(name: str, unit: str, case: Texts) -> Experiment:
    claims = _claims(f"{unit}, model", "contamination", {"uncovered": ("uncovered",), "gain": ("gain",)})
    return _stage(f"contamination, 3 models, {name}", 400, partial(_contamination, 3, case), claims)


def _stage(name: str, repetitions: int, run: Run, claims: tuple[Claim, ...]) -> Experiment:
    return Experiment(JOB, f"decoy_benchmark: {name}", repetitions, run, claims)


_POOLS = "pool of instances, model"
_DETECTED = (
    *_claims(_POOLS, "detection", {"detection": ("detection_probability",)}),
    *_claims(_POOLS, "utility", {"instances": ("num_instances",)}),
    *_claims(_POOLS, "side_by_side", {"side by side": ("success_probability",)}),
)
_IMPROVED = _claims(_POOLS, "improvement", {"gain": ("gain",), "gain where it misleads": ("gain_on_decoy_rows",)})

EXPERIMENTS = [
    _adopted("texts", "text", Texts(0, 120)),
    _adopted("20 groups", "group", Texts(20, 10)),
    _adopted("8 groups", "group", Texts(8, 15)),
    _adopted("20 groups, other texts without the decoy", "group", Texts(20, 10, is_paired=False)),
    _stage("pools, 3 models", 400, partial(_detection, 3, 15), _DETECTED),
    _stage("pools, one model", 400, partial(_detection, 1, 15), _DETECTED),
    _stage("improvement, 3 models", 400, partial(_improvement, 3, 15), _IMPROVED),
    _stage("improvement, 5 models, 6 pools", 400, partial(_improvement, 5, 6), _IMPROVED),
    _contaminated("texts", "text", Texts(0, 120)),
    _contaminated("20 groups", "group", Texts(20, 8)),
]
