"""Causal diagrams of the groups of texts: what may make the sentiment of a text depend on gender or race."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, figure, line
from tiltmeter.jobs.report.plots.style import FEMALE, INK, SECOND
from tiltmeter.jobs.report.wording import listed
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, attribute
from tiltmeter.jobs.sentiment.rating.rows import PROTECTED

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
