"""Figures of `entity_resolution`: components as graphs, how large they are, and what a threshold does to a study."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.report.plots import style
from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.figure import Figure, Trace, axis, figure, line, marks
from tiltmeter.jobs.report.plots.style import Look, plain
from tiltmeter.jobs.resolution.extracts import signed, threshold_name

MAX_RECORDS = 500
"""Of a component that is drawn."""

MAX_LINES = 150
"""Of each kind of pairs."""

_COLOURS = (style.MALE, style.FEMALE, style.FIRST, style.SECOND, style.INK, style.NEUTRAL)
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star")
_TOGETHER, _APART = 3.0, 0.01
"""How much positive pairs pull: within a cluster, over its number of records, and between clusters."""

_HOLDING, _STRAINING = "positive, together", "negative, but together"
_LINES = {
    "negative, apart": {"color": style.NEUTRAL, "width": 0.5, "dash": "dash"},
    _HOLDING: {"color": style.NEUTRAL, "width": 1.5},
    _STRAINING: {"color": style.FEMALE, "width": 1, "dash": "dash"},
    "positive, but apart": {"color": style.faint(style.MALE, 0.5), "width": 1.5},
}
"""Of pairs by kind: the sign of their weight, and whether their records share a cluster."""

_SIZES = {"components": Look(style.MALE), "clusters": Look(style.FEMALE)}
"""Of bars of sizes."""

_Places = Mapping[str, Sequence[float]]


def cluster_graph(pairs: pl.DataFrame, clusters: Mapping[str, int], seed: int) -> Figure:
    """The records of a component as dots, near those of their cluster, with lines for their pairs.

    Args:
        pairs: ``left, right, weight``, all scored pairs of the component.
        clusters: of each record.
        seed: of the layout.
    """
    left, right = (pl.col(end).replace_strict(clusters) for end in ("left", "right"))
    positive = pl.when(left == right).then(pl.lit(_HOLDING)).otherwise(pl.lit("positive, but apart"))
    negative = pl.when(left == right).then(pl.lit(_STRAINING)).otherwise(pl.lit("negative, apart"))
    rows = pairs.with_columns(pl.when(pl.col("weight") > 0).then(positive).otherwise(negative).alias("kind"))
    places = _layout(rows, clusters, seed)
    traces = [trace for kind in _LINES for trace in _pairs(rows.filter(kind=kind), kind, places)]
    return figure(
        *traces,
        _records(clusters, rows, places),
        height=620,
        hovermode="closest",
        margin={"t": 60, "b": 10},
        legend={"itemwidth": 44},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
    )


def _layout(pairs: pl.DataFrame, clusters: Mapping[str, int], seed: int) -> _Places:
    """Positive pairs pull, those between clusters hardly; all records push each other away."""
    import networkx

    size = pl.col("left").replace_strict(clusters).replace_strict(Counter(clusters.values()))
    pull = pl.when(kind=_HOLDING).then(_TOGETHER / size).otherwise(_APART)
    graph = networkx.Graph()
    graph.add_nodes_from(clusters)
    graph.add_weighted_edges_from(pairs.filter(pl.col("weight") > 0).select("left", "right", pull).rows())
    places: _Places = networkx.spring_layout(graph, seed=seed % 2**32, iterations=100, method="force")
    return places


def _pairs(pairs: pl.DataFrame, kind: str, places: _Places) -> list[Trace]:
    """One trace for the lines, and dots that can't be seen at their middles, for the pointer."""
    if pairs.is_empty():
        return []
    drawn = (_whole(pairs) if kind == _HOLDING else _heaviest(pairs).head(MAX_LINES)).rows()
    rest = f" ({len(drawn)} of {pairs.height:,})" if pairs.height > len(drawn) else ""
    ends = np.array([[places[left], places[right]] for left, right, _ in drawn])
    # Nothing is drawn to a point that is not a number: each line ends before it.
    x, y = np.pad(ends, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan).reshape(-1, 2).T
    lines = line(x, y, _LINES[kind], hoverinfo="skip", name=f"{kind}{rest}")
    hovers = [
        style.lines(f"{plain(left)} – {plain(right)}", f"{signed(weight)}, {kind}") for left, right, weight in drawn
    ]
    return [lines, _dots(ends.mean(axis=1), {"opacity": 0, "size": 8}, hovers)]


def _dots(places: NDArray[np.float64], look: Mapping[str, Any], hovers: Sequence[str]) -> Trace:
    x, y = places.T
    return marks(x, y, look, showlegend=False, customdata=hovers, hovertemplate=style.HOVER)


def _heaviest(pairs: pl.DataFrame) -> pl.DataFrame:
    ordered = pairs.sort(pl.col("weight").abs(), descending=True, maintain_order=True)
    return ordered.select("left", "right", "weight")


def _whole(pairs: pl.DataFrame) -> pl.DataFrame:
    """The heaviest pairs that connect what all of them connect, and the heaviest of the others."""
    import networkx

    rows, graph = _heaviest(pairs), networkx.Graph()
    graph.add_weighted_edges_from(rows.rows())
    needed = set(map(frozenset, networkx.maximum_spanning_edges(graph, data=False)))
    is_needed = pl.Series([{left, right} in needed for left, right, _ in rows.rows()])
    return pl.concat([rows.filter(is_needed), rows.filter(~is_needed)]).head(max(MAX_LINES, len(needed)))


def _records(clusters: Mapping[str, int], pairs: pl.DataFrame, places: _Places) -> Trace:
    """Dots; clusters differ in colour and symbol, those of one record are hollow."""
    sizes, held = Counter(clusters.values()), _held(pairs)
    by_size = sorted(sizes, key=lambda cluster: (-sizes[cluster], cluster))
    looks = dict(zip(by_size, zip(cycle(_COLOURS), cycle(_SYMBOLS), strict=False), strict=False))
    looks |= {name: (style.INK, "circle-open") for name, size in sizes.items() if size == 1}
    colours, symbols = zip(*(looks[cluster] for cluster in clusters.values()), strict=True)
    marker = {"color": colours, "symbol": symbols, "size": 12, "opacity": 1, "line": {"color": "white", "width": 1}}
    size = {cluster: f"cluster {cluster}, {num} in all" for cluster, num in sizes.items()}
    hovers = [
        style.lines(plain(record), size[cluster], f"held by {signed(held.get(record, 0.0))}")
        for record, cluster in clusters.items()
    ]
    return _dots(np.array([places[record] for record in clusters]), marker, hovers)


def _held(pairs: pl.DataFrame) -> dict[str, float]:
    """Sum of the weights between each record and the others of its cluster."""
    together = pairs.filter(pl.col("kind").is_in([_HOLDING, _STRAINING]))
    ends = [together.select(pl.col(end).alias("record"), "weight") for end in ("left", "right")]
    return dict(pl.concat(ends).group_by("record").agg(pl.col("weight").sum()).rows())


# --- sizes and thresholds -------------------------------------------------------------------------------------------


def sizes(by_size: Mapping[str, pl.DataFrame]) -> Figure:
    """How many components and clusters there are, by their records in powers of 2.

    Args:
        by_size: ``size, num`` of each.
    """
    counts: Counter[tuple[str, int]] = Counter()
    for kind, by_records in by_size.items():
        for size, num in by_records.rows():
            counts[kind, (size - 1).bit_length()] += num
    powers = range(1 + max(power for _, power in counts))
    rows = [
        {"kind": kind, "records": _between_powers(power), "num": counts[kind, power]}
        for kind in by_size
        for power in powers
    ]
    drawn = bars(
        pl.DataFrame(rows).with_columns(amount=pl.col("num").map_elements("{:,}".format, pl.String)),
        "records",
        "num",
        by="kind",
        looks=_SIZES,
        titles=("records", "how many"),
        text="amount",
        hover=lambda row: style.lines(f"records: {row['records']}", f"{row['kind']}: {row['num']:,}"),
    )
    # From a half on, so that a bar of one can be seen.
    ends = [math.log10(0.5), math.log10(max(counts.values())) + 0.2]
    return drawn.with_layout(yaxis={"type": "log", "range": ends, "dtick": 1, "tickformat": ","})


def _between_powers(power: int) -> str:
    low, high = 2**power // 2 + 1, 2**power
    return f"{high:,}" if low >= high else f"{low:,}–{high:,}"


def by_threshold(graphs: pl.DataFrame, column: str, title: str, scale: float = 1.0) -> Figure:
    """Boxes of a number of the graphs, one for each threshold: quartiles, ends and mean.

    Args:
        graphs: with ``threshold`` and the column.
        scale: by which numbers are multiplied.
    """
    value = scale * pl.col(column)
    ends = {"lowerfence": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 1.0}
    quantiles = [value.quantile(share, "linear").alias(name) for name, share in ends.items()]
    groups = graphs.drop_nulls(column).group_by("threshold").agg(*quantiles, value.mean().alias("mean"))
    boxes = groups.sort("threshold", nulls_last=False)
    numbers = {name: boxes[name].to_list() for name in (*ends, "mean")}
    look = {"marker": {"color": style.MALE}, "line": {"width": 1.5}, "boxmean": True, "showlegend": False}
    box = {"type": "box", "x": list(map(threshold_name, boxes["threshold"])), **numbers, **look}
    return figure(box, height=380, xaxis=axis("threshold", type="category"), yaxis=axis(title))
