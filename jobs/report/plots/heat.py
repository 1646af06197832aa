"""Heat maps: a number for each pair of labels, as colour and as text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.report.plots.figure import Figure, Trace, figure, ticks
from tiltmeter.jobs.report.plots.style import FEMALE, HOVER, MALE, Row, plain
from tiltmeter.jobs.report.wording import number

MIDDLE = "#fbfaf6"
"""Of the colours of a scale with two sides."""

_MISSING = "#d4d1c9"
_ROW_HEIGHT = 26
_LEAST_HEIGHT = 190

Numbers = Sequence[Sequence[float | None]]


def heat(
    rows: pl.DataFrame,
    x: str,
    y: str,
    z: str,
    *,
    colours: Sequence[str] = (MALE, MIDDLE, FEMALE),
    ends: tuple[float, float] | None = None,
    title: str = "",
    digits: int = 2,
    text: Callable[[Row], str] | None = None,
    hover: Callable[[Row], str] | None = None,
    x_label: Callable[[str], str] = plain,
    y_label: Callable[[str], str] = plain,
) -> Figure:
    """A cell for each row; one without a number is grey and shows why, unless there is nothing to be shown of it.

    Args:
        x, y: the columns of labels; columns and lines come as they do in the rows.
        z: the column of numbers.
        colours: from the lowest to the highest number.
        ends: the numbers that have the first and the last colour; equally far from 0 if None.
        title: of the scale, which is not shown without one.
        digits: of the numbers in the cells.
        text: of a cell with a number; the number if None.
        hover: of a row without a number it says why; an empty text leaves a gap.
        x_label, y_label: how columns and lines are called, as plotly reads it.
    """
    across, down = (rows[name].unique(maintain_order=True).to_list() for name in (x, y))
    cells = {(row[y], row[x]): row for row in rows.to_dicts()}
    table = [[cells.get((line, column)) for column in across] for line in down]
    shown = [[hover(row) if hover and row else "" for row in line] for line in table]
    numbers = [[None if row is None else row[z] for row in line] for line in table]
    written: Callable[[Row], str] = text or (lambda row: number(row[z], digits))
    texts = [["" if row is None or row[z] is None else written(row) for row in line] for line in table]
    colouring = _colouring(colours, ends or _both(rows[z]))
    if title:
        bar = {"title": {"text": title}, "thickness": 12, "outlinewidth": 0, "tickformat": f".{digits}f"}
        colouring |= {"showscale": True, "colorbar": bar}
    return figure(
        _map(_gaps(shown, numbers), shown, {"colorscale": [[0, _MISSING], [1, _MISSING]], "showscale": False}),
        _map(numbers, shown, colouring) | {"text": texts, "texttemplate": "%{text}", "textfont": {"size": 12}},
        height=max(_LEAST_HEIGHT, 90 + _ROW_HEIGHT * len(down)),
        margin={"t": 70, "b": 10},
        xaxis=_labels(map(x_label, across), side="top", tickangle=0),
        yaxis=_labels(map(y_label, down), autorange="reversed"),
    )


def _both(numbers: pl.Series) -> tuple[float, float]:
    """Ends equally far from 0."""
    limit = max((abs(value) for value in numbers.drop_nulls()), default=0.0) or 1.0
    return -limit, limit


def _map(z: Numbers, shown: Sequence[Sequence[str]], look: Mapping[str, Any]) -> Trace:
    return {"type": "heatmap", "z": z, "xgap": 2, "ygap": 2, "customdata": shown, "hovertemplate": HOVER, **look}


def _gaps(shown: Sequence[Sequence[str]], numbers: Numbers) -> Numbers:
    """A number where something is shown without one."""
    return [
        [0 if text and value is None else None for text, value in zip(texts, values, strict=True)]
        for texts, values in zip(shown, numbers, strict=True)
    ]


def _colouring(colours: Sequence[str], ends: tuple[float, float]) -> dict[str, Any]:
    scale = [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours)]
    return {"colorscale": scale, "zmin": ends[0], "zmax": ends[1], "showscale": False}


def _labels(texts: Iterable[str], **settings: Any) -> dict[str, Any]:
    return {**ticks(list(texts)), "showgrid": False, "ticks": "", **settings}
