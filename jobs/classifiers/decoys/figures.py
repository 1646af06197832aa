"""Figures of `decoy_benchmark`: the probability to have found a decoy, against the instances that are looked at."""

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.classifiers.decoys.words import name_of
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, STYLE, plain

_COLOURS = {
    "integrated_gradients": MALE,
    "gradient_x_input": FEMALE,
    "occlusion": FIRST,
    "lime": SECOND,
    "kernel_shap": INK,
    "random": NEUTRAL,
}
_BAND = 0.12
"""Opacity of an interval."""


def curves(rows: pl.DataFrame, value: str, title: str) -> go.Figure:
    """A curve for each method, with its interval as a band.

    Args:
        rows: ``method, budget`` and the value with its interval, of one decoy.
        value: the column that is drawn.
        title: of the axis.
    """
    figure = go.Figure().update_layout(template=STYLE, height=420)
    for (method,), part in rows.group_by("method", maintain_order=True):
        _add(figure, str(method), part.sort("budget"), value, title)
    figure.update_xaxes(title_text="instances that are looked at", rangemode="tozero", tickformat="d")
    return figure.update_yaxes(title_text=title, range=[-0.02, 1.02], tickformat=".0%")


def _add(figure: go.Figure, method: str, rows: pl.DataFrame, value: str, title: str) -> None:
    colour, x, name = _COLOURS[method], rows["budget"].to_list(), plain(name_of(method))
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "legendgroup": method, "showlegend": False}
    ends = f"{value}_low", f"{value}_high"
    figure.add_scatter(x=x, y=rows[ends[0]].to_list(), **edge)
    figure.add_scatter(x=x, y=rows[ends[1]].to_list(), fill="tonexty", fillcolor=_faint(colour), **edge)
    found = rows.select("budget", value, *ends).iter_rows()
    hovers = [
        f"<b>{name}</b><br>instances: {budget}<br>{title}: {share:.0%} [{low:.0%}, {high:.0%}]"
        for budget, share, low, high in found
    ]
    figure.add_scatter(
        x=x,
        y=rows[value].to_list(),
        customdata=hovers,
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dot" if method == "random" else "solid"},
        name=name,
        legendgroup=method,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{_BAND})"
