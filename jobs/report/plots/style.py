"""What all plots share: colours, how marks look, and texts as plotly shows them."""

import html
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.report.wording import isolated

FEMALE, MALE, NEUTRAL, INK = "#d55e00", "#0072b2", "#8a8a86", "#1c1c1a"
FIRST, SECOND = "#00603c", "#5d2460"
"""After the palette of Okabe and Ito 2008; the last two are darkened until any two differ for colour-blind readers."""

TEXT = {FEMALE: "#a84a00", MALE: "#00639c", NEUTRAL: "#5b5b57"}
"""The same hues, dark enough for letters."""

_FAINT = "#e4e1da"
_AXIS = {"gridcolor": _FAINT, "zeroline": False, "title": {"font": {"size": 14}, "standoff": 12}}
TEMPLATE = {
    "layout": {
        "font": {"family": "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"bgcolor": "white", "bordercolor": NEUTRAL, "align": "left", "font": {"size": 13}},
        "margin": {"l": 10, "r": 10, "t": 40, "b": 50},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "itemsizing": "constant",
            "title": {"font": {"size": 13}},
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": NEUTRAL, "activecolor": INK},
        "xaxis": {"ticks": "outside", "automargin": True, **_AXIS},
        "yaxis": {"automargin": True, **_AXIS},
    }
}
"""Of all figures, as plotly.js knows it."""

HOVER = "%{customdata}<extra></extra>"
"""Shows what a mark has as its own text under the pointer."""

SHARES = {"range": [-0.02, 1.02], "tickformat": ".0%"}
"""Of an axis of shares."""

Row = Mapping[str, Any]


class Look(NamedTuple):
    """How the marks of one kind look.

    Attributes:
        dash: of a line.
        shift: how far above its row a dot stands, in rows.
        place, letters: where the word beside a dot stands, if it has one, and its colour.
    """

    colour: str = INK
    symbol: str = "circle"
    dash: str = "solid"
    shift: float = 0.0
    place: str = "top center"
    letters: str = INK


LOOKS = (
    Look(INK, "circle"),
    Look(FEMALE, "diamond"),
    Look(MALE, "square"),
    Look(FIRST, "triangle-up"),
    Look(SECOND, "cross"),
    Look(NEUTRAL, "star"),
)
"""Of kinds that have no look of their own."""


class Kind(NamedTuple):
    """The rows of one kind, its name and its look."""

    name: str
    look: Look
    rows: pl.DataFrame


def kinds(rows: pl.DataFrame, by: str | None, looks: Mapping[str, Look] | None) -> list[Kind]:
    """Rows by their kind: first those that have a look, in the order of the looks, then the others as they come.

    Args:
        by: the column that names kinds; all rows are of one kind without a name if None.
    """
    given = looks or {}
    if by is None:
        return [Kind("", given.get("", Look()), rows)]
    parts = {str(name): part for (name,), part in rows.group_by(by, maintain_order=True)}
    others = (name for name in parts if name not in given)
    ordered = dict(given) | dict(zip(others, cycle(LOOKS), strict=False))
    return [Kind(name, look, parts[name]) for name, look in ordered.items() if name in parts]


def hovers(rows: pl.DataFrame, hover: Callable[[Row], str] | None) -> dict[str, Any]:
    """What marks show under the pointer, as a part of their trace."""
    if hover is None:
        return {"hoverinfo": "skip"}
    return {"customdata": [hover(row) for row in rows.to_dicts()], "hovertemplate": HOVER}


def lines(head: str, *others: str) -> str:
    """A bold line and others below it; all are shown as plotly reads them.

    >>> lines("nurse", "PSE 0.7")
    '<b>nurse</b><br>PSE 0.7'
    """
    return "<br>".join([f"<b>{head}</b>", *others])


def faint(colour: str, opacity: float) -> str:
    """A colour of the palette that others show through.

    >>> faint("#0072b2", 0.25)
    'rgba(0,114,178,0.25)'
    """
    return f"rgba({','.join(map(str, _channels(colour)))},{opacity})"


def shades(colours: Sequence[str], num: int) -> list[str]:
    """So many colours, from the first to the last of those given; the one in the middle if it is one.

    >>> shades(["#000000", "#0000ff"], 3), shades(["#000000", "#0000ff"], 1)
    (['rgb(0,0,0)', 'rgb(0,0,128)', 'rgb(0,0,255)'], ['rgb(0,0,128)'])
    """
    places = np.linspace(0, len(colours) - 1, num) if num > 1 else [(len(colours) - 1) / 2]
    mixed = [np.interp(places, range(len(colours)), channel) for channel in zip(*map(_channels, colours), strict=True)]
    return [f"rgb({red:.0f},{green:.0f},{blue:.0f})" for red, green, blue in zip(*mixed, strict=True)]


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def span(*numbers: pl.Series | Sequence[float], margin: float = 0.05) -> list[float]:
    """From the smallest to the largest of all finite numbers, and a little more.

    >>> span([0.0, 10.0, None], pl.Series([5.0]))
    [-0.5, 10.5]
    """
    shown = pl.concat([pl.Series("", values, pl.Float64) for values in numbers]).drop_nulls()
    finite = shown.filter(shown.is_finite()).to_numpy()
    more = margin * (finite.max() - finite.min()) or 0.1
    return [float(finite.min() - more), float(finite.max() + more)]


def plain(text: object) -> str:
    """Text as plotly shows it literally: it reads some tags and entities.

    >>> plain("<b>&")
    '&lt;b&gt;&amp;'
    """
    return isolated(html.escape(str(text), quote=False))
