"""Figures of `entity_resolution`: how large components and clusters are, and what a threshold does to a study."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.style import FEMALE, MALE, STYLE
from tiltmeter.jobs.resolution.page.words import threshold_name

_COLOURS = {"components": MALE, "clusters": FEMALE}


# --- sizes ----------------------------------------------------------------------------------------------------------


def sizes(by_size: Mapping[str, pl.DataFrame]) -> go.Figure:
    """How many components and clusters there are, by their records in powers of 2.

    Args:
        by_size: ``size, num`` of each.
    """
    figure = go.Figure().update_layout(template=STYLE, height=380, barmode="group", bargap=0.25)
    last = max(_bin(size) for rows in by_size.values() for size in rows["size"])
    labels = [_label(place) for place in range(last + 1)]
    for name, rows in by_size.items():
        counts = [0] * len(labels)
        for size, num in rows.rows():
            counts[_bin(size)] += num
        shown = {"text": [f"{num:,}" if num else "" for num in counts], "textposition": "outside", "cliponaxis": False}
        hover = "%{y:,} " + name + " of %{x} records<extra></extra>"
        figure.add_bar(x=labels, y=counts, name=name, marker_color=_COLOURS[name], hovertemplate=hover, **shown)
    figure.update_xaxes(title_text="records", type="category")
    most = max(max(trace.y) for trace in figure.data)
    # From a half on, so that a bar of one can be seen.
    ends = [math.log10(0.5), math.log10(most) + 0.2]
    return figure.update_yaxes(title_text="how many", type="log", range=ends, dtick=1, tickformat=",")


def _bin(size: int) -> int:
    return (size - 1).bit_length()


def _label(place: int) -> str:
    low, high = 2**place // 2 + 1, 2**place
    return f"{high:,}" if low >= high else f"{low:,}–{high:,}"


# --- a study --------------------------------------------------------------------------------------------------------


class Measure(NamedTuple):
    """A column of numbers, and how it is drawn."""

    column: str
    title: str
    scale: float = 1.0
    is_logarithmic: bool = False


def by_threshold(graphs: pl.DataFrame, measure: Measure) -> go.Figure:
    """Boxes of a number of the graphs, one for each threshold: quartiles, ends and mean.

    Args:
        graphs: with ``threshold`` and the column.
    """
    value = measure.scale * pl.col(measure.column)
    ends = {"lowerfence": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 1.0}
    boxes = (
        graphs.drop_nulls(measure.column)
        .group_by("threshold")
        .agg(*(value.quantile(share, "linear").alias(name) for name, share in ends.items()), value.mean().alias("mean"))
        .sort("threshold", nulls_last=False)
    )
    names = [threshold_name(threshold) for threshold in boxes["threshold"]]
    numbers = {name: boxes[name].to_list() for name in [*ends, "mean"]}
    box = go.Box(x=names, **numbers, marker_color=MALE, line_width=1.5, boxmean=True, showlegend=False)
    figure = go.Figure(box).update_layout(template=STYLE, height=380)
    figure.update_xaxes(title_text="threshold", type="category")
    return figure.update_yaxes(title_text=measure.title, type="log" if measure.is_logarithmic else "linear")
