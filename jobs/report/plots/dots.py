"""Dot plots: numbers with their intervals, one row below the other."""

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, axis, figure, line, marks, neutral_line, ticks
from tiltmeter.jobs.report.plots.style import INK, NEUTRAL, Kind, Look, Row, faint, hovers, kinds, plain, span
from tiltmeter.jobs.report.sides import Lean, sides_of

_GAP = 0.04
"""Between panels, as a share of the width."""


def dots(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] | None = None,
    band: str | None = None,
    neutral: float | None = None,
    title: str = "",
    words: str | None = None,
    words_size: int = 13,
    hover: Callable[[Row], str] | None = None,
    label: Callable[[str], str] = plain,
    ends: Sequence[float] | None = None,
    row_height: int = 22,
) -> Figure:
    """A dot for each row with a number, over the thin line of its interval; a row without one has an empty line.

    Args:
        x: the column of numbers.
        y: the column that says on which line a dot stands; lines come as they do in the rows, the first at the top,
            also those of rows without a number.
        band: whose ``_low`` and ``_high`` are thick pale lines.
        neutral: the number that leans to no side.
        words: the column of words beside the dots.
        label: how a line is called, as plotly reads it.
        ends: of the axis; they hold all numbers and intervals if None.
    """
    names = rows[y].unique(maintain_order=True).to_list()
    heights = {name: float(len(names) - 1 - place) for place, name in enumerate(names)}
    rows = rows.drop_nulls(x)
    across, up = ends or ends_of(rows, x, band, neutral=neutral), [-0.7, len(names) - 0.3]
    stems = {"band": band, "interval": x if band != x else None}
    traces = [] if neutral is None else [neutral_line([neutral] * 2, up)]
    for kind in kinds(rows, by, looks):
        places = [heights[name] + kind.look.shift for name in kind.rows[y]]
        group = {"legendgroup": kind.name, "name": plain(kind.name)}
        dot = _dots(kind, places, x, words, words_size) | hovers(kind.rows, hover)
        traces += [trace | group for trace in (*_intervals(kind, places, stems), dot)]
    return figure(
        *traces,
        height=110 + row_height * len(names),
        hovermode="closest",
        xaxis=axis(title, range=across),
        yaxis={"range": up, **ticks([label(name) for name in reversed(names)])},
    )


def ends_of(rows: pl.DataFrame, *names: str | None, neutral: float | None = 0.0) -> list[float]:
    """The ends of an axis that holds columns, their intervals and the neutral value."""
    columns = [f"{name}{end}" for name in names if name for end in ("", "_low", "_high")]
    known = [rows[column] for column in columns if column in rows.columns]
    return span(*known, [] if neutral is None else [neutral], margin=0.04)


def sides(
    rows: pl.DataFrame, lean: Lean, above: tuple[str, str], below: tuple[str, str]
) -> tuple[pl.DataFrame, dict[str, Look]]:
    """The rows with a column ``side``, which says to which side they lean and what else is known of it; and the looks.

    Args:
        above, below: how each side is called, and its colour.
    """
    directions = sides_of(rows, lean)
    between, against = f"interval includes {lean.neutral:g}", "contradicts its interval"
    none = "no interval" if directions.n_unique() > 1 else ""
    names = {
        "above": above[0],
        "below": below[0],
        "neither": between,
        "unknown": none,
        "undirected": "has no direction",
    }
    looks = {
        above[0]: Look(above[1]),
        between: Look(NEUTRAL, "circle-open"),
        below[0]: Look(below[1]),
        against: Look(NEUTRAL, "x"),
        names["undirected"]: Look(NEUTRAL),
        none: Look(INK),
    }
    return rows.with_columns(directions.replace_strict(names, default=against)), looks


def beside(*figures: Figure) -> Figure:
    """Dot plots of the same lines as panels of one figure."""
    first, width = figures[0].layout, (1 + _GAP) / len(figures)
    panels, traces = {}, []
    for num, panel in enumerate(figures):
        end = "" if num == 0 else str(num + 1)
        domain = [num * width, (num + 1) * width - _GAP]
        shared = {"matches": "y", "showticklabels": False} if num else {}
        panels[f"xaxis{end}"] = panel.layout["xaxis"] | {"anchor": f"y{end}", "domain": domain}
        panels[f"yaxis{end}"] = panel.layout["yaxis"] | {"anchor": f"x{end}"} | shared
        traces += [trace | {"xaxis": f"x{end}", "yaxis": f"y{end}"} for trace in panel.data]
    return figure(*traces, height=first["height"], hovermode="closest", **panels)


def _intervals(kind: Kind, heights: Sequence[float], stems: Mapping[str, str | None]) -> list[Trace]:
    """Lines and not error bars: an estimate from the original corpus may lie outside a percentile interval."""
    colour = kind.look.colour
    looks = {"band": {"width": 8, "color": faint(colour, 0.4)}, "interval": {"width": 2, "color": colour}}
    drawn = {name: stem for name, stem in stems.items() if f"{stem}_low" in kind.rows.columns}
    y = [height for place in heights for height in (place, place, None)]
    return [line(_ends(kind.rows, str(stem)), y, looks[name], **UNNAMED) for name, stem in drawn.items()]


def _ends(rows: pl.DataFrame, stem: str) -> list[float | None]:
    """Of lines for each row."""
    return [end for ends in rows.select(f"{stem}_low", f"{stem}_high").iter_rows() for end in (*ends, None)]


def _dots(kind: Kind, heights: Sequence[float], x: str, words: str | None, words_size: int) -> Trace:
    look, is_open = kind.look, kind.look.symbol.endswith("-open")
    # An open symbol of plotly's would let the line of the interval through.
    marker = {"symbol": look.symbol.removesuffix("-open"), "size": 9, "line": {"width": 2, "color": look.colour}}
    marker["color"] = "white" if is_open else look.colour
    dots = marks(kind.rows[x], heights, marker, showlegend=bool(kind.name), cliponaxis=False)
    if words is None:
        return dots
    texts = [plain(word) for word in kind.rows[words]]
    font = {"size": words_size, "color": look.letters}
    return dots | {"mode": "markers+text", "text": texts, "textposition": look.place, "textfont": font}
