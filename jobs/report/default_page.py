"""The page of a job that has none of its own, from the schemas of its tables alone.

It shows every table, a dot plot of each number with an interval by the columns that tell rows apart, and how many rows
have a result.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.wording import number, phrase
from tiltmeter.jobs.runtime.columns import ENDS, interval_columns
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.storage.store.tables import key_columns

_MOST_ROWS = 50
_MOST_DOTS = 60
_LABEL = "row"


def page_of(tables: Mapping[str, pa.Schema]) -> Callable[[Run[Any, Any], Frames], Body]:
    """What makes the page of a job with these tables."""

    def page(run: Run[Any, Any], frames: Frames) -> Body:
        job = run.config.job.name
        published = {name: schema for name, schema in tables.items() if name in frames}
        return Body(
            phrase(job).capitalize(),
            {"job": job, "seed": str(run.config.seed)},
            Lead(
                [Paragraph(f"What {job} measured, table by table.")],
                [Bullets([_finding(name, frames[name], schema) for name, schema in published.items()])],
            ),
            [
                Section(name, phrase(name).capitalize(), table_blocks(frames[name], schema))
                for name, schema in published.items()
            ],
        )

    return page


def _finding(name: str, rows: pl.DataFrame, schema: pa.Schema) -> str:
    """How many rows a table has, how many of them have a result, and between which ends its first number lies."""
    measured = rows.filter(status="ok") if "status" in rows.columns else rows
    without = rows.height - measured.height
    extent = f"{phrase(name).capitalize()}: {plural(rows.height, 'row')}"
    extent += f", {without:,} of them without a result" if without else ""
    first = next(_numbers(schema), None)
    known = [] if first is None else measured[first.name].drop_nulls().to_list()
    if first is None or not known:
        return f"{extent}."
    low, high = (number(value, 3) for value in (min(known), max(known)))
    return f"{extent}; {phrase(first.name)} from {low} to {high}{_unit(first)}."


def table_blocks(rows: pl.DataFrame, schema: pa.Schema) -> list[Block]:
    """A table as its schema says it."""
    intervals = interval_columns(schema.names)
    ends = {end for both in intervals.values() for end in both}
    rows = rows.rename({end: f"{name}_{end}" for name, both in intervals.items() for end in both if end in ENDS})
    columns = [_column(field, schema.names) for field in schema if field.name not in ends]
    return [*_charts(rows, schema), grids.grid("", rows, *columns, most=_MOST_ROWS)]


def _column(field: pa.Field, names: list[str]) -> grids.Column:
    heading = f"{phrase(field.name)}{_unit(field, ' ({})')}"
    if field.name in interval_columns(names):
        return grids.estimate(field.name, heading)
    if pa.types.is_floating(field.type):
        return grids.number(field.name, heading)
    if pa.types.is_integer(field.type):
        return grids.count(field.name, heading)
    if pa.types.is_boolean(field.type):
        return grids.yes(field.name, heading)
    return grids.listed(field.name, heading) if pa.types.is_list(field.type) else grids.text(field.name, heading)


def _charts(rows: pl.DataFrame, schema: pa.Schema) -> Iterator[Chart]:
    """A dot for each row, of each number with an interval."""
    keys = key_columns(schema)
    for name in interval_columns(schema.names):
        known = rows.drop_nulls(name).sort(name, descending=True, maintain_order=True).head(_MOST_DOTS)
        if known.height and keys:
            field = schema.field(name)
            label = pl.concat_str([pl.col(key).cast(pl.String).fill_null("–") for key in keys], separator=", ")
            figure = dots(known.with_columns(label.alias(_LABEL)), name, _LABEL, title=f"{phrase(name)}{_unit(field)}")
            meaning = field.metadata[b"description"].decode()
            caption = (
                f"{meaning[0].upper()}{meaning[1:]}; lines are intervals. {_cut(rows.height, known.height)}".rstrip()
            )
            yield Chart(f"Dot plot of {phrase(name)} by {phrase(', '.join(keys))}.", caption, {name: figure})


def _cut(num_rows: int, num_shown: int) -> str:
    return f"The {num_shown:,} highest of {num_rows:,}." if num_rows > num_shown == _MOST_DOTS else ""


def _numbers(schema: pa.Schema) -> Iterator[pa.Field]:
    """Columns of numbers that are measured, those with an interval first."""
    fields = [schema.field(name) for name in interval_columns(schema.names)]
    return iter([*fields, *(field for field in schema if pa.types.is_floating(field.type) and field not in fields)])


def _unit(field: pa.Field, form: str = " {}") -> str:
    unit = (field.metadata or {}).get(b"unit", b"").decode()
    return form.format(unit) if unit else ""
