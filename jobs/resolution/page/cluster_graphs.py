"""Drawings of a component: its records, coloured by cluster, and the pairs between them."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, MALE, NEUTRAL, SECOND, STYLE, plain
from tiltmeter.jobs.resolution.page.words import Row, signed

MAX_RECORDS = 500
"""Of a component that is drawn."""

MAX_LINES = 150
"""Of each kind of pairs."""

_COLOURS = (MALE, FEMALE, FIRST, SECOND, INK, NEUTRAL)
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star")
_ALONE = "circle-open"
_TOGETHER, _APART = 3.0, 0.01
"""How much positive pairs pull: within a cluster, over its number of records, and between clusters."""

Places = Mapping[str, Sequence[float]]


class _Kind(NamedTuple):
    """Pairs of one sign, within clusters or between them."""

    name: str
    is_positive: bool
    is_together: bool
    line: Mapping[str, object]


_KINDS = (
    _Kind("negative, apart", False, False, {"color": NEUTRAL, "width": 0.5, "dash": "dash"}),
    _Kind("positive, together", True, True, {"color": NEUTRAL, "width": 1.5}),
    _Kind("negative, but together", False, True, {"color": FEMALE, "width": 1, "dash": "dash"}),
    _Kind("positive, but apart", True, False, {"color": "rgba(0,114,178,0.5)", "width": 1.5}),
)


def cluster_graph(pairs: pl.DataFrame, clusters: Mapping[str, int], seed: int) -> go.Figure:
    """The records of a component as dots, near those of their cluster, with lines for their pairs.

    Args:
        pairs: ``left, right, weight``, all scored pairs of the component.
        clusters: of each record.
        seed: of the layout.
    """
    ends = [pl.col(end).replace_strict(clusters) for end in ("left", "right")]
    of_kind = [pl.col("weight") > 0, ends[0] == ends[1]]
    rows = pairs.with_columns(of_kind[0].alias("is_positive"), of_kind[1].alias("is_together"))
    places = _layout(rows, clusters, seed)
    figure = go.Figure().update_layout(template=STYLE, height=620, hovermode="closest", margin={"t": 60, "b": 10})
    figure.update_layout(legend_itemwidth=44)
    for kind in _KINDS:
        part = rows.filter(is_positive=kind.is_positive, is_together=kind.is_together)
        if part.height:
            figure.add_traces(_lines(_drawn(part, kind), part.height, kind, places))
    figure.add_trace(_dots(clusters, rows, places))
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(visible=False, scaleanchor="x")


def _layout(pairs: pl.DataFrame, clusters: Mapping[str, int], seed: int) -> Places:
    """Positive pairs pull, those between clusters hardly; all records push each other away."""
    import networkx

    size = pl.col("left").replace_strict(clusters).replace_strict(Counter(clusters.values()))
    pull = pl.when("is_together").then(_TOGETHER / size).otherwise(_APART)
    graph = networkx.Graph()
    graph.add_nodes_from(clusters)
    graph.add_weighted_edges_from(pairs.filter("is_positive").select("left", "right", pull).rows())
    places: Places = networkx.spring_layout(graph, seed=seed % 2**32, iterations=100, method="force")
    return places


def _drawn(pairs: pl.DataFrame, kind: _Kind) -> list[dict[str, Any]]:
    """Pairs of most weight; of those that hold clusters, first as many as keep each one whole."""
    rows = pairs.sort(pl.col("weight").abs(), descending=True, maintain_order=True).to_dicts()
    if not (kind.is_positive and kind.is_together):
        return rows[:MAX_LINES]
    needed = _spanning(pairs)
    rows.sort(key=lambda row: {row["left"], row["right"]} not in needed)
    return rows[: max(MAX_LINES, len(needed))]


def _spanning(pairs: pl.DataFrame) -> Set[frozenset[str]]:
    """The heaviest pairs that connect what all of them connect."""
    import networkx

    graph = networkx.Graph()
    graph.add_weighted_edges_from(pairs.select("left", "right", "weight").rows())
    return set(map(frozenset, networkx.maximum_spanning_edges(graph, data=False)))


def _lines(drawn: Sequence[Row], num: int, kind: _Kind, places: Places) -> list[go.Scatter]:
    """One trace for the lines, and dots that can't be seen at their middles, for the pointer."""
    ends = [[places[row[end]] for row in drawn] for end in ("left", "right")]
    rest = f" ({len(drawn)} of {num:,})" if num > len(drawn) else ""
    x, y = ([value for one, other in zip(*ends, strict=True) for value in (one[at], other[at], None)] for at in (0, 1))
    lines = go.Scatter(x=x, y=y, mode="lines", line=dict(kind.line), hoverinfo="skip", name=f"{kind.name}{rest}")
    middle = [[(one[at] + other[at]) / 2 for one, other in zip(*ends, strict=True)] for at in (0, 1)]
    hovers = [
        f"<b>{plain(row['left'])} – {plain(row['right'])}</b><br>{signed(row['weight'])}, {kind.name}" for row in drawn
    ]
    dots = go.Scatter(x=middle[0], y=middle[1], mode="markers", marker={"opacity": 0, "size": 8}, showlegend=False)
    return [lines, dots.update(customdata=hovers, hovertemplate="%{customdata}<extra></extra>")]


def _dots(clusters: Mapping[str, int], pairs: pl.DataFrame, places: Places) -> go.Scatter:
    """Records; clusters differ in colour and symbol, those of one record are hollow."""
    counts = pl.Series(list(clusters.values())).value_counts(sort=True)
    sizes = dict(counts.rows())
    rank = {cluster: at for at, cluster in enumerate(sorted(sizes, key=lambda cluster: (-sizes[cluster], cluster)))}
    looks = [_look(rank[cluster], sizes[cluster]) for cluster in clusters.values()]
    held = dict.fromkeys(clusters, 0.0) | _held(pairs)
    hovers = [
        f"<b>{plain(record)}</b><br>cluster {cluster}, {sizes[cluster]} in all<br>held by {signed(held[record])}"
        for record, cluster in clusters.items()
    ]
    x, y = ([places[record][at] for record in clusters] for at in (0, 1))
    colours, symbols = zip(*looks, strict=True)
    marker = {"color": colours, "symbol": symbols, "size": 12, "opacity": 1, "line": {"color": "white", "width": 1}}
    dots = go.Scatter(x=x, y=y, mode="markers", marker=marker, customdata=hovers, showlegend=False)
    return dots.update(hovertemplate="%{customdata}<extra></extra>")


def _look(rank: int, size: int) -> tuple[str, str]:
    if size == 1:
        return INK, _ALONE
    return _COLOURS[rank % len(_COLOURS)], _SYMBOLS[rank % len(_SYMBOLS)]


def _held(pairs: pl.DataFrame) -> dict[str, float]:
    """Sum of the weights between each record and the others of its cluster."""
    together = pairs.filter("is_together")
    ends = [together.select(pl.col(end).alias("record"), "weight") for end in ("left", "right")]
    return dict(pl.concat(ends).group_by("record").agg(pl.col("weight").sum()).rows())
