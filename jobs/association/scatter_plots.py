"""Scatter plots of the report: one dot per occupation, with the correlation of what the axes show."""

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.findings import correlations
from tiltmeter.jobs.report.plots.style import FEMALE, INK, MALE, NEUTRAL, STYLE, neutral_line, occupation_hovers, plain
from tiltmeter.jobs.report.wording import estimate, number

_MAX_LABELS = 20
_NUM_ENDS = 3
_PSE, _EFFECT = "PSE (mixture α)", "WEFAT effect size"
_WOMEN = "women in the occupation (%)"


class _Axis(NamedTuple):
    """What an axis shows, with the value that leans to no side and the ends of the axis, if they are fixed."""

    values: pl.Series
    title: str
    neutral: float | None = None
    ends: tuple[float, float] | None = None

    def span(self) -> list[float]:
        if self.ends:
            return list(self.ends)
        shown = [*self.values.to_list(), *([] if self.neutral is None else [self.neutral])]
        margin = 0.06 * (max(shown) - min(shown)) or 0.1
        return [min(shown) - margin, max(shown) + margin]


def share_of_women(rows: pl.DataFrame) -> go.Figure:
    """PSE against the share of women, with both correlations.

    Args:
        rows: of ``psychometrics`` for one cue pair or of ``pooled_psychometrics``, with the share of women.
    """
    women = _Axis(rows["percent_women"], _WOMEN, ends=(-3.0, 103.0))
    return _scatter(women, _Axis(rows["pse"], _PSE, 0.5), rows["word"], occupation_hovers(rows))


def effect_sizes(rows: pl.DataFrame) -> go.Figure:
    """WEFAT effect sizes against the share of women, with both correlations; rows of ``word_associations``."""
    hovers = [
        f"<b>{plain(row['word'])}</b><br>effect size {estimate(row, 'effect_size', 2)}"
        f"<br>women {estimate(row, 'percent_women', 0)}%"
        for row in rows.iter_rows(named=True)
    ]
    women = _Axis(rows["percent_women"], _WOMEN, ends=(-3.0, 103.0))
    return _scatter(women, _Axis(rows["effect_size"], _positive(rows), 0.0), rows["word"], hovers)


def pse_and_effect_sizes(rows: pl.DataFrame) -> go.Figure:
    """PSE against WEFAT effect sizes, coloured by the share of women; rows with the columns of both tables."""
    hovers = [
        f"{hover}<br>effect size {number(effect, 2)}"
        for hover, effect in zip(occupation_hovers(rows), rows["effect_size"], strict=True)
    ]
    effects, pse = _Axis(rows["effect_size"], _positive(rows), 0.0), _Axis(rows["pse"], _PSE, 0.5)
    figure = _scatter(effects, pse, rows["word"], hovers)
    if rows["percent_women"].null_count():
        return figure
    bar = {"title": {"text": "women (%)", "font": {"size": 13}}, "thickness": 12, "len": 0.6, "outlinewidth": 0}
    scale = [[0.0, MALE], [0.5, NEUTRAL], [1.0, FEMALE]]
    marker = {"color": rows["percent_women"], "colorscale": scale, "cmin": 0, "cmax": 100, "colorbar": bar}
    return figure.update_traces(marker=marker, selector={"name": "occupations"})


def _positive(rows: pl.DataFrame) -> str:
    return f"{_EFFECT} d (positive: {plain(rows['attribute_a'][0])})"


def _scatter(x: _Axis, y: _Axis, words: pl.Series, hovers: Sequence[str]) -> go.Figure:
    dots = go.Scatter(x=x.values, y=y.values, text=_labels(y.values, words), customdata=list(hovers), cliponaxis=False)
    dots.update(mode="markers+text", marker={"color": INK, "size": 9}, textposition="top center", name="occupations")
    dots.update(hovertemplate="%{customdata}<extra></extra>", textfont={"size": 12})
    lines = [neutral_line(x.span(), [y.neutral] * 2)] if y.neutral is not None else []
    lines += [neutral_line([x.neutral] * 2, y.span())] if x.neutral is not None else []
    figure = go.Figure([*lines, dots])
    found = correlations(x.values, y.values)
    numbers = f"Pearson r = {number(found.pearson, 2)}, Spearman ρ = {number(found.spearman, 2)}, n = {found.num}"
    at_top = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom", "yshift": 10}
    figure.add_annotation(text=numbers, showarrow=False, **at_top)
    figure.update_xaxes(title_text=x.title, range=x.span())
    figure.update_yaxes(title_text=y.title, range=y.span(), tickformat=".2f")
    return figure.update_layout(template=STYLE, height=480, showlegend=False)


def _labels(heights: pl.Series, words: pl.Series) -> list[str]:
    """Names beside the dots: of all, or of the highest and the lowest ones where they are too many to be read."""
    rank, num = heights.rank("ordinal"), words.len()
    named = (rank <= _NUM_ENDS) | (rank > num - _NUM_ENDS) | pl.Series([num <= _MAX_LABELS] * num)
    return [plain(word) if shown else "" for word, shown in zip(words, named, strict=True)]
