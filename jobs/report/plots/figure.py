"""A figure before it is drawn: settings under the names of plotly.js, which reads them in the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.report.plots.style import INK, TEMPLATE

Trace = dict[str, Any]

UNNAMED = {"hoverinfo": "skip", "showlegend": False}
"""Of traces that say nothing, neither under the pointer nor in the legend."""


@dataclass(frozen=True)
class Figure:
    """Traces and their layout.

    Nothing checks them against plotly's schema but the tests, which do so with the figures of all pages.
    """

    data: Sequence[Trace]
    layout: Mapping[str, Any]

    def with_layout(self, **settings: Any) -> "Figure":
        """Nested settings are set one by one; others stay."""
        return Figure(self.data, merged(self.layout, settings))

    def with_traces(self, *traces: Trace) -> "Figure":
        """These too, above the others."""
        return Figure([*self.data, *traces], self.layout)


def figure(*traces: Trace, **layout: Any) -> Figure:
    """A figure in our style."""
    return Figure(traces, {"template": TEMPLATE, **layout})


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings, with the new ones in the place of old ones.

    >>> merged({"x": {"range": [0, 1], "ticks": ""}}, {"x": {"range": [0, 2]}})
    {'x': {'range': [0, 2], 'ticks': ''}}
    """
    both = {name: merged(old.get(name, {}), value) for name, value in new.items() if isinstance(value, Mapping)}
    return {**old, **new, **both}


def axis(title: str = "", **settings: Any) -> dict[str, Any]:
    """An axis with a title, unless that is empty.

    >>> axis("JND", nticks=4)
    {'title': {'text': 'JND'}, 'nticks': 4}
    """
    return {"title": {"text": title}, **settings}


def ticks(texts: Sequence[str]) -> dict[str, Any]:
    """Labels of an axis, from 0 on."""
    return {"tickvals": list(range(len(texts))), "ticktext": list(texts)}


def line(x: Any, y: Any, look: Mapping[str, Any], **settings: Any) -> Trace:
    """A line through points, of a look as plotly.js calls it."""
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look, **settings}


def marks(x: Any, y: Any, look: Mapping[str, Any], **settings: Any) -> Trace:
    """A mark at each point, of a look as plotly.js calls it."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": look, **settings}


def neutral_line(x: Sequence[float], y: Sequence[float]) -> Trace:
    """The value that leans to no side, as a line; a trace, because plotly draws grids over shapes below traces."""
    return line(x, y, {"color": INK, "width": 1.5, "dash": "dot"}, **UNNAMED)
