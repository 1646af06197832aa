"""A study: a run on many graphs, which differ in their threshold, their seed or what they are about."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, count, grid, number, optional, percent
from tiltmeter.jobs.report.html.elements import Block, Chart, Paragraph, Section
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.figures import by_threshold
from tiltmeter.jobs.resolution.page.sections import components
from tiltmeter.jobs.resolution.page.words import METRICS, threshold_name

_NUM_GRAPHS = 30
_COUNTS = ["num_records", "num_pairs", "num_components", "num_clusters"]
_NAMED = ["f1", "precision", "recall", "v_measure", "adjusted_rand"]


def by_graph(extracts: Extracts) -> pl.DataFrame:
    """A row for each graph, with its threshold, what came of its components, and its metrics.

    The gap is null where a component has no partition.
    """
    missing = (pl.col("bound") - pl.col("objective")).clip(0.0) / pl.max_horizontal(pl.col("objective").abs(), 1.0)
    solved = extracts.solved.with_columns(pl.when(pl.col("num_none") == 0).then(missing).alias("gap"))
    values = (pl.col("value").filter(metric=name).first().fill_nan(None).alias(name) for name in _NAMED)
    metrics = extracts.metrics.group_by("graph").agg(*values)
    rows = extracts.counts.join(solved, on="graph", how="left", maintain_order="left")
    return rows.join(metrics, on="graph", how="left", maintain_order="left")


def findings(graphs: pl.DataFrame, extracts: Extracts) -> list[str]:
    """What stands out in the partitions of many graphs, those of :func:`by_graph`."""
    num_thresholds = graphs["threshold"].n_unique()
    thresholds = f" at {num_thresholds} thresholds" if num_thresholds > 1 else ""
    records, clusters = (wording.plural(extracts.totals[f"num_{noun}s"], noun) for noun in ("record", "cluster"))
    what = f"{wording.plural(graphs.height, 'graph')}{thresholds} were partitioned"
    return [f"{what}: {records}, counted in each, fall into {clusters}.", *_best_thresholds(graphs, extracts)]


def _best_thresholds(graphs: pl.DataFrame, extracts: Extracts) -> Iterator[str]:
    solved = graphs.drop_nulls("f1")
    means = solved.group_by("threshold").agg(pl.col("f1").mean()).sort("f1", "threshold").to_dicts()
    if means:
        low, high = (_mean_f1(**row) for row in (means[0], means[-1]))
        differ = f"highest {high} and lowest {low}" if means[0]["f1"] < means[-1]["f1"] else ""
        num = extracts.metrics.filter(metric="f1").join(solved, on="graph", how="semi")["num_records"].sum()
        records = f"{num:,} of the {wording.plural(extracts.totals['num_records'], 'record')}"
        mean = differ or f"{wording.percent(means[0]['f1'])}{' at each threshold' if len(means) > 1 else ''}"
        yield f"F1 against the gold clusters is on average {mean}; it rests on {records}, counted in each graph."


def _mean_f1(threshold: float | None, f1: float) -> str:
    place = "without a threshold" if threshold is None else f"at the threshold {threshold_name(threshold)}"
    return f"{place} ({wording.percent(f1)})"


def sections(graphs: pl.DataFrame, extracts: Extracts) -> list[Section]:
    """What the threshold does, which of the graphs of :func:`by_graph` were the hardest, and their components."""
    slowest = graphs.sort("gap", "seconds", descending=True, nulls_last=False, maintain_order=True)
    hardest = grid(
        "Those with the largest gaps first, then the slowest.",
        slowest,
        "graph",
        *map(count, _COUNTS),
        count("num_open", "not proven"),
        percent("gap", digits=3),
        number("seconds", digits=2),
        percent("f1", "F1"),
        most=_NUM_GRAPHS,
    )
    return [
        Section("thresholds", "What the threshold does", list(_thresholds(graphs))),
        Section("graphs", "Graphs", [hardest]),
        Section("components", "Components", list(components(extracts))),
    ]


def _thresholds(graphs: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(
        "Pairs of less weight than the threshold count as never scored. A higher threshold leaves fewer pairs, so that "
        "less has to be computed; whether it costs agreement with the gold clusters is the question."
    )
    measures = {
        "F1": by_threshold(graphs, "f1", "F1 (%)", 100.0),
        "seconds": by_threshold(graphs, "seconds", "seconds").with_layout(yaxis={"type": "log"}),
        "gap": by_threshold(graphs, "gap", "gap (%)", 100.0),
    }
    if figures := {name: figure for name, figure in measures.items() if len(figure.data[0]["x"])}:
        yield Chart(
            "Box plots of F1, seconds and gap of all graphs, by threshold.",
            "Boxes: the middle half of the graphs, with median (line) and mean (dashed); whiskers: all graphs.",
            figures,
            "Measure",
        )
    gap = pl.col("gap")
    groups = graphs.group_by("threshold").agg(
        pl.len().alias("num_graphs"),
        pl.col(*_COUNTS, "num_open", "seconds").sum(),
        pl.when(gap.null_count() == 0).then(gap.max()).alias("gap"),
        pl.col(_NAMED).mean(),
    )
    yield grid(
        "Sums over the graphs; measures of agreement with the gold clusters: means of the graphs.",
        groups.sort("threshold", nulls_last=False),
        cell("threshold", lambda row: threshold_name(row["threshold"]), is_numeric=True),
        count("num_graphs"),
        *map(count, _COUNTS),
        count("num_open", "not proven"),
        percent("gap", "largest gap", 3),
        number("seconds", digits=1),
        *(optional(percent(name, METRICS[name])) for name in _NAMED),
    )
