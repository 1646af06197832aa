"""What one system's scores of one variant say: tests, deconfounding impacts and raw scores of every group."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import polars as pl
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.jobs.sentiment.rating.datasets import Dataset, dataset_of
from tiltmeter.jobs.sentiment.rating.scoring import TRUNCATED
from tiltmeter.operators.sentiment.deconfounding import EmptyCells, Impact, largest_impact
from tiltmeter.operators.sentiment.ranking import Cut
from tiltmeter.operators.sentiment.rejection import comparable_scores, weighted_rejections
from tiltmeter.operators.statistics.intervals import Method
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.text_intervals import DEFAULT_METHOD, KeyedBy
from tiltmeter.operators.statistics.two_samples import (
    DEFINITION,
    LEVELS,
    PUBLISHED,
    Convention,
    Moments,
)
from tiltmeter.storage.errors import InputError

VERSION = "rating_rows/6"

Floats = NDArray[np.float64]
Row = dict[str, Any]
_Alphas = Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=3, max_length=3)]
_Weights = Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Field(min_length=3, max_length=3)]

PROTECTED: Mapping[str, tuple[str, ...]] = {"gender": ("gender",), "race": ("race",), "gender_race": ("gender", "race")}
"""The protected attributes, each with the columns that make it up."""

INCOMPARABLE = "incomparable"
"""Status of an attribute that has not two values to compare."""

_CONVENTIONS = {"definition": DEFINITION, "published": PUBLISHED}
_OK = {"status": "ok", "reason": ""}
_NO_EMOTIONS = {"measure": "die", "num_tests": 0, "status": "no_emotions", "reason": "no text has an emotion"}
_MIN_VALUES = 2


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LeaveOut:
    """Values whose texts have no part in the rating by that attribute."""

    gender: tuple[str, ...] = ()
    race: tuple[str, ...] = ()

    def values(self, column: str) -> tuple[str, ...]:
        """Those of one attribute."""
        return {"gender": self.gender, "race": self.race}[column]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class RawScoreConfig:
    """How raw scores and their resamples come from scores.

    Attributes:
        convention: ``definition`` tests and weighs as Lakkaraju et al. define it, ``published`` as their program does,
            behind most of their tables.
        weights: of a rejection at each of the three levels; None: the convention's.
        alphas: that a test's two-sided p must be below to reject at each of them; None: the convention's.
        decimals: that scores are rounded to; None: the convention's.
        leave_out: what is not compared, such as turns of users who did not disclose their gender.
        measure: what ratings go by: the weighted rejection score, the largest deconfounding impact, or ``auto``: the
            impact in groups where the emotion depends on the protected attribute, the rejections elsewhere.
        empty_cells: where no text has both an emotion and a protected value: ``renormalise`` adjusts over the other
            values, ``undefined`` leaves E[Y|do(X)] undefined.
        num_resamples: of the texts, for the intervals of raw scores; 0: none.
        keyed_by: what tells texts from others as they are drawn: their place, or what they say, so that runs on other
            texts draw those alike that they share.
    """

    convention: Literal["definition", "published"] = "definition"
    weights: _Weights | None = None
    alphas: _Alphas | None = None
    decimals: Annotated[int, Field(ge=0, le=15)] | None = None
    leave_out: LeaveOut = Field(default_factory=LeaveOut)
    measure: Literal["auto", "wrs", "die"] = "auto"
    empty_cells: EmptyCells = "renormalise"
    num_resamples: Annotated[int, Field(ge=0)] = 1000
    keyed_by: KeyedBy = "place"

    @pydantic.field_validator("alphas")
    @classmethod
    def _alphas_ascend(cls, alphas: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if alphas is not None and list(alphas) != sorted(alphas):
            raise ValueError(
                f"{list(alphas)} must ascend, as [0.05,0.30,0.40]: what rejects at the 95 % level does so at the others"
            )
        return alphas

    @property
    def rules(self) -> Convention:
        """What the convention means, with what is set beside it."""
        return _CONVENTIONS[self.convention]._replace(**self.deviations)

    @property
    def deviations(self) -> dict[str, Any]:
        """What is set beside the convention, by the names of the settings."""
        settings = {name: getattr(self, name) for name in ("weights", "alphas", "decimals")}
        return {name: value for name, value in settings.items() if value is not None}


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class RatingConfig(RawScoreConfig):
    """How systems are rated.

    Attributes:
        num_levels: levels of the complete order.
        cut: into levels: the ``distinct`` raw scores, which gives the published ratings, or ``repeated``, each as often
            as systems have it, as the published program does.
        level: nominal coverage of the intervals.
        interval: their method, as :func:`.text_intervals.resampled_interval` has them.
    """

    num_levels: Annotated[int, Field(ge=1)] = 3
    cut: Cut = "distinct"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    interval: Method = DEFAULT_METHOD

    @property
    def of_raw_scores(self) -> RawScoreConfig:
        """The part that raw scores depend on: with other intervals or levels, the same units are found."""
        fields = dataclasses.fields(RawScoreConfig)
        return RawScoreConfig(**{field.name: getattr(self, field.name) for field in fields})


class Findings(NamedTuple):
    """Rows of the tables ``tests``, ``effects`` and ``raw_scores``, these without intervals; the raw scores of all
    resamples, and how many texts or conversations each is drawn from."""

    tests: list[Row]
    effects: list[Row]
    raw_scores: list[Row]
    resampled: list[Floats]
    num_drawn: list[int]


def rate(scores: pl.DataFrame, config: RawScoreConfig, seed: int) -> Findings:
    """Rate one system on one variant.

    Args:
        scores: rows of the table ``scores``.
        seed: of the run.

    Raises:
        InputError: if a value that is to be left out is that of no text.
    """
    _check_leave_out(scores, config.leave_out)
    findings = Findings([], [], [], [], [])
    for (group,), texts in scores.group_by("group", maintain_order=True):
        for protected, columns in _attributes(texts).items():
            key, rows = {"group": group, "protected": protected}, _comparison(texts, columns, config.leave_out)
            if reason := _incomparable(rows, columns):
                _add_unmeasured(findings, key, reason, config)
            else:
                _rate_group(rows, key, columns, config, seed, findings)
    return findings


def _check_leave_out(scores: pl.DataFrame, leave_out: LeaveOut) -> None:
    for column in ("gender", "race"):
        known = scores[column].drop_nulls().unique().sort().to_list()
        if unknown := sorted(set(leave_out.values(column)) - set(known)):
            raise InputError(
                f"rating.leave_out.{column}: no text has the {column} {', '.join(map(repr, unknown))}; there are "
                f"{', '.join(map(repr, known)) or 'none'}"
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
    _add(findings, key | row | {"status": INCOMPARABLE, "reason": reason}, np.empty(0), 0)


def _rate_group(
    rows: pl.DataFrame, key: Row, columns: Sequence[str], config: RawScoreConfig, seed: int, findings: Findings
) -> None:
    scored = rows.drop_nulls([*columns, "sentiment"])
    datasets = [
        dataset_of(part, columns, [key["group"], str(name), key["protected"]], config.rules, config.keyed_by)
        for (name,), part in scored.group_by("dataset", maintain_order=True)
    ]
    confounded = any(data.is_confounded for data in datasets)
    common = {**key, "is_confounded": confounded, "warning": _warning(rows, columns, scored, datasets)}
    tests = [test | key for data in datasets for test in _tests(data, config.rules)]
    p_values = np.array([np.nan if test["p_value"] is None else test["p_value"] for test in tests])
    corrected = {"p_holm": holm(p_values), "p_benjamini_hochberg": benjamini_hochberg(p_values)}
    for name, adjusted in corrected.items():
        for test, p in zip(tests, adjusted, strict=True):
            test[name] = p
    findings.tests.extend(tests)
    resampled = _resampled(datasets, config, seed)
    num_drawn = sum(data.num_drawn() for data in datasets)
    _add(findings, common | _rejection_row(p_values, corrected, config.rules), resampled.rejections, num_drawn)
    if impacts := [impact for data in datasets if (impact := data.impact(config.empty_cells))]:
        effects = [effect | key for data in datasets for effect in _effects(data, config)]
        findings.effects.extend(effects)
        num_felt = sum(data.num_drawn(data.has_emotion) for data in datasets)
        _add(findings, common | _impact_row(impacts), resampled.impacts, num_felt)
    elif config.measure == "die":
        _add(findings, common | _NO_EMOTIONS, np.empty(0), 0)


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
            f"the tests take {scored.height} turns of {plural(num, 'conversation')} for independent; only the interval "
            "resamples whole conversations"
        )
    return "; ".join(warnings)


def _share(num: int, rows: pl.DataFrame) -> str:
    return f"{num} of {plural(rows.height, 'text')}"


# --- tests ----------------------------------------------------------------------------------------------------------


def _tests(data: Dataset, rules: Convention) -> Iterator[Row]:
    samples, tested = data.tested(rules)
    for number, (first, second) in enumerate(combinations(range(len(data.values)), 2)):
        sides = [_side(samples, data.values, cell, side) for side, cell in ((1, first), (2, second))]
        t, df, p = (float(part[number]) for part in tested)
        yield {"dataset": data.name, **sides[0], **sides[1], **_test(t, df, p, rules)}


def _side(samples: Moments, values: Sequence[str], cell: int, side: int) -> Row:
    sd = float(np.sqrt(samples.variance[cell]))
    numbers = {f"num_{side}": int(samples.num[cell]), f"mean_{side}": float(samples.mean[cell]), f"sd_{side}": sd}
    return {f"value_{side}": values[cell], **numbers}


def _test(t: float, df: float, p: float, rules: Convention) -> Row:
    if np.isnan(p):
        reason = {"status": "too_few", "reason": "a test needs 2 scores of either value"}
        return {"t": None, "degrees_of_freedom": None, "p_value": None, **reason}
    rejected = {f"rejected_{level}": p < alpha for level, alpha in zip(LEVELS, rules.alphas, strict=True)}
    return {"t": t, "degrees_of_freedom": df, "p_value": p, **rejected, **_OK}


def _rejection_row(p_values: Floats, corrected: Mapping[str, Floats], rules: Convention) -> Row:
    counted = weighted_rejections(p_values, rules)
    num_tests = int(np.isfinite(p_values).sum())
    row: Row = {"measure": "wrs", "num_tests": num_tests, "raw_score": float(counted.score)}
    for prefix, p in (("", p_values), *zip(("holm_", "bh_"), corrected.values(), strict=True)):
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
