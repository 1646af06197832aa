"""Tables of a page: each column is said once, with its heading, how its cells are written, and whether it is numeric.

>>> rows = [{"word": "nurse", "num_texts": 1204, "pse": 0.7, "pse_low": 0.6, "pse_high": 0.8, "adopted": None}]
>>> made = grid("Words.", rows, "word", count("num_texts"), estimate("pse", "PSE", 1), yes("adopted"))
>>> made.headings, made.rows, made.numeric
(['word', 'texts', 'PSE', 'adopted'], [['nurse', '1,204', '0.7 [0.6, 0.8]', '–']], ['texts', 'PSE'])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.html.elements import Grid

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a grid.

    Attributes:
        cell: what a row has in it, as text.
        bar: how long the bar beside a cell is; None without bars.
        is_optional: whether the column is left out where no row has a value.
    """

    heading: str
    cell: Callable[[Row], str]
    is_numeric: bool = False
    bar: Callable[[Row], float] | None = None
    is_optional: bool = False


def grid(
    caption: str,
    rows: pl.DataFrame | Sequence[Row],
    *columns: Column | str,
    most: int | None = None,
    table: str = "",
) -> Grid:
    """A table of rows.

    Args:
        columns: what it shows; a name stands for :func:`text`.
        most: how many rows are shown; the caption says if there are more.
        table: where the others are.
    """
    records = rows.to_dicts() if isinstance(rows, pl.DataFrame) else list(rows)
    shown = records[:most]
    filled = {column: [column.cell(row) for row in shown] for column in map(_column, columns)}
    kept = {column: cells for column, cells in filled.items() if not (column.is_optional and _is_empty(cells))}
    return Grid(
        f"{caption}{_cut(len(shown), len(records), table)}".lstrip(),
        [column.heading for column in kept],
        [list(cells) for cells in zip(*kept.values(), strict=True)],
        [column.heading for column in kept if column.is_numeric],
        {column.heading: [column.bar(row) for row in shown] for column in kept if column.bar},
    )


def _column(column: Column | str) -> Column:
    return text(column) if isinstance(column, str) else column


def _is_empty(cells: Sequence[str]) -> bool:
    return all(cell == wording.DASH for cell in cells)


def _cut(shown: int, num: int, table: str) -> str:
    rest = f"; the others are in the table {table}" if table else ""
    return f" The first {shown:,} of {num:,}{rest}." if num > shown else ""


# --- columns --------------------------------------------------------------------------------------------------------


def text(
    name: str,
    heading: str | None = None,
    names: Mapping[Any, str] | Callable[[Any], str] = str,
    *,
    is_numeric: bool = False,
) -> Column:
    """Words, or numbers that are words already; times of day to the minute.

    Args:
        heading: above the column; the name as a phrase where it has none.
        names: what values are called.
    """
    called = names if callable(names) else names.__getitem__
    return _value_column(name, heading, lambda value: _text(value, called), is_numeric)


def count(name: str, heading: str | None = None, *, bar: bool = False) -> Column:
    """Whole numbers; the heading of ``num_texts`` is "texts"."""
    return _with_bar(_value_column(name, heading, lambda num: f"{num:,}"), name, bar)


def number(
    name: str, heading: str | None = None, digits: int = 3, unit: str = "", scale: float = 1.0, *, bar: bool = False
) -> Column:
    """Numbers with so many digits after the point, multiplied by ``scale``, with a unit behind each."""
    return _with_bar(_value_column(name, heading, lambda value: wording.number(scale * value, digits, unit)), name, bar)


def small(name: str, heading: str | None = None, digits: int = 3) -> Column:
    """The same of what may be small: a power of ten where it would be 0."""
    return _value_column(name, heading, lambda value: wording.small(value, digits))


def percent(name: str, heading: str | None = None, digits: int = 1) -> Column:
    """Shares as percentages."""
    return _value_column(name, heading, lambda share: wording.percent(share, digits))


def p_value(name: str, heading: str | None = None) -> Column:
    """Probabilities to two digits."""
    return _value_column(name, heading, wording.p_value)


def estimate(name: str, heading: str | None = None, digits: int = 3, unit: str = "") -> Column:
    """Numbers with the interval that the row has of them in ``<name>_low`` and ``<name>_high``."""
    return cell(_heading(name, heading), lambda row: wording.estimate(row, name, digits, unit), is_numeric=True)


def yes(name: str, heading: str | None = None) -> Column:
    """What holds or not."""
    return _value_column(name, heading, lambda holds: "yes" if holds else "no", is_numeric=False)


def listed(name: str, heading: str | None = None) -> Column:
    """Lists of words."""
    return text(name, heading, lambda words: ", ".join(map(wording.isolated, words)))


def cell(heading: str, function: Callable[[Row], str], *, is_numeric: bool = False) -> Column:
    """What is computed of a row."""
    return Column(heading, lambda row: function(row) or wording.DASH, is_numeric)


def optional(column: Column | str) -> Column:
    """The same column, which is left out where no row has a value."""
    return replace(_column(column), is_optional=True)


def _value_column(name: str, heading: str | None, written: Callable[[Any], str], is_numeric: bool = True) -> Column:
    """A column of what a row has under a name."""
    return cell(
        _heading(name, heading), lambda row: "" if row[name] is None else written(row[name]), is_numeric=is_numeric
    )


def _heading(name: str, heading: str | None) -> str:
    return wording.phrase(name.removeprefix("num_")) if heading is None else heading


def _text(value: Any, names: Callable[[Any], str]) -> str:
    return f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else names(value)


def _with_bar(column: Column, name: str, bar: bool) -> Column:
    return replace(column, bar=lambda row: float(row[name] or 0.0)) if bar else column
