"""Psychometric curves: how the replicas' answers turn from one cue to the other."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from plotly.colors import sample_colorscale
from scipy.special import ndtr

from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, MALE, NEUTRAL, SECOND, STYLE, plain
from tiltmeter.jobs.report.wording import estimate, number
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD

_NUM_SHOWN = 5
_NUM_ON_FIT = 61


def psychometric_curves(measured: pl.DataFrame, points: pl.DataFrame) -> go.Figure:
    """Answers of the replicas against the mixture, as in figure 2 of Liang and Acuna 2020, for one cue pair.

    Args:
        measured: rows of ``psychometrics`` for the cue pair; a few between the extremes are shown at first.
        points: rows of ``psychometric_points`` for the same cue pair.
    """
    ordered, steps = measured.sort("pse", "word"), points.partition_by("word", as_dict=True)
    colours = _colours(ordered)
    shown = set(np.linspace(0, ordered.height - 1, min(_NUM_SHOWN, ordered.height)).round().astype(int).tolist())
    figure = go.Figure()
    for at, row in enumerate(ordered.iter_rows(named=True)):
        look = {"legendgroup": str(at), "visible": True if at in shown else "legendonly"}
        figure.add_traces([trace.update(look) for trace in _curve(row, steps[(row["word"],)], colours[at])])
    figure.update_layout(template=STYLE, height=480, legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"})
    figure.update_layout(legend_title_text="occupation: PSE, JND", legend_traceorder="reversed")
    cue = _second_cue(ordered.row(0, named=True))
    figure.update_xaxes(title_text=f"weight α of {cue} in the mixture", range=[0, 1])
    figure.update_yaxes(title_text=f"share of replicas answering {cue}", range=[-0.02, 1.02], tickformat=".0%")
    return figure.update_yaxes(tickvals=[0, 0.25, 0.5, 0.75, 1])


def _second_cue(row: dict[str, Any]) -> str:
    cue = f"“{plain(row['cue_2'])}”"
    return f"the male cue {cue}" if row["is_gender"] else cue


def _colours(ordered: pl.DataFrame) -> list[str]:
    """From the lowest to the highest PSE; cues that stand for no gender have colours of their own."""
    low, high = (MALE, FEMALE) if ordered["is_gender"][0] else (SECOND, FIRST)
    positions = np.linspace(0.0, 1.0, ordered.height) if ordered.height > 1 else np.array([0.5])
    return list(sample_colorscale([[0.0, low], [0.5, NEUTRAL], [1.0, high]], positions))


def _curve(row: dict[str, Any], steps: pl.DataFrame, colour: str) -> list[go.Scatter]:
    ordered = steps.sort("alpha")
    corners = ordered.filter((pl.col("share") != pl.col("share").shift(fill_value=-1.0)) | (pl.col("alpha") == 1.0))
    line, name = {"color": colour, "width": 1, "shape": "hv"}, f"{plain(row['word'])}: no fit"
    replicas = go.Scatter(x=corners["alpha"], y=corners["share"], mode="lines", line=line, name=name, hoverinfo="skip")
    if row["pse_fit"] is None or row["jnd_fit"] is None:
        return [replicas]
    return [replicas.update(opacity=0.6, showlegend=False), *_fit(row, row["pse_fit"], row["jnd_fit"], colour)]


def _fit(row: dict[str, Any], pse: float, jnd: float, colour: str) -> list[go.Scatter]:
    """The fitted cumulative normal, and the points that PSE and JND are read by."""
    alphas, outline = np.linspace(0.0, 1.0, _NUM_ON_FIT), {"color": colour, "width": 2}
    name = f"{plain(row['word'])}: {number(pse, 2)}, {number(jnd, 2)}"
    fit = go.Scatter(x=alphas, y=ndtr((alphas - pse) * JND_PER_SD / jnd), mode="lines", line=outline, name=name)
    marks = go.Scatter(x=[pse - jnd / 2, pse, pse + jnd / 2], y=[0.25, 0.5, 0.75], mode="markers", showlegend=False)
    marks.marker = {"color": ["white", colour, "white"], "size": [7, 10, 7], "line": outline, "opacity": 1}
    numbers = f"<b>{plain(row['word'])}</b><br>PSE {estimate(row, 'pse_fit')}<br>JND {estimate(row, 'jnd_fit')}"
    hover = {"hovertext": numbers, "hoverinfo": "text"}
    return [trace.update(hover) for trace in (fit, marks)]
