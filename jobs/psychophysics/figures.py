"""Pictures of the psychophysics: how replicas turn from one cue to the other, PSE and JND, and what goes with PSE."""

from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from plotly.colors import sample_colorscale

from tiltmeter.jobs.association.figures import against_women, effect_title
from tiltmeter.jobs.report.findings import correlations
from tiltmeter.jobs.report.plots.dots import beside, dots, ends_of, sides
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import (
    FEMALE,
    FIRST,
    MALE,
    NEUTRAL,
    SECOND,
    SHARES,
    STYLE,
    Look,
    Row,
    lines,
    plain,
)
from tiltmeter.jobs.report.wording import estimate, interval, number
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD

_NUM_SHOWN = 5
_NUM_ON_FIT = 61
_PSE = "PSE (mixture α)"
_DEVIATIONS = {"sd_pairs": "sd: cue pairs", "sd_replicas": "sd: replicas", "sd_rest": "sd: rest"}
_LOOKS = dict(zip(_DEVIATIONS.values(), (Look(), Look(SECOND, "diamond"), Look(NEUTRAL, "circle-open")), strict=True))
_pse_dots = partial(dots, x="pse", y="word", by="side", neutral=0.5, title=_PSE)


def psychometric_curves(measured: pl.DataFrame, points: pl.DataFrame) -> go.Figure:
    """Answers of the replicas against the mixture, as in figure 2 of Liang and Acuna 2020, for one cue pair.

    Args:
        measured: rows of ``psychometrics`` for the cue pair; a few between the extremes are shown at first.
        points: rows of ``psychometric_points`` for the same cue pair.
    """
    ordered, steps = measured.sort("pse", "word"), points.sort("alpha").partition_by("word", as_dict=True)
    shown = set(np.linspace(0, ordered.height - 1, min(_NUM_SHOWN, ordered.height)).round().astype(int).tolist())
    figure = go.Figure().update_layout(template=STYLE, height=480)
    for place, (row, colour) in enumerate(zip(ordered.to_dicts(), _colours(ordered), strict=True)):
        look = {"legendgroup": str(place), "visible": True if place in shown else "legendonly"}
        figure.add_traces(list(_curve(row, steps[(row["word"],)], colour, look)))
    legend = {"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top", "traceorder": "reversed"}
    figure.update_layout(legend=legend, legend_title_text="occupation: PSE, JND")
    cue = f"{'the male cue ' if ordered['is_gender'][0] else ''}“{plain(ordered['cue_2'][0])}”"
    figure.update_xaxes(title_text=f"weight α of {cue} in the mixture", range=[0, 1])
    return figure.update_yaxes(
        SHARES, title_text=f"share of replicas answering {cue}", tickvals=[0, 0.25, 0.5, 0.75, 1]
    )


def _colours(ordered: pl.DataFrame) -> list[str]:
    """From the lowest to the highest PSE; cues that stand for no gender have colours of their own."""
    low, high = (MALE, FEMALE) if ordered["is_gender"][0] else (SECOND, FIRST)
    positions = np.linspace(0.0, 1.0, ordered.height) if ordered.height > 1 else np.array([0.5])
    return list(sample_colorscale([[0.0, low], [0.5, NEUTRAL], [1.0, high]], positions))


def _curve(row: Row, steps: pl.DataFrame, colour: str, look: Mapping[str, Any]) -> Iterator[go.Scatter]:
    """Steps of the replicas; the fitted cumulative normal, and the points that PSE and JND are read by."""
    pse, jnd, word = row["pse_fit"], row["jnd_fit"], plain(row["word"])
    corners = steps.filter((pl.col("share") != pl.col("share").shift(fill_value=-1.0)) | (pl.col("alpha") == 1.0))
    line = {"color": colour, "width": 1, "shape": "hv"}
    is_fitted = pse is not None and jnd is not None
    named = {"opacity": 0.6, "showlegend": False} if is_fitted else {"name": f"{word}: no fit"}
    yield go.Scatter(x=corners["alpha"], y=corners["share"], mode="lines", line=line, hoverinfo="skip", **named, **look)
    if not is_fitted:
        return
    numbers = lines(word, f"PSE {estimate(row, 'pse_fit')}", f"JND {estimate(row, 'jnd_fit')}")
    outline, hover = {"color": colour, "width": 2}, {"hovertext": numbers, "hoverinfo": "text", **look}
    alphas, name = np.linspace(0.0, 1.0, _NUM_ON_FIT), f"{word}: {number(pse, 2)}, {number(jnd, 2)}"
    shares = [NormalDist(pse, jnd / JND_PER_SD).cdf(alpha) for alpha in alphas]
    yield go.Scatter(x=alphas, y=shares, mode="lines", line=outline, name=name, **hover)
    marker = {"color": ["white", colour, "white"], "size": [7, 10, 7], "line": outline, "opacity": 1}
    quartiles = {"x": [pse - jnd / 2, pse, pse + jnd / 2], "y": [0.25, 0.5, 0.75]}
    yield go.Scatter(**quartiles, mode="markers", marker=marker, showlegend=False, **hover)


def occupation_dots(rows: pl.DataFrame) -> go.Figure:
    """PSE and JND with their intervals, as in figure 3 of Liang and Acuna 2020, and the interval of the flips.

    Args:
        rows: of ``psychometrics`` for one cue pair.
    """
    ordered = rows.sort("pse", "word").reverse()
    first, second = (f"side of “{plain(ordered[cue][0])}”" for cue in ("cue_1", "cue_2"))
    named = (first, FIRST), (second, SECOND)
    if ordered["is_gender"][0]:
        named = ("female side", FEMALE), ("male side", MALE)
    known, looks = sides(ordered, "flip", 0.5, *named)
    return beside(
        _pse_dots(known, looks=looks, hover=_hover, interval="flip", band="pse"),
        dots(known, "jnd", "word", band="jnd", title="JND (mixture α)", hover=_hover),
    )


def pooled_dots(rows: pl.DataFrame) -> go.Figure:
    """PSE over all gender cue pairs with its interval, beside the standard deviations that the interval is made of.

    Args:
        rows: of ``pooled_psychometrics``.
    """
    hovers, hover = pl.Series("hover", map(_pooled_hover, rows.to_dicts())), itemgetter("hover")
    ordered = rows.with_columns(hovers).sort("pse", "word").reverse()
    known, looks = sides(ordered, "pse", 0.5, ("interval above 0.5", FEMALE), ("interval below 0.5", MALE))
    parts = ordered.rename(_DEVIATIONS).unpivot([*_DEVIATIONS.values()], index=["word", "hover"], variable_name="part")
    title, ends = "standard deviation (mixture α)", ends_of(parts, "value")
    return beside(
        _pse_dots(known, looks=looks, hover=hover),
        dots(parts, "value", "word", by="part", looks=_LOOKS, title=title, hover=hover, ends=ends),
    )


def pse_and_women(rows: pl.DataFrame) -> go.Figure:
    """PSE against the share of women; rows of ``psychometrics`` for one cue pair or of ``pooled_psychometrics``."""
    return against_women(rows, "pse", _PSE, 0.5, _hover)


def pse_and_effects(rows: pl.DataFrame) -> go.Figure:
    """PSE against WEFAT effect sizes, coloured by the share of women; rows with the columns of both tables."""
    figure = scatter(
        rows,
        "effect_size",
        "pse",
        "word",
        titles=(effect_title(rows), _PSE),
        neutral=(0.0, 0.5),
        colour="percent_women",
        colour_title="women (%)",
        note=correlations(rows["effect_size"], rows["pse"]).text,
        hover=lambda row: f"{_hover(row)}<br>effect size {number(row['effect_size'], 2)}",
    )
    return figure.update_yaxes(tickformat=".2f")


def _hover(row: Row) -> str:
    flips, women = interval(row, "flip"), row["percent_women"]
    pairs = f"{row['num_pairs']} cue pairs, " if "num_pairs" in row else ""
    return lines(
        plain(row["word"]),
        f"PSE {estimate(row, 'pse')}",
        *([f"replicas' flips {flips}"] if flips else []),
        f"JND {estimate(row, 'jnd')}",
        *([] if women is None else [f"women {number(women, 0, '%')}"]),
        f"{pairs}{row['num_replicas']} replicas",
    )


def _pooled_hover(row: Row) -> str:
    return "<br>".join([_hover(row), *(f"{name} {number(row[sd], 3)}" for sd, name in _DEVIATIONS.items())])
