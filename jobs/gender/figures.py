"""The pictures of gender bias: dots, bars and heat maps of rows of the public tables, as pages name them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.gender.findings import BIAS, CHANGE, WEIGHTED, WIFE_HUSBAND, other_weights, weighted
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.dots import dots, sides
from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, axis, figure, line, ticks
from tiltmeter.jobs.report.plots.heat import MIDDLE, heat
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, TEXT, Look, Row, lines, plain
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import estimate, number
from tiltmeter.operators.statistics.correlation import cluster_order
from tiltmeter.operators.statistics.sides import NAMED

_GENDERS = {"feminine": FEMALE, "masculine": MALE, "neutral": NEUTRAL}
_ON_AXIS = "bias (cosine with the gender direction): male side ← 0 → female side"
_SYMBOLS = {"count": "diamond-open", "form": "square-open", "gender": "triangle-up-open"}
_along = partial(dots, by="side", neutral=0.0, title=_ON_AXIS)
_NUMBER = Lean("value")


# --- words and professions along the direction ----------------------------------------------------------------------


def defining_words(rows: pl.DataFrame, ends: Sequence[float]) -> Figure:
    """The words of each pair along the gender direction, as in figure 1 of Matthews et al. 2021, for one language.

    Args:
        rows: rows of ``gender_words`` for the defining words, in the order of the word set.
        ends: of the axis.
    """
    male = Look(MALE, place="bottom center", letters=TEXT[MALE])
    looks = {"female words": Look(FEMALE, letters=TEXT[FEMALE]), "male words": male}
    named = rows.with_columns(side=pl.col("gender").replace({"feminine": "female words", "masculine": "male words"}))
    return _along(
        named, "bias", "item", looks=looks, words="word", words_size=14, hover=_word, ends=ends, row_height=54
    )


def professions(rows: pl.DataFrame, words: pl.DataFrame, ends: Sequence[float]) -> Figure:
    """Bias of professions with their forms beside them, for one language; the most female at the top.

    Args:
        rows: measured rows of ``gender_professions``.
        words: rows of ``gender_words`` for the professions of the same language.
        ends: of the axis.
    """
    ordered = rows.sort("bias", "profession", descending=[True, False])
    sided, looks = sides(ordered, BIAS, ("female side", FEMALE), ("male side", MALE))
    forms = measured(words).filter(pl.col("item").is_in(ordered["profession"].to_list()))
    repeats = forms.filter(pl.len().over("item") > 1)
    mixed = ordered.join(repeats, left_on="profession", right_on="item", how="semi", maintain_order="left")
    others = other_weights(rows)
    marks = [
        _numbers(sided, "bias"),
        *(_numbers(mixed, f"bias_by_{name}").with_columns(side=pl.lit(WEIGHTED[name])) for name in others),
        repeats.with_columns(pl.format("{} form", "gender").alias("side"), profession="item", value="bias"),
    ]
    strokes = {f"{gender} form": Look(colour, "line-ns-open", shift=0.3) for gender, colour in _GENDERS.items()}
    looks = strokes | {WEIGHTED[name]: Look(NEUTRAL, _SYMBOLS[name], shift=-0.3) for name in others} | looks
    rows, height = pl.concat(marks, how="diagonal"), 34 if mixed.height else 22

    def hover(row: Row) -> str:
        return _word(row) if row["word"] else lines(plain(row["profession"]), *_profession(row))

    drawn = _along(rows, "value", "profession", looks=looks, ends=ends, hover=hover, row_height=height)
    return _with_words(drawn, ordered["profession"].to_list(), forms)


def _word(row: Row) -> str:
    head = f"{plain(row['word'])} ({row['gender']}; {plain(row['item'])})"
    note = [plain(row["note"])] if row["note"] else []
    return lines(head, f"bias {estimate(row, 'bias')}", *_basis(row), *note)


def _profession(row: Row) -> list[str]:
    each = [f"{text}: {estimate(row, f'bias_by_{name}')}" for name, text in WEIGHTED.items()]
    numbers = each if len(row["forms"] or []) > 1 else [f"bias {estimate(row, 'bias')}"]
    return [*numbers, f"forms: {', '.join(map(plain, row['forms'] or []))}", *_basis(row)]


def _basis(row: Row) -> list[str]:
    occurrences = [] if row["count"] is None else [f"occurs {row['count']:,} times"]
    return [*occurrences, f"{row['num_replicas']} replicas"]


def _with_words(drawn: Figure, names: Sequence[str], forms: pl.DataFrame) -> Figure:
    """The words of each profession at the right edge, unless they are all the English ones."""
    if (forms["word"] == forms["item"]).all():
        return drawn
    words = ticks([_coloured(forms.filter(item=name)) for name in reversed(names)])
    place = {"overlaying": "y", "side": "right", "matches": "y", "automargin": True, "showgrid": False, "ticks": ""}
    nothing = line([None], [None], {}, yaxis="y2", **UNNAMED)
    return drawn.with_traces(nothing).with_layout(yaxis2={**place, **words, "tickfont": {"size": 13}})


def _coloured(forms: pl.DataFrame) -> str:
    """The most frequent form of each gender, and dots for the others."""
    shown = []
    for gender, colour in _GENDERS.items():
        words = forms.filter(gender=gender).sort("count", descending=True, maintain_order=True)["word"]
        more = " …" if words.len() > 1 else ""
        shown += [f'<span style="color:{TEXT[colour]}">{plain(word)}{more}</span>' for word in words.head(1)]
    return "  ".join(shown)


def shares(rows: pl.DataFrame) -> Figure:
    """Shares of the genders in all occurrences as bars; rows with a label and a count for each gender."""
    counts = rows.unpivot([*_GENDERS], index="label", variable_name="gender", value_name="count")
    shares = counts.with_columns(share=pl.col("count") / pl.col("count").sum().over("label"))
    looks = {gender: Look(colour) for gender, colour in _GENDERS.items()}

    def hover(row: Row) -> str:
        return lines(plain(row["label"]), f"{row['gender']}: {row['count']:,}")

    titles = ("share of occurrences", "")
    drawn = bars(shares, "share", "label", by="gender", looks=looks, is_stacked=True, titles=titles, hover=hover)
    return drawn.with_layout(xaxis={"tickformat": ".0%", "range": [0, 1]})


# --- languages and pairs --------------------------------------------------------------------------------------------


def means_by_gender(rows: pl.DataFrame) -> Figure:
    """Mean bias of the female and of the male defining words, as in figure 2 of Matthews et al. 2021.

    Args:
        rows: rows of ``gender_languages`` that have a direction.
    """
    columns = {"female words": "female_words", "male words": "male_words"}
    return _by_language(rows, columns, [Look(FEMALE), Look(MALE)], f"mean {_ON_AXIS}")


def direct_bias(rows: pl.DataFrame) -> Figure:
    """Direct bias by all weights of the forms, the languages with the most at the top; rows as above."""
    others = other_weights(rows)
    columns = {weighted(rows): "direct_bias"} | {WEIGHTED[name]: f"direct_bias_by_{name}" for name in others}
    looks = [Look(shift=0.12), *(Look(NEUTRAL, _SYMBOLS[name], shift=-0.18) for name in others)]
    return _by_language(rows.sort("direct_bias", descending=True), columns, looks, "direct bias (mean |cosine|)")


def gaps(rows: pl.DataFrame) -> Figure:
    """The gap of the first two components, as in figure 3 of Matthews et al. 2021, and without wife and husband.

    Args:
        rows: of :func:`.findings.gaps`.
    """
    columns = {"all pairs": "gap", f"without {WIFE_HUSBAND}": "gap_without"}
    looks = [Look(FIRST, shift=0.12), Look(SECOND, "diamond-open", shift=-0.18)]
    title = "share of the first component less that of the second"
    return _by_language(rows.sort("gap", descending=True), columns, looks, title)


def _by_language(rows: pl.DataFrame, columns: Mapping[str, str], looks: Sequence[Look], title: str) -> Figure:
    marks = pl.concat(_numbers(rows, column).with_columns(name=pl.lit(name)) for name, column in columns.items())
    by_name = dict(zip(columns, looks, strict=True))

    def hover(row: Row) -> str:
        return lines(plain(row["label"]), f"{row['name']}: {estimate(row, 'value')}", f"{row['num_replicas']} replicas")

    return dots(marks, "value", "label", by="name", looks=by_name, neutral=0.0, title=title, hover=hover, row_height=38)


def _numbers(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with a number and its interval as ``value``."""
    return rows.with_columns(pl.col(f"{column}{end}").alias(f"value{end}") for end in ("", "_low", "_high"))


def pair_changes(rows: pl.DataFrame) -> Figure:
    """Change of direct bias when a pair is left out, for one language, in the order of the word set."""
    sided, looks = sides(rows, CHANGE, ("direct bias rises", FIRST), ("direct bias falls", SECOND))

    def hover(row: Row) -> str:
        return lines(plain(row["pair"]), *_without(row))

    return _along(sided, "change", "pair", looks=looks, title="change of direct bias", hover=hover, row_height=30)


def _without(row: Row) -> list[str]:
    return [
        f"without {plain(row['feminine'])} / {plain(row['masculine'])}",
        f"change {estimate(row, 'change', 4)}",
        f"direct bias {estimate(row, 'direct_bias')}",
        f"cosine of the directions {estimate(row, 'similarity')}",
        f"variance along the first component {estimate(row, 'first_share')}",
        f"gap between the first two components {estimate(row, 'gap')}",
        f"{row['num_replicas']} replicas",
    ]


# --- heat maps ------------------------------------------------------------------------------------------------------


def profession_map(rows: pl.DataFrame, names: pl.Series) -> Figure:
    """Bias of professions in every language.

    Args:
        rows: rows of ``gender_professions``, those without a result as well.
        names: the professions to be shown, from the top.
    """
    return _map(rows, "label", names, "bias", _profession, colours=(MALE, MIDDLE, FEMALE), title="bias")


def pair_map(rows: pl.DataFrame) -> Figure:
    """Change of direct bias without each pair, in every language; rows of ``gender_pairs``."""
    look = {"colours": (SECOND, MIDDLE, FIRST), "title": "change of<br>direct bias", "digits": 3}
    return _map(rows, "label", rows["pair"].unique(maintain_order=True), "change", _without, **look)


def correlations(rows: pl.DataFrame) -> Figure:
    """Pearson's r between languages under the tree of their clustering, as in figure 6 of Matthews et al. 2021.

    Args:
        rows: rows of ``language_correlation``.
    """
    ordered = rows.sort("position_2", "language_2")
    names = ordered["language_2"].unique(maintain_order=True).alias("language_1")
    look = {"colours": (SECOND, MIDDLE, FIRST), "title": "r", "ends": (-1.0, 1.0)}
    cells = _map(ordered, "language_2", names, "correlation", _correlation, **look)
    tree = _tree(np.array(cells.data[1]["z"], dtype=np.float64))
    return figure(
        *tree,
        *(trace | {"yaxis": "y2"} for trace in cells.data),
        height=260 + 40 * len(names),
        showlegend=False,
        xaxis=cells.layout["xaxis"] | {"side": "bottom", "anchor": "y2"},
        yaxis=axis("1 − r", rangemode="tozero", nticks=4, domain=[0.804, 1.0]),
        yaxis2=cells.layout["yaxis"] | {"domain": [0.0, 0.784]},
    )


def _correlation(row: Row) -> list[str]:
    each = [f"{text}: r = {estimate(row, f'correlation_by_{name}', 2)}" for name, text in WEIGHTED.items()]
    return [*each, f"over {row['num_professions']} professions"]


def _map(
    rows: pl.DataFrame, x: str, names: pl.Series, column: str, numbers: Callable[[Row], list[str]], **look: Any
) -> Figure:
    """A cell for each value of ``x`` and each name; bold where the column's number leans to a side.

    Args:
        names: of the lines, from the top; the series is called as the column that has them.
        numbers: what is shown of a row with a result under the pointer; of any other it is why there is none.
        look: of the heat map.
    """
    y = names.name
    pairs = names.to_frame().join(rows.select(x).unique(maintain_order=True), how="cross")
    cells = _numbers(pairs.join(rows, on=[y, x], how="left", maintain_order="left"), column)

    def text(row: Row) -> str:
        value = number(row["value"], look.get("digits", 2))
        return f"<b>{value}</b>" if _NUMBER.side(row) in NAMED else value

    def hover(row: Row) -> str:
        reason = "not on the word list" if row["status"] is None else f"{row['status']}: {plain(row['reason'])}"
        return lines(plain(f"{row[y]}, {row[x]}"), *([reason] if row["value"] is None else numbers(row)))

    known = cells.with_columns(value=pl.when(status="ok").then("value"))
    return heat(known, x, y, "value", text=text, hover=hover, x_label=_two_lines, **look)


def _two_lines(language: str) -> str:
    return plain(language).replace(" (", "<br>(")


def _tree(correlations: NDArray[np.float64]) -> list[Trace]:
    """The clustering as brackets whose height is the mean distance 1 - r of what they join."""
    middles, tops, brackets = [float(place) for place in range(len(correlations))], [0.0] * len(correlations), []
    for first, second, height, _ in cluster_order(correlations).linkage:
        ends = (int(first), int(second))
        x, y = [middles[end] for end in ends], [tops[end] for end in ends]
        brackets.append(([x[0], *x, x[1]], [y[0], height, height, y[1]]))
        middles.append(sum(x) / 2.0)
        tops.append(float(height))
    return [line(x, y, {"color": INK, "width": 1.5}, hoverinfo="skip") for x, y in brackets]
