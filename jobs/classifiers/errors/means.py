"""Means over splits, with intervals, of what each split has measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors import tables
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.error_models import BASELINES
from tiltmeter.jobs.classifiers.errors.material import Refs
from tiltmeter.jobs.runtime.draws import Scheme, draws_of, with_draws
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.classifiers.errors import splits
from tiltmeter.operators.classifiers.errors.splits import draws_of_mean, mean_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

ALL = "all"


def drawn_splits(refs: Iterable[TableRef], seed: int, **settings: Any) -> Scheme:
    """What tells splits from others: of the same texts and groups, by the same settings, they are the same.

    Args:
        refs: tables of texts, of the schema ``READ``.
        seed: of the run.
        settings: what else they depend on.
    """
    texts = [[ref.columns["text"], ref.columns["group"]] for ref in refs]
    return {"paired_by": "items", "items": texts, "seed": seed, "operator": splits.VERSION, **settings}


def mean_of_splits(
    name: str, values: FloatArray, test: float, units: float, level: float, scale: Scale, *, is_share: bool = False
) -> Row:
    """The columns of a mean over splits with its interval, and its draws.

    Args:
        name: of the mean.
        values: ``[splits]``, NaN where one has none.
        test: share of the texts that each tests on.
        units: that decide the number in the test part of a split.
        level: nominal coverage.
        scale: of the mean.
        is_share: whether it is a share of units.
    """
    mean = mean_of(values, test, units, level, scale, is_share=is_share)
    columns = {name: mean.mean, f"{name}_low": mean.low, f"{name}_high": mean.high}
    return columns | draws_of(name, draws_of_mean(values, test))


def sum_up(
    runner: Runner, config: ErrorCharacterisationRun, texts: Refs, parts: Sequence[Mapping[str, TableRef]]
) -> dict[str, Sequence[TableRef]]:
    """The published tables about the forest and what it is held against.

    Args:
        runner: of the stages.
        config: of the run.
        texts: what the parts were made from.
        parts: tables of each split.
    """
    names = ("measures", "precision", "coverage", "features")
    inputs = {name: [part[name] for part in parts] for name in names}
    share = config.splits.test
    scheme = drawn_splits(texts["texts"], config.seed, test=share, balance=config.splits.balance)
    settings = {"test": share, "level": config.job.level, "number": len(parts), "draws": scheme}
    unit = Unit("error_model_means/4", "means over splits", settings, inputs)
    [done] = runner.run_whole(Stage("sum up", each(_sum), {"texts": [unit]}))["texts"]
    published = ("error_models", "precision_at_k", "precision_differences", "risk_coverage", "feature_power")
    return {name: [done.tables[name]] for name in published}


def _sum(store: Store, unit: Unit) -> Tables:
    frames = {
        name: pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in refs])
        for name, refs in unit.inputs.items()
    }
    means = _Means(unit.config["test"], unit.config["level"], unit.config["number"])
    coverage = frames["coverage"].group_by("score", "coverage", maintain_order=True).agg(pl.col("risk").mean())
    rows = {
        "error_models": (list(means.by_key(frames["measures"], ["score", "measure"], "value")), tables.ERROR_MODELS),
        "precision_at_k": (list(means.by_key(frames["precision"], ["score", "k"], "precision")), tables.PRECISION_AT_K),
        "precision_differences": (list(_differences(frames["precision"], means)), tables.PRECISION_DIFFERENCES),
        "risk_coverage": (coverage.to_dicts(), tables.RISK_COVERAGE),
        "feature_power": (list(_power(frames["features"], means)), tables.FEATURE_POWER),
    }
    yield from with_draws(rows, unit.config["draws"])


@dataclass(frozen=True)
class _Means:
    """Over so many splits, of which each tests on a share of the texts."""

    test: float
    level: float
    number: int

    def values(self, rows: pl.DataFrame, name: str) -> FloatArray:
        """``[splits]``; NaN of those that have no row."""
        values = np.full(self.number, np.nan)
        values[rows["split"].to_numpy()] = rows[name].to_numpy()
        return values

    def mean(self, name: str, values: FloatArray, units: float, scale: Scale) -> Row:
        """:func:`mean_of_splits` of these."""
        return mean_of_splits(name, values, self.test, units, self.level, scale)

    def by_key(self, rows: pl.DataFrame, keys: list[str], name: str) -> Iterable[Row]:
        """The mean of each key over splits, with the band of a single one, and the splits."""
        for key, part in rows.group_by(keys, maintain_order=True):
            values = self.values(part, name)
            is_share = name == "precision" or "error_rate" in key
            mean = mean_of(values, self.test, average(part), self.level, LOGIT, is_share=is_share)
            band = {f"{name}_band_low": mean.band_low, f"{name}_band_high": mean.band_high}
            ends = {"low": mean.low, "high": mean.high} | draws_of(name, draws_of_mean(values, self.test))
            yield dict(zip(keys, key, strict=True)) | {"split": ALL, name: mean.mean} | ends | band
            yield from (row | {"split": str(row["split"])} for row in part.to_dicts())


def average(part: pl.DataFrame) -> float:
    """Over splits, how many units decide a number."""
    return float(part["num_units"].to_numpy().mean())


def _differences(rows: pl.DataFrame, means: _Means) -> Iterable[Row]:
    scores = rows["score"].unique(maintain_order=True).to_list()
    for baseline in (name for name in BASELINES if name in scores):
        paired = rows.join(rows.filter(score=baseline), on=["split", "k"], suffix="_of_baseline")
        others = paired.filter(pl.col("score") != baseline)
        for (score, size), part in others.group_by("score", "k", maintain_order=True):
            differences = means.values(part, "precision") - means.values(part, "precision_of_baseline")
            about = {"score": score, "baseline": baseline, "k": size}
            yield about | means.mean("difference", differences, average(part), FISHER)


def _power(rows: pl.DataFrame, means: _Means) -> Iterable[Row]:
    """Features by how far their AUROC alone lies from one half."""
    made = [
        {"feature": feature, "share": part["share"][0], "part": part["part"][0]}
        | means.mean("auroc", means.values(part, "auroc"), average(part), LOGIT)
        | means.mean("importance", means.values(part, "importance"), average(part), FISHER)
        | {"gini_importance": part["gini_importance"].mean()}
        for (feature,), part in rows.group_by("feature", maintain_order=True)
    ]
    return sorted(made, key=lambda row: (-abs(np.nan_to_num(row["auroc"] - 0.5)), row["feature"]))
