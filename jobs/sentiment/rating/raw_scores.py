"""What one system's scores of one variant say: tests, deconfounding impacts and raw scores of every group."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.table import Estimate, tables_of
from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.rating.config import LeaveOut, RawScoreConfig
from tiltmeter.jobs.sentiment.rating.scores import TRUNCATED
from tiltmeter.jobs.sentiment.rating.tables import Effects, RawScores, Resamples, Tests, infinite_table
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment import deconfounding, mean_tests, rejection
from tiltmeter.operators.sentiment.deconfounding import ALPHA, Design, Impact, largest_impact
from tiltmeter.operators.sentiment.mean_tests import MeanTest
from tiltmeter.operators.sentiment.ratings import Dataset, dataset_of, tested_dependence
from tiltmeter.operators.sentiment.rejection import comparable_scores, weighted_rejections
from tiltmeter.operators.statistics import flips, multiplicity, resampling, two_samples
from tiltmeter.operators.statistics.designs import groups
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.store.identity import column_digests, digest
from tiltmeter.storage.store.ledger import Store, TableRef

_VERSIONS = [
    "rating_rows/7",
    *(
        module.VERSION
        for module in (two_samples, rejection, deconfounding, mean_tests, flips, groups, multiplicity, resampling)
    ),
]

PROTECTED: Mapping[str, tuple[str, ...]] = {"gender": ("gender",), "race": ("race",), "gender_race": ("gender", "race")}
"""The protected attributes, each with the columns that make it up."""

INCOMPARABLE = "incomparable"
"""Status of an attribute that has not two values to compare."""

TESTED = "tested"
"""The design of a set of which nobody knows whether emotions were made to depend on the protected attribute."""

ORIGINS = ("template", "emotion_word", "person")
"""Columns of what a sentence is made from."""

_MIN_VALUES = 2
_ITEMS = ("sentence", "text", "group", "dataset", "gender", "race", "emotion", "conversation")


class RateSystem(Work, unit=f"rate/{two_samples.VERSION}", stage="rate", makes=[Tests, Effects, RawScores, Resamples]):
    """One system on one variant, rated.

    Attributes:
        texts: the number of each sentence, what it says and what it is made from; None if nobody knows.
    """

    scores: TableRef
    texts: TableRef | None
    variant: str
    system: str
    config: RawScoreConfig
    decimals: int | None
    seed: int
    operators: Sequence[str] = tuple(_VERSIONS)

    def rows(self, store: Store) -> Iterator[Tests | Effects | RawScores | Resamples]:
        """Raw scores without intervals, and what each is drawn from."""
        scores = pl.DataFrame(store.read(self.scores))
        if self.texts is None:
            scores = scores.with_columns(pl.lit(None, pl.String).alias("text"))
        else:
            texts = pl.DataFrame(store.read(self.texts)).rename({"item": "text"}, strict=False)
            scores = scores.join(texts, on="sentence", how="left", maintain_order="left")
        findings = rate(scores, self.config, self.seed, self.decimals)
        yield from findings.tests
        yield from findings.effects
        yield from findings.raw_scores
        items = None if self.config.keyed_by == "text" else _items(scores)
        for values, num in zip(findings.resampled, findings.num_drawn, strict=True):
            yield Resamples(values=values.tolist(), items=items, num_items=num)

    def tables(self, store: Store) -> Tables:
        """With infinite scores."""
        return tables_of(self.rows(store), self.makes, made=infinite_table)


def _items(scores: pl.DataFrame) -> str:
    """What tells the texts that are resampled from others, and their order."""
    columns = {name: scores[name].cast(pl.String).to_arrow().cast(pa.string()) for name in _ITEMS}
    return digest(column_digests(pa.table(columns | {"scored": scores["sentiment"].is_not_null().to_arrow()})))


class Findings(NamedTuple):
    """Rows of tables, raw scores without intervals; their resamples, and how many texts or conversations each is drawn
    from."""

    tests: list[Tests]
    effects: list[Effects]
    raw_scores: list[RawScores]
    resampled: list[FloatArray]
    num_drawn: list[int]

    def add(self, row: RawScores, resampled: FloatArray, num_drawn: int) -> None:
        """One more raw score."""
        self.raw_scores.append(row)
        self.resampled.append(resampled)
        self.num_drawn.append(num_drawn)


def rate(scores: pl.DataFrame, config: RawScoreConfig, seed: int, decimals: int | None = None) -> Findings:
    """Rate one system on one variant.

    Args:
        scores: rows of the table ``scores``; with ``template``, ``emotion_word`` and ``person`` where these are known.
        seed: of the run.
        decimals: that the scores of this system are rounded to (:meth:`RawScoreConfig.rounding`); None: as they are.

    Raises:
        InputError: if a value that is to be left out is that of no text, or a group whose design is set is not there.
    """
    for column in ("gender", "race"):
        known = scores[column].drop_nulls().unique().sort().to_list()
        _check_known(f"leave_out.{column}", f"has the {column}", config.leave_out.values(column), known)
    if isinstance(config.design, dict):
        _check_known("design", "is of the group", config.design, scores["group"].unique().sort().to_list())
    scores = scores.with_columns(pl.lit(None, pl.String).alias(name) for name in ORIGINS if name not in scores.columns)
    findings = Findings([], [], [], [], [])
    for (group, variant, system), texts in scores.group_by("group", "variant", "system", maintain_order=True):
        for protected, columns in _attributes(texts).items():
            key = {"variant": variant, "group": group, "protected": protected, "system": system}
            rows = _comparison(texts, columns, config.leave_out)
            if reason := _incomparable(rows, columns):
                row = RawScores(**key, measure="die" if config.measure == "die" else "wrs")
                row.warning, row.is_confounded = "", False
                row.design = config.design_of(str(group)) or TESTED
                findings.add(row.fail(INCOMPARABLE, reason), np.empty(0), 0)
            else:
                _Case(key, columns, config, seed, decimals).rate(rows, findings)
    return findings


def _check_known(setting: str, what: str, values: Iterable[str], known: Sequence[str]) -> None:
    if unknown := sorted(set(values) - set(known)):
        raise InputError(
            f"rating.{setting}: no text {what} {', '.join(map(repr, unknown))}; there are "
            f"{choices(unknown[0], known, repr) or 'none'}"
        )


def _comparison(rows: pl.DataFrame, columns: Sequence[str], leave_out: LeaveOut) -> pl.DataFrame:
    """The texts without those of a value that is left out."""
    tests = [pl.col(column).is_in(leave_out.values(column)).fill_null(value=False) for column in columns]
    return rows.filter(~pl.any_horizontal(tests))


def _attributes(rows: pl.DataFrame) -> Mapping[str, tuple[str, ...]]:
    """The protected attributes that some text of a group tells; if there is none, each by itself."""
    known = {column for columns in PROTECTED.values() for column in columns if rows[column].count()}
    single = {name: columns for name, columns in PROTECTED.items() if columns == (name,)}
    return {name: columns for name, columns in PROTECTED.items() if known.issuperset(columns)} or single


def _incomparable(rows: pl.DataFrame, columns: Sequence[str]) -> str:
    """Why the values of an attribute can't be compared; empty if they can."""
    values = {column: rows[column].drop_nulls().unique().to_list() for column in columns}
    if unknown := [column for column, known in values.items() if not known]:
        return f"no text tells a {' or a '.join(unknown)}"
    same = [f"the only {column} is {known[0]}" for column, known in values.items() if len(known) < _MIN_VALUES]
    return f"{' and '.join(same)}: a comparison needs two values" if same else ""


# --- an attribute in a group of texts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    """What is rated by an attribute, which columns make up, in a group of texts.

    Attributes:
        key: variant, group, attribute and system.
        decimals: that scores are taken in; None: all.
    """

    key: Mapping[str, Any]
    columns: Sequence[str]
    config: RawScoreConfig
    seed: int
    decimals: int | None

    def rate(self, rows: pl.DataFrame, findings: Findings) -> None:
        """Add what the texts say of it."""
        config, columns = self.config, self.columns
        known, design = rows.drop_nulls(columns), config.design_of(self.key["group"])
        scored = known.drop_nulls("sentiment")
        parts = {str(name): part for (name,), part in known.group_by("dataset", maintain_order=True)}
        abouts = {name: [self.key["group"], name, self.key["protected"]] for name in parts}
        datasets = [
            dataset_of(part, columns, abouts[name], self.decimals, config.keyed_by, design)
            for name, part in parts.items()
            if part["sentiment"].count()
        ]
        dependence = _dependence(parts, columns, abouts, design, self.seed)
        warnings = [*_warnings(rows, columns, scored, datasets), dependence.pop("warning", "")]
        common = {**self.key, **dependence, "warning": "; ".join(filter(None, warnings))}
        rejections, impacts = self._resampled(datasets)
        row = self._rejections(RawScores(**common, measure="wrs"), datasets, findings.tests)
        findings.add(row, rejections, sum(data.num_drawn() for data in datasets))
        row = RawScores(**common, measure="die", num_tests=0)
        if any(data.emotions for data in datasets):
            row = self._impact(row, datasets, findings.effects)
            findings.add(row, impacts, sum(data.num_drawn(data.has_emotion) for data in datasets))
        elif config.measure == "die":
            findings.add(row.fail("no_emotions", "no text has an emotion"), np.empty(0), 0)

    def _rejections(self, row: RawScores, datasets: Sequence[Dataset], rows: list[Tests]) -> RawScores:
        """The weighted rejection score, which counts the paper's t-tests over texts; adds all tests to the rows."""
        rules, first = self.config.rules, len(rows)
        counted = np.concatenate([np.empty(0), *(self._tests(data, rows) for data in datasets)])
        tests = rows[first:]
        by_unit = np.array([test.p_value for test in tests], dtype=np.float64)
        after_holm, after_bh = holm(by_unit), benjamini_hochberg(by_unit)
        for test, p_holm, p_bh in zip(tests, after_holm.tolist(), after_bh.tolist(), strict=True):
            test.p_holm, test.p_benjamini_hochberg = p_holm, p_bh
        of_texts, of_holm, of_bh = (weighted_rejections(p, rules) for p in (counted, after_holm, after_bh))
        row.rejections_95, row.rejections_70, row.rejections_60 = of_texts.by_level.tolist()
        row.holm_rejections_95, row.holm_rejections_70, row.holm_rejections_60 = of_holm.by_level.tolist()
        row.bh_rejections_95, row.bh_rejections_70, row.bh_rejections_60 = of_bh.by_level.tolist()
        row.num_tests = int(np.isfinite(counted).sum())
        if not row.num_tests:
            return row.fail("untested", "no two values have 2 scores each in a data set")
        row.raw_score = Estimate(float(of_texts.score))
        return row

    def _tests(self, data: Dataset, rows: list[Tests]) -> FloatArray:
        """The p-values of the t-tests of a data set; adds them, and those by units, to the rows."""
        samples, tested = data.tested(self.config.rules)
        by_unit = None if self.config.convention == "published" else list(data.tested_by_unit(self.seed))
        for number, (first, second) in enumerate(combinations(range(len(data.values)), 2)):
            row = Tests(**self.key, dataset=data.name, value_1=data.values[first], value_2=data.values[second])
            num, mean, variance = (part[[first, second]].tolist() for part in samples)
            row.num_1, row.num_2 = num
            row.mean_1, row.mean_2 = mean
            row.sd_1, row.sd_2 = np.sqrt(variance).tolist()
            t, df, p = (float(part[number]) for part in tested)
            if not np.isnan(p):
                row.t, row.degrees_of_freedom = t, df
                row.rejected_95, row.rejected_70, row.rejected_60 = (p < alpha for alpha in self.config.rules.alphas)
            test = MeanTest(p, "text", row.num_1 + row.num_2, None) if by_unit is None else by_unit[number]
            row.p_value, row.unit, row.num_units = test.p, test.kind, test.num_units
            if np.isnan(test.p):
                row.fail("too_few", test.too_few.reason if test.too_few else "a test needs 2 scores of either value")
            rows.append(row)
        return tested.p

    def _impact(self, row: RawScores, datasets: Sequence[Dataset], rows: list[Effects]) -> RawScores:
        """The largest deconfounding impact; adds those of all emotions to the rows."""
        impacts = []
        for data in datasets:
            if impact := data.impact(self.config.empty_cells):
                impacts.append(impact)
                rows += self._effects(data, impact)
        largest = float(largest_impact(impacts))
        row.num_tests = int(sum((~np.isnan(impact.percent)).sum() for impact in impacts))
        if np.isnan(largest):
            return row.fail("undefined", "an emotion and a value never come together; see table effects")
        row.raw_score = Estimate(largest)
        return row

    def _effects(self, data: Dataset, impact: Impact) -> Iterator[Effects]:
        for number, emotion in enumerate(data.emotions):
            unseen = [value for value, empty in zip(data.values, impact.is_empty[number], strict=True) if empty]
            row = Effects(**self.key, dataset=data.name, emotion=emotion, num_texts=int((data.felt == number).sum()))
            row.mean_given, row.mean_do, row.die_percent = (float(part[number]) for part in impact[:3])
            row.unseen, row.unseen_policy = unseen, self.config.empty_cells if unseen else ""
            if np.isnan(row.die_percent):
                row.fail("unseen", f"no {emotion} text of {', '.join(unseen)}")
            yield row

    def _resampled(self, datasets: Sequence[Dataset]) -> tuple[FloatArray, FloatArray]:
        """Raw scores of all resamples by both measures, from the same resamples: data sets independently of others."""
        number, rules = self.config.num_resamples, self.config.rules
        if not number or not datasets:
            return np.empty(0), np.empty(0)
        p_values, largest = [], []
        for data in datasets:
            blocks = list(data.resamples(self.seed, number))
            p_values.append(np.concatenate([data.tested(rules, counts)[1].p for counts in blocks]))
            if data.emotions:
                impacts = [data.impact(self.config.empty_cells, counts) for counts in blocks]
                largest.append(np.concatenate([largest_impact([impact]) for impact in impacts if impact]))
        scores = comparable_scores(np.concatenate(p_values, axis=1), rules)
        return scores, np.max(largest, axis=0) if largest else np.empty(0)


def _dependence(
    parts: Mapping[str, pl.DataFrame],
    columns: Sequence[str],
    abouts: Mapping[str, Sequence[str]],
    design: Design | None,
    seed: int,
) -> dict[str, Any]:
    """Whether the emotion depends on the attribute in a data set, by the design or by tests over all data sets."""
    if design is not None:
        has_emotion = any(part["emotion"].count() for part in parts.values())
        return {"is_confounded": has_emotion and design == "confounded", "design": design}
    tests = [tested for name, part in parts.items() if (tested := tested_dependence(part, columns, seed, abouts[name]))]
    p = holm(np.array([p for p, _ in tests]))
    least = float(np.nanmin(p)) if np.isfinite(p).any() else float("nan")
    row = {"is_confounded": least <= ALPHA, "design": TESTED, "dependence_p": least}
    if tests and np.isnan(least):
        [reason, *_] = [too_few.reason for _, too_few in tests if too_few]
        row["warning"] = f"whether the emotion depends on the attribute is not tested: {reason}; set rating.design"
    return row


def _warnings(
    rows: pl.DataFrame, columns: Sequence[str], scored: pl.DataFrame, datasets: Sequence[Dataset]
) -> Iterator[str]:
    known = rows.drop_nulls(columns)
    if unknown := rows.height - known.height:
        yield f"{_share(unknown, rows)} {verb(unknown, 'tell')} no {' or no '.join(columns)}"
    if missing := known.height - scored.height:
        yield f"{_share(missing, known)} {verb(missing, 'have')} no score"
    if cut := scored.filter(status=TRUNCATED).height:
        yield f"{plural(cut, 'text')} {'was' if cut == 1 else 'were'} read up to what the system takes"
    num_felt = sum(int(data.has_emotion.sum()) for data in datasets)
    if num_felt and (without := scored.height - num_felt):
        yield f"{_share(without, scored)} {verb(without, 'have')} no emotion and no part in the DIE"
    if any(data.clusters is not None for data in datasets):
        num = scored["conversation"].n_unique()
        yield (
            f"the rejections that the score counts take {scored.height} turns of {plural(num, 'conversation')} for "
            "independent; p-values by the definition and the interval go by whole conversations"
        )


def _share(num: int, rows: pl.DataFrame) -> str:
    return f"{num} of {plural(rows.height, 'text')}"
