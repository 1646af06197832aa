"""Figures of `sentiment_rating`: the map of all ratings, raw scores with their intervals, and causal diagrams."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, figure, line
from tiltmeter.jobs.report.plots.heat import heat
from tiltmeter.jobs.report.plots.style import FEMALE, INK, LOOKS, SECOND, Look, Row, lines, plain
from tiltmeter.jobs.report.wording import estimate, listed, number
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.raw_scores import PROTECTED
from tiltmeter.jobs.sentiment.rating.tables import ORIGINAL, attribute

MEASURES = {"wrs": "WRS", "die": "DIE"}
_UNITS = {"wrs": "", "die": "%"}

MOST_ROWS = 60
"""Of a table on the page."""


def case_name(row: Row) -> str:
    """Where systems are put in order: in a group of texts, by a protected attribute."""
    return f"{row['group']}, by {attribute(row['protected'])}"


def by_case(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by their case, in the order of the table."""
    parts = rows.partition_by("group", "protected", maintain_order=True)
    return {case_name(part.row(0, named=True)): part for part in parts}


def variants_of(rows: pl.DataFrame) -> list[str]:
    """The variants, the original first.

    >>> variants_of(pl.DataFrame({"variant": ["es", "original", "es", "da"]}))
    ['original', 'es', 'da']
    """
    return sorted(rows["variant"].unique(maintain_order=True), key=lambda variant: variant != ORIGINAL)


def amount(row: Row, name: str = "raw_score") -> str:
    """A raw score in the unit of its measure.

    >>> amount({"measure": "die", "raw_score": 211.11}), amount({"measure": "wrs", "raw_score": None})
    ('211.1%', '–')
    """
    return number(row[name], 1, _UNITS[row["measure"]])


def scored(row: Row, name: str = "raw_score") -> str:
    """A raw score, or a change of one, with its interval.

    >>> scored({"measure": "die", "raw_score": 7.5, "raw_score_low": 0.0, "raw_score_high": float("inf")})
    '7.5% [0.0, ∞]'
    """
    return estimate(row, name, 1, _UNITS[row["measure"]])


def rated(frames: Frames) -> pl.DataFrame:
    """The raw scores that ratings go by, with rank and rating; those that are undefined as well."""
    key = ["variant", "group", "protected", "system", "measure"]
    places = frames["ratings"].filter("decides").select(*key, "rank", "rating", "num_levels")
    return frames["raw_scores"].join(places, on=key, maintain_order="left")


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


# --- causal diagrams: what may make the sentiment of a text depend on gender or race --------------------------------

_PLACES = {"emotion": (1.0, 1.0), "sentiment": (1.0, 0.0)}
_SIDES = ((0.0, 0.5), (2.0, 0.5))
"""Of the attributes: left of emotion and sentiment, and right of them."""

_ABOVE, _BESIDE = 18, 42
"""From the middle of a box to an arrow's head, in pixels."""

_LINES = {
    "expected": {"color": INK, "width": 2},
    "confounding": {"color": SECOND, "width": 2},
    "tested": {"color": FEMALE, "width": 3, "dash": "dash"},
}
_BOX = {
    "bgcolor": "white",
    "bordercolor": INK,
    "borderwidth": 1.5,
    "borderpad": 6,
    "font": {"size": 14},
    "showarrow": False,
}


_BY_TEST = ", as a test at 5% finds and no setting says"


class CausalModel(NamedTuple):
    """The attributes that a group of texts tells, those that its emotion depends on, what systems are rated by, and
    whether a test alone says on what the emotion depends."""

    attributes: tuple[str, ...]
    has_emotion: bool
    confounding: tuple[str, ...]
    measures: tuple[tuple[str, str], ...]
    is_tested: bool = False


def causal_models(raw_scores: pl.DataFrame, ratings: pl.DataFrame) -> dict[CausalModel, list[str]]:
    """The groups of texts by their causal model."""
    models: dict[CausalModel, list[str]] = {}
    for (group,), rows in raw_scores.group_by("group", maintain_order=True):
        measures = ratings.filter("decides", group=group).select("protected", "measure").unique().sort("protected")
        models.setdefault(_model(rows, tuple(measures.rows())), []).append(str(group))
    return models


def _model(rows: pl.DataFrame, measures: tuple[tuple[str, str], ...]) -> CausalModel:
    depends = dict(rows.group_by("protected").agg(pl.col("is_confounded").all()).rows())
    attributes = tuple(name for name, columns in PROTECTED.items() if columns == (name,) and name in depends)
    confounding = tuple(name for name in attributes if depends[name])
    # The emotion may depend on both together, and on neither alone.
    together = attributes if any(depends.values()) else ()
    has_emotion, is_tested = "die" in rows["measure"], "tested" in rows["design"]
    return CausalModel(attributes, has_emotion, confounding or together, measures, has_emotion and is_tested)


def diagram(model: CausalModel) -> Figure:
    """Attributes, emotion and sentiment, with arrows from causes to what depends on them."""
    places = dict(zip(model.attributes, _SIDES, strict=False)) | _PLACES
    if not model.has_emotion:
        del places["emotion"]
    arrows = list(_arrows(model))
    return figure(
        *(_arrow(kind, places[cause], places[effect]) for kind, cause, effect in arrows),
        *(line([None], [None], _LINES[kind], name=kind) for kind in dict.fromkeys(kind for kind, *_ in arrows)),
        annotations=[{"x": x, "y": y, "text": name, **_BOX} for name, (x, y) in places.items()],
        width=360,
        height=210,
        margin={"l": 0, "r": 0, "b": 0},
        xaxis={"visible": False, "range": [-0.35, 2.35]},
        yaxis={"visible": False, "range": [-0.25, 1.25]},
    )


def _arrows(model: CausalModel) -> Iterator[tuple[str, str, str]]:
    """Their kinds, and from where to where they lead."""
    if model.has_emotion:
        yield "expected", "emotion", "sentiment"
    yield from (("confounding", name, "emotion") for name in model.confounding)
    yield from (("tested", name, "sentiment") for name in model.attributes)


def _arrow(kind: str, cause: tuple[float, float], effect: tuple[float, float]) -> Trace:
    """A line whose head ends at the border of the box that it points to."""
    x, y = zip(cause, effect, strict=True)
    head = {"symbol": "arrow", "angleref": "previous", "size": [0, 13], "color": _LINES[kind]["color"], "opacity": 1}
    head["standoff"] = [0, _ABOVE if x[0] == x[1] else _BESIDE]
    return line(x, y, _LINES[kind], name=kind, marker=head, **UNNAMED) | {"mode": "lines+markers"}


def meaning(model: CausalModel, groups: Sequence[str]) -> str:
    """What the model of these groups means, and which measure follows."""
    either = " or ".join(model.attributes)
    if model.confounding:
        source = _BY_TEST if model.is_tested else ""
        why = (
            f"the emotion depends on {listed(model.confounding)}{source}, so mean sentiment differs between the values "
            "even for a system without bias. The question is how far that distorts what emotion does to sentiment"
        )
    elif model.is_tested:
        why = (
            f"nobody says whether the emotions were made to depend on {either}, and a test does not find it, which is "
            "no proof that they do not; so ratings by both measures are given. The question is whether sentiment "
            f"depends on {either}"
        )
    elif model.has_emotion:
        why = (
            f"all values of {either} come with the same emotions, so sentiment that depends on {either} does so "
            "through the system itself. The question is whether it does"
        )
    else:
        why = (
            f"no emotion is known. The question is whether sentiment depends on {either}, be it through the system or "
            "through what the texts say"
        )
    return f"{'Group' if len(groups) == 1 else 'Groups'} {listed(groups)}: {why}. {_rated_by(model)}."


def _rated_by(model: CausalModel) -> str:
    measures = {measure for _, measure in model.measures}
    if len(measures) == 1:
        return f"Rated by {MEASURES[measures.pop()]}"
    return f"Rated {listed([f'for {attribute(name)} by {MEASURES[measure]}' for name, measure in model.measures])}"
