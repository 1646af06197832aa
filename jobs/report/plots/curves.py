"""Lines over steps such as epochs, with their intervals as bands."""

from collections.abc import Callable, Mapping

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import STYLE, Kind, Look, Row, faint, hovers, kinds, plain

_NO_LOOKS: Mapping[str, Look] = {}
_NUM_TICKS = 10


def curves(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] = _NO_LOOKS,
    titles: tuple[str, str] = ("", ""),
    hover: Callable[[Row], str] | None = None,
    label: Callable[[str], str] = plain,
    height: int = 380,
) -> go.Figure:
    """A line for each kind of rows; where the rows have ``<y>_low`` and ``<y>_high``, a band around it.

    Args:
        x: the column of steps, in any order; whole numbers have whole ticks.
        y: the column of numbers.
        by: the column of kinds, each of which has a look and a place in the legend.
        titles: of both axes.
        hover: what is shown of a row under the pointer.
        label: how a kind is called in the legend, as plotly reads it.
    """
    figure = go.Figure().update_layout(template=STYLE, height=height)
    for kind in kinds(rows.sort(x, maintain_order=True), by, looks):
        name = label(kind.name)
        group = {"legendgroup": kind.name, "name": name, "x": kind.rows[x].to_list()}
        if f"{y}_low" in rows.columns:
            figure.add_traces([edge.update(group) for edge in _band(kind, y)])
        look = {"color": kind.look.colour, "width": 2, "dash": kind.look.dash}
        line = go.Scatter(y=kind.rows[y].to_list(), mode="lines", line=look, showlegend=bool(name))
        figure.add_trace(line.update(**group, **hovers(kind.rows, hover)))
    if rows[x].dtype.is_integer():
        figure.update_xaxes(tickformat="d", dtick=max(1, rows[x].n_unique() // _NUM_TICKS))
    return figure.update_xaxes(title_text=titles[0]).update_yaxes(title_text=titles[1], rangemode="tozero")


def _band(kind: Kind, y: str) -> list[go.Scatter]:
    """Its lower edge, and its upper one with the area between them."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    low, high = (kind.rows[f"{y}_{end}"].to_list() for end in ("low", "high"))
    filled = {"fill": "tonexty", "fillcolor": faint(kind.look.colour, 0.15)}
    return [go.Scatter(y=low, **edge), go.Scatter(y=high, **edge, **filled)]
