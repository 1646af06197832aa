"""Dot plots: numbers with their intervals, one row below the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from tiltmeter.jobs.report.plots.style import (
    INK,
    NEUTRAL,
    STYLE,
    Kind,
    Look,
    Row,
    faint,
    hovers,
    kinds,
    neutral_line,
    plain,
    span,
)

_NO_LOOKS: Mapping[str, Look] = {}


def dots(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] = _NO_LOOKS,
    interval: str | None = None,
    band: str | None = None,
    neutral: float | None = None,
    title: str = "",
    words: str | None = None,
    hover: Callable[[Row], str] | None = None,
    label: Callable[[str], str] = plain,
    ends: Sequence[float] | None = None,
    row_height: int = 22,
) -> go.Figure:
    """A dot for each row with a number, over the line of its interval; a row without one has an empty line.

    Args:
        x: the column of numbers.
        y: the column that says on which line a dot stands; lines come as they do in the rows, the first at the top,
            also those of rows without a number.
        by: the column of kinds, each of which has a look and a place in the legend; a name that is empty has none.
        interval: whose ``_low`` and ``_high`` are the thin lines; x if None, unless that is the band.
        band: whose ``_low`` and ``_high`` are thick pale lines.
        neutral: the number that leans to no side.
        title: of the axis of numbers.
        words: the column of words beside the dots.
        hover: what is shown of a row under the pointer.
        label: how a line is called, as plotly reads it.
        ends: of the axis; they hold all numbers and intervals if None.
    """
    names = rows[y].unique(maintain_order=True).to_list()
    heights = {name: float(len(names) - 1 - place) for place, name in enumerate(names)}
    rows = rows.drop_nulls(x)
    figure = _lines([label(name) for name in names], row_height)
    if neutral is not None:
        figure.add_trace(neutral_line([neutral] * 2, [-0.7, len(names) - 0.3]))
    stems = {"interval": interval or (x if band != x else None), "band": band}
    for kind in kinds(rows.drop_nulls(x), by, looks):
        places = [heights[name] + kind.look.shift for name in kind.rows[y]]
        figure.add_traces([*_intervals(kind, places, stems), _dots(kind, places, x, words, hover)])
    return figure.update_xaxes(title_text=title, range=list(ends or ends_of(rows, x, interval, band, neutral=neutral)))


def ends_of(rows: pl.DataFrame, *names: str | None, neutral: float | None = 0.0) -> list[float]:
    """The ends of an axis that holds columns, their intervals and the neutral value."""
    columns = [f"{name}{end}" for name in names if name for end in ("", "_low", "_high")]
    known = [rows[column] for column in columns if column in rows.columns]
    return span(*known, [] if neutral is None else [neutral], margin=0.04)


def sides(
    rows: pl.DataFrame, interval: str, neutral: float, above: tuple[str, str], below: tuple[str, str]
) -> tuple[pl.DataFrame, dict[str, Look]]:
    """The rows with a column ``side``, which says on which side of the neutral value an interval lies; and the looks.

    Args:
        interval: whose ``_low`` and ``_high`` are the interval of the replicas' own values.
        above, below: how each side is called, and its colour.
    """
    low, high = pl.col(f"{interval}_low"), pl.col(f"{interval}_high")
    between = f"interval includes {neutral:g}"
    side = pl.when(low > neutral).then(pl.lit(above[0])).when(high < neutral).then(pl.lit(below[0]))
    known = rows.with_columns(side.when(low.is_not_null()).then(pl.lit(between)).otherwise(pl.lit("")).alias("side"))
    none = "no interval" if known["side"].n_unique() > 1 else ""
    looks = {above[0]: Look(above[1]), between: Look(NEUTRAL, "circle-open"), below[0]: Look(below[1]), none: Look(INK)}
    return known.with_columns(pl.col("side").replace("", none)), looks


def beside(*figures: go.Figure) -> go.Figure:
    """Dot plots of the same lines as panels of one figure."""
    whole = make_subplots(cols=len(figures), shared_yaxes=True, horizontal_spacing=0.04)
    for col, figure in enumerate(figures, start=1):
        whole.add_traces(figure.data, rows=1, cols=col)
        whole.update_xaxes(figure.layout.xaxis, col=col)
        whole.update_yaxes({"tickvals": figure.layout.yaxis.tickvals, "range": figure.layout.yaxis.range}, col=col)
    whole.update_yaxes(ticktext=figures[0].layout.yaxis.ticktext, col=1)
    return whole.update_layout(template=STYLE, height=figures[0].layout.height, hovermode="closest")


def _lines(labels: Sequence[str], row_height: int) -> go.Figure:
    """A plot without dots: a line for each label, the first at the top."""
    figure = go.Figure().update_layout(template=STYLE, height=110 + row_height * len(labels), hovermode="closest")
    ticks = {"tickvals": list(range(len(labels))), "ticktext": list(labels)[::-1]}
    return figure.update_yaxes(range=[-0.7, len(labels) - 0.3], **ticks)


def _intervals(kind: Kind, heights: Sequence[float], stems: Mapping[str, str | None]) -> list[go.Scatter]:
    """Lines and not error bars: an estimate from the original corpus may lie outside its percentile interval."""
    colour = kind.look.colour
    widths = {"band": {"width": 8, "color": faint(colour, 0.4)}, "interval": {"width": 2, "color": colour}}
    return [
        _segments(kind, heights, str(stems[name]), line)
        for name, line in widths.items()
        if f"{stems[name]}_low" in kind.rows.columns
    ]


def _segments(kind: Kind, heights: Sequence[float], stem: str, line: Mapping[str, Any]) -> go.Scatter:
    spans = kind.rows.select(f"{stem}_low", f"{stem}_high").iter_rows()
    x = [end for ends in spans for end in (*ends, None)]
    y = [height for place in heights for height in (place, place, None)]
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, **_group(kind))


def _dots(
    kind: Kind, heights: Sequence[float], x: str, words: str | None, hover: Callable[[Row], str] | None
) -> go.Scatter:
    look, is_open = kind.look, kind.look.symbol.endswith("-open")
    # An open symbol of plotly's would let the line of the interval through.
    marker = {"symbol": look.symbol.removesuffix("-open"), "size": 9, "line": {"width": 2, "color": look.colour}}
    marker["color"] = "white" if is_open else look.colour
    named = {} if words is None else {"text": [plain(word) for word in kind.rows[words]], "textposition": look.place}
    mode = "markers" if words is None else "markers+text"
    shown = {"showlegend": bool(kind.name), "cliponaxis": False, **_group(kind), **hovers(kind.rows, hover)}
    return go.Scatter(x=kind.rows[x], y=list(heights), mode=mode, marker=marker, **named, **shown)


def _group(kind: Kind) -> dict[str, str]:
    return {"legendgroup": kind.name, "name": plain(kind.name)}
