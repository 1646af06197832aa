"""Causal diagrams of the groups of texts: what may make the sentiment of a text depend on gender or race."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import FEMALE, INK, SECOND, STYLE
from tiltmeter.jobs.report.wording import listed
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, attribute
from tiltmeter.jobs.sentiment.rating.rows import PROTECTED

_EMOTION, _SENTIMENT = "emotion", "sentiment"
_PLACES = {_EMOTION: (1.0, 1.0), _SENTIMENT: (1.0, 0.0)}
_SIDES = ((0.0, 0.5), (2.0, 0.5))
"""Of the attributes: left of emotion and sentiment, and right of them."""

_WIDTH, _HEIGHT = 360, 210
_ABOVE, _BESIDE = 18, 42
"""From the middle of a box to an arrow's head, in pixels."""

_TESTED = {"color": FEMALE, "width": 3, "dash": "dash"}
_GIVEN = {"color": INK, "width": 2}
_CONFOUNDING = {"color": SECOND, "width": 2}


class CausalModel(NamedTuple):
    """What is known of a group of texts.

    Attributes:
        attributes: that the texts tell.
        has_emotion: whether the emotion of every text is known.
        confounding: attributes that the emotion depends on.
        measures: what systems are rated by, for each protected attribute.
    """

    attributes: tuple[str, ...]
    has_emotion: bool
    confounding: tuple[str, ...]
    measures: tuple[tuple[str, str], ...]


class _Edge(NamedTuple):
    start: str
    end: str
    name: str
    line: dict[str, object]


def causal_models(raw_scores: pl.DataFrame, ratings: pl.DataFrame) -> dict[CausalModel, list[str]]:
    """The groups of texts by their causal model."""
    models: dict[CausalModel, list[str]] = {}
    for (group,), rows in raw_scores.group_by("group", maintain_order=True):
        measures = ratings.filter(group=group).select("protected", "measure").unique(maintain_order=True)
        models.setdefault(_model(rows, measures), []).append(str(group))
    return models


def _model(rows: pl.DataFrame, measures: pl.DataFrame) -> CausalModel:
    depends = dict(rows.group_by("protected", maintain_order=True).agg(pl.col("is_confounded").all()).rows())
    attributes = tuple(name for name, columns in PROTECTED.items() if columns == (name,) and name in depends)
    confounding = tuple(name for name in attributes if depends[name])
    # The emotion may depend on both together, and on neither alone.
    together = attributes if any(depends.values()) else ()
    return CausalModel(
        attributes, "die" in rows["measure"], confounding or together, tuple(measures.sort("protected").rows())
    )


def diagram(model: CausalModel) -> go.Figure:
    """Attributes, emotion and sentiment, with arrows from causes to what depends on them."""
    sides = dict(zip(model.attributes, _SIDES, strict=False))
    places = sides | {name: place for name, place in _PLACES.items() if model.has_emotion or name != _EMOTION}
    figure = go.Figure().update_layout(template=STYLE, width=_WIDTH, height=_HEIGHT, margin={"l": 0, "r": 0, "b": 0})
    edges = list(_edges(model))
    figure.add_traces([_arrow(edge, places) for edge in edges])
    for name, line in {edge.name: edge.line for edge in edges}.items():
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=name)
    for name, (x, y) in places.items():
        box = {"bgcolor": "white", "bordercolor": INK, "borderwidth": 1.5, "borderpad": 6}
        figure.add_annotation(x=x, y=y, text=name, showarrow=False, font={"size": 14}, **box)
    figure.update_xaxes(visible=False, range=[-0.35, 2.35])
    return figure.update_yaxes(visible=False, range=[-0.25, 1.25])


def _edges(model: CausalModel) -> Iterator[_Edge]:
    if model.has_emotion:
        yield _Edge(_EMOTION, _SENTIMENT, "expected", _GIVEN)
    for name in model.confounding:
        yield _Edge(name, _EMOTION, "confounding", _CONFOUNDING)
    for name in model.attributes:
        yield _Edge(name, _SENTIMENT, "tested", _TESTED)


def _arrow(edge: _Edge, places: Mapping[str, tuple[float, float]]) -> go.Scatter:
    """A line whose head ends at the border of the box that it points to."""
    x, y = zip(places[edge.start], places[edge.end], strict=True)
    head = {"symbol": "arrow", "angleref": "previous", "size": [0, 13], "color": edge.line["color"], "opacity": 1}
    head["standoff"] = [0, _ABOVE if x[0] == x[1] else _BESIDE]
    look = {"mode": "lines+markers", "line": edge.line, "marker": head, "hoverinfo": "skip"}
    return go.Scatter(x=x, y=y, name=edge.name, showlegend=False, **look)


def meaning(model: CausalModel, groups: Sequence[str]) -> str:
    """What the model of these groups means, and which measure follows."""
    return f"{'Group' if len(groups) == 1 else 'Groups'} {listed(groups)}: {_why(model)}. {_rated_by(model)}."


def _why(model: CausalModel) -> str:
    told = " or ".join(model.attributes)
    if model.confounding:
        return (
            f"the emotion depends on {listed(model.confounding)}, so mean sentiment differs between the values even "
            "for a system without bias. The question is how far that distorts what emotion does to sentiment"
        )
    if model.has_emotion:
        return (
            f"all values of {told} come with the same emotions, so sentiment that depends on {told} does so through "
            "the system itself. The question is whether it does"
        )
    return (
        f"no emotion is known. The question is whether sentiment depends on {told}, be it through the system or "
        "through what the texts say"
    )


def _rated_by(model: CausalModel) -> str:
    measures = {measure for _, measure in model.measures}
    if len(measures) == 1:
        return f"Rated by {MEASURES[measures.pop()]}"
    return f"Rated {listed([f'for {attribute(name)} by {MEASURES[measure]}' for name, measure in model.measures])}"
