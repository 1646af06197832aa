"""The picture of draws beside texts."""

import polars as pl

from tiltmeter.jobs.report.plots.figure import Figure, axis, figure, marks
from tiltmeter.jobs.report.plots.style import FIRST, NEUTRAL, SECOND, plain

_LOOKS = {
    ("text", "positive"): ("texts, positive", {"color": NEUTRAL, "symbol": "circle", "size": 5}),
    ("text", "negative"): ("texts, negative", {"color": NEUTRAL, "symbol": "x", "size": 5}),
    ("draw", "positive"): ("draws, positive", {"color": FIRST, "symbol": "circle", "size": 6}),
    ("draw", "negative"): ("draws, negative", {"color": SECOND, "symbol": "x", "size": 6}),
}


def clouds(rows: pl.DataFrame, prior: str) -> Figure:
    """Texts, and the draws of both posteriors under a prior, along the first two components of the texts."""
    traces = []
    for (kind, label), (name, look) in _LOOKS.items():
        part = rows.filter(kind=kind, label=label, prior=prior if kind == "draw" else "")
        traces.append(marks(part["x"], part["y"], look, name=plain(name)))
    return figure(
        *traces,
        height=480,
        hovermode="closest",
        xaxis=axis("first component of the texts"),
        yaxis=axis("second component of the texts"),
    )
