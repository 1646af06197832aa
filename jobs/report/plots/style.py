"""What all figures of the report share, such as their colours and style; and the losses of training."""

import html
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.wording import estimate, interval, isolated
from tiltmeter.operators.embedding.bootstrap import ORIGINAL

FEMALE, MALE, NEUTRAL, INK = "#d55e00", "#0072b2", "#8a8a86", "#1c1c1a"
FIRST, SECOND = "#00603c", "#5d2460"
"""After the palette of Okabe and Ito 2008; the last two are darkened until any two differ for colour-blind readers."""

TEXT = {FEMALE: "#a84a00", MALE: "#00639c", NEUTRAL: "#5b5b57"}
"""The same hues, dark enough for letters."""

_FAINT = "#e4e1da"
_AXIS = {"gridcolor": _FAINT, "zeroline": False, "title": {"font": {"size": 14}, "standoff": 12}}
STYLE = go.layout.Template(
    layout={
        "font": {"family": "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"bgcolor": "white", "bordercolor": NEUTRAL, "align": "left", "font": {"size": 13}},
        "margin": {"l": 10, "r": 10, "t": 40, "b": 50},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "itemsizing": "constant",
            "title": {"font": {"size": 13}},
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL, "activecolor": INK},
        "xaxis": {"ticks": "outside", "automargin": True, **_AXIS},
        "yaxis": {"automargin": True, **_AXIS},
    }
)


def plain(text: object) -> str:
    """Text as plotly shows it literally: it reads some tags and entities.

    >>> plain("<b>&")
    '&lt;b&gt;&amp;'
    """
    return isolated(html.escape(str(text), quote=False))


def neutral_line(x: list[float], y: list[float]) -> go.Scatter:
    """The value that leans to no side, as a line; a trace, because plotly draws grids over shapes below traces."""
    line = {"color": INK, "width": 1.5, "dash": "dot"}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def occupation_hovers(rows: pl.DataFrame) -> list[str]:
    """The numbers of each occupation, as they are shown under the pointer."""
    return [_occupation_hover(row) for row in rows.iter_rows(named=True)]


def _occupation_hover(row: dict[str, Any]) -> str:
    pairs = f"{row['num_pairs']} cue pairs, " if "num_pairs" in row else ""
    flips, women = interval(row, "flip"), estimate(row, "percent_women", 0)
    numbers = [
        f"PSE {estimate(row, 'pse')}",
        *([f"replicas' flips {flips}"] if flips else []),
        f"JND {estimate(row, 'jnd')}",
        *([f"women {women}%"] if row["percent_women"] is not None else []),
    ]
    return "<br>".join([f"<b>{plain(row['word'])}</b>", *numbers, f"{pairs}{row['num_replicas']} replicas"])


def epochs(rows: pl.DataFrame, lines: Mapping[str, str]) -> go.Figure:
    """Columns by epoch as lines.

    Args:
        rows: with ``epoch``.
        lines: the name of each column in the legend.
    """
    looks = ({"color": INK, "width": 2, "dash": "dash"}, {"color": MALE, "width": 2})
    figure = go.Figure().update_layout(template=STYLE, height=380)
    for (column, name), line in zip(lines.items(), looks, strict=True):
        hover = "epoch %{x}: %{y:.4f}<extra>%{fullData.name}</extra>"
        figure.add_scatter(x=rows["epoch"], y=rows[column], mode="lines", line=line, name=name, hovertemplate=hover)
    figure.update_xaxes(title_text="epoch", tickformat="d", dtick=max(1, rows.height // 10))
    return figure.update_yaxes(title_text="loss (nats)", rangemode="tozero")


def training(losses: pl.DataFrame) -> go.Figure:
    """Loss of each epoch: of the original corpus, and the mean and the range over the replicas."""
    is_original, loss = pl.col("replica") == ORIGINAL, pl.col("loss")
    original, replicas = losses.filter(is_original).sort("epoch"), losses.filter(~is_original)
    range_and_mean = [loss.min().alias("low"), loss.max().alias("high"), loss.mean().alias("mean")]
    epochs = replicas.group_by("epoch").agg(range_and_mean).sort("epoch")
    x, mean = epochs["epoch"], f"mean of {replicas['replica'].n_unique()} replicas"
    look = {"mode": "lines", "hovertemplate": "epoch %{x}: %{y:.4f}<extra>%{fullData.name}</extra>"}
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "name": "their range"}
    figure = go.Figure().update_layout(template=STYLE, height=380)
    figure.add_scatter(x=x, y=epochs["low"], showlegend=False, **edge)
    figure.add_scatter(x=x, y=epochs["high"], fill="tonexty", fillcolor="rgba(0,114,178,0.25)", **edge)
    figure.add_scatter(x=x, y=epochs["mean"], line={"color": MALE, "width": 2}, name=mean, **look)
    dashed = {"color": INK, "width": 2, "dash": "dash"}
    figure.add_scatter(x=original["epoch"], y=original["loss"], line=dashed, name="original corpus", **look)
    figure.update_xaxes(title_text="epoch", tickformat="d", dtick=max(1, original.height // 10))
    return figure.update_yaxes(title_text="mean loss", rangemode="tozero")
