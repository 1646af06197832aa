"""Figures of `entity_resolution`: how large components and clusters are, and what a threshold does to a study."""

import math
from collections import Counter
from collections.abc import Mapping

import polars as pl

from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.figure import Figure, axis, figure
from tiltmeter.jobs.report.plots.style import FEMALE, MALE, Look, lines
from tiltmeter.jobs.resolution.page.words import threshold_name

_LOOKS = {"components": Look(MALE), "clusters": Look(FEMALE)}


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
        looks=_LOOKS,
        titles=("records", "how many"),
        text="amount",
        hover=lambda row: lines(f"records: {row['records']}", f"{row['kind']}: {row['num']:,}"),
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
    look = {"marker": {"color": MALE}, "line": {"width": 1.5}, "boxmean": True, "showlegend": False}
    box = {"type": "box", "x": list(map(threshold_name, boxes["threshold"])), **numbers, **look}
    return figure(box, height=380, xaxis=axis("threshold", type="category"), yaxis=axis(title))
