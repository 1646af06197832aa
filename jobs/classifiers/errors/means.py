"""Means over splits, with intervals, of what each split has measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors import tables
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.error_models import BASELINES
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.classifiers.errors import splits
from tiltmeter.operators.classifiers.errors.splits import repeated
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

ALL = "all"


def sum_up(
    runner: Runner, config: ErrorCharacterisationRun, parts: Sequence[Mapping[str, TableRef]]
) -> dict[str, Sequence[TableRef]]:
    """The published tables about the forest and what it is held against."""
    names = ("measures", "precision", "coverage", "features")
    inputs = {name: [part[name] for part in parts] for name in names}
    settings = {"operator": splits.VERSION, "test": config.splits.test, "level": config.job.level}
    unit = Unit("error_model_means/2", "means over splits", settings, inputs)
    [done] = runner.run_whole(Stage("sum up", each(_sum), {"texts": [unit]}))["texts"]
    return {name: [ref] for name, ref in done.tables.items()}


def _sum(store: Store, unit: Unit) -> Tables:
    frames = {
        name: pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in refs])
        for name, refs in unit.inputs.items()
    }
    test, level = unit.config["test"], unit.config["level"]
    yield (
        "error_models",
        table_of(
            list(_with_means(frames["measures"], ["score", "measure"], "value", test, level)), tables.ERROR_MODELS
        ),
    )
    yield (
        "precision_at_k",
        table_of(
            list(_with_means(frames["precision"], ["score", "k"], "precision", test, level)), tables.PRECISION_AT_K
        ),
    )
    yield (
        "precision_differences",
        table_of(list(_differences(frames["precision"], test, level)), tables.PRECISION_DIFFERENCES),
    )
    coverage = frames["coverage"].group_by("score", "coverage", maintain_order=True).agg(pl.col("risk").mean())
    yield "risk_coverage", table_of(coverage.to_dicts(), tables.RISK_COVERAGE)
    yield "feature_power", table_of(list(_power(frames["features"], test, level)), tables.FEATURE_POWER)


def _with_means(rows: pl.DataFrame, keys: list[str], name: str, test: float, level: float) -> Iterable[dict[str, Any]]:
    """The mean of each key over splits, and the splits."""
    for values, part in rows.group_by(keys, maintain_order=True):
        mean = repeated(part[name].to_numpy(), test, level, LOGIT)
        band = {f"{name}_band_low": mean.band_low, f"{name}_band_high": mean.band_high}
        ends = {"low": mean.low, "high": mean.high}
        yield dict(zip(keys, values, strict=True)) | {"split": ALL, name: mean.mean} | ends | band
        yield from (row | {"split": str(row["split"])} for row in part.to_dicts())


def _differences(rows: pl.DataFrame, test: float, level: float) -> Iterable[dict[str, Any]]:
    scores = rows["score"].unique(maintain_order=True).to_list()
    for baseline in (name for name in BASELINES if name in scores):
        paired = rows.join(rows.filter(score=baseline), on=["split", "k"], suffix="_of_baseline")
        others = paired.filter(pl.col("score") != baseline)
        for (score, size), part in others.group_by("score", "k", maintain_order=True):
            differences = part["precision"] - part["precision_of_baseline"]
            mean = repeated(differences.to_numpy(), test, level, FISHER)
            yield {
                "score": score,
                "baseline": baseline,
                "k": size,
                "difference": mean.mean,
                "difference_low": mean.low,
                "difference_high": mean.high,
            }


def _power(rows: pl.DataFrame, test: float, level: float) -> Iterable[dict[str, Any]]:
    """Features by how far their AUROC alone lies from one half."""
    made = []
    for (feature,), part in rows.group_by("feature", maintain_order=True):
        alone, falls = (
            repeated(part[name].to_numpy(), test, level, scale)
            for name, scale in {"auroc": LOGIT, "importance": FISHER}.items()
        )
        made.append(
            {"feature": feature, "share": part["share"][0], "part": part["part"][0]}
            | {"auroc": alone.mean, "auroc_low": alone.low, "auroc_high": alone.high}
            | {"importance": falls.mean, "importance_low": falls.low, "importance_high": falls.high}
            | {"gini_importance": part["gini_importance"].mean()}
        )
    return sorted(made, key=lambda row: (-abs(np.nan_to_num(row["auroc"] - 0.5)), row["feature"]))
