"""Lines over steps such as epochs, with their intervals as bands."""

from collections.abc import Callable, Mapping

import polars as pl

from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, axis, figure, line
from tiltmeter.jobs.report.plots.style import Kind, Look, Row, faint, hovers, kinds, plain

_NUM_TICKS = 10


def curves(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] | None = None,
    titles: tuple[str, str] = ("", ""),
    hover: Callable[[Row], str] | None = None,
    label: Callable[[str], str] = plain,
    height: int = 380,
) -> Figure:
    """A line for each kind of rows; where the rows have ``<y>_low`` and ``<y>_high``, a band around it.

    Args:
        x: the column of steps, in any order; whole numbers have whole ticks.
        y: the column of numbers.
        label: how a kind is called in the legend, as plotly reads it.
    """
    traces: list[Trace] = []
    for kind in kinds(rows.sort(x, maintain_order=True), by, looks):
        name, colour = label(kind.name), kind.look.colour
        group = {"legendgroup": kind.name, "name": name}
        look = {"color": colour, "width": 2, "dash": kind.look.dash}
        curve = line(kind.rows[x], kind.rows[y], look, showlegend=bool(name), **hovers(kind.rows, hover))
        traces += [trace | group for trace in (*_band(kind, x, y), curve)]
    steps = {"tickformat": "d", "dtick": max(1, rows[x].n_unique() // _NUM_TICKS)}
    x_axis = axis(titles[0], **(steps if rows[x].dtype.is_integer() else {}))
    return figure(*traces, height=height, xaxis=x_axis, yaxis=axis(titles[1], rangemode="tozero"))


def _band(kind: Kind, x: str, y: str) -> list[Trace]:
    """Its lower edge, and its upper one with the area between them."""
    if f"{y}_low" not in kind.rows.columns:
        return []
    low, high = (line(kind.rows[x], kind.rows[f"{y}_{end}"], {"width": 0}, **UNNAMED) for end in ("low", "high"))
    return [low, high | {"fill": "tonexty", "fillcolor": faint(kind.look.colour, 0.15)}]
