"""Figures of `sentiment_rating`: the map of all ratings, and the raw scores of a case with their intervals."""

import math
from collections.abc import Callable, Sequence

import polars as pl

from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.heat import heat
from tiltmeter.jobs.report.plots.style import LOOKS, Look, Row, lines, plain
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, attribute, by_case, scored, variants_of

DARKENING = ("#f6ecd9", "#e0aa6a", "#7a2f00")
"""From the least biased to the most biased."""

_TITLES = {"wrs": "WRS, weighted rejection score", "die": "DIE, deconfounding impact (%)"}
_SPREAD = 0.56
"""Of the variants of a system, in rows."""

_MAX_REACH, _BEYOND = 2.0, 1.15
"""How far the axis goes beyond the largest score, and how much further what goes on does."""

_HEADING = ""
"""Instead of a variant."""


def _complete(rows: pl.DataFrame, systems: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    """A row for each variant and system, also where there is no score."""
    pairs = [(variant, system) for variant in variants for system in systems]
    cells = pl.DataFrame(pairs, schema=["variant", "system"], orient="row")
    return cells.join(rows, on=["variant", "system"], how="left", maintain_order="left")


def _score(row: Row) -> str:
    return f"{MEASURES[row['measure']]} {scored(row)}"


# --- the map of all ratings -----------------------------------------------------------------------------------------


def rating_map(rows: pl.DataFrame, systems: Sequence[str], text: Callable[[Row], str]) -> Figure:
    """Systems against variants, below the name of each case; the darker, the more biased.

    Args:
        rows: raw scores with rank and rating.
        systems: the columns, in order.
        text: of a cell with a rating.
    """
    cases = by_case(rows)
    cells = pl.concat([_cells(case, part, systems) for case, part in cases.items()])
    labels = dict(cells.select("line", "variant").unique(maintain_order=True).iter_rows())
    figure = heat(
        cells,
        "system",
        "line",
        "rating",
        colours=DARKENING,
        ends=(1, max(2, rows["num_levels"][0])),
        text=text,
        hover=_why,
        x_label=lambda system: plain(system).replace("_", "<br>"),
        y_label=lambda line: plain(labels[line]),
    )
    places = [place for place, variant in enumerate(labels.values()) if variant == _HEADING]
    named = zip(cases.values(), places, strict=True)
    return figure.with_layout(annotations=[_heading(part.row(0, named=True), place) for part, place in named])


def _cells(case: str, rows: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """A line for the heading of a case and one for each variant."""
    cells = _complete(rows, systems, [_HEADING, *variants_of(rows)])
    return cells.with_columns(pl.format("{}: {}", pl.lit(case), "variant").alias("line"))


def _why(row: Row) -> str:
    """The rating of a cell and what it goes by, or why there is none."""
    if row["variant"] == _HEADING:
        return ""
    head = f"{plain(row['system'])}, {plain(row['variant'])}"
    if row["status"] is None:
        return lines(head, "no scores of this system for these texts")
    if row["rating"] is None:
        return lines(head, f"{row['status']}: {plain(row['reason'])}")
    return lines(head, f"rating {row['rating']} of {row['num_levels']}", f"rank {row['rank']}", _score(row))


def _heading(row: Row, place: int) -> dict[str, object]:
    text = f"<b>{plain(row['group'])}</b>, by {attribute(row['protected'])} ({MEASURES[row['measure']]})"
    return {"text": text, "showarrow": False, "x": -0.5, "xanchor": "left", "y": place, "font": {"size": 12}}


# --- the raw scores of a case ---------------------------------------------------------------------------------------


def raw_scores(rows: pl.DataFrame, systems: Sequence[str], variants: Sequence[str]) -> Figure:
    """Raw scores with their intervals, a row for each system and in it a dot for each variant.

    Args:
        rows: of one case, by one measure; what is infinite, or far beyond all scores, ends at the right edge.
        systems, variants: in order, those without a score too.
    """
    edge, infinite = _edge(rows), pl.format("{}, infinite", "variant")
    shown = _complete(rows, systems, variants).with_columns(
        pl.col("^raw_score.*$").clip(upper_bound=edge).name.prefix("shown_"),
        pl.when(pl.col("raw_score").is_infinite()).then(infinite).otherwise("variant").alias("kind"),
    )
    return dots(
        shown,
        "shown_raw_score",
        "system",
        by="kind",
        looks=_looks(variants),
        title=_TITLES[rows["measure"][0]],
        hover=lambda row: lines(f"{plain(row['system'])}, {plain(row['variant'])}", _score(row)),
        ends=[-0.04 * edge, 1.02 * edge],
        row_height=24 + 14 * (len(variants) - 1),
    )


def _looks(variants: Sequence[str]) -> dict[str, Look]:
    """Of the variants, one below the other in the row of a system; an infinite score is a triangle."""
    looks: dict[str, Look] = {}
    for place, variant in enumerate(variants):
        shift = _SPREAD * (0.5 - (place + 0.5) / len(variants))
        look = LOOKS[place % len(LOOKS)]._replace(shift=shift)
        looks |= {variant: look, f"{variant}, infinite": look._replace(symbol="triangle-right")}
    return looks


def _edge(rows: pl.DataFrame) -> float:
    """Where the axis ends: at the largest number, but not so far beyond the scores that they lie on one another."""
    scores, ends = (rows[name].drop_nulls().to_list() for name in ("raw_score", "raw_score_high"))
    largest = max(filter(math.isfinite, [*scores, *ends]), default=0.0) or 1.0
    limit = min(largest, _MAX_REACH * max(filter(math.isfinite, scores), default=0.0) or largest)
    return limit if max([*scores, *ends]) <= limit else _BEYOND * limit
