"""A page is a list of sections over tables; what shows a table that a run did not publish is left out.

A column is named here, and looks as its table's class says: heading, form and digits (see :func:`.table.doc`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import polars as pl

from tiltmeter.jobs.report import grids, wording
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.table import Column, Number, Table

Frames = Mapping[str, pl.DataFrame]
Config = TypeVar("Config", bound=CommonConfig)

_FORMS = {str: "text", int: "count", float: "number", bool: "yes", list: "listed"}


class View(Protocol):
    """A part of a section."""

    def blocks(self, frames: Frames) -> list[Block]:
        """What it shows of tables by name; nothing without its own."""


@dataclass(frozen=True)
class Show:
    """Rows of a table as a grid.

    Attributes:
        caption: of the grid, or what says it of the rows.
        columns: names with blanks between, ``name=heading`` for one that is called otherwise here (``_`` for a blank),
            ``name?`` for one that is left out where no row has a value; or several such texts, with columns that
            :mod:`.grids` makes among them.
        rows: which of them, and in which order.
        most: that are shown; the caption says where the others are.

    Raises:
        KeyError: for a column that the table has not, when the page is declared.
    """

    table: type[Table]
    caption: str | Callable[[pl.DataFrame], str]
    columns: str | Sequence[str | grids.Column]
    rows: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows
    most: int | None = None

    def __post_init__(self) -> None:
        self.grid_columns()

    def blocks(self, frames: Frames) -> list[Block]:
        """A grid of the rows that are chosen."""
        name = self.table.table_name
        return [self.grid(self.rows(frames[name]))] if name in frames else []

    def grid(self, rows: pl.DataFrame, *before: str | grids.Column) -> Grid:
        """Of some rows of the table, with other columns in front."""
        caption = self.caption if isinstance(self.caption, str) else self.caption(rows)
        table = self.table.table_name if self.most else ""
        return grids.grid(caption, rows, *before, *self.grid_columns(), most=self.most, table=table)

    def grid_columns(self, *, of_results: bool = False) -> list[grids.Column]:
        """As :func:`.grids.grid` takes them.

        Args:
            of_results: whether they are empty in rows without a result.
        """
        known = {column.name: column for column in (*self.table.columns, *_STATUS)}
        parts = [self.columns] if isinstance(self.columns, str) else self.columns
        named = [one for part in parts for one in (part.split() if isinstance(part, str) else [part])]
        made = [_named_column(one, known) if isinstance(one, str) else one for one in named]
        return [replace(column, cell=_if_ok(column.cell)) for column in made] if of_results else made


_STATUS = (Column("", name="status", type=str), Column("", name="reason", type=str))


def _if_ok(written: Callable[[grids.Row], str]) -> Callable[[grids.Row], str]:
    return lambda row: written(row) if row["status"] == "ok" else wording.DASH


def _named_column(text: str, known: Mapping[str, Column]) -> grids.Column:
    if text.endswith("?"):
        return grids.optional(_named_column(text.removesuffix("?"), known))
    name, _, heading = text.partition("=")
    column = known[name]
    return grid_column(replace(column, heading=heading.replace("_", " ")) if heading else column)


@dataclass(frozen=True)
class Dots:
    """Rows of a table as dots with their intervals.

    Attributes:
        value: column of an estimate.
        label: what a row is called.
        title: of the axis.
        alt: for those who can't see it.
        rows: which of them.
    """

    table: type[Table]
    value: str
    label: pl.Expr
    title: str
    alt: str
    caption: str
    neutral: float | None = 0.0
    rows: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows

    def blocks(self, frames: Frames) -> list[Block]:
        """A chart, if there are rows."""
        rows = self.rows(frames.get(self.table.table_name, pl.DataFrame()))
        if rows.is_empty():
            return []
        rows = rows.with_columns(dot_label=self.label)
        figure = dots(rows, self.value, "dot_label", neutral=self.neutral, title=self.title)
        return [Chart(self.alt, self.caption, {"": figure})]


@dataclass(frozen=True)
class Draw:
    """Blocks that a function makes of a table, such as a chart of its own or a sentence about its rows."""

    table: type[Table]
    made: Callable[[pl.DataFrame], Iterable[Block]]

    def blocks(self, frames: Frames) -> list[Block]:
        """Of the table's rows."""
        name = self.table.table_name
        return list(self.made(frames[name])) if name in frames else []


def grid_column(column: Column) -> grids.Column:
    """A column of a grid that looks as its table says."""
    name, show = column.name, column.show
    heading = wording.phrase(name.removeprefix("num_")) if column.heading is None else column.heading
    if callable(show):
        return grids.cell(heading, lambda row: show(row[name]))
    if isinstance(column.type, type) and issubclass(column.type, Number):
        return grids.cell(heading, lambda row: _estimate(row, column), is_numeric=True)
    if show == "phrase":
        return grids.text(name, heading, wording.phrase)
    if show == "percentage":
        return grids.number(name, heading, 1 if column.digits is None else column.digits, "%")
    form = show or _FORMS[getattr(column.type, "__origin__", column.type)]
    digits = {} if column.digits is None else {"digits": column.digits}
    made: grids.Column = getattr(grids, form)(name, heading, **digits)
    return made


def _estimate(row: Mapping[str, Any], column: Column) -> str:
    def written(number: float) -> str:
        if column.show == "percent":
            return wording.percent(number, 1 if column.digits is None else column.digits)
        form = wording.small if column.show == "small" else wording.number
        return form(number, 3 if column.digits is None else column.digits)

    value, low, high = (row[name] for name in (column.name, *column.ends))
    if value is None:
        return ""
    return written(value) + ("" if low is None or high is None else f" [{written(low)}, {written(high)}]")


class Part(NamedTuple):
    """A section, which is left out where it shows nothing; see :func:`section`."""

    anchor: str
    title: str
    views: Sequence[View]


def section(anchor: str, title: str, *views: View) -> Part:
    """A section of views, one below the other."""
    return Part(anchor, title, views)


@dataclass(frozen=True)
class Page(Generic[Config]):
    """The page of a job: called with a run and its tables.

    Attributes:
        question: what was asked.
        facts: under the title.
        findings: sentences on one table each.
        doubts: how sure they are.
    """

    title: str
    question: str
    facts: Callable[[Config], Mapping[str, str]]
    findings: Mapping[type[Table], Callable[[pl.DataFrame], Iterable[str]]]
    doubts: Callable[[Config], str]
    sections: Sequence[Part]

    def __call__(self, run: Run[Config, Any], frames: Frames) -> Body:
        """What is shown."""
        lead = Lead(
            [Paragraph(self.question)], [Bullets(list(self.sentences(frames)))], [Paragraph(self.doubts(run.config))]
        )
        return Body(self.title, self.facts(run.config), lead, list(shown(self.sections, frames)))

    def sentences(self, frames: Frames) -> Iterator[str]:
        """What was found, of the tables that there are."""
        for table, sentences in self.findings.items():
            if table.table_name in frames:
                yield from sentences(frames[table.table_name])


def shown(parts: Iterable[Part], frames: Frames) -> Iterator[Section]:
    """The sections that have something to show."""
    for part in parts:
        if blocks := [block for view in part.views for block in view.blocks(frames)]:
            yield Section(part.anchor, part.title, blocks)
