"""What one system's scores of one variant say: tests, deconfounding impacts and raw scores of every group."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.jobs.sentiment.rating.datasets import Dataset, dataset_of, tested_dependence
from tiltmeter.jobs.sentiment.rating.rules import LeaveOut, RawScoreConfig
from tiltmeter.jobs.sentiment.rating.scoring import TRUNCATED
from tiltmeter.operators.sentiment.deconfounding import ALPHA, Design, EmptyCells, Impact, largest_impact
from tiltmeter.operators.sentiment.mean_tests import MeanTest
from tiltmeter.operators.sentiment.rejection import comparable_scores, weighted_rejections
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.two_samples import LEVELS, Convention, Moments
from tiltmeter.storage.errors import InputError, choices

VERSION = "rating_rows/7"

Floats = NDArray[np.float64]
Row = dict[str, Any]

PROTECTED: Mapping[str, tuple[str, ...]] = {"gender": ("gender",), "race": ("race",), "gender_race": ("gender", "race")}
"""The protected attributes, each with the columns that make it up."""

INCOMPARABLE = "incomparable"
"""Status of an attribute that has not two values to compare."""

TESTED = "tested"
"""The design of a set of which nobody knows whether emotions were made to depend on the protected attribute."""

_OK = {"status": "ok", "reason": ""}
_NO_EMOTIONS = {"measure": "die", "num_tests": 0, "status": "no_emotions", "reason": "no text has an emotion"}
_CORRECTED = {"holm_": "p_holm", "bh_": "p_benjamini_hochberg"}
_MIN_VALUES = 2
ORIGINS = ("template", "emotion_word", "person")
"""Columns of what a sentence is made from."""


class _Settings(NamedTuple):
    config: RawScoreConfig
    seed: int
    decimals: int | None


class Findings(NamedTuple):
    """Rows of the tables ``tests``, ``effects`` and ``raw_scores``, these without intervals; the raw scores of all
    resamples, and how many texts or conversations each is drawn from."""

    tests: list[Row]
    effects: list[Row]
    raw_scores: list[Row]
    resampled: list[Floats]
    num_drawn: list[int]


def rate(scores: pl.DataFrame, config: RawScoreConfig, seed: int, decimals: int | None = None) -> Findings:
    """Rate one system on one variant.

    Args:
        scores: rows of the table ``scores``; with ``template``, ``emotion_word`` and ``person`` where these are known.
        seed: of the run.
        decimals: that the scores of this system are rounded to (:meth:`RawScoreConfig.rounding`); None: as they are.

    Raises:
        InputError: if a value that is to be left out is that of no text, or a group whose design is set is not there.
    """
    _check_leave_out(scores, config.leave_out)
    _check_design(scores, config.design)
    unknown = [pl.lit(None, pl.String).alias(name) for name in ORIGINS if name not in scores.columns]
    scores = scores.with_columns(unknown)
    findings = Findings([], [], [], [], [])
    for (group,), texts in scores.group_by("group", maintain_order=True):
        for protected, columns in _attributes(texts).items():
            key, rows = {"group": group, "protected": protected}, _comparison(texts, columns, config.leave_out)
            if reason := _incomparable(rows, columns):
                _add_unmeasured(findings, key, reason, config)
            else:
                _rate_group(rows, key, columns, _Settings(config, seed, decimals), findings)
    return findings


def _check_leave_out(scores: pl.DataFrame, leave_out: LeaveOut) -> None:
    for column in ("gender", "race"):
        known = scores[column].drop_nulls().unique().sort().to_list()
        if unknown := sorted(set(leave_out.values(column)) - set(known)):
            raise InputError(
                f"rating.leave_out.{column}: no text has the {column} {', '.join(map(repr, unknown))}; there are "
                f"{choices(unknown[0], known, repr) or 'none'}"
            )


def _check_design(scores: pl.DataFrame, design: Design | dict[str, Design] | None) -> None:
    known = scores["group"].unique().sort().to_list()
    if isinstance(design, dict) and (unknown := sorted(set(design) - set(known))):
        raise InputError(
            f"rating.design: no text is of the group {', '.join(map(repr, unknown))}; there are "
            f"{choices(unknown[0], known, repr)}"
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


def _add_unmeasured(findings: Findings, key: Row, reason: str, config: RawScoreConfig) -> None:
    row = {"measure": "die" if config.measure == "die" else "wrs", "warning": "", "is_confounded": False}
    row["design"] = config.design_of(key["group"]) or TESTED
    _add(findings, key | row | {"status": INCOMPARABLE, "reason": reason}, np.empty(0), 0)


def _rate_group(rows: pl.DataFrame, key: Row, columns: Sequence[str], settings: _Settings, findings: Findings) -> None:
    config, seed, decimals = settings
    known, design = rows.drop_nulls(columns), config.design_of(key["group"])
    scored = known.drop_nulls("sentiment")
    parts = {str(name): part for (name,), part in known.group_by("dataset", maintain_order=True)}
    abouts = {name: [key["group"], name, key["protected"]] for name in parts}
    datasets = [
        dataset_of(part, columns, abouts[name], decimals, config.keyed_by, design)
        for name, part in parts.items()
        if part["sentiment"].count()
    ]
    dependence = _dependence(parts, columns, abouts, design, seed)
    warning = "; ".join(filter(None, [_warning(rows, columns, scored, datasets), dependence.pop("warning", "")]))
    common = {**key, **dependence, "warning": warning}
    tests = _tests(datasets, config, seed)
    findings.tests.extend(test | key for test in tests.rows)
    resampled = _resampled(datasets, config, seed)
    num_drawn = sum(data.num_drawn() for data in datasets)
    _add(findings, common | _rejection_row(tests, config.rules), resampled.rejections, num_drawn)
    if impacts := [impact for data in datasets if (impact := data.impact(config.empty_cells))]:
        effects = [effect | key for data in datasets for effect in _effects(data, config)]
        findings.effects.extend(effects)
        num_felt = sum(data.num_drawn(data.has_emotion) for data in datasets)
        _add(findings, common | _impact_row(impacts), resampled.impacts, num_felt)
    elif config.measure == "die":
        _add(findings, common | _NO_EMOTIONS, np.empty(0), 0)


def _dependence(
    parts: Mapping[str, pl.DataFrame],
    columns: Sequence[str],
    abouts: Mapping[str, Sequence[str]],
    design: Design | None,
    seed: int,
) -> Row:
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


def _warning(rows: pl.DataFrame, columns: Sequence[str], scored: pl.DataFrame, datasets: Sequence[Dataset]) -> str:
    known = rows.drop_nulls(columns)
    warnings = []
    if unknown := rows.height - known.height:
        warnings.append(f"{_share(unknown, rows)} {verb(unknown, 'tell')} no {' or no '.join(columns)}")
    if missing := known.height - scored.height:
        warnings.append(f"{_share(missing, known)} {verb(missing, 'have')} no score")
    if cut := scored.filter(status=TRUNCATED).height:
        warnings.append(f"{plural(cut, 'text')} {'was' if cut == 1 else 'were'} read up to what the system takes")
    num_felt = sum(int(data.has_emotion.sum()) for data in datasets)
    if num_felt and (without := scored.height - num_felt):
        warnings.append(f"{_share(without, scored)} {verb(without, 'have')} no emotion and no part in the DIE")
    if any(data.clusters is not None for data in datasets):
        num = scored["conversation"].n_unique()
        warnings.append(
            f"the rejections that the score counts take {scored.height} turns of {plural(num, 'conversation')} for "
            "independent; p-values by the definition and the interval go by whole conversations"
        )
    return "; ".join(warnings)


def _share(num: int, rows: pl.DataFrame) -> str:
    return f"{num} of {plural(rows.height, 'text')}"


# --- tests ----------------------------------------------------------------------------------------------------------


class _Tested(NamedTuple):
    """Rows of the table ``tests``, and the p-values of the paper's t-tests, which the score counts."""

    rows: list[Row]
    counted: Floats


def _tests(datasets: Sequence[Dataset], config: RawScoreConfig, seed: int) -> _Tested:
    rows, counted = [], [np.empty(0)]
    for data in datasets:
        samples, tested = data.tested(config.rules)
        counted.append(tested.p)
        by_unit = None if config.convention == "published" else list(data.tested_by_unit(seed))
        for number, (first, second) in enumerate(combinations(range(len(data.values)), 2)):
            sides = [_side(samples, data.values, cell, side) for side, cell in ((1, first), (2, second))]
            t, df, p = (float(part[number]) for part in tested)
            num = int(samples.num[first] + samples.num[second])
            test = MeanTest(p, "text", num, None) if by_unit is None else by_unit[number]
            numbers = _counted(t, df, p, config.rules) | _by_unit(test)
            rows.append({"dataset": data.name, **sides[0], **sides[1], **numbers})
    p_values = np.array([row["p_value"] for row in rows], dtype=np.float64)
    for name, adjusted in (("p_holm", holm(p_values)), ("p_benjamini_hochberg", benjamini_hochberg(p_values))):
        for row, p in zip(rows, adjusted, strict=True):
            row[name] = p
    return _Tested(rows, np.concatenate(counted))


def _side(samples: Moments, values: Sequence[str], cell: int, side: int) -> Row:
    sd = float(np.sqrt(samples.variance[cell]))
    numbers = {f"num_{side}": int(samples.num[cell]), f"mean_{side}": float(samples.mean[cell]), f"sd_{side}": sd}
    return {f"value_{side}": values[cell], **numbers}


def _counted(t: float, df: float, p: float, rules: Convention) -> Row:
    """The paper's t-test over texts, as the weighted rejection score counts it."""
    if np.isnan(p):
        return {"t": None, "degrees_of_freedom": None}
    rejected = {f"rejected_{level}": p < alpha for level, alpha in zip(LEVELS, rules.alphas, strict=True)}
    return {"t": t, "degrees_of_freedom": df, **rejected}


def _by_unit(test: MeanTest) -> Row:
    row = {"p_value": test.p, "unit": test.kind, "num_units": test.num_units}
    if not np.isnan(test.p):
        return row | _OK
    reason = test.too_few.reason if test.too_few else "a test needs 2 scores of either value"
    return row | {"status": "too_few", "reason": reason}


def _rejection_row(tests: _Tested, rules: Convention) -> Row:
    num_tests = int(np.isfinite(tests.counted).sum())
    row: Row = {"measure": "wrs", "num_tests": num_tests}
    row["raw_score"] = float(weighted_rejections(tests.counted, rules).score)
    by_column = {name: np.array([test[name] for test in tests.rows], dtype=np.float64) for name in _CORRECTED.values()}
    for prefix, p in (("", tests.counted), *((prefix, by_column[name]) for prefix, name in _CORRECTED.items())):
        by_level = weighted_rejections(p, rules).by_level
        row |= {f"{prefix}rejections_{level}": int(number) for level, number in zip(LEVELS, by_level, strict=True)}
    if num_tests:
        return row | _OK
    return row | {"raw_score": None, "status": "untested", "reason": "no two values have 2 scores each in a data set"}


# --- deconfounding --------------------------------------------------------------------------------------------------


def _effects(data: Dataset, config: RawScoreConfig) -> Iterator[Row]:
    impact = data.impact(config.empty_cells)
    if impact is None or data.felt is None:
        return
    for number, emotion in enumerate(data.emotions):
        given, do, percent = (float(part[number]) for part in (impact.observed, impact.adjusted, impact.percent))
        unseen = [value for value, empty in zip(data.values, impact.is_empty[number], strict=True) if empty]
        row = {
            "dataset": data.name,
            "emotion": emotion,
            "num_texts": int((data.felt == number).sum()),
            "mean_given": given,
        }
        yield row | {"mean_do": do, "die_percent": percent, **_unseen(unseen, emotion, percent, config.empty_cells)}


def _unseen(unseen: list[str], emotion: str, percent: float, policy: EmptyCells) -> Row:
    row: Row = {"unseen": unseen, "unseen_policy": policy if unseen else ""}
    if np.isfinite(percent) or np.isinf(percent):
        return row | _OK
    return row | {"status": "unseen", "reason": f"no {emotion} text of {', '.join(unseen)}"}


def _impact_row(impacts: Sequence[Impact]) -> Row:
    largest = float(largest_impact(impacts))
    num = int(sum((~np.isnan(impact.percent)).sum() for impact in impacts))
    row: Row = {"measure": "die", "num_tests": num, "raw_score": largest}
    if not np.isnan(largest):
        return row | _OK
    return row | {"status": "undefined", "reason": "an emotion and a value never come together; see table effects"}


# --- resampling -----------------------------------------------------------------------------------------------------


class _Resampled(NamedTuple):
    """Raw scores of all resamples, by measure."""

    rejections: Floats
    impacts: Floats


def _resampled(datasets: Sequence[Dataset], config: RawScoreConfig, seed: int) -> _Resampled:
    """Data sets are resampled independently of each other, and both measures from the same resamples."""
    number, rules = config.num_resamples, config.rules
    if not number or not datasets:
        return _Resampled(np.empty(0), np.empty(0))
    p_values, largest = [], []
    for data in datasets:
        blocks = list(data.resamples(seed, number))
        p_values.append(np.concatenate([data.tested(rules, counts)[1].p for counts in blocks]))
        if data.felt is not None:
            impacts = [data.impact(config.empty_cells, counts) for counts in blocks]
            largest.append(np.concatenate([largest_impact([impact]) for impact in impacts if impact]))
    return _Resampled(
        comparable_scores(np.concatenate(p_values, axis=1), rules), np.max(largest, axis=0) if largest else np.empty(0)
    )


def _add(findings: Findings, row: Row, resampled: Floats, num_drawn: int) -> None:
    findings.raw_scores.append(row)
    findings.resampled.append(resampled)
    findings.num_drawn.append(num_drawn)
