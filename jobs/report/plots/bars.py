"""Bar charts: how many, or which share, of each category."""

from collections.abc import Callable, Mapping

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import STYLE, Look, Row, hovers, kinds, plain

_NO_LOOKS: Mapping[str, Look] = {}


def bars(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] = _NO_LOOKS,
    is_stacked: bool = False,
    titles: tuple[str, str] = ("", ""),
    text: str | None = None,
    hover: Callable[[Row], str] | None = None,
) -> go.Figure:
    """A bar for each row; those of a category stand beside each other, or on each other.

    Args:
        x, y: the column of categories, which is text, and that of numbers; with categories as y the bars lie, and the
            first is at the top.
        by: the column of kinds, each of which has a look and a place in the legend.
        titles: of both axes.
        text: the column of texts at the ends of the bars.
        hover: what is shown of a row under the pointer.
    """
    lies = rows[y].dtype == pl.String
    figure = go.Figure().update_layout(template=STYLE, bargap=0.3, legend_traceorder="normal")
    figure.update_layout(barmode="stack" if is_stacked else "group", height=380)
    for kind in kinds(rows, by, looks):
        ends = {name: _shown(kind.rows[column]) for name, column in (("x", x), ("y", y))}
        bar = go.Bar(**ends, orientation="h" if lies else "v", marker_color=kind.look.colour, cliponaxis=False)
        bar.update(name=plain(kind.name), showlegend=bool(kind.name), **hovers(kind.rows, hover))
        figure.add_trace(bar if text is None else bar.update(text=kind.rows[text].to_list(), textposition="outside"))
    if lies:
        figure.update_layout(height=110 + 30 * rows[y].n_unique()).update_yaxes(autorange="reversed")
    else:
        figure.update_xaxes(type="category")
    return figure.update_xaxes(title_text=titles[0]).update_yaxes(title_text=titles[1])


def _shown(values: pl.Series) -> list[object]:
    return [plain(value) for value in values] if values.dtype == pl.String else values.to_list()
