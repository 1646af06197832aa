"""The figures of the report: rows of the public tables in, plotly figures out."""

import html
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from plotly.colors import sample_colorscale
from scipy.special import ndtr

from jobs.findings import correlations, estimate, interval, number
from operators.bootstrap import ORIGINAL
from operators.psychophysics import JND_PER_SD

FEMALE, MALE, NEUTRAL, INK = "#d55e00", "#0072b2", "#8a8a86", "#1c1c1a"
"""From the palette of Okabe and Ito 2008, which colour-blind readers can tell apart."""

_FAINT = "#e4e1da"
_NUM_SHOWN = 5
_MAX_LABELS = 20
_SHARES = [-3.0, 103.0]
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
    return html.escape(str(text), quote=False)


def neutral_line(x: list[float], y: list[float]) -> go.Scatter:
    """The value that leans to no side, as a line; a trace, because plotly draws grids over shapes below traces."""
    line = {"color": INK, "width": 1.5, "dash": "dot"}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def psychometric_curves(measured: pl.DataFrame, points: pl.DataFrame) -> go.Figure:
    """Answers of the replicas against the mixture, as in figure 2 of Liang and Acuna 2020, for one cue pair.

    Args:
        measured: rows of ``psychometrics`` for the cue pair; a few between the extremes are shown at first.
        points: rows of ``psychometric_points`` for the same cue pair.
    """
    ordered = measured.sort("pse", "word")
    positions = np.linspace(0.0, 1.0, ordered.height) if ordered.height > 1 else np.array([0.5])
    colours = sample_colorscale([[0.0, MALE], [0.5, NEUTRAL], [1.0, FEMALE]], positions)
    shown = set(np.linspace(0, ordered.height - 1, min(_NUM_SHOWN, ordered.height)).round().astype(int).tolist())
    figure = go.Figure()
    for at, row in enumerate(ordered.iter_rows(named=True)):
        steps = points.filter(pl.col("word") == row["word"]).sort("alpha")
        look = {"legendgroup": str(at), "visible": True if at in shown else "legendonly"}
        figure.add_traces([trace.update(look) for trace in _curve(row, steps, colours[at])])
    figure.update_layout(template=STYLE, height=480, legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"})
    figure.update_layout(legend_title_text="occupation: PSE, JND", legend_traceorder="reversed")
    figure.update_xaxes(title_text="weight α of the male cue in the mixture", range=[0, 1])
    figure.update_yaxes(title_text="share of replicas answering the male cue", range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(tickvals=[0, 0.25, 0.5, 0.75, 1])
    return figure


def _curve(row: dict[str, Any], steps: pl.DataFrame, colour: str) -> list[go.Scatter]:
    corners = steps.filter((pl.col("share") != pl.col("share").shift(fill_value=-1.0)) | (pl.col("alpha") == 1.0))
    line, name = {"color": colour, "width": 1, "shape": "hv"}, f"{plain(row['word'])}: no fit"
    replicas = go.Scatter(x=corners["alpha"], y=corners["share"], mode="lines", line=line, name=name, hoverinfo="skip")
    if row["pse_fit"] is None or row["jnd_fit"] is None:
        return [replicas]
    return [replicas.update(opacity=0.6, showlegend=False), *_fit(row, row["pse_fit"], row["jnd_fit"], colour)]


def _fit(row: dict[str, Any], pse: float, jnd: float, colour: str) -> list[go.Scatter]:
    """The fitted cumulative normal, and the points that PSE and JND are read by."""
    alphas, outline = np.linspace(0.0, 1.0, 101), {"color": colour, "width": 2}
    name = f"{plain(row['word'])}: {number(pse, 2)}, {number(jnd, 2)}"
    fit = go.Scatter(x=alphas, y=ndtr((alphas - pse) * JND_PER_SD / jnd), mode="lines", line=outline, name=name)
    marks = go.Scatter(x=[pse - jnd / 2, pse, pse + jnd / 2], y=[0.25, 0.5, 0.75], mode="markers", showlegend=False)
    marks.marker = {"color": ["white", colour, "white"], "size": [7, 10, 7], "line": outline, "opacity": 1}
    numbers = f"<b>{plain(row['word'])}</b><br>PSE {estimate(row, 'pse_fit')}<br>JND {estimate(row, 'jnd_fit')}"
    hover = {"hovertext": numbers, "hoverinfo": "text"}
    return [trace.update(hover) for trace in (fit, marks)]


def occupation_hovers(rows: pl.DataFrame) -> list[str]:
    """The numbers of each occupation, as they are shown under the pointer."""
    return [_occupation_hover(row) for row in rows.iter_rows(named=True)]


def _occupation_hover(row: dict[str, Any]) -> str:
    basis = f"mean over {row['num_pairs']} cue pairs" if "num_pairs" in row else f"{row['num_replicas']} replicas"
    flips = interval(row, "flip")
    numbers = [
        f"PSE {estimate(row, 'pse')}",
        *([f"replicas' flips {flips}"] if flips else []),
        f"JND {estimate(row, 'jnd')}",
        f"women {estimate(row, 'percent_women', 0)}%",
    ]
    return "<br>".join([f"<b>{plain(row['word'])}</b>", *numbers, basis])


def share_of_women(rows: pl.DataFrame) -> go.Figure:
    """PSE against the share of women, with both correlations; rows as for ``dot_plots.occupations``."""
    mode = "markers+text" if rows.height <= _MAX_LABELS else "markers"
    names, hovers = [plain(word) for word in rows["word"]], occupation_hovers(rows)
    dots = go.Scatter(
        x=rows["percent_women"], y=rows["pse"], text=names, customdata=hovers, mode=mode, cliponaxis=False
    )
    dots.update(marker={"color": INK, "size": 8}, textposition="top center", textfont={"size": 12})
    dots.hovertemplate = "%{customdata}<extra></extra>"
    figure = go.Figure([neutral_line(_SHARES, [0.5, 0.5]), dots])
    found = correlations(rows["percent_women"], rows["pse"])
    numbers = f"Pearson r = {number(found.pearson, 2)}, Spearman ρ = {number(found.spearman, 2)}, n = {found.num}"
    at_top = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom", "yshift": 10}
    figure.add_annotation(text=numbers, showarrow=False, **at_top)
    figure.update_xaxes(title_text="women in the occupation (%)", range=_SHARES)
    figure.update_yaxes(title_text="PSE (mixture α)", tickformat=".2f")
    return figure.update_layout(template=STYLE, height=460, showlegend=False)


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
