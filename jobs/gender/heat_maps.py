"""Heat maps of the gender survey: professions or defining pairs by language, and languages by language."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import polars as pl
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from tiltmeter.jobs.gender.figures import pair_hover
from tiltmeter.jobs.gender.findings import language_name, pair_name
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, SECOND, STYLE, plain
from tiltmeter.jobs.report.wording import estimate, number
from tiltmeter.operators.statistics.correlation import cluster_order

Row = Mapping[str, Any]

_MISSING, _MIDDLE = "#d4d1c9", "#fbfaf6"


class _Look(NamedTuple):
    """What the cells of a heat map show.

    Attributes:
        column: its ``_low`` and ``_high`` are the interval of the replicas.
        below, above: the colours of the ends of the scale, which lie equally far from 0.
        limit: where the scale ends; at the largest number if None.
    """

    column: str
    title: str
    below: str
    above: str
    hover: Callable[[Row], str]
    digits: int = 2
    limit: float | None = None


class _Cell(NamedTuple):
    value: float | None
    text: str
    hover: str


def professions(rows: pl.DataFrame, labels: Sequence[str]) -> go.Figure:
    """Bias of every profession in every language; the most female on average at the top.

    Args:
        rows: rows of ``gender_professions`` with their labels, those without a result as well.
        labels: the columns, in order.
    """
    means = rows.group_by("profession").agg(pl.col("bias").mean()).drop_nulls()
    names = means.sort("bias", "profession", descending=[True, False])["profession"].to_list()
    found = {(row["profession"], row["label"]): row for row in rows.to_dicts()}
    look = _Look("bias", "bias", MALE, FEMALE, _profession_hover)
    return _labelled(go.Figure(_maps(_cells(found, names, labels, look), look)), names, labels)


def _profession_hover(row: Row) -> str:
    forms = ", ".join(plain(word) for word in row["forms"] or [])
    weighted = f"<br>forms weighted by count {estimate(row, 'bias_weighted')}"
    return f"bias {estimate(row, 'bias')}{weighted}<br>forms: {forms}<br>{row['num_replicas']} replicas"


def pair_changes(rows: pl.DataFrame, labels: Sequence[str]) -> go.Figure:
    """Change of direct bias without each pair, in every language; arguments as above, rows of ``gender_pairs``."""
    names = [pair_name(pair) for pair in rows["pair"].unique(maintain_order=True)]
    found = {(pair_name(row["pair"]), row["label"]): row for row in rows.to_dicts()}
    look = _Look("change", "change of<br>direct bias", SECOND, FIRST, pair_hover, digits=3)
    return _labelled(go.Figure(_maps(_cells(found, names, labels, look), look)), names, labels)


def correlations(rows: pl.DataFrame) -> go.Figure:
    """Pearson's r between languages under the tree of their clustering, as in figure 6 of Matthews et al. 2021.

    Args:
        rows: rows of ``language_correlation``.
    """
    places = rows.select("language_1", "position_1").unique().sort("position_1", "language_1", nulls_last=True)
    labels = [language_name(code) for code in places["language_1"]]
    found = {(language_name(row["language_1"]), language_name(row["language_2"])): row for row in rows.to_dicts()}
    look = _Look("correlation", "r", SECOND, FIRST, _correlation_hover, limit=1.0)
    cells = _cells(found, labels, labels, look)
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.02, row_heights=[0.2, 0.8])
    figure.add_traces(_tree(np.array([[cell.value for cell in line] for line in cells], dtype=np.float64)), 1, 1)
    figure.add_traces(_maps(cells, look), 2, 1)
    figure.update_yaxes(row=1, title_text="1 − r", rangemode="tozero", nticks=4)
    figure.update_layout(template=STYLE, height=260 + 40 * len(labels), showlegend=False)
    return _ticks(figure, labels, labels, row=2)


def _correlation_hover(row: Row) -> str:
    weighted = f"forms weighted by count: r = {estimate(row, 'correlation_weighted', 2)}"
    return f"r = {estimate(row, 'correlation', 2)}<br>{weighted}<br>over {row['num_professions']} professions"


def _cells(
    found: Mapping[tuple[str, str], Row], names: Sequence[str], labels: Sequence[str], look: _Look
) -> list[list[_Cell]]:
    return [[_cell(found.get((name, label)), f"{name}, {label}", look) for label in labels] for name in names]


def _cell(row: Row | None, head: str, look: _Look) -> _Cell:
    title = f"<b>{plain(head)}</b><br>"
    if row is None:
        return _Cell(None, "", f"{title}not on the word list")
    value, low, high = (row[f"{look.column}{end}"] for end in ("", "_low", "_high"))
    if row["status"] != "ok" or value is None:
        return _Cell(None, "", f"{title}{row['status']}: {plain(row['reason'])}")
    text = number(value, look.digits)
    sided = low is not None and (low > 0 or high < 0)
    return _Cell(value, f"<b>{text}</b>" if sided else text, title + look.hover(row))


def _maps(cells: Sequence[Sequence[_Cell]], look: _Look) -> list[go.Heatmap]:
    """A grey map of what is missing, whose hover says why, and over it the map of the numbers."""
    values, hovers = (
        [[cell.value for cell in line] for line in cells],
        [[cell.hover for cell in line] for line in cells],
    )
    gaps = [[0 if value is None else None for value in line] for line in values]
    limit = look.limit or max((abs(value) for line in values for value in line if value is not None), default=0.0)
    missing = go.Heatmap(z=gaps, colorscale=[[0, _MISSING], [1, _MISSING]], showscale=False)
    found = go.Heatmap(
        z=values, text=[[cell.text for cell in line] for line in cells], texttemplate="%{text}", textfont={"size": 12}
    )
    found.update(colorscale=[[0, look.below], [0.5, _MIDDLE], [1, look.above]], zmin=-(limit or 1), zmax=limit or 1)
    found.update(
        colorbar={"title": {"text": look.title}, "thickness": 12, "outlinewidth": 0, "tickformat": f".{look.digits}f"}
    )
    common = {"customdata": hovers, "hovertemplate": "%{customdata}<extra></extra>", "xgap": 2, "ygap": 2}
    return [one.update(**common) for one in (missing, found)]


def _labelled(figure: go.Figure, names: Sequence[str], labels: Sequence[str]) -> go.Figure:
    figure.update_layout(template=STYLE, height=90 + 24 * len(names), margin={"t": 70, "b": 10})
    return _ticks(figure, names, labels, row=None).update_xaxes(side="top", tickangle=0)


def _ticks(figure: go.Figure, names: Sequence[str], labels: Sequence[str], row: int | None) -> go.Figure:
    figure.update_xaxes(row=row, **_axis([plain(label).replace(" (", "<br>(") for label in labels]))
    figure.update_yaxes(row=row, **_axis([plain(name) for name in names]), autorange="reversed")
    return figure.update_xaxes(showgrid=False, ticks="")


def _axis(texts: Sequence[str]) -> dict[str, Any]:
    return {"tickvals": list(range(len(texts))), "ticktext": list(texts), "showgrid": False, "ticks": ""}


def _tree(correlations: NDArray[np.float64]) -> list[go.Scatter]:
    """The clustering as brackets whose height is the mean distance 1 - r of what they join."""
    middles, tops, brackets = [float(place) for place in range(len(correlations))], [0.0] * len(correlations), []
    for first, second, height, _ in cluster_order(correlations).linkage:
        ends = (int(first), int(second))
        x, y = [middles[end] for end in ends], [tops[end] for end in ends]
        brackets.append(([x[0], *x, x[1]], [y[0], height, height, y[1]]))
        middles.append(sum(x) / 2.0)
        tops.append(float(height))
    line = {"color": INK, "width": 1.5}
    return [go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip") for x, y in brackets]
