"""Dot plots of the report: one row per occupation or association test, with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from tiltmeter.jobs.report.plots.style import (
    FEMALE,
    FIRST,
    INK,
    MALE,
    NEUTRAL,
    SECOND,
    STYLE,
    neutral_line,
    occupation_hovers,
    plain,
)
from tiltmeter.jobs.report.wording import estimate, number, p_equals, stars


class Side(NamedTuple):
    """How a row is drawn and named whose interval lies on one side of the neutral value."""

    name: str
    colour: str


class Measure(NamedTuple):
    """One panel of a dot plot: a column with its intervals, and what lies above and below its neutral value.

    Attributes:
        own: whose ``_low`` and ``_high`` are the interval of the replicas' own values; it names the sides.
        monte_carlo: whose ``_low`` and ``_high`` say how well so many replicas fix the number.
    """

    column: str
    title: str
    own: str | None = None
    monte_carlo: str | None = None
    neutral: float | None = None
    above: Side | None = None
    below: Side | None = None


_TO_FEMALE, _TO_MALE = Side("female side", FEMALE), Side("male side", MALE)
_PSE = Measure("pse", "PSE (mixture α)", "flip", "pse", 0.5, _TO_FEMALE, _TO_MALE)
_JND = Measure("jnd", "JND (mixture α)", monte_carlo="jnd")
_POOLED = _PSE._replace(
    own="pse", monte_carlo=None, above=Side("interval above 0.5", FEMALE), below=Side("interval below 0.5", MALE)
)
_EFFECT = Measure(
    "effect_size",
    "effect size d (standard deviations)",
    "effect_size",
    None,
    0.0,
    Side("first go with first", FIRST),
    Side("first go with second", SECOND),
)
_DEVIATIONS: dict[str, dict[str, Any]] = {
    "sd_pairs": {"name": "sd: cue pairs", "marker": {"color": INK, "size": 9}},
    "sd_replicas": {"name": "sd: replicas", "marker": {"color": SECOND, "size": 9, "symbol": "diamond"}},
    "sd_rest": {
        "name": "sd: rest",
        "marker": {"color": NEUTRAL, "size": 8, "symbol": "circle-open", "line_width": 2},
    },
}


def occupations(rows: pl.DataFrame) -> go.Figure:
    """PSE and JND with their intervals, as in figure 3 of Liang and Acuna 2020, and the interval of the flips.

    Args:
        rows: of ``psychometrics`` for one cue pair.
    """
    ordered = rows.sort("pse", "word")
    return _dot_plot(ordered, _words(ordered), occupation_hovers(ordered), [_pse(ordered.row(0, named=True)), _JND])


def _pse(row: Mapping[str, object]) -> Measure:
    if row["is_gender"]:
        return _PSE
    first, second = (f"side of “{plain(row[cue])}”" for cue in ("cue_1", "cue_2"))
    return _PSE._replace(above=Side(first, FIRST), below=Side(second, SECOND))


def pooled(rows: pl.DataFrame) -> go.Figure:
    """PSE over all gender cue pairs with its interval, beside the standard deviations that the interval is made of.

    Args:
        rows: of ``pooled_psychometrics``.
    """
    ordered = rows.sort("pse", "word")
    hovers = _pooled_hovers(ordered)
    figure = _rows(ordered.height, _words(ordered), num_panels=2)
    _add_panel(figure, 1, ordered, hovers, _POOLED)
    for name, look in _DEVIATIONS.items():
        dots = go.Scatter(x=ordered[name], y=list(range(ordered.height)), mode="markers", cliponaxis=False, **look)
        figure.add_trace(dots.update(customdata=hovers, hovertemplate="%{customdata}<extra></extra>"), row=1, col=2)
    return figure.update_xaxes(title_text="standard deviation (mixture α)", rangemode="tozero", tickformat=".2f", col=2)


def _pooled_hovers(rows: pl.DataFrame) -> list[str]:
    deviations = [
        "".join(f"<br>{look['name']} {number(row[name], 3)}" for name, look in _DEVIATIONS.items())
        for row in rows.iter_rows(named=True)
    ]
    return [hover + more for hover, more in zip(occupation_hovers(rows), deviations, strict=True)]


def associations(rows: pl.DataFrame) -> go.Figure:
    """WEAT effect sizes with their intervals and the stars of their p-values, in the order of the table."""
    ordered = rows.reverse()
    labels = [
        f"<b>{plain(row['test'])}</b><br>{plain(row['target_x'])} / {plain(row['target_y'])}"
        f"<br>with {plain(row['attribute_a'])} / {plain(row['attribute_b'])}"
        for row in ordered.iter_rows(named=True)
    ]
    hovers = [
        f"{label}<br>d {estimate(row, 'effect_size', 2)}<br>{p_equals(row['p_value'])}"
        for label, row in zip(labels, ordered.iter_rows(named=True), strict=True)
    ]
    figure = _dot_plot(ordered, labels, hovers, [_EFFECT], row_height=72)
    marks = [stars(p) for p in ordered["p_value"]]
    look = {"mode": "text", "textposition": "top center", "textfont": {"size": 16}, "hoverinfo": "skip"}
    heights = list(range(ordered.height))
    return figure.add_scatter(x=ordered["effect_size"], y=heights, text=marks, showlegend=False, **look)


def _words(rows: pl.DataFrame) -> list[str]:
    return [plain(word) for word in rows["word"]]


def _dot_plot(
    rows: pl.DataFrame, labels: Sequence[str], hovers: Sequence[str], measures: Sequence[Measure], row_height: int = 22
) -> go.Figure:
    """One row per line, the first at the bottom; one panel per measure."""
    figure = _rows(rows.height, labels, len(measures), row_height)
    for col, measure in enumerate(measures, start=1):
        _add_panel(figure, col, rows, hovers, measure)
    return figure


def _rows(num_rows: int, labels: Sequence[str], num_panels: int, row_height: int = 22) -> go.Figure:
    figure = make_subplots(cols=num_panels, shared_yaxes=True, horizontal_spacing=0.04)
    figure.update_layout(template=STYLE, height=110 + row_height * num_rows, hovermode="closest")
    figure.update_yaxes(tickvals=list(range(num_rows)), range=[-0.7, num_rows - 0.3])
    return figure.update_yaxes(ticktext=list(labels), col=1)


def _add_panel(figure: go.Figure, col: int, rows: pl.DataFrame, hovers: Sequence[str], measure: Measure) -> None:
    if measure.neutral is not None:
        figure.add_trace(neutral_line([measure.neutral] * 2, [-0.7, rows.height - 0.3]), row=1, col=col)
    for side, members in _by_side(rows, measure):
        figure.add_traces(_marks(rows, members, hovers, measure, side), rows=1, cols=col)
    figure.update_xaxes(title_text=measure.title, tickformat=".2f", range=_span(rows, measure), col=col)


def _span(rows: pl.DataFrame, measure: Measure) -> list[float]:
    """From the smallest to the largest number to be shown, and a little more."""
    ends = [f"{name}_{end}" for name in (measure.own, measure.monte_carlo) if name for end in ("low", "high")]
    shown = [rows[name] for name in (measure.column, *ends)]
    neutral = [] if measure.neutral is None else [pl.Series([measure.neutral])]
    numbers = pl.concat([column.cast(pl.Float64).rename("") for column in [*shown, *neutral]]).drop_nulls()
    low, high = numbers.to_numpy().min(), numbers.to_numpy().max()
    margin = 0.04 * (high - low) or 0.1
    return [low - margin, high + margin]


def _by_side(rows: pl.DataFrame, measure: Measure) -> list[tuple[Side, list[int]]]:
    """Rows by where their interval lies, with what to call that place; a name that is empty stays out of the legend."""
    if measure.own is None or measure.above is None or measure.below is None:
        return [(Side("", INK), list(range(rows.height)))]
    low, high = rows[f"{measure.own}_low"], rows[f"{measure.own}_high"]
    if low.null_count() == rows.height:
        return [(Side("", INK), list(range(rows.height)))]
    above, below = (low > measure.neutral).fill_null(value=False), (high < measure.neutral).fill_null(value=False)
    between, none = Side(f"interval includes {measure.neutral:g}", NEUTRAL), low.is_null()
    sides = [(measure.above, above), (between, ~(above | below | none)), (measure.below, below)]
    sides.append((Side("no interval", INK), none))
    return [(side, chosen.arg_true().to_list()) for side, chosen in sides if chosen.any()]


def _marks(
    rows: pl.DataFrame, members: Sequence[int], hovers: Sequence[str], measure: Measure, side: Side
) -> list[go.Scatter]:
    """The dots of one side, over their intervals."""
    group = {"legendgroup": side.name, "name": side.name}
    looks = {
        measure.monte_carlo: {"width": 8, "color": _pale(side.colour)},
        measure.own: {"width": 2, "color": side.colour},
    }
    lines = [_segments(rows, members, name, line).update(group) for name, line in looks.items() if name]
    x = rows[list(members)][measure.column]
    dots = go.Scatter(x=x, y=list(members), mode="markers", showlegend=bool(side.name), **group)
    outline = {"color": side.colour, "width": 2}
    dots.marker = {"size": 9, "color": "white" if side.colour == NEUTRAL else side.colour, "line": outline}
    dots.update(customdata=[hovers[at] for at in members], hovertemplate="%{customdata}<extra></extra>")
    return [*lines, dots]


def _segments(rows: pl.DataFrame, members: Sequence[int], name: str, line: Mapping[str, object]) -> go.Scatter:
    """Segments and not error bars: a point estimate may lie outside its percentile interval."""
    part = rows[list(members)].select(f"{name}_low", f"{name}_high")
    x = [end for ends in part.iter_rows() for end in (*ends, None)]
    y = [height for at in members for height in (at, at, None)]
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)


def _pale(colour: str) -> str:
    """A colour of the palette at 40 % opacity, so that the thin line shows on it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.4)"
