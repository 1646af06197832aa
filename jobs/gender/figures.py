"""Dot plots of the gender survey: one row per pair, profession or language; rows of the public tables in."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.gender.findings import pair_name
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.plots.style import (
    FEMALE,
    FIRST,
    INK,
    MALE,
    NEUTRAL,
    SECOND,
    STYLE,
    TEXT,
    neutral_line,
    plain,
)
from tiltmeter.jobs.report.wording import estimate

_ON_AXIS = "bias (cosine with the gender direction): male side ← 0 → female side"
_GENDERS = {"feminine": FEMALE, "masculine": MALE, "neutral": NEUTRAL}
_SIDES = {"feminine": ("female words", "top center"), "masculine": ("male words", "bottom center")}


class Series(NamedTuple):
    """What one kind of mark shows.

    Attributes:
        column: its ``_low`` and ``_high`` are the interval of the replicas.
        shift: how far above its row the mark stands, in rows.
    """

    column: str
    name: str
    colour: str
    symbol: str = "circle"
    shift: float = 0.0


def defining_words(rows: pl.DataFrame, span: Sequence[float]) -> go.Figure:
    """The words of each pair along the gender direction, as in figure 1 of Matthews et al. 2021, for one language.

    Args:
        rows: rows of ``gender_words`` for the defining words, in the order of the word set.
        span: ends of the axis.
    """
    items = rows["item"].unique(maintain_order=True).to_list()
    figure = _empty([plain(pair_name(item)) for item in items], _ON_AXIS, span, row_height=54)
    for gender, (name, place) in _SIDES.items():
        part, series = measured(rows).filter(pl.col("gender") == gender), Series("bias", name, _GENDERS[gender])
        heights = [len(items) - 1.0 - items.index(item) for item in part["item"]]
        line, dots = _marks(part, heights, [_word_hover(row) for row in part.to_dicts()], series)
        dots.update(mode="markers+text", text=[plain(word) for word in part["word"]], textposition=place)
        figure.add_traces([line, dots.update(textfont={"color": TEXT[series.colour], "size": 14}, cliponaxis=False)])
    return figure


def _word_hover(row: Mapping[str, Any]) -> str:
    count = [] if row["count"] is None else [f"occurs {row['count']:,} times"]
    note = [plain(row["note"])] if row["note"] else []
    lines = [f"<b>{plain(row['word'])}</b> ({row['gender']}; {plain(row['item'])})", f"bias {estimate(row, 'bias')}"]
    return "<br>".join([*lines, *count, f"{row['num_replicas']} replicas", *note])


def means_by_gender(rows: pl.DataFrame) -> go.Figure:
    """Mean bias of the female and of the male defining words, as in figure 2 of Matthews et al. 2021.

    Args:
        rows: measured rows of ``gender_languages`` with their labels.
    """
    series = [Series("female_words", "female words", FEMALE), Series("male_words", "male words", MALE)]
    return _by_language(rows, series, "mean " + _ON_AXIS)


def direct_bias(rows: pl.DataFrame) -> go.Figure:
    """Direct bias with both weights of the forms, the languages with the most at the top; rows as above."""
    series = [
        Series("direct_bias", "genders weighted equally", INK, shift=0.12),
        Series("direct_bias_weighted", "forms weighted by count", NEUTRAL, "diamond-open", shift=-0.18),
    ]
    return _by_language(rows.sort("direct_bias", descending=True), series, "direct bias (mean |cosine|)")


def _by_language(rows: pl.DataFrame, series: Sequence[Series], title: str) -> go.Figure:
    labels = [plain(label) for label in rows["label"]]
    figure = _empty(labels, title, span_of(rows, *(one.column for one in series)), row_height=38)
    for one in series:
        hovers = [
            f"<b>{label}</b><br>{one.name}: {estimate(row, one.column)}<br>{row['num_replicas']} replicas"
            for label, row in zip(labels, rows.to_dicts(), strict=True)
        ]
        figure.add_traces(_marks(rows, _heights(rows), hovers, one))
    return figure


def professions(rows: pl.DataFrame, words: pl.DataFrame, span: Sequence[float]) -> go.Figure:
    """Bias of professions with their forms beside them, for one language; the most female at the top.

    Args:
        rows: measured rows of ``gender_professions``.
        words: rows of ``gender_words`` for the professions of the same language.
        span: ends of the axis.
    """
    ordered = rows.sort("bias", "profession", descending=[True, False])
    forms = measured(words).filter(pl.col("item").is_in(ordered["profession"].to_list()))
    several = forms.filter(pl.len().over("item") > 1)
    mixed = ordered.filter(pl.col("profession").is_in(several["item"].to_list()))
    figure = _empty([plain(name) for name in ordered["profession"]], _ON_AXIS, span, 34 if mixed.height else 22)
    heights = dict(zip(ordered["profession"], _heights(ordered), strict=True))
    for gender, colour in _GENDERS.items():
        figure.add_trace(_strokes(several.filter(pl.col("gender") == gender), heights, gender, colour))
    weighted = Series("bias_weighted", "forms weighted by count", NEUTRAL, "diamond-open", -0.3)
    at = [heights[name] for name in mixed["profession"]]
    figure.add_traces(_marks(mixed, at, [_profession_hover(row) for row in mixed.to_dicts()], weighted))
    hovers = [_profession_hover(row) for row in ordered.to_dicts()]
    sides = (("female side", FEMALE), ("male side", MALE))
    figure.add_traces(_by_side(ordered, list(heights.values()), hovers, "bias", sides))
    return _with_words(figure, ordered["profession"].to_list(), forms)


def _strokes(forms: pl.DataFrame, heights: Mapping[str, float], gender: str, colour: str) -> go.Scatter:
    """The forms of one gender without their intervals, above the rows of their professions."""
    hovers = [_word_hover(row) for row in forms.to_dicts()]
    series = Series("bias", f"{gender} form", colour, "line-ns-open", 0.3)
    _, strokes = _marks(forms, [heights[item] for item in forms["item"]], hovers, series)
    return strokes


def _profession_hover(row: Mapping[str, Any]) -> str:
    count = [] if row["count"] is None else [f"occurs {row['count']:,} times"]
    numbers = [f"bias {estimate(row, 'bias')}", f"forms weighted by count {estimate(row, 'bias_weighted')}"]
    forms = f"forms: {', '.join(plain(word) for word in row['forms'] or [])}"
    return "<br>".join(
        [f"<b>{plain(row['profession'])}</b>", *numbers, forms, *count, f"{row['num_replicas']} replicas"]
    )


def pair_changes(rows: pl.DataFrame) -> go.Figure:
    """Change of direct bias when a pair is left out, for one language, in the order of the word set."""
    figure = _empty(
        [plain(pair_name(pair)) for pair in rows["pair"]], "change of direct bias", span_of(rows, "change"), 30
    )
    hovers = [pair_hover(row) for row in rows.to_dicts()]
    sides = (("direct bias rises", FIRST), ("direct bias falls", SECOND))
    return figure.add_traces(_by_side(rows, _heights(rows), hovers, "change", sides))


def pair_hover(row: Mapping[str, Any]) -> str:
    """The numbers of a pair that is left out, as they are shown under the pointer."""
    words = " / ".join(plain(row[key]) for key in ("feminine", "masculine"))
    numbers = {
        "change": estimate(row, "change", 4),
        "direct bias": estimate(row, "direct_bias"),
        "cosine of the directions": estimate(row, "similarity"),
        "variance along the first component": estimate(row, "first_share"),
    }
    lines = [f"<b>without {plain(pair_name(row['pair']))}</b> ({words})", *(f"{a} {b}" for a, b in numbers.items())]
    return "<br>".join([*lines, f"{row['num_replicas']} replicas"])


def span_of(rows: pl.DataFrame, *columns: str) -> list[float]:
    """From the smallest to the largest number and interval of the columns, 0 included, and a little more."""
    ends = [rows[f"{name}{end}"].rename("") for name in columns for end in ("", "_low", "_high")]
    numbers = pl.concat([pl.Series([0.0]), *ends]).drop_nulls().to_numpy()
    margin = 0.05 * (numbers.max() - numbers.min()) or 0.1
    return [numbers.min() - margin, numbers.max() + margin]


def _heights(rows: pl.DataFrame) -> list[float]:
    """The first row at the top."""
    return [float(rows.height - 1 - at) for at in range(rows.height)]


def _empty(labels: Sequence[str], title: str, span: Sequence[float], row_height: int) -> go.Figure:
    """A dot plot without dots: labelled rows and the line that leans to no side."""
    ends = [-0.7, len(labels) - 0.3]
    figure = go.Figure(neutral_line([0.0, 0.0], ends))
    figure.update_layout(template=STYLE, height=120 + row_height * len(labels), hovermode="closest")
    figure.update_xaxes(title_text=title, range=list(span))
    return figure.update_yaxes(tickvals=list(range(len(labels))), ticktext=list(labels)[::-1], range=ends)


def _marks(rows: pl.DataFrame, heights: Sequence[float], hovers: Sequence[str], series: Series) -> list[go.Scatter]:
    """Intervals as segments and the numbers as dots over them."""
    at, low, high = [height + series.shift for height in heights], f"{series.column}_low", f"{series.column}_high"
    x = [end for ends in rows.select(low, high).iter_rows() for end in (*ends, None)]
    y = [end for height in at for end in (height, height, None)]
    group = {"legendgroup": series.name, "name": series.name}
    line = go.Scatter(x=x, y=y, mode="lines", hoverinfo="skip", showlegend=False, **group)
    dots = go.Scatter(x=rows[series.column], y=at, mode="markers", customdata=hovers, **group)
    dots.update(hovertemplate="%{customdata}<extra></extra>", showlegend=rows[series.column].drop_nulls().len() > 0)
    dots.marker = {
        "symbol": series.symbol,
        "size": 9,
        "color": series.colour,
        "line": {"width": 2, "color": series.colour},
    }
    return [line.update(line={"color": series.colour, "width": 2}), dots]


def _by_side(
    rows: pl.DataFrame,
    heights: Sequence[float],
    hovers: Sequence[str],
    column: str,
    sides: Sequence[tuple[str, str]],
) -> list[go.Scatter]:
    """Marks coloured by the side on which their whole interval lies."""
    low, high = rows[f"{column}_low"], rows[f"{column}_high"]
    above, below = (low > 0).fill_null(value=False), (high < 0).fill_null(value=False)
    between = "no interval" if low.null_count() == rows.height else "interval includes 0"
    parts = [
        (above, *sides[0], "circle"),
        (below, *sides[1], "circle"),
        (~(above | below), between, NEUTRAL, "circle-open"),
    ]
    traces = []
    for chosen, name, colour, symbol in parts:
        at = chosen.arg_true().to_list()
        series = Series(column, name, colour, symbol)
        traces += _marks(rows[at], [heights[i] for i in at], [hovers[i] for i in at], series)
    return traces


def _with_words(figure: go.Figure, professions: Sequence[str], forms: pl.DataFrame) -> go.Figure:
    """The words of each profession at the right edge, unless they are all the English ones."""
    if (forms["word"] == forms["item"]).all():
        return figure
    words = [_coloured(forms.filter(pl.col("item") == name)) for name in professions]
    axis = {"overlaying": "y", "side": "right", "matches": "y", "automargin": True, "showgrid": False, "ticks": ""}
    ticks = {"tickvals": list(range(len(words))), "ticktext": words[::-1], "tickfont": {"size": 13}}
    figure.add_scatter(x=[None], y=[None], yaxis="y2", showlegend=False, hoverinfo="skip")
    return figure.update_layout(yaxis2=axis | ticks)


def _coloured(forms: pl.DataFrame) -> str:
    """The most frequent form of each gender, and dots for the others."""
    shown = []
    for gender, colour in _GENDERS.items():
        part = forms.filter(pl.col("gender") == gender).sort("count", descending=True, maintain_order=True)
        more = " …" if part.height > 1 else ""
        shown += [f'<span style="color:{TEXT[colour]}">{plain(word)}{more}</span>' for word in part["word"].head(1)]
    return "  ".join(shown)


def shares(rows: pl.DataFrame) -> go.Figure:
    """Shares of the genders in all occurrences as bars; rows with a label and a count for each gender."""
    total, labels = rows["feminine"] + rows["masculine"] + rows["neutral"], [plain(label) for label in rows["label"]]
    figure = go.Figure()
    for gender, colour in _GENDERS.items():
        hovers = [f"<b>{label}</b><br>{gender}: {count:,}" for label, count in zip(labels, rows[gender], strict=True)]
        bars = go.Bar(x=rows[gender] / total, y=labels, orientation="h", name=gender, marker={"color": colour})
        figure.add_trace(bars.update(customdata=hovers, hovertemplate="%{customdata}<extra></extra>"))
    figure.update_layout(template=STYLE, barmode="stack", bargap=0.35, height=110 + 30 * rows.height)
    figure.update_layout(legend_traceorder="normal")
    figure.update_xaxes(title_text="share of occurrences", tickformat=".0%", range=[0, 1])
    return figure.update_yaxes(autorange="reversed")
