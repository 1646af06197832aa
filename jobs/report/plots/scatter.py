"""Scatter plots: a dot for each row, whose height is one number and whose place along the axis another."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.report.plots.figure import Figure, axis, figure, marks, neutral_line
from tiltmeter.jobs.report.plots.style import FEMALE, INK, MALE, NEUTRAL, Row, hovers, plain, span

_MAX_WORDS = 20
_NUM_ENDS = 3
_ABOVE = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "yanchor": "bottom", "yshift": 10, "showarrow": False}


def scatter(
    rows: pl.DataFrame,
    x: str,
    y: str,
    words: str,
    *,
    titles: tuple[str, str] = ("", ""),
    neutral: tuple[float | None, float | None] = (None, None),
    x_ends: Sequence[float] | None = None,
    colour: str | None = None,
    colour_title: str = "",
    note: str = "",
    hover: Callable[[Row], str] | None = None,
) -> Figure:
    """Dots with words beside them: all words, or those of the highest and the lowest dots where they are many.

    Args:
        x, y: the columns of numbers.
        words: the column of words.
        neutral: the numbers of x and y that lean to no side, as dotted lines.
        x_ends: of the axis; they hold all numbers if None.
        colour: a column of percentages, from male to female.
        note: above the plot, such as how x and y correlate.
    """
    across, up = x_ends or _ends(rows[x], neutral[0]), _ends(rows[y], neutral[1])
    lines = [] if neutral[1] is None else [neutral_line(across, [neutral[1]] * 2)]
    lines += [] if neutral[0] is None else [neutral_line([neutral[0]] * 2, up)]
    look: dict[str, Any] = {"color": INK, "size": 9}
    if colour and not rows[colour].null_count():
        look |= _coloured(rows[colour], colour_title)
    named = {"text": _words(rows[y], rows[words]), "textposition": "top center", "textfont": {"size": 12}}
    dots = marks(rows[x], rows[y], look, cliponaxis=False) | {"mode": "markers+text"} | named | hovers(rows, hover)
    return figure(
        *lines,
        dots,
        height=480,
        showlegend=False,
        annotations=[{"text": note, **_ABOVE}] if note else [],
        xaxis=axis(titles[0], range=across),
        yaxis=axis(titles[1], range=up, tickformat=".2f"),
    )


def _ends(numbers: pl.Series, neutral: float | None) -> list[float]:
    return span(numbers, [] if neutral is None else [neutral], margin=0.06)


def _words(heights: pl.Series, words: pl.Series) -> list[str]:
    rank, num = heights.rank("ordinal"), words.len()
    named = (rank <= _NUM_ENDS) | (rank + _NUM_ENDS > num) | pl.Series([num <= _MAX_WORDS] * num)
    return [plain(word) if shown else "" for word, shown in zip(words, named, strict=True)]


def _coloured(percentages: pl.Series, title: str) -> dict[str, Any]:
    bar = {"title": {"text": title, "font": {"size": 13}}, "thickness": 12, "len": 0.6, "outlinewidth": 0}
    scale = [[0.0, MALE], [0.5, NEUTRAL], [1.0, FEMALE]]
    return {"color": percentages, "colorscale": scale, "cmin": 0, "cmax": 100, "colorbar": bar}
