"""What ranks errors: the forest and what it is compared with, split by split, and rounds of labelling; and their means.

Splits, and seeds of the rounds, share texts: each tests on a part of them, drawn anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.errors import tables
from tiltmeter.jobs.classifiers.errors.config import Precision
from tiltmeter.jobs.classifiers.errors.features import DataSet, read_frame
from tiltmeter.jobs.classifiers.errors.tables import ErrorModels, FeaturePower, PrecisionAtK, SplitEstimate
from tiltmeter.jobs.classifiers.errors.texts import OfTexts, labelled_rows
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import ranking, rounds, splits, uncertainty, word_model
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.forest import Forest, ForestConfig, correlated_parts, permutation_importance
from tiltmeter.operators.classifiers.errors.rankers import BASELINES, RANDOM, rank_texts
from tiltmeter.operators.classifiers.errors.ranking import aurc, auroc, first_weights, risk_coverage, units_of_both
from tiltmeter.operators.classifiers.errors.rounds import Domain, RoundsConfig, Strategy, play
from tiltmeter.operators.classifiers.errors.splits import balanced_rows, draws_of_mean, is_tested, mean_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.operators.statistics.means import share_of_counts
from tiltmeter.operators.statistics.units import Units, kish
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

_OF_SPLITS = tuple(one.VERSION for one in (error_forest, ranking, splits, uncertainty, word_model))
_OF_ROUNDS = (error_forest.VERSION, rounds.VERSION, word_model.VERSION)

_PERCENT = np.arange(1, 101)
"""Shares of the texts that are kept, in whole percent: 0.07 times 100 is more than 7."""


@dataclass(frozen=True)
class Parts:
    """Share of the texts that a split tests on, and whether it has as many texts with an error as without."""

    test: float
    balance: bool


class RankErrors(OfTexts, unit="error_models/4", stage="error models"):
    """What ranks the test texts of a split, how well, and by which features."""

    data: DataSet
    forest: ForestConfig
    min_share: float
    splits: Parts
    precision: Precision
    level: float
    seed: int
    split: int
    operators: Sequence[str] = _OF_SPLITS

    def tables(self, store: Store) -> Tables:
        """Rows of arrays, without a schema."""
        data = self.data.load(store)
        rows, groups = np.arange(len(data.errors)), data.column("group")
        if self.splits.balance:
            rows = balanced_rows(data.errors, self.seed, self.split)
        tested = is_tested([groups[row] for row in rows], self.splits.test, self.seed, 100 + self.split)
        inside, outside = rows[~tested], rows[tested]
        scores, forest = rank_texts(data, inside, outside, self.forest, self.min_share, self.seed, self.split)
        errors, units = data.errors[outside], data.units.part(outside)
        yield "measures", _measures(scores, errors, units, self.split)
        yield "precision", _precision(scores, errors, units, self.precision.sizes, self.split, self.level)
        yield "coverage", _coverage(scores, errors, self.split)
        yield "features", self._features(data, forest, outside)

    def _features(self, data: Examples, forest: Forest, outside: IntArray) -> pa.Table:
        """Of each feature that the forest sees: AUROC alone, and how much the forest's falls without it."""
        columns = data.frequent(self.min_share)
        values, errors, units = data.values[:, columns], data.errors[outside], data.units.part(outside)
        names = [data.names[column] for column in columns]
        parts = correlated_parts(values, names)
        gini = forest.model.feature_importances_
        falls = permutation_importance(forest, values[outside], errors, parts, self.seed, about=self.split)
        rows = [
            {
                "feature": names[column],
                "split": self.split,
                "share": float((values[:, column] != 0).mean()),
                "auroc": auroc(values[outside, column], errors),
                "part": part,
                "importance": float(falls[part].mean()),
                "gini_importance": float(gini[column]),
                "num_units": float(units_of_both(errors, units)),
            }
            for part, members in parts.items()
            for column in members
        ]
        return pa.Table.from_pylist(rows)


def _measures(scores: Mapping[str, FloatArray], errors: BoolArray, units: Units, split: int) -> pa.Table:
    both, every = float(units_of_both(errors, units)), float(units.num)
    rows = [
        {"score": name, "split": split, "measure": measure, "value": value, "num_units": num}
        for name, values in scores.items()
        for measure, value, num in (
            ("auroc", auroc(values, errors), both),
            ("aurc", aurc(values, errors), every),
            ("error_rate", float(errors.mean()), every),
        )
    ]
    return pa.Table.from_pylist(rows)


def _precision(
    scores: Mapping[str, FloatArray], errors: BoolArray, units: Units, sizes: Sequence[int], split: int, level: float
) -> pa.Table:
    """P@K of a split, with the interval of the groups that the first K are of."""
    rows = []
    for name, values in scores.items():
        for size in (size for size in sizes if size <= len(errors)):
            weights = first_weights(values, size)
            parts = units.sums(weights * errors), units.sums(weights)
            precision = share_of_counts(*parts, level=level, kind=units.kind)
            about = {"score": name, "split": split, "k": size, "num_units": min(kish(parts[1]), float(size))}
            rows.append(about | {"precision": precision.value, "low": precision.low, "high": precision.high})
    return pa.Table.from_pylist(rows)


def _coverage(scores: Mapping[str, FloatArray], errors: BoolArray, split: int) -> pa.Table:
    places = -(-_PERCENT * len(errors) // 100) - 1
    rows = [
        {"score": name, "split": split, "coverage": coverage, "risk": risk}
        for name, values in scores.items()
        for coverage, risk in zip(_PERCENT / 100, risk_coverage(values, errors)[places], strict=True)
    ]
    return pa.Table.from_pylist(rows)


# --- means over splits ------------------------------------------------------------------------------------------------


def drawn_splits(refs: Iterable[TableRef], seed: int, **settings: Any) -> Scheme:
    """What tells splits from others: of the same texts and groups, by the same settings, they are the same.

    Args:
        refs: tables of texts, ``Read``.
        seed: of the run.
        settings: what else they depend on.
    """
    texts = [[ref.columns["text"], ref.columns["group"]] for ref in refs]
    return {"paired_by": "items", "items": texts, "seed": seed, "operator": splits.VERSION, **settings}


class OfMeans(OfTexts):
    """Means over splits that test on a share of the texts each, with their draws.

    Attributes:
        test: that share.
        level: of intervals.
        drawn_by: what the draws are keyed by.
    """

    test: float
    level: float
    drawn_by: Scheme

    @property
    def scheme(self) -> Scheme:
        """Of all rows."""
        return self.drawn_by

    def mean(self, values: FloatArray, units: float, scale: Scale, *, is_share: bool = False) -> SplitEstimate:
        """The mean over splits with its interval, the band of a single one, and its draws.

        Args:
            values: ``[splits]``, NaN where one has none.
            units: that decide the number in the test part of a split.
            scale: of the mean.
            is_share: whether it is a share of units.
        """
        mean = mean_of(values, self.test, units, self.level, scale, is_share=is_share)
        draws = draws_of_mean(values, self.test)
        return SplitEstimate(mean.mean, mean.low, mean.high, draws, band_low=mean.band_low, band_high=mean.band_high)


class SumUpSplits(
    OfMeans,
    unit="error_model_means/4",
    stage="sum up",
    makes=[ErrorModels, PrecisionAtK, tables.PrecisionDifferences, tables.RiskCoverage, FeaturePower],
):
    """Means over the tables of all splits, as many as ``number``."""

    number: int
    measures: Sequence[TableRef]
    precision: Sequence[TableRef]
    coverage: Sequence[TableRef]
    features: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Table]:
        """Of each mean, and of the splits that it is of."""
        measures, precision, coverage, features = (
            read_frame(store, refs) for refs in (self.measures, self.precision, self.coverage, self.features)
        )
        for (score, measure), part in measures.group_by("score", "measure", maintain_order=True):
            values = self._of_splits(part, "value", is_share=measure == "error_rate")
            yield from (ErrorModels(score=score, measure=measure, split=split, value=value) for split, value in values)
        for (score, k), part in precision.group_by("score", "k", maintain_order=True):
            values = self._of_splits(part, "precision", is_share=True)
            yield from (PrecisionAtK(score=score, k=k, split=split, precision=value) for split, value in values)
        yield from self._differences(precision)
        for row in coverage.group_by("score", "coverage", maintain_order=True).agg(pl.col("risk").mean()).to_dicts():
            yield tables.RiskCoverage(**row)
        yield from self._power(features)

    def _values(self, rows: pl.DataFrame, name: str) -> FloatArray:
        """``[splits]``; NaN of those that have no row."""
        values = np.full(self.number, np.nan)
        values[rows["split"].to_numpy()] = rows[name].to_numpy()
        return values

    def _of_splits(self, part: pl.DataFrame, name: str, *, is_share: bool) -> Iterator[tuple[str, SplitEstimate]]:
        """The mean, and each split."""
        values = self._values(part, name)
        yield "all", self.mean(values, _average(part), LOGIT, is_share=is_share)
        for row in part.to_dicts():
            yield str(row["split"]), SplitEstimate(row[name], row.get("low", np.nan), row.get("high", np.nan))

    def _differences(self, rows: pl.DataFrame) -> Iterator[tables.PrecisionDifferences]:
        scores = rows["score"].unique(maintain_order=True).to_list()
        for baseline in (name for name in BASELINES if name in scores):
            paired = rows.join(rows.filter(score=baseline), on=["split", "k"], suffix="_of_baseline")
            others = paired.filter(pl.col("score") != baseline)
            for (score, size), part in others.group_by("score", "k", maintain_order=True):
                differences = self._values(part, "precision") - self._values(part, "precision_of_baseline")
                row = tables.PrecisionDifferences(score=score, baseline=baseline, k=size)
                row.difference = self.mean(differences, _average(part), FISHER)
                yield row

    def _power(self, rows: pl.DataFrame) -> list[FeaturePower]:
        """Features by how far their AUROC alone lies from one half."""
        made = []
        for (feature,), part in rows.group_by("feature", maintain_order=True):
            row = FeaturePower(feature=feature, share=part["share"][0], part=part["part"][0])
            row.auroc = self.mean(self._values(part, "auroc"), _average(part), LOGIT)
            row.importance = self.mean(self._values(part, "importance"), _average(part), FISHER)
            row.gini_importance = part.select(pl.col("gini_importance").mean()).item()
            made.append(row)
        return sorted(made, key=lambda row: (-abs(np.nan_to_num(row.auroc.value - 0.5)), row.feature))


def _average(part: pl.DataFrame) -> float:
    """Over splits, how many units decide a number."""
    return float(part["num_units"].to_numpy().mean())


# --- rounds of labelling ----------------------------------------------------------------------------------------------


class PlayRounds(OfTexts, unit="labelling_rounds/2", stage="rounds"):
    """tables.Rounds of labelling with one strategy and one seed."""

    data: DataSet
    base: TableRef
    forest: ForestConfig
    min_share: float
    rounds: RoundsConfig
    strategy: Strategy
    seed: int
    operators: Sequence[str] = _OF_ROUNDS

    def tables(self, store: Store) -> Tables:
        """Of each round, from before the first choice, without a schema."""
        data, base = self.data.load(store), labelled_rows(store, self.base)
        texts, labels, groups = ([getattr(row, name) for row in base] for name in ("text", "label", "group"))
        old = Domain(texts, labels, groups, np.zeros((0, 0)))
        features = data.values[:, data.frequent(self.min_share)]
        new = Domain(data.column("text"), data.column("label"), data.column("group"), features)
        try:
            played = play(self.strategy, old, new, self.rounds, self.forest, self.seed)
        except ValueError as error:
            raise InputError(f"rounds: {error}; set rounds.number=0 for none") from error
        about = {"strategy": self.strategy, "seed": self.seed, "num_groups": data.units.num}
        yield "played", pa.Table.from_pylist([part._asdict() | about for part in played])


class SumUpRounds(OfMeans, unit="round_means/4", stage="sum up rounds", makes=[tables.Rounds]):
    """Means over seeds."""

    played: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[tables.Rounds]:
        """Of each strategy and round."""
        played = read_frame(store, self.played)
        units = self.test * float(played["num_groups"][0])
        by_chance = played.filter(strategy=RANDOM).select("seed", "round", pl.col("accuracy").alias("random"))
        paired = played.join(by_chance, on=["seed", "round"], maintain_order="left")
        seeds = played["seed"].unique().sort().to_list()
        for (strategy, number), part in paired.group_by("strategy", "round", maintain_order=True):
            accuracy, random = (_by_seed(part, name, seeds) for name in ("accuracy", "random"))
            row = tables.Rounds(
                strategy=strategy, round=number, num_labels=part["num_labels"][0], num_seeds=part.height
            )
            row.accuracy = self.mean(accuracy, units, LOGIT, is_share=True)
            row.over_random = self.mean(accuracy - random, units, FISHER)
            shares = part["errors_found"].drop_nulls().drop_nans().to_numpy()
            row.errors_found = float(shares.mean()) if shares.size else np.nan
            yield row


def _by_seed(rows: pl.DataFrame, name: str, seeds: Sequence[int]) -> FloatArray:
    """``[seeds]``; NaN of those that have no row."""
    values = dict(rows.select("seed", name).drop_nulls().iter_rows())
    return np.array([values.get(seed, np.nan) for seed in seeds], dtype=np.float64)
