"""Figures of `entity_resolution`: how large components and clusters are, and what a threshold does to a study."""

import math
from collections import Counter
from collections.abc import Mapping

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.style import FEMALE, MALE, STYLE, Look, lines
from tiltmeter.jobs.resolution.page.words import threshold_name

_LOOKS = {"components": Look(MALE), "clusters": Look(FEMALE)}


def sizes(by_size: Mapping[str, pl.DataFrame]) -> go.Figure:
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
    figure = bars(
        pl.DataFrame(rows),
        "records",
        "num",
        by="kind",
        looks=_LOOKS,
        titles=("records", "how many"),
        text="num",
        hover=lambda row: lines(f"records: {row['records']}", f"{row['kind']}: {row['num']:,}"),
    )
    figure.update_traces(texttemplate="%{text:,}")
    # From a half on, so that a bar of one can be seen.
    ends = [math.log10(0.5), math.log10(max(counts.values())) + 0.2]
    return figure.update_yaxes(type="log", range=ends, dtick=1, tickformat=",")


def _between_powers(power: int) -> str:
    low, high = 2**power // 2 + 1, 2**power
    return f"{high:,}" if low >= high else f"{low:,}–{high:,}"


def by_threshold(graphs: pl.DataFrame, column: str, title: str, scale: float = 1.0) -> go.Figure:
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
    box = go.Box(x=list(map(threshold_name, boxes["threshold"])), **numbers, marker_color=MALE, line_width=1.5)
    figure = go.Figure(box.update(boxmean=True, showlegend=False)).update_layout(template=STYLE, height=380)
    return figure.update_xaxes(title_text="threshold", type="category").update_yaxes(title_text=title)
