"""Pictures of the psychophysics: how replicas turn from one cue to the other, PSE and JND, and what goes with PSE."""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from statistics import NormalDist

import numpy as np
import polars as pl

from tiltmeter.jobs.association.page import against_women, effect_title
from tiltmeter.jobs.report.findings import correlations
from tiltmeter.jobs.report.plots.dots import beside, dots, ends_of, sides
from tiltmeter.jobs.report.plots.figure import Figure, Trace, axis, figure, line, marks
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import (
    FEMALE,
    FIRST,
    MALE,
    NEUTRAL,
    SECOND,
    SHARES,
    Look,
    Row,
    lines,
    plain,
    shades,
)
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import estimate, interval, number
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD

PSE = Lean("pse", 0.5, others=("flip_original",))
"""Of rows of ``psychometrics``."""

POOLED = Lean("pse", 0.5)
"""Of rows of ``pooled_psychometrics``."""

_NUM_SHOWN = 5
_NUM_ON_FIT = 61
_PSE = "PSE (mixture α)"
_DEVIATIONS = {"sd_pairs": "sd: cue pairs", "sd_replicas": "sd: replicas", "sd_rest": "sd: rest"}
_LOOKS = dict(zip(_DEVIATIONS.values(), (Look(), Look(SECOND, "diamond"), Look(NEUTRAL, "circle-open")), strict=True))
_pse_dots = partial(dots, x="pse", y="word", by="side", neutral=0.5, title=_PSE)


def psychometric_curves(measured: pl.DataFrame, points: pl.DataFrame) -> Figure:
    """Answers of the replicas against the mixture, as in figure 2 of Liang and Acuna 2020, for one cue pair.

    Args:
        measured: rows of ``psychometrics`` for the cue pair; a few between the extremes are shown at first.
        points: rows of ``psychometric_points`` for the same cue pair.
    """
    ordered, steps = measured.sort("pse", "word"), points.sort("alpha").partition_by("word", as_dict=True)
    shown = set(np.linspace(0, ordered.height - 1, min(_NUM_SHOWN, ordered.height)).round().astype(int).tolist())
    is_gender, traces = ordered["is_gender"][0], []
    # From the lowest to the highest PSE; cues that stand for no gender have colours of their own.
    colours = shades([MALE, NEUTRAL, FEMALE] if is_gender else [SECOND, NEUTRAL, FIRST], ordered.height)
    for place, (row, colour) in enumerate(zip(ordered.to_dicts(), colours, strict=True)):
        look = {"legendgroup": str(place), "visible": True if place in shown else "legendonly"}
        traces += [trace | look for trace in _curve(row, steps[(row["word"],)], colour)]
    cue = f"{'the male cue ' if is_gender else ''}“{plain(ordered['cue_2'][0])}”"
    legend = {"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top", "traceorder": "reversed"}
    return figure(
        *traces,
        height=480,
        legend=legend | {"title": {"text": "occupation: PSE, JND"}},
        xaxis=axis(f"weight α of {cue} in the mixture", range=[0, 1]),
        yaxis=axis(f"share of replicas answering {cue}", tickvals=[0, 0.25, 0.5, 0.75, 1], **SHARES),
    )


def _curve(row: Row, steps: pl.DataFrame, colour: str) -> Iterator[Trace]:
    """Steps of the replicas; the fitted cumulative normal, and the points that PSE and JND are read by."""
    pse, jnd, word = row["pse_fit"], row["jnd_fit"], plain(row["word"])
    corners = steps.filter((pl.col("share") != pl.col("share").shift(fill_value=-1.0)) | (pl.col("alpha") == 1.0))
    is_fitted = pse is not None and jnd is not None
    named = {"opacity": 0.6, "showlegend": False} if is_fitted else {"name": f"{word}: no fit"}
    thin = {"color": colour, "width": 1, "shape": "hv"}
    yield line(corners["alpha"], corners["share"], thin, hoverinfo="skip", **named)
    if not is_fitted:
        return
    numbers = lines(word, f"PSE {estimate(row, 'pse_fit')}", f"JND {estimate(row, 'jnd_fit')}")
    outline, hover = {"color": colour, "width": 2}, {"hovertext": numbers, "hoverinfo": "text"}
    alphas, name = np.linspace(0.0, 1.0, _NUM_ON_FIT), f"{word}: {number(pse, 2)}, {number(jnd, 2)}"
    shares = [NormalDist(pse, jnd / JND_PER_SD).cdf(alpha) for alpha in alphas]
    yield line(alphas, shares, outline, name=name, **hover)
    marker = {"color": ["white", colour, "white"], "size": [7, 10, 7], "line": outline, "opacity": 1}
    yield marks([pse - jnd / 2, pse, pse + jnd / 2], [0.25, 0.5, 0.75], marker, showlegend=False, **hover)


def occupation_dots(rows: pl.DataFrame) -> Figure:
    """PSE and JND with their intervals, as in figure 3 of Liang and Acuna 2020, and the Monte Carlo error of PSE.

    Args:
        rows: of ``psychometrics`` for one cue pair.
    """
    ordered = rows.sort("pse", "word").reverse()
    first, second = (f"side of “{plain(ordered[cue][0])}”" for cue in ("cue_1", "cue_2"))
    named = (first, FIRST), (second, SECOND)
    if ordered["is_gender"][0]:
        named = ("female side", FEMALE), ("male side", MALE)
    known, looks = sides(ordered, PSE, *named)
    return beside(
        _pse_dots(known, looks=looks, hover=_hover, band="pse_monte_carlo"),
        dots(known, "jnd", "word", band="jnd", title="JND (mixture α)", hover=_hover),
    )


def pooled_dots(rows: pl.DataFrame) -> Figure:
    """PSE over all gender cue pairs with its interval, beside the standard deviations that the interval is made of.

    Args:
        rows: of ``pooled_psychometrics``.
    """
    hovers, hover = pl.Series("hover", map(_pooled_hover, rows.to_dicts())), itemgetter("hover")
    ordered = rows.with_columns(hovers).sort("pse", "word").reverse()
    known, looks = sides(ordered, POOLED, ("interval above 0.5", FEMALE), ("interval below 0.5", MALE))
    parts = ordered.rename(_DEVIATIONS).unpivot([*_DEVIATIONS.values()], index=["word", "hover"], variable_name="part")
    title, ends = "standard deviation (mixture α)", ends_of(parts, "value")
    return beside(
        _pse_dots(known, looks=looks, hover=hover),
        dots(parts, "value", "word", by="part", looks=_LOOKS, title=title, hover=hover, ends=ends),
    )


def pse_and_women(rows: pl.DataFrame) -> Figure:
    """PSE against the share of women; rows of ``psychometrics`` for one cue pair or of ``pooled_psychometrics``."""
    return against_women(rows, "pse", _PSE, 0.5, _hover)


def pse_and_effects(rows: pl.DataFrame) -> Figure:
    """PSE against WEFAT effect sizes, coloured by the share of women; rows with the columns of both tables."""
    return scatter(
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


def _hover(row: Row) -> str:
    error, women = interval(row, "pse_monte_carlo"), row["percent_women"]
    pairs = f"{row['num_pairs']} cue pairs, " if "num_pairs" in row else ""
    return lines(
        plain(row["word"]),
        f"PSE {estimate(row, 'pse')}",
        *([f"Monte Carlo interval {error}"] if error else []),
        f"JND {estimate(row, 'jnd')}",
        *([] if women is None else [f"women {number(women, 0, '%')}"]),
        f"{pairs}{row['num_replicas']} replicas",
    )


def _pooled_hover(row: Row) -> str:
    return "<br>".join([_hover(row), *(f"{name} {number(row[sd], 3)}" for sd, name in _DEVIATIONS.items())])
