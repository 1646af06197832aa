"""Columns of a user as predicates of slices, and which of them tell the losses all alone.

Cells are text, null where there is nothing. Truth values and names are categories, and so are whole numbers of at most
ten values; other numbers are cut at the quartiles of the rows that explore, or at given edges, into half-open intervals
[a, b); days count by year, month and weekday, or are cut at given days. What is missing is a predicate of its own.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.ranking import auroc
from tiltmeter.operators.classifiers.errors.slices.predicates import (
    Condition,
    Part,
    Predicate,
    Predicates,
    conditions_of,
    values_of,
)
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, LossArray

VERSION = "slice_columns/2"

Type = Literal["boolean", "category", "number", "date"]

LEAK = 0.99
"""AUROC from which a column says what the loss is."""

_MOST_WHOLE, _MOST_VALUES, _TAKEN = 10, 50, 20
_DAY = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"
OPERATORS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PARTS: tuple[Part, ...] = ("year", "month", "weekday")


class ColumnFacts(NamedTuple):
    """What a column is taken for.

    Attributes:
        num_values: different ones.
        num_missing: cells without one.
        edges: between intervals; none of categories.
        auroc: of losses above their median, by the column alone.
        reason: what is left out; empty: nothing.
    """

    type: Type
    num_values: int
    num_missing: int
    edges: Sequence[float]
    auroc: float
    reason: str


def type_of(cells: pl.Series) -> Type:
    """What all cells of a column that say something are.

    >>> [type_of(pl.Series(cells)) for cells in (["true", None], ["1", "2"], ["0.5", "2"], ["2024-05-01"], ["a", "1"])]
    ['boolean', 'category', 'number', 'date', 'category']
    """
    known = cells.drop_nulls().unique()
    if known.is_empty() or known.is_in(["true", "false"]).all():
        return "boolean" if known.len() else "category"
    values = known.cast(pl.Float64, strict=False)
    if values.null_count() == 0:
        return "category" if known.len() <= _MOST_WHOLE and (values % 1 == 0).all() else "number"
    is_day = known.str.contains(_DAY).all() and _days(known).null_count() == 0
    return "date" if is_day else "category"


def edges_of(values: FloatArray) -> list[float]:
    """Quartiles of the known values, each written as short as it can be without a value changing its side; none twice.

    >>> edges_of(np.array([1.23456, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])), edges_of(np.array([0.0, 0.0, 0.0, 1.0]))
    ([2.0, 4.0, 6.0], [0.0])
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return []
    cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf"))
    return sorted({_short(float(cut), known) for cut in cuts})


def _short(cut: float, values: FloatArray) -> float:
    rounded = (float(f"{cut:.{digits}g}") for digits in range(3, 18))
    return next((one for one in rounded if np.array_equal(values >= one, values >= cut)), cut)


def predicates_of_column(
    name: str, cells: pl.Series, exploring: BoolArray, losses: LossArray, edges: Sequence[float]
) -> tuple[Predicates, ColumnFacts]:
    """All predicates of a column, however few rows have them.

    Args:
        cells: ``[rows]`` as text.
        exploring: ``[rows]``, whether each is looked at to cut and to choose.
        losses: ``[rows]``.
        edges: that are given; none: quartiles are taken.
    """
    cell_type = type_of(cells)
    kind: Type = cell_type if not edges or cell_type in ("number", "date") else "number"
    explored, made, cuts, reason = (
        cells.filter(pl.Series(exploring)),
        list[Predicate](),
        [float(edge) for edge in edges],
        "",
    )
    values = numbers_of(cells, is_date=kind == "date")
    if kind == "number" and not cuts:
        cuts = edges_of(values[exploring])
    if cuts:
        ends = [-np.inf, *cuts, np.inf]
        word = "day" if kind == "date" else ""
        made += [Predicate(name, "interval", word, low, high, name) for low, high in pairwise(ends)]
    elif kind == "date":
        for part in _PARTS:
            known = part_of(cells, part).drop_nulls().unique().sort().to_list()
            made += [Predicate(f"{name}.{part}", "equal", value, column=name, part=part) for value in known]
    else:
        counts = explored.drop_nulls().value_counts(name="num").sort(["num", cells.name], descending=[True, False])
        known = counts[cells.name].to_list()
        if len(known) > _MOST_VALUES:
            reason, known = f"the {_TAKEN} most frequent of {len(known):,} values are taken", known[:_TAKEN]
        made += [Predicate(name, "equal", value, column=name) for value in sorted(known)]
    made.append(Predicate(name, "missing", column=name))
    members = np.array([_all(holds(part, cells) for part in conditions_of(one)) for one in made], dtype=np.bool_)
    alone = _alone(cells if kind in ("boolean", "category") else values, exploring, losses)
    facts = ColumnFacts(kind, cells.n_unique() - bool(cells.null_count()), cells.null_count(), cuts, alone, reason)
    return Predicates(made, members), facts


def holds(condition: Condition, cells: pl.Series) -> BoolArray:
    """``[rows]``: of which a condition on a column holds.

    >>> holds(Condition("column", ">=", "age", 18.0), pl.Series(["17", "18", None])).tolist()
    [False, True, False]
    """
    if condition.operator == "missing":
        return np.asarray(cells.is_null().to_numpy())
    if condition.operator == "=":
        return np.asarray((part_of(cells, condition.part) == condition.value).fill_null(value=False).to_numpy())
    return _compared(condition, numbers_of(cells, is_date=condition.part == "day"))


def rows_of(conditions: Sequence[Condition], data: Examples) -> BoolArray:
    """``[rows]``: of which all of some conditions hold."""
    return _all(_holds_of(one, data) for one in conditions)


def _holds_of(condition: Condition, data: Examples) -> BoolArray:
    match condition.of:
        case "column":
            return holds(condition, data.extra[condition.name])
        case "feature":
            return _compared(condition, values_of(data, condition.name))
        case "prediction":
            return np.array([name == condition.value for name in data.predicted], dtype=np.bool_)


def _compared(condition: Condition, values: FloatArray) -> BoolArray:
    border = condition.value
    end = days_since(border) if isinstance(border, str) else float(border or 0.0)
    return np.asarray(OPERATORS[condition.operator](values, end))


def _all(parts: Iterable[BoolArray]) -> BoolArray:
    return np.asarray(np.logical_and.reduce(list(parts)))


def numbers_of(cells: pl.Series, *, is_date: bool) -> FloatArray:
    """``[rows]``: numbers, or days since 1970; NaN where a cell is neither."""
    values = _days(cells).to_physical() if is_date else cells
    return np.asarray(values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), dtype=np.float64)


def days_since(day: str) -> float:
    """Days from 1970 to a day such as ``2024-05-01``."""
    return float(np.datetime64(day, "D").astype(np.int64))


def _days(cells: pl.Series) -> pl.Series:
    return cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def part_of(cells: pl.Series, part: str | None) -> pl.Series:
    """Year, month or weekday of each cell, in words; the cells themselves, for no part."""
    if not part:
        return cells
    days = _days(cells).dt
    if part == "weekday":
        return days.weekday().replace_strict(dict(enumerate(_WEEKDAYS, start=1)), return_dtype=pl.String)
    return (days.year() if part == "year" else days.month()).cast(pl.String)


def _alone(values: pl.Series | FloatArray, exploring: BoolArray, losses: LossArray) -> float:
    """AUROC of losses above their median (of errors: of errors), on rows that confirm; 0.5 says nothing.

    Numbers count either way; of a category counts how often losses are so large where rows explore.
    """
    above = losses > np.median(losses)
    is_high, rows = above if above.any() else losses > losses.min(), ~exploring
    if isinstance(values, pl.Series):
        names = values.fill_null("")
        table = pl.DataFrame({"name": names, "high": is_high}).filter(pl.Series(exploring))
        rates = dict(table.group_by("name").agg(pl.col("high").mean()).iter_rows())
        scores = np.array([rates.get(name, np.nan) for name in names.to_list()], dtype=np.float64)
    else:
        scores = values
    rows = rows & ~np.isnan(scores)
    if is_high[rows].all() or not is_high[rows].any():
        return float("nan")
    value = auroc(scores[rows], is_high[rows])
    return max(value, 1.0 - value) if not isinstance(values, pl.Series) else value
