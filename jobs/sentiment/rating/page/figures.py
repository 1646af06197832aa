"""Figures of `sentiment_rating`: the map of all ratings, and the raw scores of a case with their intervals."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, STYLE, plain
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, Row, attribute, by_case, scored, variants_of

_LEAST, _BETWEEN, _MOST, _MISSING = "#f6ecd9", "#e0aa6a", "#7a2f00", "#d4d1c9"
_ROW_HEIGHT = 26

_TITLES = {"wrs": "WRS, weighted rejection score", "die": "DIE, deconfounding impact (%)"}
_COLOURS = (INK, FEMALE, MALE, FIRST, SECOND, NEUTRAL)
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
_SPREAD = 0.56
"""Of the variants of a system, in rows."""

_MAX_REACH, _BEYOND = 2.0, 1.15
"""How far the axis goes beyond the largest score, and how much further what goes on does."""


# --- the map of all ratings -----------------------------------------------------------------------------------------


class _Cell(NamedTuple):
    value: float | None = None
    text: str = ""
    hover: str = ""


_UNDER_A_HEADING = _Cell()


def rating_map(rated: pl.DataFrame, systems: Sequence[str], text: Callable[[Row], str]) -> go.Figure:
    """Systems against variants, below the name of each case; the darker, the more biased.

    Args:
        rated: raw scores with rank and rating.
        systems: the columns, in order.
        text: of a cell with a rating.
    """
    cases = by_case(rated)
    lines = [(case, variant) for case, rows in cases.items() for variant in (None, *variants_of(rows))]
    found = {(case, row["variant"], row["system"]): row for case, rows in cases.items() for row in rows.to_dicts()}
    cells = [
        [
            _cell(found.get((case, variant, system)), f"{system}, {variant}", text) if variant else _UNDER_A_HEADING
            for system in systems
        ]
        for case, variant in lines
    ]
    figure = go.Figure(_maps(cells, rated["num_levels"][0]))
    figure.update_layout(template=STYLE, height=60 + _ROW_HEIGHT * len(lines), margin={"t": 50, "b": 10})
    for at, (case, variant) in enumerate(lines):
        if variant is None:
            figure.add_annotation(_heading(cases[case].row(0, named=True), at))
    figure.update_xaxes(**_ticks([plain(system).replace("_", "<br>") for system in systems]), side="top", tickangle=0)
    return figure.update_yaxes(**_ticks([plain(variant or "") for _, variant in lines]), autorange="reversed")


def _cell(row: Row | None, head: str, text: Callable[[Row], str]) -> _Cell:
    title = f"<b>{plain(head)}</b><br>"
    if row is None:
        return _Cell(hover=f"{title}no scores of this system for these texts")
    if row["rating"] is None:
        return _Cell(hover=f"{title}{row['status']}: {plain(row['reason'])}")
    place = f"rating {row['rating']} of {row['num_levels']}<br>rank {row['rank']}"
    return _Cell(row["rating"], text(row), f"{title}{place}<br>{MEASURES[row['measure']]} {scored(row)}")


def _maps(cells: Sequence[Sequence[_Cell]], num_levels: int) -> list[go.Heatmap]:
    """A grey map of what is missing, and over it the map of the ratings; both are empty under a heading."""
    gaps = [[0 if cell.hover and cell.value is None else None for cell in line] for line in cells]
    hovers = [[cell.hover for cell in line] for line in cells]
    missing = go.Heatmap(z=gaps, colorscale=[[0, _MISSING], [1, _MISSING]], showscale=False)
    found = go.Heatmap(z=[[cell.value for cell in line] for line in cells], showscale=False)
    found.update(colorscale=[[0, _LEAST], [0.5, _BETWEEN], [1, _MOST]], zmin=1, zmax=max(2, num_levels))
    found.update(text=[[cell.text for cell in line] for line in cells], texttemplate="%{text}", textfont={"size": 12})
    common = {"customdata": hovers, "hovertemplate": "%{customdata}<extra></extra>", "xgap": 2, "ygap": 2}
    return [one.update(**common) for one in (missing, found)]


def _heading(row: Row, at: int) -> dict[str, object]:
    text = f"<b>{plain(row['group'])}</b>, by {attribute(row['protected'])} ({MEASURES[row['measure']]})"
    return {"text": text, "showarrow": False, "x": -0.5, "xanchor": "left", "y": at, "font": {"size": 12}}


def _ticks(texts: Sequence[str]) -> dict[str, object]:
    return {"tickvals": list(range(len(texts))), "ticktext": list(texts), "showgrid": False, "ticks": ""}


# --- the raw scores of a case ---------------------------------------------------------------------------------------


def raw_scores(rows: pl.DataFrame, systems: Sequence[str], variants: Sequence[str]) -> go.Figure:
    """Raw scores with their intervals, a row for each system and in it a dot for each variant.

    Args:
        rows: of one case, by one measure; what is infinite, or far beyond all scores, ends at the right edge.
        systems, variants: in order, those without a score too.
    """
    measure, edge = rows["measure"][0], _edge(rows)
    figure = go.Figure().update_layout(template=STYLE, hovermode="closest")
    for number, variant in enumerate(variants):
        part = rows.filter(pl.col("raw_score").is_not_null(), variant=variant)
        heights = [_height(systems.index(system), number, len(variants)) for system in part["system"]]
        look = {"color": _COLOURS[number % len(_COLOURS)], "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 9}
        figure.add_traces(_dots(part.to_dicts(), heights, edge, look, variant))
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=look, name=plain(variant), legendgroup=variant)
    figure.update_layout(height=120 + len(systems) * (24 + 14 * (len(variants) - 1)))
    figure.update_xaxes(title_text=_TITLES[measure], range=[-0.04 * edge, 1.02 * edge])
    names = [plain(system) for system in systems]
    return figure.update_yaxes(tickvals=list(range(len(systems))), ticktext=names, range=[len(systems) - 0.4, -0.6])


def _edge(rows: pl.DataFrame) -> float:
    """Where the axis ends: at the largest number, but not so far beyond the scores that they lie on one another."""
    scores, ends = (rows[name].drop_nulls().to_list() for name in ("raw_score", "raw_score_high"))
    largest = _largest_finite([*scores, *ends]) or 1.0
    limit = min(largest, _MAX_REACH * _largest_finite(scores) or largest)
    return limit if max([*scores, *ends]) <= limit else _BEYOND * limit


def _largest_finite(values: Sequence[float]) -> float:
    return max(filter(math.isfinite, values), default=0.0)


def _height(row: int, number: int, num_variants: int) -> float:
    return row + _SPREAD * ((number + 0.5) / num_variants - 0.5)


def _dots(
    rows: Sequence[Row], heights: Sequence[float], edge: float, look: Mapping[str, object], variant: str
) -> list[go.Scatter]:
    """The dots of a variant over their intervals; a score may lie outside its interval."""
    spans = [[row["raw_score_low"], row["raw_score_high"]] for row in rows]
    ends = [None if end is None else min(end, edge) for span in spans for end in (*span, None)]
    y = [height for height in heights for _ in range(3)]
    group = {"legendgroup": variant, "name": plain(variant), "cliponaxis": False, "showlegend": False}
    lines = go.Scatter(x=ends, y=y, mode="lines", line={"color": look["color"], "width": 2}, hoverinfo="skip", **group)
    dots = go.Scatter(x=[min(row["raw_score"], edge) for row in rows], y=list(heights), mode="markers", **group)
    symbols = [look["symbol"] if math.isfinite(row["raw_score"]) else "triangle-right" for row in rows]
    dots.marker = {**look, "symbol": symbols}
    hovers = [f"<b>{plain(row['system'])}, {plain(variant)}</b><br>{scored(row)}" for row in rows]
    return [lines, dots.update(customdata=hovers, hovertemplate="%{customdata}<extra></extra>")]
