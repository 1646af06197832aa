"""Bar charts: how many, or which share, of each category."""

from collections.abc import Callable, Mapping

import polars as pl

from tiltmeter.jobs.report.plots.figure import Figure, Trace, axis, figure
from tiltmeter.jobs.report.plots.style import Kind, Look, Row, hovers, kinds, plain


def bars(
    rows: pl.DataFrame,
    x: str,
    y: str,
    *,
    by: str | None = None,
    looks: Mapping[str, Look] | None = None,
    is_stacked: bool = False,
    titles: tuple[str, str] = ("", ""),
    text: str | None = None,
    hover: Callable[[Row], str] | None = None,
) -> Figure:
    """A bar for each row; those of a category stand beside each other, or on each other.

    Args:
        x, y: the column of categories, which is text, and that of numbers; with categories as y the bars lie, and the
            first is at the top.
        text: the column of texts at the ends of the bars.
    """
    lies = rows[y].dtype == pl.String
    traces = [_bars(kind, x, y, text) | hovers(kind.rows, hover) for kind in kinds(rows, by, looks)]
    x_axis, y_axis = map(axis, titles)
    return figure(
        *(trace | {"orientation": "h" if lies else "v"} for trace in traces),
        barmode="stack" if is_stacked else "group",
        bargap=0.3,
        legend={"traceorder": "normal"},
        height=110 + 30 * rows[y].n_unique() if lies else 380,
        xaxis=x_axis if lies else {"type": "category", **x_axis},
        yaxis={"autorange": "reversed", **y_axis} if lies else y_axis,
    )


def _bars(kind: Kind, x: str, y: str, text: str | None) -> Trace:
    ends = {name: _shown(kind.rows[column]) for name, column in (("x", x), ("y", y))}
    look = {"marker": {"color": kind.look.colour}, "cliponaxis": False}
    texts = {} if text is None else {"text": kind.rows[text], "textposition": "outside"}
    return {"type": "bar", **ends, **look, **texts, "name": plain(kind.name), "showlegend": bool(kind.name)}


def _shown(values: pl.Series) -> list[object]:
    return [plain(value) for value in values] if values.dtype == pl.String else values.to_list()
