"""The sections of a report that hold slices of a corpus, or corpora of one language, against each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.report.findings import split
from tiltmeter.jobs.report.grids import count, grid, text
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Paragraph, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, line, merged
from tiltmeter.jobs.report.plots.style import INK, LOOKS, Row, lines, plain
from tiltmeter.jobs.report.wording import estimate, plural
from tiltmeter.jobs.runtime.published import Frames

_MOST_BESIDE = 4
"""Corpora whose dots stand on one line; of more, each has a line."""

_MOST_LABELS = 60
_ROW_HEIGHT = 16

_INTERVALS = "Lines or bands: intervals for each of them drawn again"
_HOW = (
    "Each was read and trained on its own, and has an interval of its own. Two intervals that overlap do not say that "
    "two of them are alike: that is for the interval of their difference to say."
)


@dataclass(frozen=True)
class Compared:
    """Numbers of corpora that can be held against each other.

    Attributes:
        title: what they are.
        axis: the same in a word or two.
        rows: with ``model``, ``language``, and a row of each corpus for each label.
        value: the column of the numbers, with ``_low`` and ``_high``.
        label: the column that says what a number is of.
        neutral: the number that leans to no side, if there is one.
    """

    title: str
    axis: str
    rows: pl.DataFrame
    value: str
    label: str
    neutral: float | None = None


def slice_sections(frames: Frames, compared: Sequence[Compared]) -> list[Section]:
    """What slices are there, and their numbers beside each other; nothing for corpora of different languages."""
    slices = frames["corpus_slices"].filter(pl.col("field") != "") if "corpus_slices" in frames else None
    groups = _groups(frames, slices)
    charts = [chart for group in groups for chart in _charts(_named(group, len(groups) > 1), compared)]
    blocks: list[Block] = [Paragraph(_HOW), *charts] if charts else []
    table = [] if slices is None or slices.is_empty() else [_table(slices)]
    title = "The slices beside each other" if table else "Corpora of one language beside each other"
    return [Section("slices", title, [*blocks, *table])] if blocks or table else []


def _groups(frames: Frames, slices: pl.DataFrame | None) -> list[pl.DataFrame]:
    """Corpora that can be held against each other, with ``model``, ``name``, ``place``, in their order."""
    if "corpora" not in frames:
        return []
    corpora = frames["corpora"].select("language", model="corpus", name="corpus")
    schema = {"model": pl.String, "whole": pl.String, "value": pl.String, "place": pl.Float64}
    known = pl.DataFrame(schema=schema) if slices is None else slices.rename({"corpus": "model"}).select(*schema)
    joined = corpora.join(known.drop_nulls("value"), on="model", how="left", maintain_order="left")
    named = joined.with_columns(name=pl.coalesce("value", "name"))
    groups = named.partition_by("language", "whole", maintain_order=True)
    return [group for group in groups if group.height > 1]


def _named(group: pl.DataFrame, is_one_of_several: bool) -> pl.DataFrame:
    """The group with ``title``, what its corpora are slices of or their language; names have that too if asked for."""
    whole, language = group["whole"][0], group["language"][0]
    title = f"slices of {whole} ({language})" if whole else f"corpora in {language}"
    name = pl.col("model") if whole else pl.format("{} ({})", "name", "language")
    name = name if is_one_of_several else pl.col("name")
    return group.with_columns(name=name, title=pl.lit(title), tick="name")


def _charts(group: pl.DataFrame, compared: Sequence[Compared]) -> list[Chart]:
    parts = [(numbers, _numbers(group, numbers)) for numbers in compared]
    return [_chart(group, numbers, rows) for numbers, rows in parts if rows.drop_nulls("value").height]


def _numbers(group: pl.DataFrame, numbers: Compared) -> pl.DataFrame:
    """``label``, ``name``, ``place``, ``value``, ``value_low``, ``value_high`` of every corpus and label."""
    values = {f"value{end}": f"{numbers.value}{end}" for end in ("", "_low", "_high")}
    rows = numbers.rows.select("model", label=numbers.label, **values)
    measured = rows.filter(pl.col("model").is_in(group["model"].implode()) & pl.col("value").is_not_null())
    labels = measured.select("label").unique(maintain_order=True)
    every = labels.head(_MOST_LABELS).join(group.select("model", "name", "tick", "place"), how="cross")
    return every.join(rows, on=["model", "label"], how="left", maintain_order="left")


def _chart(group: pl.DataFrame, numbers: Compared, rows: pl.DataFrame) -> Chart:
    title = f"{numbers.title}: {group.height} {group['title'][0]}"
    if group["place"].null_count() == 0:
        figures = {label: _over(part, numbers) for label, part in split(rows, "label").items()}
        return Chart(f"Line chart: {title}.", f"{title}. {_INTERVALS}; a gap has no result.", figures)
    if group.height <= _MOST_BESIDE:
        figures = {numbers.title: _beside(rows, numbers, group["name"].to_list())}
    else:
        figures = {label: _below(part, numbers) for label, part in split(rows, "label").items()}
    return Chart(f"Dot plot: {title}.", f"{title}. {_INTERVALS}.", figures)


def _over(rows: pl.DataFrame, numbers: Compared) -> Figure:
    """A line over the places of slices, with its band, and their names below."""
    # From 0 on, as a page keeps so few digits that months of a year would fall together.
    ordered = rows.sort("place").with_columns(pl.col("place") - pl.col("place").min())
    drawn = curves(ordered, "place", "value", titles=("", numbers.axis), hover=_hover)
    places, names = _ticks(ordered)
    below = {"tickvals": places, "ticktext": [plain(name) for name in names]}
    dotted = [trace | {"mode": "lines+markers"} if "customdata" in trace else trace for trace in drawn.data]
    layout = merged(drawn.layout, {"xaxis": below, "yaxis": {"rangemode": "normal"}})
    return Figure([*dotted, _stems(ordered)], layout)


def _stems(rows: pl.DataFrame) -> Trace:
    """The interval of each slice, as a band shows none between two gaps."""
    known = rows.drop_nulls("value")
    x = [place for place in known["place"] for place in (place, place, None)]
    y = [end for ends in known.select("value_low", "value_high").iter_rows() for end in (*ends, None)]
    return line(x, y, {"width": 1, "color": INK}, **UNNAMED)


def _ticks(rows: pl.DataFrame, most: int = 8) -> tuple[list[float], list[str]]:
    """Places and names of some slices, from the first to the last."""
    known = rows.select("place", "tick").unique(maintain_order=True)
    chosen = known[np.unique(np.linspace(0, known.height - 1, min(most, known.height)).round().astype(int)).tolist()]
    return chosen["place"].to_list(), chosen["tick"].to_list()


def _beside(rows: pl.DataFrame, numbers: Compared, names: Sequence[str]) -> Figure:
    """A line for each label, with a dot of each corpus on it."""
    shifts = np.linspace(0.3, -0.3, len(names))
    looks = {name: look._replace(shift=float(shift)) for name, look, shift in zip(names, LOOKS, shifts, strict=False)}
    height = _ROW_HEIGHT * (1 + len(names))
    look: dict[str, Any] = {"by": "name", "looks": looks, "row_height": height}
    return dots(rows, "value", "label", neutral=numbers.neutral, title=numbers.axis, hover=_hover, **look)


def _below(rows: pl.DataFrame, numbers: Compared) -> Figure:
    return dots(rows, "value", "name", neutral=numbers.neutral, title=numbers.axis, hover=_hover)


def _hover(row: Row) -> str:
    return lines(plain(f"{row['label']}, {row['name']}"), estimate(row, "value", 3))


def _table(slices: pl.DataFrame) -> Details:
    rows = slices.with_columns(pl.col("value").fill_null("(in no slice)"))
    table = grid(
        "Every slice; one that is too small has no vectors.",
        rows,
        text("whole", "corpus"),
        "field",
        text("value", "slice"),
        count("num_documents", "documents"),
        "status",
        text("reason", "why"),
    )
    return Details(f"{plural(slices['value'].count(), 'slice')}, and what is in none", [table])
